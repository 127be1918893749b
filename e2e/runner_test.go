//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// The tokens a runner hands to an action beside the one that is an input. None
// of them may reach the agent.
const (
	runtimeToken = "eyJhbGciOiJSUzI1NiJ9.runtime-token-of-the-job.c2lnbmF0dXJl"
	oidcToken    = "eyJhbGciOiJSUzI1NiJ9.id-token-request-token.c2lnbmF0dXJl"
	apiKey       = "sk-ant-api03-e2e-0123456789abcdefghijklmnop"
)

// checkout is a version of actions/checkout: each keeps the token elsewhere.
type checkout int

const (
	checkoutV4 checkout = iota + 4 // token in .git/config, on the branch
	_
	checkoutV6 // token in a file under RUNNER_TEMP, included; here with a detached HEAD
)

// job is one step `uses: org/ralph-action` of a job on a hosted runner: the
// folders as they are on the host, and what the runner says about them. See
// ContainerActionHandler.cs of actions/runner.
type job struct {
	Repo   *repository
	Inputs map[string]string // by the names of action.yml
	Keys   map[string]string // of .github/ralph.yml, which git does not see
	Env    map[string]string // of the step
	Server string            // GITHUB_SERVER_URL; empty: the forge's own

	Temp      string // RUNNER_TEMP
	Home      string // below Temp, unless it is another job's that a cache brought
	Workspace string
	Mounts    []string // more of them, for docker run
	Image     string   // empty: the one under test
	commands  string   // _runner_file_commands
	config    string   // .git/config as checkout left it
}

// newJob checks the repository out, shallow, as the version does.
func newJob(t *testing.T, r *repository, server string, version checkout) *job {
	t.Helper()
	if server == "" {
		server = r.URL
	}
	root := sharedTempDir(t)
	j := &job{
		Repo: r, Server: server, Inputs: map[string]string{}, Keys: map[string]string{}, Env: map[string]string{},
		Temp: filepath.Join(root, "_temp"), Workspace: filepath.Join(root, "work", "work"),
	}
	j.commands, j.Home = filepath.Join(j.Temp, "_runner_file_commands"), filepath.Join(j.Temp, "_github_home")
	for _, dir := range []string{j.Workspace, j.commands, j.Home, filepath.Join(j.Temp, "_github_workflow")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, j.Temp, map[string]string{"_github_workflow/event.json": `{"ref":"refs/heads/main","sender":{"login":"octo"},"inputs":{"note":"event-of-the-job"}}`})
	for _, name := range commandFiles {
		writeFiles(t, j.commands, map[string]string{name: ""})
	}
	j.checkOut(t, version)
	j.config = readFile(t, filepath.Join(j.Workspace, ".git", "config"))
	if err := giveToUser(root); err != nil {
		t.Fatal(err)
	}
	return j
}

var commandFiles = map[string]string{
	"GITHUB_OUTPUT": "set_output_1", "GITHUB_ENV": "set_env_1", "GITHUB_PATH": "add_path_1",
	"GITHUB_STATE": "save_state_1", "GITHUB_STEP_SUMMARY": "step_summary_1",
}

func (j *job) checkOut(t *testing.T, version checkout) {
	t.Helper()
	ws, url := j.Workspace, j.Server+"/"+j.Repo.Name
	header := "AUTHORIZATION: basic " + j.Repo.basic()
	git(t, ws, "init", "-q", "-b", "main")
	git(t, ws, "remote", "add", "origin", url)
	git(t, ws, "config", "--local", "gc.auto", "0")
	section := "http." + j.Server + "/.extraheader"
	git(t, ws, "-c", section+"="+header, "fetch", "-q", "--no-tags", "--prune", "--no-recurse-submodules", "--depth=1",
		j.Repo.pushURL(), "+"+j.Repo.Base+":refs/remotes/origin/main")
	switch version {
	case checkoutV4:
		git(t, ws, "config", "--local", section, header)
		git(t, ws, "checkout", "-q", "--force", "-B", "main", "refs/remotes/origin/main")
		git(t, ws, "branch", "-q", "--set-upstream-to=origin/main")
	case checkoutV6:
		name := "git-credentials-5e4f4bd2-9d0e-4c53-9c3c-2f0b8f3a3a11.config"
		git(t, ws, "config", "--file", filepath.Join(j.Temp, name), section, header)
		for gitdir, path := range map[string]string{
			filepath.Join(ws, ".git"):                filepath.Join(j.Temp, name),
			filepath.Join(ws, ".git", "worktrees/*"): filepath.Join(j.Temp, name),
			"/github/workspace/.git":                 "/github/runner_temp/" + name,
			"/github/workspace/.git/worktrees/*":     "/github/runner_temp/" + name,
		} {
			git(t, ws, "config", "--local", "includeIf.gitdir:"+gitdir+".path", path)
		}
		git(t, ws, "checkout", "-q", "--force", "--detach", j.Repo.Base)
	default:
		t.Fatalf("no checkout of version %d", version)
	}
}

