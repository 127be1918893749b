//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The main job through a workflow with `uses: ./`: act reads action.yml, builds
// the Dockerfile and hands over inputs and outputs by its own rules.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	seconds := ownSeconds()
	m := newModel(t, mainJob(seconds))
	r := withAction(t, "Dockerfile")
	log := act(t, r, mainWorkflow(t, m)...)
	wants(t, "the workflow's log", log, "outputs: completed, 2 iterations, pull request 1", "report: completed", "Nothing to do.")
	checkProcesses(t, seconds)
	checkConversation(t, m)
	checkCommits(t, r, "ralph/mul")
	if ps := r.pulls(t); len(ps) != 1 || ps[0].Title != "Add mul" || ps[0].Head.Ref != "ralph/mul" {
		t.Errorf("pull requests = %+v, want one, Add mul", ps)
	}
}

// The same, whose container is killed in its second iteration: act starts the post step, too.
func TestWorkflowKilled(t *testing.T) {
	m := newModel(t, script(
		bash("echo one >one.txt"),
		answer{Text: "The first part is there."},
		bash("echo two >two.txt"),
		answer{Text: "x", Hang: true},
	))
	r := withAction(t, "docker://"+image(t))
	cmd, log := actCommand(t, r, mainWorkflow(t, m)...)
	done := make(chan error, 1)
	go func() { done <- runFor(cmd, 2*time.Minute) }()
	await(t, 2*time.Minute, "the model's fourth question", func() bool { return len(m.questions()) >= 4 })
	list, err := exec.Command("docker", "ps", "-q", "--filter", "ancestor="+image(t), "--filter", "name=act-").Output()
	if ids := strings.Fields(string(list)); err != nil || len(ids) != 1 {
		t.Fatalf("containers of the step: %q, %v, want one", list, err)
	}
	if out, err := exec.Command("docker", "kill", strings.TrimSpace(string(list))).CombinedOutput(); err != nil {
		t.Fatalf("docker kill: %v\n%s", err, out)
	}
	if err := <-done; err == nil {
		t.Error("act calls a job green whose step was killed")
	}
	if !strings.Contains(log.String(), "the job's post step took up what it had left") {
		t.Error("the post step does not tell what it did")
	}
	r.fetch(t, "ralph/mul")
	if got := git(t, r.Seed, "diff", "--name-only", r.Base, "refs/remotes/origin/ralph/mul"); got != "one.txt\ntwo.txt" {
		t.Errorf("pushed files = %q, want one.txt and two.txt", got)
	}
	if ps := r.pulls(t); len(ps) != 1 || !strings.Contains(ps[0].Body, "Interrupted") {
		t.Errorf("pull requests = %+v, want one that says Interrupted", ps)
	}
}

// withAction is a repository of this action, whose action.yml names the image, with a
// program to work on.
func withAction(t *testing.T, actionImage string) *repository {
	t.Helper()
	g := forge(t)
	// The repository is this one, as git knows it, with the program on top.
	sources := map[string]string{}
	for name := range strings.SplitSeq(git(t, "..", "ls-files", "-z", "--", "action.yml", "Dockerfile", ".dockerignore", "entrypoint.sh", "go.mod", "go.sum", "cmd", "internal"), "\x00") {
		if _, err := os.Stat(filepath.Join("..", name)); name != "" && err == nil {
			sources[name] = readFile(t, filepath.Join("..", name))
		}
	}
	for name, text := range program {
		sources[name] = text
	}
	sources["action.yml"] = strings.Replace(sources["action.yml"], "image: Dockerfile", "image: "+actionImage, 1)
	r := g.newRepository(t, sources)
	git(t, r.Seed, "update-index", "--chmod=+x", "entrypoint.sh")
	git(t, r.Seed, "commit", "-q", "-m", "the entrypoint can be executed")
	git(t, r.Seed, "reset", "-q", "--hard")
	git(t, r.Seed, "push", "-q", r.pushURL(), "main")
	git(t, r.Seed, "remote", "add", "origin", r.URL+"/"+r.Name)
	r.Base = git(t, r.Seed, "rev-parse", "HEAD")
	return r
}

