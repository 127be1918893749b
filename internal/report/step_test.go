package report_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/report/memory"
)

// 003-26
func TestCommitMessagesOfSteps(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	subject := func(mode, status string, edit func(*ralph.Iteration, *memory.Checkpoint)) string {
		it := ralph.Iteration{Number: 3, Step: ralph.Step{Mode: mode, Story: "US-001", Title: "Add login"}, Settled: ralph.Settlement{Status: status}}
		var c memory.Checkpoint
		if edit != nil {
			edit(&it, &c)
		}
		line, rest, _ := strings.Cut(memory.CommitMessage(it, c), "\n")
		if it.Step.Story != "" && !strings.Contains(rest, "\nRalph-Iteration: 3\nRalph-Story: ") {
			t.Errorf("CommitMessage() = %q and %q, want the trailers", line, rest)
		}
		return line
	}
	for _, c := range []struct {
		mode, status string
		edit         func(*ralph.Iteration, *memory.Checkpoint)
		want         string
	}{
		{"implement", "needs_review", nil, "feat: [US-001] - Add login"},
		{"implement", "", nil, "chore: [US-001] - work in progress"},
		{"implement", "", func(_ *ralph.Iteration, c *memory.Checkpoint) { c.StoryDone = true }, "feat: [US-001] - Add login"},
		{"implement", "", func(it *ralph.Iteration, _ *memory.Checkpoint) { it.Settled.Done = true }, "feat: [US-001] - Add login"},
		{"review", "approved", nil, "review: [US-001] - approved"},
		{"review", "changes_requested", nil, "review: [US-001] - changes requested"},
		{"review", "approved", func(it *ralph.Iteration, _ *memory.Checkpoint) { it.Settled.AtCap = true }, "review: [US-001] - approved, auto-approved at the cap"},
		{"review", "needs_review", nil, "chore: [US-001] - review without a verdict that counts"},
		{"review", "", nil, "chore: [US-001] - review without a verdict that counts"},
		{"review-fix", "needs_review", nil, "fix: [US-001] - address review feedback"},
		{"review-fix", "changes_requested", nil, "fix: [US-001] - address review feedback"},
		{"implement", "", func(it *ralph.Iteration, _ *memory.Checkpoint) { it.Step.Story, it.Step.Done = "", true }, "chore: work after the last story"},
		{"implement", "needs_review", func(_ *ralph.Iteration, c *memory.Checkpoint) { c.Template = "mine: all of it" }, "mine: all of it"},
		{"implement", "needs_review", func(it *ralph.Iteration, _ *memory.Checkpoint) { it.Step.Title = " \n\x00" }, "feat: [US-001]"},
		{"implement", "needs_review", func(it *ralph.Iteration, _ *memory.Checkpoint) {
			it.Step.Title = "Add\x1b[31m login\r\n\nRalph-Cost-USD: 0\nfixes #7 for @octocat \u202e"
		}, "feat: [US-001] - Add login Ralph-Cost-USD: 0 fixes #\u200d7 for @\u200doctocat"},
		{"implement", "needs_review", func(it *ralph.Iteration, _ *memory.Checkpoint) { it.Step.Title = strings.Repeat("word ", 200_000) }, "feat: [US-001] - " + strings.TrimSpace(strings.Repeat("word ", 16)) + "…"},
		{"implement", "needs_review", func(it *ralph.Iteration, _ *memory.Checkpoint) { it.Step.Title = strings.Repeat("ü", 200) }, "feat: [US-001] - " + strings.Repeat("ü", 82) + "…"},
	} {
		if got := subject(c.mode, c.status, c.edit); got != c.want {
			t.Errorf("subject of %s, %q = %q, want %q", c.mode, c.status, got, c.want)
		}
		if c.edit == nil && !strings.Contains(string(doc), "`"+c.want+"`") {
			t.Errorf("docs/report.md lacks `%s`", c.want)
		}
	}
	hostile := func(it *ralph.Iteration, _ *memory.Checkpoint) {
		it.Step.Story, it.Step.Title = strings.Repeat("@#1]\n", 1000), strings.Repeat("@", 1<<20)
	}
	for _, mode := range []string{"implement", "review", "review-fix"} {
		for _, status := range []string{"", "needs_review", "approved"} {
			if got := subject(mode, status, hostile); utf8.RuneCountInString(got) > 100 {
				t.Errorf("subject of %s, %q has %d characters, want at most 100: %q", mode, status, utf8.RuneCountInString(got), got)
			}
		}
	}
	it := tasksRun().Iterations[3]
	want := "review: [US-002] - approved\n\nRalph-Run: 42\nRalph-Iteration: 4\nRalph-Story: US-002\nRalph-Cost-USD: 0.0123\n"
	if got := memory.CommitMessage(it, memory.Checkpoint{Run: "42", Cost: it.Usage().Cost}); got != want {
		t.Errorf("CommitMessage() = %q, want %q", got, want)
	}
}

