//go:build e2e

package e2e

import (
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A runner gives a cancelled step ten seconds in three blows. The agent is in
// the middle of its second iteration: a file is written, a command of its own
// session runs, and the model is silent. Like the next test it has the machine to
// itself: a runner's seconds pass whatever else runs.
func TestCancelled(t *testing.T) {
	r := forge(t).newRepository(t, program)
	seconds := ownSeconds()
	m := newModel(t, script(
		bash("echo one >one.txt"),
		answer{Text: "The first part is there."},
		bash("echo two >two.txt; "+escape(seconds)),
		answer{Text: "x", Hang: true},
	))
	j := newJob(t, r, "", checkoutV4)
	j.withClaude(m)
	j.Inputs["prompt"] = task
	j.Inputs["branch"] = "ralph/mul"
	s := j.start(t)
	await(t, 2*time.Minute, "the model's fourth question", func() bool { return len(m.questions()) >= 4 })
	began := time.Now()
	s.cancel(t)
	took := time.Since(began)
	res := s.wait(t, time.Minute)
	checkCancelled(t, r, s, res, took)
	if got := git(t, r.Seed, "diff", "--name-only", r.Base, "origin/ralph/mul"); got != "one.txt\ntwo.txt" {
		t.Errorf("pushed files = %q, want one.txt and two.txt", got)
	}
	checkWorkspace(t, j)
	checkSecrets(t, j, m, res)
	checkProcesses(t, seconds)
	pulls := r.pulls(t)
	if after := j.post(t); after.Code != 0 || after.Log != "Nothing to do.\n" || after.Summary != "" || len(after.Outputs) > 0 {
		t.Errorf("the post step = %+v, want one line and nothing else", after)
	}
	if now := r.pulls(t); !reflect.DeepEqual(now, pulls) {
		t.Errorf("pull requests after the post step = %+v, want %+v", now, pulls)
	}
}

// A container that does not listen: the runner's three blows hit the docker client alone.
// When it is gone, too, the post step publishes what was left, from a new container.
func TestCancelledAndKilled(t *testing.T) {
	seconds := ownSeconds()
	files := map[string]string{"agent.sh": `cat >/dev/null
if [ ! -e one.txt ]; then echo one >one.txt; echo 'The first part is there.'; exit; fi
echo two >two.txt
echo ready
sleep ` + seconds + `
`}
	for name, text := range program {
		files[name] = text
	}
	r := forge(t).newRepository(t, files)
	j := newJob(t, r, "", checkoutV6)
	j.Inputs["prompt"], j.Inputs["branch"] = task, "ralph/mul"
	j.Inputs["agent"], j.Inputs["agent-command"] = "text", "sh agent.sh"
	s := j.start(t)
	await(t, time.Minute, "the agent's words", func() bool { return strings.Contains(s.log.String(), "ready") })
	docker := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("docker", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("docker %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	pid, err := strconv.Atoi(docker("inspect", "--format", "{{.State.Pid}}", s.name))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGSTOP)
	}
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s.cancel(t)
	if took := time.Since(began); took < 10*time.Second {
		t.Errorf("the docker client ended %s after the first signal, want it killed", took)
	}
	docker("rm", "-f", s.name)
	checkProcesses(t, seconds)

	res := j.post(t)
	if res.Code != 0 || res.Outputs["status"] != "interrupted" || res.Outputs["iterations"] != "2" || !strings.Contains(res.Summary, "the run was killed") {
		t.Errorf("the post step: exit code %d, outputs %v, summary:\n%s", res.Code, res.Outputs, res.Summary)
	}
	if got, want := res.Outputs["head-sha"], r.fetch(t, "ralph/mul"); got != want {
		t.Errorf("output head-sha = %q, want %q", got, want)
	}
	if got := git(t, r.Seed, "diff", "--name-only", r.Base, "origin/ralph/mul"); got != "one.txt\ntwo.txt" {
		t.Errorf("pushed files = %q, want one.txt and two.txt", got)
	}
	if ps := r.pulls(t); len(ps) != 1 || ps[0].Head.Ref != "ralph/mul" || !strings.Contains(ps[0].Body, "Interrupted") {
		t.Errorf("pull requests = %+v, want one that says Interrupted", ps)
	}
	checkWorkspace(t, j)
	if again := j.post(t); again.Code != 0 || again.Log != "Nothing to do.\n" {
		t.Errorf("the same again = %+v, want one line", again)
	}
}

// The same with an agent that ignores both signals and holds its output open.
func TestCancelledStubbornAgent(t *testing.T) {
	seconds := ownSeconds()
	files := map[string]string{"agent.sh": `trap '' INT TERM HUP
echo one >one.txt
setsid sh -c 'trap "" INT TERM HUP; sleep ` + seconds + `' &
echo ready
while :; do sleep 1; done
`}
	for name, text := range program {
		files[name] = text
	}
	r := forge(t).newRepository(t, files)
	j := newJob(t, r, "", checkoutV6)
	j.Inputs["prompt"] = task
	j.Inputs["branch"] = "ralph/mul"
	j.Inputs["agent"] = "text"
	j.Inputs["agent-command"] = "sh agent.sh"
	s := j.start(t)
	await(t, time.Minute, "the agent's first words", func() bool { return strings.Contains(s.log.String(), "ready") })
	began := time.Now()
	s.cancel(t)
	took := time.Since(began)
	checkCancelled(t, r, s, s.wait(t, time.Minute), took)
	if got := git(t, r.Seed, "diff", "--name-only", r.Base, "origin/ralph/mul"); got != "one.txt" {
		t.Errorf("pushed files = %q, want one.txt", got)
	}
	checkWorkspace(t, j)
	checkProcesses(t, seconds)
}

func checkCancelled(t *testing.T, r *repository, s *step, res result, took time.Duration) {
	t.Helper()
	t.Logf("ended %s after the first signal", took.Round(10*time.Millisecond))
	// Past this the runner's SIGTERM comes, and soon its SIGKILL.
	if took > 7500*time.Millisecond {
		t.Errorf("the step took %s to end, want less than 7.5 s", took)
	}
	if res.Code != 130 {
		t.Errorf("exit code = %d, want 130", res.Code)
	}
	if got := res.Outputs["status"]; got != "interrupted" {
		t.Errorf("output status = %q, want interrupted", got)
	}
	if first, _, _ := strings.Cut(res.Summary, "\n"); !strings.Contains(first, "Interrupted") {
		t.Errorf("summary: the first line is %q, want the outcome", first)
	}
	if !slices.Contains(r.branches(t), "ralph/mul") {
		t.Fatalf("branches = %q, want ralph/mul among them", r.branches(t))
	}
	if got, want := res.Outputs["head-sha"], r.fetch(t, "ralph/mul"); got != want {
		t.Errorf("output head-sha = %q, want %q", got, want)
	}
	ps := r.pulls(t)
	if len(ps) != 1 || ps[0].Head.Ref != "ralph/mul" || !strings.Contains(ps[0].Body, "Interrupted") {
		t.Errorf("pull requests = %+v, want one that says Interrupted", ps)
	}
	if out, err := exec.Command("docker", "ps", "-aq", "--filter", "name="+s.name).Output(); err != nil || len(out) > 0 {
		t.Errorf("the container is left: %s %v", out, err)
	}
}
