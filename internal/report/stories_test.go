package report_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/report/memory"
)

// renderings are the documents of a report that people read.
func renderings(t *testing.T, r ralph.Report) map[string]string {
	t.Helper()
	page, err := report.HTML(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"Summary": report.Summary(r), "Body": report.Body(r, report.BodyOptions{}), "HTML": string(page), "Text": report.Text(r, report.Style{})}
}

// 003-08, 003-21, 003-22: every state of the review cycle is told in words.
func TestStoriesInWords(t *testing.T) {
	t.Parallel()
	for what, text := range renderings(t, tasksRun()) {
		for _, part := range []string{
			"2 of 5 stories are done", "1 of 3 reviewed stories were approved at the first review; a reviewed story took 1.3 reviews on average.",
			"US-001", "Add two numbers", "approved", "changes requested", "needs review", "open",
			"implement US-002", "review US-002: changes requested", "review-fix US-002", "review US-002: approved", "implement US-003: not finished",
			"Story US-003, changes requested: A command-line interface", "Story US-004, needs review: Show the help text", "Story US-005, open: Publish a release",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q:\n%s", what, part, text)
			}
		}
		if strings.Contains(text, "the agent&#39;s own list") || strings.Contains(text, "the agent's own list") || strings.Contains(text, "auto-approved") {
			t.Errorf("%s tells the agent's own list, or of stories that were approved automatically:\n%s", what, text)
		}
		if what != "Text" && (!strings.Contains(text, "Reads well; tests cover overflow.") || !strings.Contains(text, "one of the two.")) {
			t.Errorf("%s lacks what a review said:\n%s", what, text)
		}
		if what != "Text" && !strings.Contains(text, "Changes to the task list that were put back") {
			t.Errorf("%s does not tell what was put back:\n%s", what, text)
		}
	}
}

// 003-25
func TestAutoApprovedStoriesAreMarked(t *testing.T) {
	t.Parallel()
	const first = "US-003 was approved automatically because its reviews were used up (review-cap 5). No reviewer accepted it as it is: somebody should look at it."
	const draft = " The pull request stays a draft because of it, unless review-cap-policy is accept."
	one := capReached()
	ready, desk, many := capReached(), capReached(), capReached()
	ready.Publication.PullRequest.Draft = false
	desk.Publication, desk.Repository = ralph.Publication{Branch: "x"}, ""
	for n := range 11 {
		many.Tasks.Stories = append(many.Tasks.Stories, ralph.Story{ID: fmt.Sprint("M-", n), Status: "approved", Passes: true, Done: true, AutoApproved: true})
	}
	many.Tasks.ReviewCap = 0
	for _, c := range []struct {
		name string
		r    ralph.Report
		want string
	}{
		{"a draft", one, first + draft},
		{"accepted", ready, first},
		{"locally", desk, first},
		{"many", many, "US-003, M-0, M-1, M-2, M-3, M-4, M-5, M-6, M-7, M-8 and 2 more were approved automatically because their reviews were used up. No reviewer accepted them as they are: somebody should look at them. The pull request stays a draft because of them, unless review-cap-policy is accept."},
	} {
		texts := renderings(t, c.r)
		texts["Announcement"] = report.Announcement(c.r)
		for what, text := range texts {
			if what == "Text" {
				text = strings.Join(strings.Fields(text), " ")
			}
			if !strings.Contains(text, c.want) {
				t.Errorf("%s: %s lacks %q:\n%s", c.name, what, c.want, text)
			}
			if c.want == first && strings.Contains(text, "stays a draft") {
				t.Errorf("%s: %s speaks of a draft", c.name, what)
			}
			if what != "Announcement" && !strings.Contains(text, "auto-approved at the cap") {
				t.Errorf("%s: %s has no mark in the table", c.name, what)
			}
		}
	}
	if s := report.Summary(one); !strings.Contains(s, "**5 of 5 stories are done, 1 auto-approved**") || strings.Contains(s, "AUTO-APPROVED AT CAP") {
		t.Errorf("Summary lacks the count, or tells the mark twice:\n%s", s)
	}
}

// 003-12
func TestSkippedReviewsAreSaid(t *testing.T) {
	t.Parallel()
	for what, text := range renderings(t, reviewsSkipped()) {
		if !strings.Contains(text, "Nothing was reviewed") || !strings.Contains(text, "done") || strings.Contains(text, "last review") || strings.Contains(text, "0 reviews") || strings.Contains(text, "not finished") {
			t.Errorf("%s tells of reviews, or does not say that there were none:\n%s", what, text)
		}
	}
	r := reviewsSkipped()
	r.Tasks.SkipReview = false
	if s := report.Summary(r); !strings.Contains(s, "No story was reviewed yet.") {
		t.Errorf("Summary of a run without a review:\n%s", s)
	}
}

