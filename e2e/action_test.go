//go:build e2e

package e2e

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// program is a repository with a program, its tests and nothing else.
var program = map[string]string{
	"calc.sh":    "add() { echo $(($1 + $2)); }\n",
	"test.sh":    "set -eu\n. ./calc.sh\ngot=$(add 2 2)\n[ \"$got\" = 4 ] || { echo \"add 2 2: got $got, want 4\"; exit 1; }\n",
	".gitignore": "*.tmp\n",
}

const task = "Add a function mul to calc.sh. Keep the tests green."

// snoop is what an agent that was taken over tries: the job's tokens, other
// steps' files, the engine's socket.
const snoop = `env
cat .git/config
for f in /proc/[0-9]*/environ; do tr '\0' '\n' <"$f"; done
cat /github/workflow/event.json /github/runner_temp/*.config /github/file_commands/* /github/home/.gitconfig
cat /github/runner_temp/_github_workflow/event.json
echo "X=forged" >>/github/file_commands/set_env_1
echo "status=forged" >>/github/runner_temp/_runner_file_commands/set_output_1
[ -w /var/run/docker.sock ] && echo the-socket-is-writable
git config --get-regexp '.*' ; git fetch origin main && echo fetched-with-a-token`

// sleepers are the processes that escape leaves behind.
var sleepers atomic.Int64

// ownSeconds is how long a process of one test sleeps, by which it is told from
// all others on the machine.
func ownSeconds() string { return fmt.Sprintf("424%07d%04d", os.Getpid(), sleepers.Add(1)) }

// escape leaves a process behind that the end of the agent does not reach.
func escape(seconds string) string { return "(setsid nohup sleep " + seconds + " >/dev/null 2>&1 &)" }

// survivors counts what escape left, from inside the container. It substitutes no
// command, which gemini refuses.
const survivors = `for p in /proc/[0-9]*/cmdline; do tr '\0' ' ' <"$p" 2>/dev/null; echo; done | grep -c '^sleep 424' | sed 's/^/survivors=/'`

// checkProcesses looks for what escape left, from outside, where every
// container's processes are seen.
func checkProcesses(t *testing.T, seconds string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		// A process may end meanwhile.
		if b, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(b), "sleep\x00"+seconds+"\x00") {
			t.Errorf("%s is left: sleep %s", path, seconds)
		}
	}
}

// mainJob is the agent's side of the main job: it breaks the program in
// iteration 1 and promises all the same, repairs it in iteration 2.
func mainJob(seconds string) func(question) answer {
	return script(
		bash(snoop),
		bash(`printf 'add() { echo $(($1 - $2)); }\nmul() { echo $(($1 * $2)); }\n' >calc.sh; echo scratch >note.tmp; `+escape(seconds)),
		answer{Text: "mul is there. <promise>COMPLETE</promise>"},
		bash(survivors+`; printf 'add() { echo $(($1 + $2)); }\nmul() { echo $(($1 * $2)); }\n' >calc.sh; sh test.sh`),
		answer{Text: "add adds again, and mul multiplies.\n\n<promise>COMPLETE</promise>"},
	)
}

// The main job with each agent of the image, on what each actions/checkout leaves.
func TestAction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		agent    func(*job, *model)
		version  checkout
		unpriced bool
	}{
		{"checkout v4, on the branch", (*job).withClaude, checkoutV4, false},
		{"checkout v6, detached", (*job).withClaude, checkoutV6, false},
		{"codex", (*job).withCodex, checkoutV6, false},
		{"codex, a model without a price", func(j *job, m *model) {
			j.withCodex(m)
			j.Inputs["model"] = "gpt-of-ours"
		}, checkoutV4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			doMainJob(t, newMainJob(t, c.version), c.agent, c.unpriced)
		})
	}
}

// newMainJob is a step whose inputs say all but the agent.
func newMainJob(t *testing.T, version checkout) *job {
	t.Helper()
	r := forge(t).newRepository(t, program)
	r.newLabel(t, "ralph")
	j := newJob(t, r, "", version)
	j.Inputs["prompt"] = task
	j.Inputs["guardrails"] = "sh test.sh"
	j.Inputs["max-iterations"] = "5"
	j.Inputs["branch"] = "ralph/mul"
	j.Inputs["title"] = "Add mul"
	j.Inputs["labels"] = "ralph"
	return j
}

// doMainJob runs the step with an agent, and looks at everything.
func doMainJob(t *testing.T, j *job, agent func(*job, *model), unpriced bool) result {
	t.Helper()
	seconds := ownSeconds()
	m := newModel(t, mainJob(seconds))
	agent(j, m)
	res := j.run(t, 5*time.Minute)
	if res.Code != 0 {
		t.Fatalf("exit code = %d, want 0", res.Code)
	}
	checkConversation(t, m)
	checkProcesses(t, seconds)
	checkOutputs(t, j.Repo, res, unpriced)
	checkPull(t, j.Repo, res)
	checkCommits(t, j.Repo, "ralph/mul")
	checkSummary(t, res)
	checkReport(t, j, res, unpriced)
	checkWorkspace(t, j)
	checkSecrets(t, j, m, res)
	return res
}

