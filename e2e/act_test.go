//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The main job through a workflow with `uses: ./`: act reads action.yml, builds
// the Dockerfile and hands over inputs and outputs by its own rules.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	seconds := ownSeconds()
	m := newModel(t, mainJob(seconds))
	r, cmd, log := act(t, m, "Dockerfile")
	if err := runFor(cmd, 6*time.Minute); err != nil {
		t.Fatalf("act: %v\n%s", err, log.String())
	}
	for _, want := range []string{"outputs: completed, 2 iterations, pull request 1", "report: completed", "Nothing to do."} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the workflow's log lacks %q", want)
		}
	}
	checkProcesses(t, seconds)
	checkConversation(t, m)
	checkCommits(t, r, "ralph/mul")
	if ps := r.pulls(t); len(ps) != 1 || ps[0].Title != "Add mul" || ps[0].Head.Ref != "ralph/mul" {
		t.Errorf("pull requests = %+v, want one, Add mul", ps)
	}
	for what, value := range map[string]string{"the token": r.Token, "the API key": apiKey} {
		if strings.Contains(maskCommand.ReplaceAllString(log.String(), ""), value) {
			t.Errorf("%s stands in the log", what)
		}
	}
	if t.Failed() {
		t.Logf("log of act:\n%s", log.String())
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
	r, cmd, log := act(t, m, "docker://"+image(t))
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
	if t.Failed() {
		t.Logf("log of act:\n%s", log.String())
	}
}

// act is the workflow as act runs it, on a forge of its own. image is what action.yml says.
func act(t *testing.T, m *model, actionImage string) (*repository, *exec.Cmd, *logBuffer) {
	t.Helper()
	acts, _ := filepath.Glob(filepath.Join(os.Getenv("RALPH_E2E_CACHE"), "bin", "act-*"))
	if len(acts) == 0 {
		t.Fatal("act is not in RALPH_E2E_CACHE: e2e/setup.sh builds it")
	}
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

	workflow, err := filepath.Abs("testdata/workflow.yml")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(acts[len(acts)-1], "workflow_dispatch", "-W", workflow, "--pull=false",
		"-P", "ubuntu-latest="+image(t)+"-slim",
		"--secret-file", filepath.Join(home, "secrets"),
		"--var", "MODEL_URL="+m.URL,
		"--actor", "octo",
		"--env", "GITHUB_REPOSITORY="+r.Name, "--env", "GITHUB_SERVER_URL="+r.URL, "--env", "GITHUB_API_URL="+r.URL+"/api/v1")
	writeFiles(t, home, map[string]string{"secrets": "FORGE_TOKEN=" + r.Token + "\nANTHROPIC_API_KEY=" + apiKey + "\n"})
	cmd.Dir = r.Seed
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "DO_NOT_TRACK=1"}
	log := &logBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = 10 * time.Second
	return r, cmd, log
}

// runFor runs the command for at most d, then interrupts it, so that it can
// remove its containers.
func runFor(cmd *exec.Cmd, d time.Duration) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := time.AfterFunc(d, func() { _ = cmd.Process.Signal(os.Interrupt) })
	kill := time.AfterFunc(d+20*time.Second, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	defer kill.Stop()
	return cmd.Wait()
}