func TestManyStoriesAreCut(t *testing.T) {
	t.Parallel()
	s := report.Summary(manyStories(300))
	for _, part := range []string{"| US-300 | Story number 300 |", "| US-002 | Story number 2 | ⚠️", "| US-151 |", "_…and 100 stories more; report.json has them all._", "…and 100 stories more."} {
		if !strings.Contains(s, part) {
			t.Errorf("Summary of 300 stories lacks %q:\n%s", part, s)
		}
	}
	if strings.Index(s, "| US-151 |") > strings.Index(s, "| US-002 |") || strings.Index(s, "| US-002 |") > strings.Index(s, "| US-001 |") || strings.Contains(s, "| US-150 |") {
		t.Error("Summary of 300 stories: want the unfinished ones first, then the one approved automatically, then the others as far as there is room")
	}
	if b := report.Body(manyStories(300), report.BodyOptions{}); !strings.Contains(b, "| US-151 |") || !strings.Contains(b, "_…and 240 stories more;") {
		t.Errorf("Body of 300 stories:\n%s", b)
	}
}

// Ten thousand stories, each of them too long, fit into every document.
func TestStoriesAreBounded(t *testing.T) {
	t.Parallel()
	r := tasksRun()
	r.Tasks = ralph.TaskList{File: "ralph/tasks.json", Project: strings.Repeat("p@", 1<<19), ReviewCap: 5}
	wide := strings.Repeat("`<|@x #1 \u202e", 1<<20/13)
	for i := range 10_000 {
		r.Tasks.Stories = append(r.Tasks.Stories, ralph.Story{ID: fmt.Sprint("US-", i, wide[:1000]), Title: wide, Feedback: wide, Status: "changes_requested", Reviews: 3})
	}
	r.Tasks.Stories[9_999].AutoApproved, r.Tasks.Stories[9_999].Done = true, true
	for n := len(r.Iterations); n < 300; n++ {
		it := r.Iterations[n%6]
		it.Number = n + 1
		r.Iterations = append(r.Iterations, it)
	}
	for i := range r.Iterations {
		r.Iterations[i].Step = ralph.Step{Mode: "implement", Story: wide, Title: wide}
		r.Iterations[i].Settled.Problems = []string{wide, wide}
	}
	texts := renderings(t, r)
	for what, limit := range map[string]int{"Summary": 1 << 20, "Body": 65_536, "HTML": 12 << 20, "Text": 256 << 10} {
		text := texts[what]
		if n := utf8.RuneCountInString(text); n >= limit || what == "Summary" && len(text) >= limit {
			t.Errorf("%s has %d characters, want less than %d", what, n, limit)
		}
		for _, part := range []string{"1 of 10000 stories is done, 1 auto-approved", "stories more", "US-0"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", what, part)
			}
		}
	}
	if log := logs.SessionFooter(r.Iterations[0]) + logs.SessionHeader(1, "tasks", r.Iterations[0].Step, start); len(log) > 8<<10 {
		t.Errorf("session log has %d bytes, want at most 8 KiB", len(log))
	}
}

// A list for which there is room is shown in its own order.
func TestStoriesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	s := report.Summary(tasksRun())
	last := 0
	for n := 1; n <= 5; n++ {
		at := strings.Index(s, fmt.Sprintf("| US-00%d |", n))
		if at < last {
			t.Errorf("US-00%d stands at %d, behind %d", n, at, last)
		}
		last = at
	}
}

func TestEmptyTaskList(t *testing.T) {
	t.Parallel()
	r := completed()
	r.Iterations, r.Mode, r.Tasks = nil, "tasks", ralph.TaskList{File: "ralph/tasks.json"}
	for what, text := range renderings(t, r) {
		if !strings.Contains(text, "0 of 0 stories are done") || !strings.Contains(text, "every story is already done") || strings.Contains(text, "NaN") {
			t.Errorf("%s:\n%s", what, text)
		}
	}
}

// An approval that the code under review could have forged is nowhere worded as one.
func TestUnprotectedApprovalsAreMarked(t *testing.T) {
	t.Parallel()
	const why = "Approvals of this run are not protected: isolation is off. A program that a reviewer started could have approved in its place."
	r := unprotected()
	texts := renderings(t, r)
	texts["Announcement"] = report.Announcement(r)
	for what, text := range texts {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), why) {
			t.Errorf("%s lacks %q:\n%s", what, why, text)
		}
		if what != "Announcement" && (!strings.Contains(text, "approved, not protected") || !strings.Contains(text, "review US-002: approved, not protected")) {
			t.Errorf("%s words an approval as a plain one:\n%s", what, text)
		}
	}
	it := r.Iterations[3]
	if got, want := memory.CommitMessage(it, memory.Checkpoint{}), "review: [US-002] - approved, not protected"; !strings.HasPrefix(got, want) {
		t.Errorf("CommitMessage() = %q, want it to begin with %q", got, want)
	}
	r.Tasks.Stories = tasksRun().Tasks.Stories
	for what, text := range renderings(t, r) {
		if strings.Contains(text, why) {
			t.Errorf("%s speaks of approvals that there are not:\n%s", what, text)
		}
	}
}
