//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// builtOnce is the program for the tests of publishing, where the runner's user
// may start it.
var builtOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "ralph-e2e-bin-")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "ralph")
	cmd := exec.Command("go", "build", "-o", path, "../cmd/ralph")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, os.Chmod(dir, 0o755)
})

// newNight is a step on a fresh checkout, whose agent is a shell script: it sees
// the prompt on its standard input.
func newNight(t *testing.T, r *repository, script string) *job {
	t.Helper()
	j := newJob(t, r, "", checkoutV4)
	dir := sharedTempDir(t)
	writeFiles(t, dir, map[string]string{"agent.sh": script})
	maps.Copy(j.Inputs, map[string]string{
		"prompt": task, "agent": "text", "agent-command": "sh " + filepath.Join(dir, "agent.sh"), "max-iterations": "3",
		"branch": "ralph/mul",
	})
	return j
}

// done is how an agent says that it is done.
const done = "\necho '<promise>COMPLETE</promise>'\n"

// writes is an agent that writes one file and is done.
func writes(name, text string) string {
	return fmt.Sprintf("cat >/dev/null\nmkdir -p \"$(dirname '%[1]s')\"\nprintf '%%s\\n' '%[2]s' >'%[1]s'", name, text) + done
}

// startHere starts the program itself as the runner's user, with what the runner
// would pass to the container.
func (j *job) startHere(t *testing.T) *step {
	t.Helper()
	path, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	return j.startProgram(t, path, "action")
}

// startProgram starts a program as startHere does.
func (j *job) startProgram(t *testing.T, path string, args ...string) *step {
	t.Helper()
	if err := giveToUser(filepath.Dir(j.Temp)); err != nil {
		t.Fatal(err)
	}
	temp := sharedTempDir(t)
	if err := giveToUser(temp); err != nil {
		t.Fatal(err)
	}
	s := &step{job: j, log: &logBuffer{}, done: make(chan struct{})}
	s.cmd = exec.Command(path, args...)
	s.cmd.Dir = j.Workspace
	here := strings.NewReplacer("/github/home", j.Home, "/github/file_commands", j.commands, "/github/workflow", filepath.Join(j.Temp, "_github_workflow"),
		"/github/workspace", j.Workspace, "/github/runner_temp", j.Temp)
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + temp}
	env := j.environ(t)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		s.cmd.Env = append(s.cmd.Env, name+"="+here.Replace(env[name]))
	}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = asUser()
	s.cmd.WaitDelay = 5 * time.Second
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.cmd.Wait(); close(s.done) }()
	t.Cleanup(func() {
		select {
		case <-s.done:
		default:
			_ = s.cmd.Process.Signal(syscall.SIGINT)
			select {
			case <-s.done:
			case <-time.After(10 * time.Second):
				_ = s.cmd.Process.Kill()
				<-s.done
			}
		}
		if t.Failed() {
			t.Logf("log of the step:\n%s\nsummary:\n%s", s.log.String(), readFile(t, filepath.Join(j.commands, commandFiles["GITHUB_STEP_SUMMARY"])))
		}
	})
	return s
}

// hereLimit bounds a run of the tests of publishing.
const hereLimit = 90 * time.Second

func (j *job) runHere(t *testing.T) result {
	t.Helper()
	began := time.Now()
	r := j.startHere(t).wait(t, hereLimit)
	r.Took = time.Since(began)
	return r
}

// must runs the step and wants this exit code and status.
func (j *job) must(t *testing.T, code int, status string) result {
	t.Helper()
	r := j.runHere(t)
	if r.Code != code || r.Outputs["status"] != status {
		t.Fatalf("exit code %d, status %q; want %d, %s", r.Code, r.Outputs["status"], code, status)
	}
	return r
}

// wants looks for texts.
func wants(t *testing.T, where, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q", where, want)
		}
	}
}

// outputs compares outputs of the step.
func (r result) outputs(t *testing.T, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := r.Outputs[name]; got != value {
			t.Errorf("output %s = %q, want %q", name, got, value)
		}
	}
}

// untouched wants that no agent was started: its work is not there.
func (j *job) untouched(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(j.Workspace, file)); err == nil {
		t.Errorf("the agent was started: %s is there", file)
	}
}

// account is a user of the forge.
type account struct {
	Name, Token string // the token may do everything the user may
}