// mainWorkflow are act's arguments for the workflow of the main job.
func mainWorkflow(t *testing.T, m *model) []string {
	t.Helper()
	workflow, err := filepath.Abs("testdata/workflow.yml")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"workflow_dispatch", "-W", workflow, "-P", "ubuntu-latest=" + image(t) + "-slim", "--var", "MODEL_URL=" + m.URL}
}

// act runs a workflow in a clone of the repository, and gives its log.
func act(t *testing.T, r *repository, args ...string) string {
	t.Helper()
	cmd, log := actCommand(t, r, args...)
	return finished(t, r, cmd, log)
}

// actHere is act whose jobs run on this machine, as a user who is not root.
func actHere(t *testing.T, r *repository, args ...string) string {
	t.Helper()
	cmd, log := actCommand(t, r, args...)
	dir := sharedTempDir(t)
	home := filepath.Join(dir, "home")
	for from, to := range map[string]string{cmd.Path: "act", r.Seed: "work", strings.TrimPrefix(cmd.Env[1], "HOME="): "home"} {
		if out, err := exec.Command("cp", "-R", from, filepath.Join(dir, to)).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v\n%s", err, out)
		}
	}
	owned(t, dir, 1001)
	cmd.Path, cmd.Dir = filepath.Join(dir, "act"), filepath.Join(dir, "work")
	cmd.Args = append(cmd.Args, "--secret-file", filepath.Join(home, "secrets"))
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "DO_NOT_TRACK=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1001, Gid: 1001}}
	return finished(t, r, cmd, log)
}

// finished is the log of an act that ended well.
func finished(t *testing.T, r *repository, cmd *exec.Cmd, log *logBuffer) string {
	t.Helper()
	if err := runFor(cmd, 12*time.Minute); err != nil {
		t.Fatalf("act: %v", err)
	}
	for what, value := range map[string]string{"the token": r.Token, "the API key": apiKey} {
		if strings.Contains(maskCommand.ReplaceAllString(log.String(), ""), value) {
			t.Errorf("%s stands in the log", what)
		}
	}
	return log.String()
}

// actCommand is act on a clone of the repository, to be started, and what it will print,
// which a test that fails shows.
func actCommand(t *testing.T, r *repository, args ...string) (*exec.Cmd, *logBuffer) {
	t.Helper()
	acts, _ := filepath.Glob(filepath.Join(os.Getenv("RALPH_E2E_CACHE"), "bin", "act-*"))
	if len(acts) == 0 {
		t.Fatal("act is not in RALPH_E2E_CACHE: e2e/setup.sh builds it")
	}
	home := t.TempDir()
	writeFiles(t, home, map[string]string{"secrets": "GITHUB_TOKEN=" + r.Token + "\nFORGE_TOKEN=" + r.Token + "\nANTHROPIC_API_KEY=" + apiKey + "\n"})
	cmd := exec.Command(acts[len(acts)-1], append(args, "--pull=false", "--secret-file", filepath.Join(home, "secrets"), "--actor", "octo",
		"--env", "GITHUB_REPOSITORY="+r.Name, "--env", "GITHUB_SERVER_URL="+r.URL, "--env", "GITHUB_API_URL="+r.URL+"/api/v1")...)
	cmd.Dir = r.Seed
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "DO_NOT_TRACK=1"}
	log := &logBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = 10 * time.Second
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of act:\n%s", log.String())
		}
	})
	return cmd, log
}

// runFor runs the command for at most d, then interrupts it, so that it can
// remove its containers.
func runFor(cmd *exec.Cmd, d time.Duration) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := time.AfterFunc(d, func() { _ = cmd.Process.Signal(os.Interrupt) })
	kill := time.AfterFunc(d+20*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Wait()
	if !stop.Stop() && err == nil {
		err = fmt.Errorf("it ended only when it was interrupted, after %s", d)
	}
	return err
}
