//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// claudeLocally are the flags of a container whose claude talks to the scripted
// model.
func claudeLocally(m *model) []string {
	return []string{"-e", "ANTHROPIC_API_KEY=" + apiKey, "-e", "ANTHROPIC_BASE_URL=" + m.URL}
}

// commitTo makes a commit of everything in a repository, as its owner.
func commitTo(t *testing.T, repo, message string, files map[string]string) {
	t.Helper()
	writeFiles(t, repo, files)
	git(t, repo, "add", "-A")
	git(t, repo, "commit", "-q", "-m", message)
	owned(t, repo, 1000)
}

// `ralph plan` with the real claude: the built-in prompt, the agent's own
// commit, the session log.
func TestLocalPlan(t *testing.T) {
	t.Parallel()
	repo := localRepository(t, 1000)
	commitTo(t, repo, "specs", map[string]string{"specs/mul.md": "mul multiplies.\n"})
	m := newModel(t, script(
		bash("mkdir -p .ralph && echo '- mul' >.ralph/implementation_plan.md && git add .ralph/implementation_plan.md && git commit -qm 'agent: plan'"),
		answer{Text: "The plan stands. <promise>COMPLETE</promise>"},
	))
	log, code := dockerRun{Repo: repo, Image: image(t), Network: "host", Flags: claudeLocally(m), Args: []string{"plan", "3"}}.run(t)
	if code != 0 {
		t.Fatalf("ralph plan = %d, want 0\n%s", code, log)
	}
	if got := git(t, repo, "log", "-1", "--format=%s", "main"); got != "agent: plan" {
		t.Errorf("last commit on main: %q, want the agent's own\n%s", got, log)
	}
	asked := m.questions()[0].Text
	for _, want := range []string{"specs", ".ralph/implementation_plan.md", "<promise>COMPLETE</promise>"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	if strings.Contains(asked, "${") {
		t.Error("the prompt holds a variable that was not replaced")
	}
	logs, err := filepath.Glob(filepath.Join(repo, ".ralph", "logs", "session-*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("session logs: %v, %v; want one", logs, err)
	}
	for _, want := range []string{"Mode: plan", "ITERATION 1 COMPLETE", "Cost: $", "SESSION SUMMARY", "Exit Code: 0", `"type":"result"`} {
		if !strings.Contains(readFile(t, logs[0]), want) {
			t.Errorf("the session log lacks %q", want)
		}
	}
}

// `ralph run` with settings.json and the real claude: a guardrail that is red
// first, and a commit whose message the agent is asked for.
func TestLocalSettings(t *testing.T) {
	t.Parallel()
	repo := localRepository(t, 1000)
	commitTo(t, repo, "settings", map[string]string{".ralph/settings.json": `{
  "maximumIterations": 4,
  "agent": { "command": "claude" },
  "guardrails": [ { "command": "sh test.sh", "failAction": "APPEND", "hint": "Mend add." } ],
  "scm": { "command": "git", "tasks": ["commit"] }
}
`})
	m := newModel(t, script(
		bash(`printf 'add() { echo $(($1 - $2)); }\nmul() { echo $(($1 * $2)); }\n' >calc.sh`),
		answer{Text: "Done: <response>DONE</response>"},
		bash(`printf 'add() { echo $(($1 + $2)); }\nmul() { echo $(($1 * $2)); }\n' >calc.sh`),
		answer{Text: "Now it is. <response>done</response>"},
		answer{Text: "Add `mul` to $(calc.sh)"},
	))
	log, code := dockerRun{Repo: repo, Image: image(t), Network: "host", Flags: claudeLocally(m), Args: []string{"run", "--prompt", task}}.run(t)
	if code != 0 {
		t.Fatalf("ralph run = %d, want 0\n%s", code, log)
	}
	if got := git(t, repo, "log", "-1", "--format=%s", "main"); got != "Add `mul` to $(calc.sh)" {
		t.Errorf("last commit on main: %q, want the message the agent gave\n%s", got, log)
	}
	if got := git(t, repo, "diff", "--name-only", "HEAD~1", "HEAD"); got != "calc.sh" {
		t.Errorf("the commit changes %q, want calc.sh", got)
	}
	questions := m.questions()
	if len(questions) != 5 {
		t.Fatalf("%d questions, want 5", len(questions))
	}
	for want, text := range map[string]string{
		`Guardrail "sh test.sh" failed with exit code 1.`: questions[2].Text, "Hint: Mend add.": questions[2].Text,
		"Provide a short imperative commit message for the changes.": questions[4].Text,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("a question lacks %q:\n%s", want, text)
		}
	}
}

// `ralph supervise` in the container, where it is the first process: children that
// got away are ended before the next attempt, and after the wait at the end.
func TestLocalSupervise(t *testing.T) {
	t.Parallel()
	repo, seconds := localRepository(t, 1000), ownSeconds()
	commitTo(t, repo, "a task", map[string]string{
		"tasks/1/README": "the task\n",
		"agent.sh":       "n=$(ls -d \"$TASK_FOLDER\"/runs/* | wc -l)\necho \"attempt $n\"\n" + escape(seconds) + "\n[ \"$n\" = 3 ] || exit $n\ntouch \"$TASK_FOLDER/DONE\"\n",
	})
	log, code := dockerRun{
		Repo: repo, Image: image(t) + "-slim",
		Args: []string{"supervise", "--task-dir", "tasks/1", "--restart-delay", "0", "--child-wait-timeout", "2s", "--", "sh", "agent.sh"},
	}.run(t)
	if code != 0 || !strings.Contains(log, "task completed (DONE marker present, active children ended after the wait)") {
		t.Fatalf("ralph supervise = %d, want 0 and a completed task\n%s", code, log)
	}
	if !strings.Contains(log, "Attempt 2: Agent failed (exit 2), restarting...") {
		t.Errorf("the second attempt is missing\n%s", log)
	}
	checkProcesses(t, seconds)
}

// Without a plan there is nothing to build, and the exit code says so.
func TestLocalBuildWithoutPlan(t *testing.T) {
	t.Parallel()
	repo := localRepository(t, 1000)
	commitTo(t, repo, "specs", map[string]string{"specs/mul.md": "mul multiplies.\n"})
	m := newModel(t, script(answer{Text: "asked"}))
	log, code := dockerRun{Repo: repo, Image: image(t), Network: "host", Flags: claudeLocally(m), Args: []string{"build"}}.run(t)
	if code != 2 || !strings.Contains(log, "Implementation plan not found. Run 'ralph plan' first.") || len(m.questions()) != 0 {
		t.Errorf("ralph build = %d with %d questions, want 2 and none\n%s", code, len(m.questions()), log)
	}
}