const password = "not-a-secret-1"

// newAccount makes a user whose name is unique on the forge.
func (g *gitea) newAccount(t *testing.T, name string) account {
	t.Helper()
	a := account{Name: fmt.Sprintf("%s-%d", name, g.repos.Add(1))}
	if _, err := g.call(http.MethodPost, "/admin/users", map[string]any{
		"username": a.Name, "email": a.Name + "@example.com", "password": password, "must_change_password": false,
	}, nil); err != nil {
		t.Fatal(err)
	}
	a.Token = g.newToken(t, a.Name, "all")
	return a
}

// newToken makes a token of a user with these scopes only.
func (g *gitea) newToken(t *testing.T, user string, scopes ...string) string {
	t.Helper()
	var made struct {
		Value string `json:"sha1"`
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	if _, err := g.callAs(basic, http.MethodPost, "/users/"+user+"/tokens",
		map[string]any{"name": fmt.Sprintf("token-%d", g.repos.Add(1)), "scopes": scopes}, &made); err != nil {
		t.Fatal(err)
	}
	return made.Value
}

// collaborator lets a user into the repository.
func (r *repository) collaborator(t *testing.T, user, permission string) {
	t.Helper()
	if _, err := r.call(http.MethodPut, "/repos/"+r.Name+"/collaborators/"+user, map[string]any{"permission": permission}, nil); err != nil {
		t.Fatal(err)
	}
}

// clone is another clone of the repository, as a person has it.
func (r *repository) clone(t *testing.T, branch string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "clone", "-q", "-b", branch, r.pushURL(), ".")
	return dir
}

// pushFile commits a file in a clone, and pushes it.
func (r *repository) pushFile(t *testing.T, dir, branch, name, text string) string {
	t.Helper()
	writeFiles(t, dir, map[string]string{name: text})
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "a person: "+name)
	git(t, dir, "push", "-q", r.pushURL(), "HEAD:refs/heads/"+branch)
	return git(t, dir, "rev-parse", "HEAD")
}

// moveBase adds a commit to main, which later checkouts have.
func (r *repository) moveBase(t *testing.T, name, text string) {
	t.Helper()
	git(t, r.Seed, "fetch", "-q", r.pushURL(), "main")
	git(t, r.Seed, "reset", "-q", "--hard", "FETCH_HEAD")
	r.Base = r.pushFile(t, r.Seed, "main", name, text)
}

// view is the same repository with a work tree of its own, for tests that run at
// the same time, each on its branch.
func (r *repository) view(t *testing.T) *repository {
	t.Helper()
	v := &repository{gitea: r.gitea, Name: r.Name, Seed: t.TempDir(), Base: r.Base}
	git(t, v.Seed, "init", "-q")
	return v
}

// pullsOf are the pull requests of a branch.
func (r *repository) pullsOf(t *testing.T, branch string) []pull {
	t.Helper()
	return slices.DeleteFunc(r.pulls(t), func(p pull) bool { return p.Head.Ref != branch })
}

// tree lists the files of a branch on the forge.
func (r *repository) tree(t *testing.T, branch string) []string {
	t.Helper()
	r.fetch(t, branch)
	return strings.Fields(git(t, r.Seed, "ls-tree", "-r", "--name-only", "origin/"+branch))
}

// content is a file of a branch on the forge.
func (r *repository) content(t *testing.T, branch, name string) string {
	t.Helper()
	if r.fetch(t, branch) == "" {
		t.Fatalf("the forge has no branch %s", branch)
	}
	return git(t, r.Seed, "show", "origin/"+branch+":"+name)
}

// subjects are the first lines of the commits that a branch has and main has
// not, oldest first.
func (r *repository) subjects(t *testing.T, branch string) []string {
	t.Helper()
	r.fetch(t, "main")
	r.fetch(t, branch)
	return strings.Split(git(t, r.Seed, "log", "--reverse", "--format=%s", "origin/main..origin/"+branch), "\n")
}

// diff is what the forge shows as the changes of a pull request.
func (r *repository) diff(t *testing.T, number int) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/api/v1/repos/%s/pulls/%d.diff", r.URL, r.Name, number), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+r.Token)
	client := http.Client{Timeout: 30 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("diff of #%d: %s %v", number, res.Status, err)
	}
	return b.String()
}
