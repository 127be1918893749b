package actionrun

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/testing/barerepo"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// Action is one run of the action, as a runner starts it: in a fresh checkout,
// with an environment of its own.
type Action struct {
	Program string // ralph's binary; it is started under the name "ralph"
	Host    string // host/main.js, which starts it on the runner itself, as the runner's user; empty: as in the container
	Post    bool   // the step after a killed one, not the action itself
	Repo    *fakegithub.Repository
	Token   string
	Inputs  map[string]string
	Env     map[string]string // more of it
	Ref     string            // branch that is checked out; empty: the default branch
	Depth   int               // of the checkout; 0: 1
	RunID   int               // 0: 1
	Event   string            // empty: workflow_dispatch
	Payload map[string]any    // of the event; the repository's part is added
	Actor   string            // empty: octo
}

// Running is a run that was started.
type Running struct {
	dir  string
	cmd  *exec.Cmd
	out  bytes.Buffer
	done chan struct{}
}

// Result is what became of a run.
type Result struct {
	Code    int    // -1: it was killed
	Log     string // what it printed
	Summary string
	Outputs map[string]string
}

// Workspace is where a run that is started below dir works.
func Workspace(dir string) string { return filepath.Join(dir, "workspace") }

// Start starts the run below dir, in what is checked out there; where nothing is, it
// checks the repository out first.
func (a Action) Start(dir string) (*Running, error) {
	workspace, files := Workspace(dir), filepath.Join(dir, "runner")
	for _, folder := range []string{workspace, files, filepath.Join(dir, "home"), filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(workspace, ".git")); err != nil {
		if err := a.Checkout(dir); err != nil {
			return nil, err
		}
	}
	payload := map[string]any{"repository": map[string]any{"default_branch": a.Repo.DefaultBranch, "full_name": a.Repo.FullName()}}
	for name, value := range a.Payload {
		payload[name] = value
	}
	event, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	state, _ := os.ReadFile(filepath.Join(files, "state"))
	for name, content := range map[string][]byte{"output": nil, "summary": nil, "state": nil, "event.json": event} {
		if err := os.WriteFile(filepath.Join(files, name), content, 0o644); err != nil {
			return nil, err
		}
	}
	r := &Running{dir: dir, done: make(chan struct{})}
	r.cmd = exec.Command(a.Program) //nolint:noctx // it is ended by Kill
	if r.cmd.Args = []string{"ralph", "action"}; a.Post {
		r.cmd.Args[1] = "post"
	}
	if a.Host != "" {
		r.cmd = exec.Command("node", a.Host) //nolint:noctx // likewise
		if err := r.onTheRunner(a, state); err != nil {
			return nil, err
		}
	}
	r.cmd.Dir, r.cmd.Env = workspace, append(a.environment(dir), r.cmd.Env...)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	// What a killed run leaves behind may hold its output open for a moment.
	r.cmd.WaitDelay = 5 * time.Second
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = r.cmd.Wait() // its state says the same
		close(r.done)
	}()
	return r, nil
}

// onTheRunner adds what the action on the runner itself gets; state is what its main part
// has told the post part.
func (r *Running) onTheRunner(a Action, state []byte) error {
	temp := filepath.Join(r.dir, "temp")
	r.cmd.Env = []string{"INPUT_BINARY=" + a.Program, "RUNNER_TEMP=" + temp, "GITHUB_STATE=" + filepath.Join(r.dir, "runner", "state"), "GITHUB_JOB=build", "GITHUB_ACTION=ralph"}
	if a.Post {
		for line := range strings.Lines(string(state)) {
			r.cmd.Env = append(r.cmd.Env, "STATE_"+strings.TrimSpace(line))
		}
	}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: runnerUser, Gid: runnerUser}}
	return errors.Join(os.MkdirAll(temp, 0o755), giveToUser(r.dir))
}