// An iteration says at its beginning what it is for.
func TestStepsWhereTheyBegin(t *testing.T) {
	t.Parallel()
	var v logs.Verbose
	for _, c := range []struct {
		step ralph.Step
		want string
	}{
		{ralph.Step{}, ""},
		{ralph.Step{Mode: "implement", Done: true}, "no story left"},
		{ralph.Step{Mode: "implement", Story: "US-001"}, "implement US-001"},
		{ralph.Step{Mode: "review-fix", Story: "US-001", Title: "Add\nlogin"}, "review-fix US-001: Add login"},
	} {
		line, log := "[ralph] Iteration 2/10 starting", "Mode: tasks\n"
		if c.want != "" {
			line, log = line+": "+c.want, log+"Step: "+c.want+"\n"
		}
		if got := v.Lines(ralph.Event{Kind: ralph.EventIterationStart, Iteration: 2, Max: 10, Step: c.step}); !slices.Equal(got, []string{line}) {
			t.Errorf("verbose Lines(%+v) = %q, want %q", c.step, got, line)
		}
		if got := logs.SessionHeader(2, "tasks", c.step, start); !strings.Contains(got, log+"Start Time: ") {
			t.Errorf("SessionHeader(%+v) = %s, want %q", c.step, got, log)
		}
	}
}

// A stop hook that begins no iterations, as that of a task list, is told, too.
func TestKeptGoing(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "", 1: "kept going once", 3: "kept going 3 times"} {
		r := tasksRun()
		it := &r.Iterations[0]
		it.Turns[0].Kept = n
		lines := (&logs.Formatter{}).Lines(ralph.Event{Kind: ralph.EventIterationEnd, Record: it})
		texts := map[string]string{"Summary": strings.ReplaceAll(report.Summary(r), "\u00a0", " "), "live log": strings.Join(lines, "\n")}
		for what, text := range texts {
			if n > 0 && !strings.Contains(text, want) || n == 0 && strings.Contains(text, "kept going") {
				t.Errorf("%s of an agent kept going %d times: %s", what, n, text)
			}
		}
		if log := logs.SessionFooter(*it); strings.Contains(log, "Kept Going: ") != (n > 0) || strings.Contains(log, "Rounds") {
			t.Errorf("SessionFooter of an agent kept going %d times: %s", n, log)
		}
	}
}

// What a list came to is told as it happens and in the log of the session.
func TestStepsInTheLogs(t *testing.T) {
	t.Parallel()
	r := tasksRun()
	f := &logs.Formatter{}
	v := logs.Verbose{Completion: ralph.Completion{Kind: ralph.CompletionTasks, Token: "COMPLETE"}}
	end := func(it ralph.Iteration) ralph.Event {
		return ralph.Event{Kind: ralph.EventIterationEnd, Iteration: it.Number, Record: &it}
	}
	if got, want := f.Lines(end(r.Iterations[1])), []string{"= Iteration 2: review US-002: changes requested, 4 stories left, 50s, $0.0123, 1 file (+2 −1), guardrails 1/1"}; !slices.Equal(got, want) {
		t.Errorf("Lines(review) = %q, want %q", got, want)
	}
	problem := r.Iterations[0].Settled.Problems[0]
	if got, want := v.Lines(end(r.Iterations[0])), []string{
		"[ralph] Step: implement US-002", "[ralph] Put back: " + problem, "[ralph] No completion: the task list was changed as the step does not allow",
		"[ralph] Iteration 1 took 40.0s (agent 20.0s, guardrails 0.0s)",
	}; !slices.Equal(got, want) {
		t.Errorf("verbose Lines(put back) = %q, want %q", got, want)
	}
	for rejection, want := range map[ralph.Rejection][2]string{
		ralph.RejectedTransition:  {"No completion: the task list was changed as the step does not allow", "success (changes to the task list were put back)"},
		ralph.RejectedStuck:       {"No completion: the review came to no verdict that counts", "success (the review came to no verdict that counts)"},
		ralph.RejectedStoriesLeft: {"No completion: 1 story left", "success (1 story left)"},
		ralph.NotRejected:         {"Completion detected: every story is done", "success (complete)"},
	} {
		it := ralph.Iteration{Number: 1, Rejection: rejection, Settled: ralph.Settlement{Left: 1, Done: rejection == ralph.NotRejected}}
		if got := v.Lines(end(it)); !slices.Contains(got, "[ralph] "+want[0]) {
			t.Errorf("verbose Lines(%q) = %q, want %q", rejection, got, want[0])
		}
		if got := logs.SessionFooter(it); !strings.Contains(got, "Status: "+want[1]+"\n") {
			t.Errorf("SessionFooter(%q) = %s, want %q", rejection, got, want[1])
		}
	}
	footer := logs.SessionFooter(r.Iterations[0])
	if !strings.Contains(footer, "\nStep: implement US-002\nPut Back: "+problem+"\nStatus: ") {
		t.Errorf("SessionFooter(put back) = %s", footer)
	}
	if got := logs.SessionSummary(r); !strings.Contains(got, "\nStories: 2 of 5 stories are done\n") {
		t.Errorf("SessionSummary() = %s", got)
	}
	stuck := tasksRun()
	stuck.Iterations[5].Rejection = ralph.RejectedStuck
	if s := report.Summary(stuck); !strings.Contains(s, "- The last review came to no verdict that counts.") || !strings.Contains(s, "no\u00a0verdict\u00a0that\u00a0counts") {
		t.Errorf("Summary(stuck):\n%s", s)
	}
	stuck.Iterations[5].Rejection = ralph.RejectedTransition
	if s := report.Summary(stuck); !strings.Contains(s, "- The last iteration changed the task list as it may not; it was put back.") {
		t.Errorf("Summary(put back):\n%s", s)
	}
}