// environ is what the runner passes with -e NAME: the step's own, an INPUT_ for
// every input of action.yml, and the job's.
func (j *job) environ(t *testing.T) map[string]string {
	t.Helper()
	j.writeKeys(t)
	api := j.Server + "/api/v1"
	env := map[string]string{
		"HOME": "/github/home", "CI": "true", "GITHUB_ACTIONS": "true",
		"GITHUB_ACTION": "ralph", "GITHUB_ACTION_REF": "v1", "GITHUB_ACTION_REPOSITORY": "org/ralph-action",
		"GITHUB_ACTOR": "octo", "GITHUB_ACTOR_ID": "1", "GITHUB_TRIGGERING_ACTOR": "octo",
		"GITHUB_API_URL": api, "GITHUB_GRAPHQL_URL": j.Server + "/api/graphql", "GITHUB_SERVER_URL": j.Server,
		"GITHUB_BASE_REF": "", "GITHUB_HEAD_REF": "", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main",
		"GITHUB_REF_PROTECTED": "false", "GITHUB_REF_TYPE": "branch", "GITHUB_SHA": j.Repo.Base,
		"GITHUB_EVENT_NAME": "workflow_dispatch", "GITHUB_EVENT_PATH": "/github/workflow/event.json",
		"GITHUB_JOB": "ralph", "GITHUB_REPOSITORY": j.Repo.Name, "GITHUB_REPOSITORY_ID": "1",
		"GITHUB_REPOSITORY_OWNER": j.Repo.Owner, "GITHUB_REPOSITORY_OWNER_ID": "1", "GITHUB_RETENTION_DAYS": "90",
		"GITHUB_RUN_ATTEMPT": "1", "GITHUB_RUN_ID": "42", "GITHUB_RUN_NUMBER": "7",
		"GITHUB_WORKFLOW": "ralph", "GITHUB_WORKFLOW_REF": j.Repo.Name + "/.github/workflows/ralph.yml@refs/heads/main",
		"GITHUB_WORKFLOW_SHA": j.Repo.Base, "GITHUB_WORKSPACE": "/github/workspace",
		"RUNNER_ARCH": "X64", "RUNNER_ENVIRONMENT": "github-hosted", "RUNNER_NAME": "GitHub Actions 1", "RUNNER_OS": "Linux",
		"RUNNER_TEMP": "/github/runner_temp", "RUNNER_TOOL_CACHE": "/opt/hostedtoolcache", "RUNNER_WORKSPACE": filepath.Dir(j.Workspace),
		"ACTIONS_CACHE_URL": "http://127.0.0.1:9/", "ACTIONS_RESULTS_URL": "http://127.0.0.1:9/",
		"ACTIONS_RUNTIME_URL": "http://127.0.0.1:9/", "ACTIONS_RUNTIME_TOKEN": runtimeToken,
		"ACTIONS_ID_TOKEN_REQUEST_URL": "http://127.0.0.1:9/", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": oidcToken,
	}
	for variable, name := range commandFiles {
		env[variable] = "/github/file_commands/" + name
	}
	var action struct {
		Inputs map[string]struct{ Default string }
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	for name, input := range action.Inputs {
		if name != "github-token" && strings.Contains(input.Default, "github.token") {
			t.Errorf("action.yml: without a value, input %s is the job's token", name)
			input.Default = ""
		}
		env[inputVariable(name)] = strings.ReplaceAll(input.Default, "${{ github.token }}", j.Repo.Token)
	}
	for name, value := range j.Inputs {
		if _, known := action.Inputs[name]; !known {
			t.Fatalf("action.yml has no input %q", name)
		}
		env[inputVariable(name)] = value
	}
	maps.Copy(env, j.Env)
	return env
}

// writeKeys puts the keys into the workspace, where the repository has no such file.
func (j *job) writeKeys(t *testing.T) {
	t.Helper()
	if len(j.Keys) == 0 {
		return
	}
	var b strings.Builder
	for name, value := range j.Keys {
		fmt.Fprintf(&b, "%s: %q\n", name, value)
	}
	writeFiles(t, j.Workspace, map[string]string{".github/ralph.yml": b.String(), ".git/info/exclude": "/.github/ralph.yml\n"})
	for _, dir := range []string{".github", ".git/info"} {
		if err := giveToUser(filepath.Join(j.Workspace, dir)); err != nil {
			t.Fatal(err)
		}
	}
}

// inputVariable is the name the runner gives an input.
func inputVariable(name string) string {
	return "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
}

// step is the running container.
type step struct {
	job  *job
	name string
	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{}
}

var containers atomic.Int32

// image is what the tests run.
func image(t *testing.T) string {
	t.Helper()
	name := os.Getenv("RALPH_E2E_IMAGE")
	if out, err := exec.Command("docker", "image", "inspect", name).CombinedOutput(); name == "" || err != nil {
		t.Fatalf("the image RALPH_E2E_IMAGE=%q is not there: run the tests with make e2e\n%s", name, out)
	}
	return name
}

// full is the image that has codex as well.
func full() string { return os.Getenv("RALPH_E2E_IMAGE") + "-full" }

// start runs the image as the runner does. The host's network stands for the
// internet: the forge and the model are on the machine's loopback.
func (j *job) start(t *testing.T) *step {
	t.Helper()
	return j.startAt(t)
}

// post is the step that the runner starts after the others, in a container of its own.
func (j *job) post(t *testing.T) result {
	t.Helper()
	var action struct {
		Runs struct {
			Post string `yaml:"post-entrypoint"`
		}
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	for _, name := range commandFiles { // new ones
		writeFiles(t, j.commands, map[string]string{name: ""})
	}
	return j.startAt(t, "--entrypoint", action.Runs.Post).wait(t, time.Minute)
}

// startAt is start with more options of docker run.
func (j *job) startAt(t *testing.T, options ...string) *step {
	t.Helper()
	s := &step{job: j, name: fmt.Sprintf("ralph-e2e-%d-%d", os.Getpid(), containers.Add(1)), log: &logBuffer{}, done: make(chan struct{})}
	args := []string{"run", "--name", s.name, "--label", "ralph-e2e", "--workdir", "/github/workspace", "--rm", "--network", "host"}
	environ := []string{"PATH=" + os.Getenv("PATH"), "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "DOCKER_CONFIG=" + t.TempDir()}
	env := j.environ(t)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		// HOME is the client's own otherwise.
		args = append(args, "-e", name)
		environ = append(environ, name+"="+env[name])
	}
	for _, mount := range append([]string{
		"/var/run/docker.sock:/var/run/docker.sock",
		j.Temp + ":/github/runner_temp",
		j.Home + ":/github/home",
		filepath.Join(j.Temp, "_github_workflow") + ":/github/workflow",
		j.commands + ":/github/file_commands",
		j.Workspace + ":/github/workspace",
	}, j.Mounts...) {
		args = append(args, "-v", mount)
	}
	s.cmd = exec.Command("docker", append(append(args, options...), cmp.Or(j.Image, image(t)))...)
	s.cmd.Env = environ
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.cmd.Wait(); close(s.done) }()
	t.Cleanup(func() {
		_ = exec.Command("docker", "rm", "-f", s.name).Run()
		<-s.done
		if t.Failed() {
			t.Logf("log of the step:\n%s", s.log.String())
		}
	})
	return s
}

// result is what the runner has in hands after a step.
type result struct {
	Code    int
	Log     string
	Outputs map[string]string
	Summary string
	Took    time.Duration
}

// wait is the result, once the container is gone.
func (s *step) wait(t *testing.T, limit time.Duration) result {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(limit):
		t.Fatalf("the step is still running after %s", limit)
	}
	out := readFile(t, filepath.Join(s.job.commands, commandFiles["GITHUB_OUTPUT"]))
	for _, variable := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE"} {
		if text := readFile(t, filepath.Join(s.job.commands, commandFiles[variable])); text != "" {
			t.Errorf("%s was written: %q, want nothing", variable, text)
		}
	}
	return result{
		Code: s.cmd.ProcessState.ExitCode(), Log: s.log.String(), Outputs: parseOutputs(t, out),
		Summary: readFile(t, filepath.Join(s.job.commands, commandFiles["GITHUB_STEP_SUMMARY"])),
	}
}

