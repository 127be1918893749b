//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// oneStory is a repository with a task list of one story.
func oneStory(t *testing.T) string {
	t.Helper()
	repo := localRepository(t, 1000)
	commitTo(t, repo, "a task list", map[string]string{
		"ralph/prd.md":       "# Multiplication\n",
		"ralph/progress.txt": "# Log\n",
		"ralph/prompt.md":    "Iteration {{RALPH_ITERATION}}: mode {{MODE}}, story {{STORY_ID}}. Say <promise>COMPLETE</promise> when all is done.\n",
		"ralph/tasks.json": `{
  "project": "calc",
  "branchName": "ralph/mul",
  "description": "Multiplication",
  "verifyCommands": ["test -f calc.sh"],
  "userStories": [
    {
      "id": "US-001",
      "title": "Add mul",
      "description": "mul multiplies",
      "acceptanceCriteria": ["mul 2 3 prints 6"],
      "priority": 1,
      "passes": false,
      "reviewStatus": null,
      "reviewCount": 0,
      "reviewFeedback": "",
      "notes": "",
      "dependsOn": []
    }
  ]
}
`,
	})
	return repo
}

// edit is a sed of the list, and a commit.
func edit(message string, fields ...string) string {
	var b strings.Builder
	b.WriteString("sed -i")
	for i := 0; i+1 < len(fields); i += 2 {
		fmt.Fprintf(&b, ` -e 's/"%s": .*,/"%s": %s,/'`, fields[i], fields[i], fields[i+1])
	}
	b.WriteString(" ralph/tasks.json")
	if message != "" {
		b.WriteString(" && git add -A && git commit -qm '" + message + "'")
	}
	return b.String()
}

func field(t *testing.T, repo, name, want string) {
	t.Helper()
	if text := readFile(t, filepath.Join(repo, "ralph", "tasks.json")); !strings.Contains(text, `"`+name+`": `+want+",") {
		t.Errorf("tasks.json: %s is not %s:\n%s", name, want, text)
	}
}

func tasksRun(t *testing.T, repo string, m *model, args ...string) (string, int) {
	t.Helper()
	return dockerRun{Repo: repo, Image: image(t), Network: "host", Flags: claudeLocally(m), Args: append([]string{"tasks", "run"}, args...)}.run(t)
}

// One story with the real claude: implement, review (changes requested), fix,
// review (approved). The stop hook is there all the time and lets each of them
// through.
func TestTasksCycle(t *testing.T) {
	t.Parallel()
	repo := oneStory(t)
	m := newModel(t, script(
		bash("echo 'mul() { :; }' >>calc.sh && "+edit("feat: [US-001] - Add mul", "reviewStatus", `"needs_review"`, "notes", `"mul is there"`)),
		answer{Text: "Everything is perfect, believe me."},
		bash(edit("review: [US-001] - changes requested", "reviewStatus", `"changes_requested"`, "reviewCount", "1", "reviewFeedback", `"mul does nothing"`)),
		answer{Text: "It does nothing."},
		bash("echo 'mul() { echo $(($1 * $2)); }' >>calc.sh && "+edit("fix: [US-001] - address review feedback", "reviewStatus", `"needs_review"`, "reviewFeedback", `""`)),
		answer{Text: "Mended."},
		bash(edit("review: [US-001] - approved", "reviewStatus", `"approved"`, "reviewCount", "2", "passes", "true")),
		answer{Text: "<verdict>approved</verdict> <promise>COMPLETE</promise>"},
	))
	log, code := tasksRun(t, repo, m)
	if code != 0 || !strings.Contains(log, "Completed in 4 iterations") {
		t.Fatalf("ralph tasks run = %d, want 0 after 4 iterations\n%s", code, log)
	}
	field(t, repo, "passes", "true")
	field(t, repo, "reviewCount", "2")
	questions := m.questions()
	if len(questions) != 8 {
		t.Fatalf("%d questions, want 8: no stop was blocked\n%s", len(questions), log)
	}
	review := questions[2].Text
	for _, want := range []string{"mode review, story US-001", "mul 2 3 prints 6", "+mul() { :; }", "`test -f calc.sh`: passed"} {
		if !strings.Contains(review, want) {
			t.Errorf("the reviewer was not told %q", want)
		}
	}
	if strings.Contains(review, "believe me") {
		t.Error("the reviewer was told what the implementer said")
	}
	if !strings.Contains(questions[6].Text, "+mul() { echo $(($1 * $2)); }") {
		t.Error("the second reviewer did not see the fix")
	}
	want := "review: [US-001] - approved\nfix: [US-001] - address review feedback\nreview: [US-001] - changes requested\nfeat: [US-001] - Add mul\na task list\nthe program"
	if got := git(t, repo, "log", "--format=%s"); got != want {
		t.Errorf("commits:\n%s\nwant\n%s", got, want)
	}
}