func checkConversation(t *testing.T, m *model) {
	t.Helper()
	qs := m.questions()
	if len(qs) != 5 {
		t.Fatalf("the model was asked %d times, want 5", len(qs))
	}
	for _, q := range qs {
		if q.Key != apiKey {
			t.Errorf("question %d came with the key %q, want %q", q.Number, q.Key, apiKey)
		}
	}
	if !strings.Contains(qs[0].Text, task) {
		t.Error("iteration 1: the prompt lacks the task")
	}
	for _, want := range []string{task, `Guardrail "sh test.sh" failed with exit code 1.`, "add 2 2: got 0, want 4"} {
		if !strings.Contains(qs[3].Text, want) {
			t.Errorf("iteration 2: the prompt lacks %q", want)
		}
	}
	if got := qs[4].Last; !strings.Contains(got, "survivors=0") {
		t.Errorf("iteration 2 sees processes of iteration 1: %q, want survivors=0", got)
	}
}

var sha = regexp.MustCompile(`^[0-9a-f]{40}$`)

func checkOutputs(t *testing.T, r *repository, res result, unpriced bool) {
	t.Helper()
	for name, want := range map[string]string{
		"status": "completed", "completed": "true", "iterations": "2", "branch": "ralph/mul",
		"pull-request-number": "1", "pull-request-url": r.URL + "/" + r.Name + "/pulls/1", "pull-request-operation": "created",
		"head-sha": r.fetch(t, "ralph/mul"),
	} {
		if got := res.Outputs[name]; got != want {
			t.Errorf("output %s = %q, want %q", name, got, want)
		}
	}
	if !sha.MatchString(res.Outputs["head-sha"]) {
		t.Errorf("output head-sha = %q, want a commit id", res.Outputs["head-sha"])
	}
	for _, name := range []string{"cost-usd", "input-tokens", "output-tokens", "duration-seconds"} {
		if name == "cost-usd" && unpriced {
			if got := res.Outputs[name]; got != "" {
				t.Errorf("output %s = %q, want nothing: nobody knows it", name, got)
			}
			continue
		}
		if n, err := strconv.ParseFloat(res.Outputs[name], 64); err != nil || n <= 0 {
			t.Errorf("output %s = %q, want a number above 0", name, res.Outputs[name])
		}
	}
}

func checkPull(t *testing.T, r *repository, res result) {
	t.Helper()
	ps := r.pulls(t)
	if len(ps) != 1 {
		t.Fatalf("the forge has %d pull requests, want 1", len(ps))
	}
	p := ps[0]
	if p.Title != "Add mul" || p.State != "open" || p.Head.Ref != "ralph/mul" || p.Base.Ref != "main" || p.Draft {
		t.Errorf("pull request = %+v, want Add mul, open, ralph/mul into main, no draft", p)
	}
	if p.Head.SHA != res.Outputs["head-sha"] {
		t.Errorf("pull request: head = %s, want %s", p.Head.SHA, res.Outputs["head-sha"])
	}
	if len(p.Labels) != 1 || p.Labels[0].Name != "ralph" {
		t.Errorf("pull request: labels = %v, want ralph", p.Labels)
	}
	for _, want := range []string{"Completed in 2 iterations", task, "sh test.sh", "/actions/runs/42"} {
		if !strings.Contains(p.Body, want) {
			t.Errorf("pull request: the body lacks %q:\n%s", want, p.Body)
		}
	}
}

// checkCommits wants one commit per iteration on top of the base, by the actor.
func checkCommits(t *testing.T, r *repository, branch string) {
	t.Helper()
	r.fetch(t, branch)
	tip := "origin/" + branch
	if got, want := git(t, r.Seed, "log", "--reverse", "--format=%s|%an|%cn|%(trailers:key=Ralph-Iteration,valueonly,separator=%x2C)", r.Base+".."+tip),
		"Change calc.sh|octo|github-actions[bot]|1\nChange calc.sh|octo|github-actions[bot]|2"; got != want {
		t.Errorf("commits = %q, want %q", got, want)
	}
	if got := git(t, r.Seed, "diff", "--name-status", r.Base, tip); got != "M\tcalc.sh" {
		t.Errorf("changed files = %q, want calc.sh alone", got)
	}
	if got := git(t, r.Seed, "show", tip+":calc.sh"); !strings.Contains(got, "mul") || !strings.Contains(got, "$1 + $2") {
		t.Errorf("calc.sh = %q, want the repaired one", got)
	}
	if got := git(t, r.Seed, "rev-parse", tip+"~2"); got != r.Base {
		t.Errorf("the branch grows from %s, want %s", got, r.Base)
	}
}

