//go:build e2e

package e2e

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// sessionID is what the sessions of these tests are called.
const sessionID = "4c1e7d3a-6f0b-4b64-9d6a-0c1d2e3f4a5b"

// agentSession is a session of the image's own claude, without ralph around it: a
// person who has the plugin.
type agentSession struct {
	Repo  string // in /repo, owned by 1000, who the person is
	Home  string // of the person
	Model string // its URL
	Env   []string
	Args  []string // of claude; the first may be another program
}

func newAgentSession(t *testing.T, model string) agentSession {
	t.Helper()
	repo := localRepository(t, 1000)
	home := filepath.Join(filepath.Dir(repo), "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	owned(t, home, 1000)
	return agentSession{Repo: repo, Home: home, Model: model}
}

func (s agentSession) run(t *testing.T) (string, int) {
	t.Helper()
	program, args := "claude", s.Args
	if len(args) > 0 && filepath.IsAbs(args[0]) {
		program, args = args[0], args[1:]
	}
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	line := []string{
		"run", "--rm", "--label", "ralph-e2e", "--network", "host", "--user", "1000:1000", "--entrypoint", program,
		"-v", s.Repo + ":/repo", "-v", s.Home + ":/person", "-v", filepath.Join(top, "plugin") + ":/market/plugin:ro",
		"-v", filepath.Join(top, ".claude-plugin") + ":/market/.claude-plugin:ro",
	}
	for _, env := range append([]string{
		"HOME=/person", "ANTHROPIC_API_KEY=" + apiKey, "ANTHROPIC_BASE_URL=" + cmp.Or(s.Model, "http://127.0.0.1:9"),
		"DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=0",
	}, s.Env...) {
		line = append(line, "-e", env)
	}
	cmd := exec.Command("docker", append(append(line, image(t)), args...)...)
	log := &logBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	err = runFor(cmd, 2*time.Minute)
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return log.String(), cmd.ProcessState.ExitCode()
}

// say runs one turn with the plugin loaded.
func (s agentSession) say(t *testing.T, prompt string, flags ...string) (string, int) {
	t.Helper()
	s.Args = append([]string{"-p", prompt, "--plugin-dir", "/market/plugin", "--output-format", "stream-json", "--verbose"}, flags...)
	return s.run(t)
}

func (s agentSession) states(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.Repo, ".ralph", "sessions", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// claude's own checks of the formats, and the way a person installs it.
func TestPluginInstalls(t *testing.T) {
	t.Parallel()
	s := newAgentSession(t, "")
	s.Args = []string{"/bin/sh", "-ec", `
		claude plugin validate --strict /market/plugin
		claude plugin validate --strict /market
		claude plugin marketplace add /market
		claude plugin install ralph@ralph-action
		claude plugin list
		claude plugin details ralph@ralph-action`}
	log, code := s.run(t)
	if code != 0 || strings.Count(log, "Validation passed") != 2 {
		t.Errorf("validation and installation = %d, want 0 and two manifests that pass\n%s", code, log)
	}
	for _, want := range []string{"ralph-loop", "ulw-loop", "cancel-ralph", "ralph-plan", "SessionStart", "UserPromptExpansion", "PreToolUse", "PostToolUse", "Stop"} {
		if !strings.Contains(log, want) {
			t.Errorf("the installed plugin lacks %s\n%s", want, log)
		}
	}
}

// /ralph-loop: a first stop is refused, a second one with the promise is let
// through; no shell reads the task, and the agent cannot cancel it. 004-01, 004-03, 004-06
func TestPluginLoop(t *testing.T) {
	t.Parallel()
	m := newModel(t, script(
		bash("ralph cancel"),
		bash("echo work >>work.txt"),
		answer{Text: "I am done."},
		answer{Text: "Now really: <promise>ALL DONE</promise>"},
	))
	s := newAgentSession(t, m.URL)
	const nasty = "Do it: $(touch /repo/oops) `touch /repo/oops` the user's \\\"thing\\\"; touch /repo/oops\nEOF\ntouch /repo/oops"
	log, code := s.say(t, `/ralph:ralph-loop "`+nasty+`" --max-iterations 5 --completion-promise "ALL DONE"`,
		"--session-id", sessionID, "--dangerously-skip-permissions", "--include-hook-events")
	seen := m.bodies()
	if code != 0 || len(seen) != 4 {
		t.Fatalf("the loop = %d after %d questions, want 0 after 4\n%s", code, len(seen), log)
	}
	if !strings.Contains(seen[1], "only the person may end it") {
		t.Errorf("the agent could cancel its loop\n%s", log)
	}
	if first := seen[0]; !strings.Contains(first, `output the exact marker\n<promise>ALL DONE</promise>`) && !strings.Contains(first, `output the exact marker\n\u003cpromise\u003eALL DONE`) {
		t.Errorf("the first request does not hold the rule:\n%s", first)
	}
	if strings.Contains(seen[2], "You attempted to end the loop") || !strings.Contains(seen[3], "You attempted to end the loop") {
		t.Errorf("the stop without the promise was not refused, or something else was\n%s", log)
	}
	if last := m.questions()[3].Last; !strings.Contains(last, "Original task: Do it: $(touch /repo/oops) `touch /repo/oops` the user's \"thing\"; touch /repo/oops\nEOF\ntouch /repo/oops") {
		t.Errorf("the continuation does not repeat the task to the letter:\n%s", last)
	}
	if _, err := os.Stat(filepath.Join(s.Repo, "oops")); err == nil {
		t.Error("a shell read the task")
	}
	if !strings.Contains(log, "ralph: the loop ended at iteration 2 with PROMISE_ACCEPTED") {
		t.Errorf("the person is not told how the loop ended\n%s", log)
	}
	if left := s.states(t); len(left) != 0 {
		t.Errorf("the loop is over and left %q", left)
	}
}

// /ulw-loop says so at every continuation, and a limit ends it. 004-05, 004-09
func TestPluginUltrawork(t *testing.T) {
	t.Parallel()
	m := newModel(t, script(answer{Text: "I am done."}))
	s := newAgentSession(t, m.URL)
	log, code := s.say(t, "/ralph:ulw-loop Do it --max-iterations 3")
	asked := m.questions()
	if code != 0 || len(asked) != 3 {
		t.Fatalf("the loop = %d after %d questions, want 0 after 3\n%s", code, len(asked), log)
	}
	if got := strings.Count(asked[2].Text, "Ultrawork mode:"); got != 2 {
		t.Errorf("%d continuations say ultrawork, want 2:\n%s", got, asked[2].Text)
	}
}

// A command line that is wrong begins nothing and asks no model.
func TestPluginLoopMisuse(t *testing.T) {
	t.Parallel()
	m := newModel(t, script(answer{Text: "asked"}))
	s := newAgentSession(t, m.URL)
	log, _ := s.say(t, "/ralph:ralph-loop Do it --max-iterations many")
	if len(m.questions()) != 0 || !strings.Contains(log, "give a whole number") || len(s.states(t)) != 0 {
		t.Errorf("a wrong command line: %d questions, states %q, want none and an explanation\n%s", len(m.questions()), s.states(t), log)
	}
}

// /cancel-ralph ends the loop of a session that was interrupted. 004-10
func TestPluginCancel(t *testing.T) {
	t.Parallel()
	var back atomic.Bool
	m := newModel(t, func(q question) answer {
		if q.Number > 1 && !back.Load() { // breaks off within the loop, as when somebody interrupts
			return answer{Status: 400, Kind: "invalid_request_error"}
		}
		return answer{Text: "I am done."}
	})
	s := newAgentSession(t, m.URL)
	log, _ := s.say(t, `/ralph:ralph-loop "Do it"`, "--session-id", sessionID)
	if len(s.states(t)) != 1 || !strings.Contains(log, "You attempted to end the loop") {
		t.Fatalf("states %q, want one of a loop that is on\n%s", s.states(t), log)
	}
	back.Store(true)
	before := len(m.questions())
	log, code := s.say(t, "/ralph:cancel-ralph", "--resume", sessionID)
	asked := m.questions()
	if code != 0 || len(asked) != before+1 || len(s.states(t)) != 0 {
		t.Fatalf("/cancel-ralph = %d after %d questions, states %q; want 0 after 1 and none\n%s", code, len(asked)-before, s.states(t), log)
	}
	if !strings.Contains(asked[before].Text, "Cancelled the loop of session") {
		t.Errorf("the agent was not told what happened:\n%s", asked[before].Text)
	}
	if log, code := s.say(t, "Go on with something else", "--resume", sessionID); code != 0 || len(m.questions()) != before+2 {
		t.Errorf("after it = %d after %d questions, want 0 after 1\n%s", code, len(m.questions())-before-1, log)
	}
}

// A context alert is in the request after the tool call that passed the
// threshold, and said once. 003-16
func TestPluginContextAlert(t *testing.T) {
	t.Parallel()
	m := newModel(t, script(bash("echo one"), bash("echo two"), answer{Text: "Done."}))
	s := newAgentSession(t, m.URL)
	s.Env = []string{"CLAUDE_CONTEXT_WINDOW=100"}
	log, code := s.say(t, "Say one and two", "--dangerously-skip-permissions")
	seen := m.bodies()
	if code != 0 || len(seen) != 3 {
		t.Fatalf("the session = %d after %d questions, want 0 after 3\n%s", code, len(seen), log)
	}
	for i, want := range []int{0, 1, 1} {
		if got := strings.Count(seen[i], "Wrap up immediately. Do NOT start new work."); got != want {
			t.Errorf("request %d holds the alert %d times, want %d", i+1, got, want)
		}
	}
}

// While a task loop runs, a stop waits for a legal task list and a clean tree.
// 003-17, 003-19, 003-24
func TestPluginTaskLoop(t *testing.T) {
	t.Parallel()
	story := `{"project":"calc","branchName":"ralph/mul","description":"mul","verifyCommands":[],"userStories":[{"id":"US-001","title":"mul","description":"",` +
		`"acceptanceCriteria":["mul 2 3 prints 6"],"priority":1,"passes":PASSES,"reviewStatus":null,"reviewCount":0,"reviewFeedback":"","notes":"done","dependsOn":[]}]}` + "\n"
	fixed := strings.ReplaceAll(story, "PASSES", "false")
	m := newModel(t, script(
		answer{Text: "The story is done."},
		bash("cat >ralph/tasks.json <<'EOF'\n"+fixed+"EOF\n"),
		answer{Text: "Repaired."},
		bash("git -c user.name=A -c user.email=a@example.com commit -qam tasks"),
		answer{Text: "Committed."},
	))
	s := newAgentSession(t, m.URL)
	commitTo(t, s.Repo, "tasks", map[string]string{"ralph/tasks.json": strings.ReplaceAll(story, "PASSES", "true"), ".gitignore": ".ralph-active\n"})
	writeFiles(t, s.Repo, map[string]string{".ralph-active": `{"timestamp":"2026-01-02T03:04:05Z","pid":1,"max_iterations":15,"mode":"direct","skipReview":false,"reviewCap":5,` +
		`"iterationMode":"implement","preIterationSnapshot":{"US-001":{"passes":false,"reviewStatus":null,"reviewCount":0}}}` + "\n"})
	owned(t, s.Repo, 1000)
	log, code := s.say(t, "Work on the story", "--dangerously-skip-permissions")
	asked := m.questions()
	if code != 0 || len(asked) != 5 {
		t.Fatalf("the session = %d after %d questions, want 0 after 5\n%s", code, len(asked), log)
	}
	for i, want := range map[int]string{
		1: "Implement iterations cannot set passes=true or approve stories.",
		3: "There are still uncommitted changes:",
	} {
		if !strings.Contains(asked[i].Last, want) {
			t.Errorf("question %d lacks %q:\n%s", i+1, want, asked[i].Last)
		}
	}
}

// The planning skill reaches the model with both of its modes, and is offered by
// its phrases. 003-32
func TestPluginPlan(t *testing.T) {
	t.Parallel()
	m := newModel(t, script(answer{Text: "Run ralph tasks init first."}))
	s := newAgentSession(t, m.URL)
	log, code := s.say(t, "/ralph:ralph-plan a calculator")
	seen := m.bodies()
	if code != 0 || len(seen) != 1 {
		t.Fatalf("the session = %d after %d questions, want 0 after 1\n%s", code, len(seen), log)
	}
	for _, want := range []string{"Mode 1: full planning", "Mode 2: task derivation", "ralph tasks init", "said with the command: a calculator"} {
		if !strings.Contains(m.questions()[0].Text, want) {
			t.Errorf("the skill lacks %q:\n%s", want, m.questions()[0].Text)
		}
	}
	s.say(t, "Hello")
	for _, want := range []string{"ralph:ralph-plan", "plan this feature for ralph"} {
		if seen := m.bodies(); len(seen) != 2 || !strings.Contains(seen[1], want) {
			t.Errorf("another prompt does not offer %q", want)
		}
	}
}

// On a machine without ralph a session works as it would without the plugin, and
// says once what is missing.
func TestPluginWithoutRalph(t *testing.T) {
	t.Parallel()
	m := newModel(t, script(bash("echo work >work.txt"), answer{Text: "Done."}))
	s := newAgentSession(t, m.URL)
	s.Env = []string{"PATH=/usr/bin:/bin"} // ralph and claude are in /usr/local/bin
	s.Args = []string{
		"/usr/local/bin/claude", "-p", "Work", "--plugin-dir", "/market/plugin", "--output-format", "stream-json", "--verbose", "--include-hook-events",
		"--dangerously-skip-permissions",
	}
	log, code := s.run(t)
	if code != 0 || len(m.questions()) != 2 || readFile(t, filepath.Join(s.Repo, "work.txt")) != "work\n" {
		t.Fatalf("the session = %d after %d questions, want 0 after 2 and the work done\n%s", code, len(m.questions()), log)
	}
	if got := strings.Count(log, "it needs the program ralph on PATH"); got == 0 {
		t.Errorf("nobody says that ralph is missing\n%s", log)
	}
}

// Who has the plugin installed and runs `ralph session` has its hooks once: the
// plugin keeps quiet beside those that ralph wires itself.
func TestPluginBesideSession(t *testing.T) {
	t.Parallel()
	m := newModel(t, script(
		bash("echo work >>work.txt"),
		answer{Text: "I am done."},
		answer{Text: "Now really: <promise>DONE</promise>"},
	))
	s := newAgentSession(t, m.URL)
	s.Args = []string{"/bin/sh", "-ec", `
		claude plugin marketplace add /market
		claude plugin install ralph@ralph-action
		ralph session "Do it" --completion-promise DONE --max-iterations 5 --isolation off`}
	log, code := s.run(t)
	seen := m.bodies()
	if code != 0 || len(seen) != 3 || !strings.Contains(log, "PROMISE_ACCEPTED") {
		t.Fatalf("ralph session = %d after %d questions, want 0 after 3 and an accepted promise\n%s", code, len(seen), log)
	}
	if !strings.Contains(seen[0], "ralph:ralph-plan") {
		t.Errorf("the plugin was not loaded\n%s", log)
	}
	if got := strings.Count(seen[2], "Stop hook feedback:"); got != 1 {
		t.Errorf("the stop was refused %d times, want once\n%s", got, log)
	}
}