// An implementer that marks its own work as passed is stopped by its hook, and
// put right by the loop when it does not listen.
func TestTasksOwnApproval(t *testing.T) {
	t.Parallel()
	repo := oneStory(t)
	approve := bash(edit("all mine", "reviewStatus", `"approved"`, "passes", "true", "reviewCount", "1", "notes", `"mine"`))
	m := newModel(t, func(q question) answer {
		switch {
		case q.Number == 1:
			return approve
		case strings.Contains(q.Text, "What was put back"):
			return answer{Text: "I see."}
		}
		return answer{Text: "<promise>COMPLETE</promise>"}
	})
	log, code := tasksRun(t, repo, m, "-n", "2")
	if code != 1 || strings.Contains(log, "Completed") {
		t.Fatalf("ralph tasks run = %d, want 1 and nothing completed\n%s", code, log)
	}
	const text = "Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story US-001 had illegal transition: passes false → true."
	stopped, told := false, false
	for _, q := range m.questions() {
		stopped = stopped || strings.Contains(q.Last, text)
		told = told || strings.Contains(q.Text, "What was put back") && strings.Contains(q.Text, text)
	}
	if !stopped || !told {
		t.Errorf("blocked by the hook: %v, told in the next prompt: %v; want both\n%s", stopped, told, log)
	}
	field(t, repo, "passes", "false")
	field(t, repo, "reviewStatus", "null")
}

// The cap of reviews, and an agent that takes its story out of the list.
func TestTasksCapAndDeletion(t *testing.T) {
	t.Parallel()
	repo := oneStory(t)
	m := newModel(t, script(
		bash("echo x >>calc.sh && "+edit("feat: [US-001] - Add mul", "reviewStatus", `"needs_review"`, "notes", `"mul is there"`)),
		answer{Text: "Done."},
		bash(edit("review: [US-001] - approved", "reviewStatus", `"approved"`, "reviewCount", "1", "passes", "true", "reviewFeedback", `"[AUTO-APPROVED AT CAP] it is slow"`)),
		answer{Text: "<verdict>approved</verdict> <promise>COMPLETE</promise>"},
	))
	log, code := tasksRun(t, repo, m, "--review-cap", "1")
	if code != 0 || !strings.Contains(strings.ToLower(log), "auto-approved") {
		t.Errorf("ralph tasks run = %d, want 0 and a story that was approved at the cap\n%s", code, log)
	}

	repo = oneStory(t)
	m = newModel(t, script(
		bash(`sed -i '/"userStories"/,$d' ralph/tasks.json && echo '"userStories": []}' >>ralph/tasks.json && git commit -qam gone`),
		answer{Text: "There is nothing to do. <promise>COMPLETE</promise>"},
	))
	log, code = tasksRun(t, repo, m, "-n", "1")
	if code != 1 || !strings.Contains(log, "Story US-001 was removed or renamed, but is not approved.") {
		t.Errorf("ralph tasks run = %d, want 1 and the story back\n%s", code, log)
	}
	field(t, repo, "title", `"Add mul"`)
}

// Two loops in one folder: the second is refused while the first one works.
func TestTasksTwice(t *testing.T) {
	t.Parallel()
	repo := oneStory(t)
	asked := make(chan struct{}, 1)
	m := newModel(t, func(question) answer {
		select {
		case asked <- struct{}{}:
		default:
		}
		return answer{Text: "wait", Hang: true}
	})
	name := "ralph-e2e-twice-" + filepath.Base(filepath.Dir(repo))
	first := make(chan string, 1)
	go func() {
		log, code := dockerRun{Repo: repo, Image: image(t), Network: "host", Flags: append(claudeLocally(m), "--name", name), Args: []string{"tasks", "run"}}.run(t)
		first <- fmt.Sprintf("exit %d\n%s", code, log)
	}()
	select {
	case <-asked:
	case log := <-first:
		t.Fatalf("the first loop ended: %s", log)
	}
	log, code := tasksRun(t, repo, m)
	if code != 2 || !strings.Contains(log, "is working in this folder") {
		t.Errorf("the second loop = %d, want 2 and to be told of the first\n%s", code, log)
	}
	if out, err := exec.Command("docker", "stop", "-t", "20", name).CombinedOutput(); err != nil {
		t.Errorf("docker stop: %v\n%s", err, out)
	}
	if log := <-first; !strings.HasPrefix(log, "exit 130") {
		t.Errorf("the first loop: %s", log)
	}
	if exists(filepath.Join(repo, ".ralph-active")) {
		t.Error(".ralph-active is still there")
	}
}

// One session of the real claude, kept going by its stop hook.
func TestSession(t *testing.T) {
	t.Parallel()
	repo := localRepository(t, 1000)
	m := newModel(t, script(
		answer{Text: "<promise>DONE</promise>"},
		bash("echo made >made.txt"),
		answer{Text: "I am done."},
		answer{Text: "All right. <promise>DONE</promise>"},
	))
	log, code := dockerRun{
		Repo: repo, Image: image(t), Network: "host", Flags: claudeLocally(m),
		Args: []string{"session", "Make the file", "--completion-promise", "DONE", "--max-iterations", "5"},
	}.run(t)
	if code != 0 || !strings.Contains(log, "PROMISE_ACCEPTED") || !strings.Contains(log, "Completed in 3 iterations") {
		t.Fatalf("ralph session = %d, want 0 after 3 iterations\n%s", code, log)
	}
	questions := m.questions()
	if len(questions) != 4 {
		t.Fatalf("%d questions, want 4\n%s", len(questions), log)
	}
	for i, want := range map[int]string{
		1: "Promise detected, but no tool calls/work were performed; you must actually complete the task before emitting the promise.",
		3: "You attempted to end the loop, but you did not output the completion promise <promise>DONE</promise>.",
	} {
		if !strings.Contains(questions[i].Last, want) || !strings.Contains(questions[i].Text, "Make the file") {
			t.Errorf("question %d lacks %q:\n%s", i+1, want, questions[i].Last)
		}
	}
	if exists(filepath.Join(repo, ".claude")) {
		t.Error("a configuration of claude was left in the repository")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