func checkSummary(t *testing.T, res result) {
	t.Helper()
	first, _, _ := strings.Cut(res.Summary, "\n")
	if !strings.Contains(first, "Completed in 2 iterations") {
		t.Errorf("summary: the first line is %q, want the outcome", first)
	}
	for _, want := range []string{task, "```mermaid", "sh test.sh", "add 2 2: got 0, want 4", res.Outputs["pull-request-url"]} {
		if !strings.Contains(res.Summary, want) {
			t.Errorf("summary lacks %q:\n%s", want, res.Summary)
		}
	}
}

func checkReport(t *testing.T, j *job, res result, unpriced bool) {
	t.Helper()
	report := j.report(t, res)
	if report.Outcome != "completed" || len(report.Iterations) != 2 {
		t.Errorf("report: outcome %q with %d iterations, want completed with 2", report.Outcome, len(report.Iterations))
	}
	sessions := map[string]bool{}
	for i, iteration := range report.Iterations {
		for _, turn := range iteration.Turns {
			sessions[turn.Session] = true
			if !turn.Tokens.Known || turn.Tokens.Output == 0 || (turn.Cost.MicroUSD == nil) != unpriced {
				t.Errorf("report: iteration %d: tokens %+v, cost %+v; want tokens, and a cost: %t", i+1, turn.Tokens, turn.Cost, !unpriced)
			}
		}
	}
	if delete(sessions, ""); len(sessions) != 2 {
		t.Errorf("report: sessions %v, want one of each iteration", sessions)
	}
	logs, err := filepath.Glob(filepath.Join(j.Workspace, ".ralph", "guardrail_001_sh_test_sh*.log"))
	if err != nil || len(logs) == 0 {
		t.Error("no .ralph/guardrail_001_sh_test_sh.log was written")
	}
}

// checkWorkspace wants the checkout as a later step expects it.
func checkWorkspace(t *testing.T, j *job) {
	t.Helper()
	if got := readFile(t, filepath.Join(j.Workspace, ".git", "config")); got != j.config {
		t.Errorf(".git/config = %q, want it as checkout left it: %q", got, j.config)
	}
	if got := git(t, j.Workspace, "ls-remote", "origin", "refs/heads/main"); !strings.HasPrefix(got, j.Repo.Base) {
		t.Errorf("git ls-remote origin in a later step = %q, want %s", got, j.Repo.Base)
	}
	if got := git(t, j.Workspace, "status", "--porcelain"); got != "" {
		t.Errorf("git status = %q, want nothing: all work is committed", got)
	}
	for _, path := range files(t, j.Workspace) {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if uid := int(info.Sys().(*syscall.Stat_t).Uid); uid != runnerUID() {
			t.Errorf("%s belongs to uid %d, want the runner's, %d", path, uid, runnerUID())
		}
	}
}

var maskCommand = regexp.MustCompile(`(?m)^::add-mask::.*$`)

// checkSecrets looks for every credential wherever the run wrote or spoke.
func checkSecrets(t *testing.T, j *job, m *model, res result) {
	t.Helper()
	token := j.Repo.Token
	job := map[string]string{
		"the token": token, "the token in base64": base64.StdEncoding.EncodeToString([]byte(token)),
		"checkout's header": j.Repo.basic(), "the runtime token": runtimeToken, "the id token": oidcToken,
		"the job's event": "event-of-the-job",
	}
	all := map[string]string{"the API key": apiKey, "the API key in base64": base64.StdEncoding.EncodeToString([]byte(apiKey)), "the API key in a URL": url.QueryEscape(apiKey)}
	for what, value := range job {
		all[what] = value
		for _, q := range m.questions() {
			if strings.Contains(q.Text, value) {
				t.Errorf("the agent found %s (question %d)", what, q.Number)
			}
		}
	}
	for _, q := range m.questions() {
		for _, sign := range []string{"the-socket-is-writable", "fetched-with-a-token"} {
			if strings.Contains(q.Last, "\n"+sign) {
				t.Errorf("the agent got through: %s", sign)
			}
		}
	}
	delete(all, "the job's event") // it is not secret from us
	// A runner eats these lines; they are how it learns what to mask.
	log := maskCommand.ReplaceAllString(res.Log, "")
	places := map[string]string{"the log": log, "the summary": res.Summary}
	for _, p := range j.Repo.pulls(t) {
		places["the pull request"] = p.Title + p.Body
	}
	for name, value := range res.Outputs {
		places["output "+name] = value
	}
	for _, path := range files(t, j.Workspace, j.commands, j.Home) {
		if path != filepath.Join(j.Workspace, ".git", "config") && !strings.HasPrefix(path, filepath.Join(j.Home, installed)) {
			places[path] = readFile(t, path)
		}
	}
	for branch := range slices.Values(j.Repo.branches(t)) {
		j.Repo.fetch(t, branch)
		places["branch "+branch] = git(t, j.Repo.Seed, "log", "-p", "--format=fuller", "origin/"+branch)
	}
	for where, text := range places {
		for what, value := range all {
			if strings.Contains(text, value) {
				t.Errorf("%s stands in %s", what, where)
			}
		}
	}
}
