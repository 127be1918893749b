package report_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

const longReview = "Zero is divided without a check: Divide(1, 0) panics instead of returning ErrDivideByZero, and the test for it is commented out. " +
	"Bring the test back and handle zero.\nThe parser of operands takes \"1e9\" but the help text says that only digits are allowed; say one of the two."

// tasksRun is a run on a task list that its limit ended: a whole review cycle of
// one story, an attempt to approve its own work, and a story under review.
func tasksRun() ralph.Report {
	r := maxIterations()
	r.Mode, r.MaxIterations, r.Reason = "tasks", 6, "max-iterations 6 is reached and the work is not done"
	r.Task, r.Baseline, r.Notes = "ralph/tasks.json", nil, nil
	r.Tasks = ralph.TaskList{File: "ralph/tasks.json", Project: "Calculator", ReviewCap: 5, Stories: []ralph.Story{
		{ID: "US-001", Title: "Add two numbers", Passes: true, Status: "approved", Reviews: 1, Feedback: "Reads well; tests cover overflow.", Done: true},
		{ID: "US-002", Title: "Divide two numbers", Passes: true, Status: "approved", Reviews: 2, Done: true, Iterations: 4},
		{ID: "US-003", Title: "A command-line interface that takes operands and an operator", Status: "changes_requested", Reviews: 1, Feedback: longReview, Iterations: 2},
		{ID: "US-004", Title: "Show the help text", Status: "needs_review"},
		{ID: "US-005", Title: "Publish a release"},
	}}
	r.Iterations = nil
	for _, s := range []struct {
		mode, story, title, status string
		rejection                  ralph.Rejection
		problems                   []string
	}{
		{"implement", "US-002", "Divide two numbers", "needs_review", ralph.RejectedTransition, []string{"Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story US-002 had illegal transition: passes false → true."}},
		{"review", "US-002", "Divide two numbers", "changes_requested", ralph.RejectedStoriesLeft, nil},
		{"review-fix", "US-002", "Divide two numbers", "needs_review", ralph.RejectedStoriesLeft, nil},
		{"review", "US-002", "Divide two numbers", "approved", ralph.RejectedStoriesLeft, nil},
		{"implement", "US-003", "A command-line interface that takes operands and an operator", "", ralph.RejectedStoriesLeft, nil},
		{"review", "US-003", "A command-line interface that takes operands and an operator", "changes_requested", ralph.RejectedStoriesLeft, nil},
	} {
		n := len(r.Iterations) + 1
		it := completed().Iterations[0]
		it.Number, it.Started, it.Duration = n, start.Add(time.Duration(n)*time.Minute), time.Duration(30+10*n)*time.Second
		it.Verdicts = []ralph.Verdict{{Command: "go test ./...", Passed: true}}
		it.Rejection = s.rejection
		it.Step = ralph.Step{Mode: s.mode, Story: s.story, Title: s.title}
		it.Settled = ralph.Settlement{Status: s.status, Problems: s.problems, Left: 4}
		if n > 3 {
			it.Settled.Left = 3
		}
		r.Iterations = append(r.Iterations, it)
	}
	return r
}

// capReached is a run on which everything is done, but no reviewer was content
// with one story.
func capReached() ralph.Report {
	r := tasksRun()
	r.Outcome, r.ExitCode, r.MaxIterations, r.Reason = ralph.Completed, 0, 15, "the work was done in 6 iterations"
	for i := range r.Tasks.Stories {
		s := &r.Tasks.Stories[i]
		s.Passes, s.Status, s.Done, s.Reviews = true, "approved", true, max(1, s.Reviews)
	}
	s := &r.Tasks.Stories[2]
	s.Reviews, s.AutoApproved, s.Feedback, s.Iterations = 5, true, "[AUTO-APPROVED AT CAP] "+longReview, 9
	last := &r.Iterations[5]
	last.Settled, last.Rejection = ralph.Settlement{Status: "approved", Done: true}, ralph.NotRejected
	return r
}

// reviewsSkipped is a run without reviews.
func reviewsSkipped() ralph.Report {
	r := tasksRun()
	r.Tasks.SkipReview, r.Tasks.ReviewCap = true, 0
	r.Tasks.Stories = r.Tasks.Stories[:3]
	for i := range r.Tasks.Stories {
		s := &r.Tasks.Stories[i]
		s.Status, s.Reviews, s.Feedback = "", 0, ""
	}
	r.Iterations = r.Iterations[:2]
	for i := range r.Iterations {
		it := &r.Iterations[i]
		it.Step.Mode, it.Settled = "implement", ralph.Settlement{Left: 1}
		it.Rejection = ralph.RejectedStoriesLeft
	}
	return r
}

// manyStories is the same with n stories: the first half approved, one of them
// automatically, the last ones open.
func manyStories(n int) ralph.Report {
	r := tasksRun()
	r.Tasks.Stories = nil
	for i := range n {
		s := ralph.Story{ID: fmt.Sprintf("US-%03d", i+1), Title: fmt.Sprintf("Story number %d", i+1)}
		if i < n/2 {
			s.Passes, s.Status, s.Reviews, s.Done = true, "approved", 1+i%3, true
		}
		if i == 1 {
			s.AutoApproved, s.Reviews, s.Feedback = true, 5, "[AUTO-APPROVED AT CAP] "+strings.Repeat("There is no test for this. ", 20)
		}
		r.Tasks.Stories = append(r.Tasks.Stories, s)
	}
	return r
}

// hostileTasks is hostile with a task list that is, too.
func hostileTasks() ralph.Report {
	r := tasksRun()
	r.Tasks.File, r.Tasks.Project, r.Publication.PullRequest.Number = nasty, nasty, 3
	for i := range r.Tasks.Stories {
		s := &r.Tasks.Stories[i]
		s.ID, s.Title, s.Feedback = nasty, nasty, nasty+strings.Repeat("\n"+nasty, 3)
	}
	r.Tasks.Stories[0].AutoApproved = true
	for i := range r.Iterations {
		it := &r.Iterations[i]
		it.Step.Story, it.Step.Title, it.Settled.Problems = nasty, nasty, []string{nasty}
	}
	return r
}

// sessionRun is one session that was kept going three times.
func sessionRun(o ralph.Outcome, reason string) ralph.Report {
	r := completed()
	r.Mode, r.Outcome, r.Reason, r.ExitCode, r.MaxIterations = "session", o, reason, o.ExitCode(false), 4
	r.Iterations = r.Iterations[1:]
	it := &r.Iterations[0]
	it.Number, it.Kept, it.Turns[0].Kept = 1, 3, 3
	if o != ralph.Completed {
		it.Marker, it.Rejection = false, ralph.RejectedNoMarker
	}
	return r
}

// unprotected is a run without a sandbox on which every story was approved, all but
// the first in this run.
func unprotected() ralph.Report {
	r := capReached()
	r.Tasks.Unprotected = "isolation is off"
	for i := range r.Tasks.Stories {
		s := &r.Tasks.Stories[i]
		s.AutoApproved, s.Unprotected = false, i > 0
	}
	for i := range r.Iterations {
		s := &r.Iterations[i].Settled
		s.Unprotected = s.Status == "approved"
	}
	return r
}