// environment is what a runner gives to the action.
func (a Action) environment(dir string) []string {
	f := a.Repo.Forge()
	files := filepath.Join(dir, "runner")
	ref := cmp.Or(a.Ref, a.Repo.DefaultBranch)
	env := map[string]string{
		"PATH": os.Getenv("PATH"), //nolint:forbidigo // tests only
		"HOME": filepath.Join(dir, "home"), "TMPDIR": filepath.Join(dir, "tmp"), "GIT_CONFIG_NOSYSTEM": "1", "GORACE": "atexit_sleep_ms=0",
		"GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_WORKSPACE": filepath.Join(dir, "workspace"), "GITHUB_REPOSITORY": a.Repo.FullName(),
		"GITHUB_SERVER_URL": f.URL, "GITHUB_API_URL": f.APIURL(), "GITHUB_GRAPHQL_URL": f.GraphQLURL(),
		"GITHUB_OUTPUT": filepath.Join(files, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(files, "summary"), "GITHUB_EVENT_PATH": filepath.Join(files, "event.json"),
		"GITHUB_RUN_ID": fmt.Sprint(max(a.RunID, 1)), "GITHUB_RUN_NUMBER": "1", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_ACTOR": cmp.Or(a.Actor, "octo"), "GITHUB_ACTOR_ID": "583231",
		"GITHUB_EVENT_NAME": cmp.Or(a.Event, "workflow_dispatch"), "GITHUB_REF": "refs/heads/" + ref, "GITHUB_REF_NAME": ref, "INPUT_GITHUB-TOKEN": a.Token,
	}
	for name, value := range a.Inputs {
		env["INPUT_"+strings.ToUpper(name)] = value
	}
	for name, value := range a.Env {
		env[name] = value
	}
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// Checkout leaves below dir what actions/checkout leaves: shallow, with the token in
// the repository's configuration. Over an earlier checkout it does as with clean:
// false.
func (a Action) Checkout(dir string) error {
	f, ref := a.Repo.Forge(), cmp.Or(a.Ref, a.Repo.DefaultBranch)
	dir, home := Workspace(dir), filepath.Join(dir, "home")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(home, 0o755)); err != nil {
		return err
	}
	return barerepo.Checkout(a.Repo.Repository, barerepo.Clone{
		Dir: dir, Server: f.URL, URL: a.Repo.URL(), Branch: ref, Depth: max(a.Depth, 1),
		Header: "AUTHORIZATION: basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+a.Token)),
		Env:    []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}, //nolint:forbidigo // tests only
	})
}

// Kill ends the run at once, as a machine that dies does, and returns when it is
// gone.
func (r *Running) Kill() {
	pid := r.cmd.Process.Pid
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // ralph, where node started it
	_ = r.cmd.Process.Kill()                                                       // it may be over
	if r.cmd.Args[0] == "node" {
		for child := range strings.FieldsSeq(string(children)) {
			if n, err := strconv.Atoi(child); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
	<-r.done
}

// Wait waits for the end of the run, and kills it when ctx ends first.
func (r *Running) Wait(ctx context.Context) (Result, error) {
	var late error
	select {
	case <-r.done:
	case <-ctx.Done():
		r.Kill()
		late = errors.New("the run did not end: it was killed")
	}
	res := Result{Code: r.cmd.ProcessState.ExitCode(), Log: r.out.String(), Outputs: map[string]string{}}
	summary, err := os.ReadFile(filepath.Join(r.dir, "runner", "summary"))
	res.Summary = string(summary)
	outputs, outErr := os.ReadFile(filepath.Join(r.dir, "runner", "output"))
	lines := strings.Split(string(outputs), "\n")
	for i := 0; i < len(lines); i++ {
		name, end, ok := strings.Cut(lines[i], "<<")
		if !ok {
			continue
		}
		var value []string
		for i++; i < len(lines) && lines[i] != end; i++ {
			value = append(value, lines[i])
		}
		res.Outputs[name] = strings.Join(value, "\n")
	}
	return res, errors.Join(late, err, outErr)
}

// Run is Start and Wait.
func (a Action) Run(ctx context.Context, dir string) (Result, error) {
	r, err := a.Start(dir)
	if err != nil {
		return Result{}, err
	}
	return r.Wait(ctx)
}