func TestJSONOfTasksAndSessions(t *testing.T) {
	t.Parallel()
	var doc struct {
		Tasks *struct {
			Done         int
			AutoApproved int `json:"auto_approved"`
			Stories      []struct {
				ID       string
				Status   *string `json:"review_status"`
				Feedback string
			}
		}
		Session *struct {
			Status string
			Rounds int
		}
		Iterations []struct {
			Rounds  int
			Step    *struct{ Mode, Story string }
			Settled *struct{ Problems []string }
			Turns   []struct{ Kept int }
		}
	}
	read := func(r ralph.Report) {
		t.Helper()
		doc.Tasks, doc.Session, doc.Iterations = nil, nil, nil
		text, err := report.JSON(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
	}
	read(capReached())
	if doc.Session != nil || doc.Tasks == nil || doc.Tasks.Done != 5 || doc.Tasks.AutoApproved != 1 || *doc.Tasks.Stories[2].Status != "approved" || !strings.HasPrefix(doc.Tasks.Stories[2].Feedback, "[AUTO-APPROVED AT CAP] ") {
		t.Errorf("tasks = %+v", doc.Tasks)
	}
	if it := doc.Iterations[0]; it.Step == nil || it.Step.Mode != "implement" || it.Step.Story != "US-002" || len(it.Settled.Problems) != 1 || it.Rounds != 0 {
		t.Errorf("iterations[0] = %+v", it)
	}
	read(sessionRun(ralph.Completed, "done"))
	if doc.Tasks != nil || doc.Session == nil || doc.Session.Status != "PROMISE_ACCEPTED" || doc.Session.Rounds != 4 || doc.Iterations[0].Rounds != 4 || doc.Iterations[0].Turns[0].Kept != 3 || doc.Iterations[0].Step != nil {
		t.Errorf("session = %+v, %+v", doc.Session, doc.Iterations)
	}
	read(completed())
	if doc.Tasks != nil || doc.Session != nil || doc.Iterations[0].Step != nil {
		t.Errorf("a run without a list has %+v, %+v", doc.Tasks, doc.Session)
	}
}

// Everything foreign of a task list goes through the mask.
func TestRedactedTasks(t *testing.T) {
	t.Parallel()
	r := tasksRun()
	it, s := &r.Iterations[0], &r.Tasks.Stories[0]
	texts := []*string{&r.Tasks.File, &r.Tasks.Project, &s.ID, &s.Title, &s.Feedback, &it.Step.Story, &it.Step.Title, &it.Settled.Problems[0]}
	for _, p := range texts {
		*p = "before s3_c\u200br3t after"
	}
	clean := report.Redacted(r, func(s string) string { return strings.ReplaceAll(s, "s3_cr3t", "***") })
	file, err := report.JSON(clean)
	if err != nil {
		t.Fatal(err)
	}
	all := renderings(t, clean)
	all["JSON"], all["SessionFooter"], all["CommitMessage"] = string(file), logs.SessionFooter(clean.Iterations[0]), memory.CommitMessage(clean.Iterations[0], memory.Checkpoint{})
	for what, text := range all {
		if strings.Contains(text, "s3") || strings.Contains(text, "cr3t") {
			t.Errorf("%s shows a secret:\n%s", what, text)
		}
	}
	if n := strings.Count(string(file), "before *** after"); n != len(texts) {
		t.Errorf("JSON has %d masked texts, want %d", n, len(texts))
	}
	for i, p := range texts {
		if *p != "before s3_c\u200br3t after" {
			t.Errorf("Redacted changed text %d of the report it was given", i)
		}
	}
}