// run starts the step and waits for its end.
func (j *job) run(t *testing.T, limit time.Duration) result {
	t.Helper()
	began := time.Now()
	r := j.start(t).wait(t, limit)
	r.Took = time.Since(began)
	return r
}

// cancel does what a runner does to a cancelled step: SIGINT, 7.5 s, SIGTERM,
// 2.5 s, SIGKILL, each to the docker client. See ProcessInvoker.cs.
func (s *step) cancel(t *testing.T) {
	t.Helper()
	for _, blow := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGINT, 7500 * time.Millisecond}, {syscall.SIGTERM, 2500 * time.Millisecond}, {syscall.SIGKILL, 0}} {
		_ = s.cmd.Process.Signal(blow.signal)
		select {
		case <-s.done:
			return
		case <-time.After(blow.wait):
		}
	}
	<-s.done
}

// parseOutputs reads NAME=VALUE and NAME<<DELIMITER, as the runner does.
func parseOutputs(t *testing.T, text string) map[string]string {
	t.Helper()
	values := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := 0; i < len(lines) && text != ""; i++ {
		if name, delimiter, ok := strings.Cut(lines[i], "<<"); ok {
			var value []string
			for i++; i < len(lines) && lines[i] != delimiter; i++ {
				value = append(value, lines[i])
			}
			if i == len(lines) {
				t.Fatalf("the outputs end inside %s:\n%s", name, text)
			}
			values[name] = strings.Join(value, "\n")
			continue
		}
		name, value, ok := strings.Cut(lines[i], "=")
		if !ok {
			t.Fatalf("the outputs hold a line that is none, %q:\n%s", lines[i], text)
		}
		values[name] = value
	}
	return values
}

// logBuffer is a log that can be read while it grows.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
