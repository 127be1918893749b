package report

import "github.com/org/ralph-action/internal/ralph"

type taskList struct {
	File         string  `json:"file"`
	Project      string  `json:"project"`
	SkipReview   bool    `json:"skip_review"`
	ReviewCap    *int    `json:"review_cap"`
	Done         int     `json:"done"`
	AutoApproved int     `json:"auto_approved"`
	Unprotected  *string `json:"unprotected"`
	Stories      []story `json:"stories"`
}

type story struct {
	ID           string  `json:"id"`
	Title        string  `json:"title"`
	Passes       bool    `json:"passes"`
	Status       *string `json:"review_status"`
	Reviews      int     `json:"reviews"`
	Feedback     string  `json:"feedback"`
	AutoApproved bool    `json:"auto_approved"`
	Unprotected  bool    `json:"unprotected"`
	Done         bool    `json:"done"`
	Iterations   int     `json:"iterations"`
}

type step struct {
	Mode  string `json:"mode"`
	Story string `json:"story"`
	Title string `json:"title"`
	Done  bool   `json:"done"`
}

type settlement struct {
	Status   *string  `json:"review_status"`
	Problems []string `json:"problems"`
	Stuck    bool     `json:"stuck"`
	Done     bool     `json:"done"`
	Left     int      `json:"left"`
}

type session struct {
	Status *string `json:"status"`
	Rounds int     `json:"rounds"`
}

// newTaskList is nil when the run had none.
func newTaskList(r ralph.Report) *taskList {
	t := r.Tasks
	if !hasTasks(r) {
		return nil
	}
	n := taskList{
		File: bounded(t.File), Project: bounded(t.Project), SkipReview: t.SkipReview, ReviewCap: positive(t.ReviewCap),
		AutoApproved: t.AutoApproved(), Unprotected: named(bounded(t.Unprotected)), Stories: make([]story, 0, len(t.Stories)),
	}
	for _, s := range t.Stories {
		if s.Done {
			n.Done++
		}
		n.Stories = append(n.Stories, story{
			ID: bounded(s.ID), Title: bounded(s.Title), Passes: s.Passes, Status: named(s.Status), Reviews: s.Reviews,
			Feedback: bounded(s.Feedback), AutoApproved: s.AutoApproved, Unprotected: s.Unprotected, Done: s.Done, Iterations: s.Iterations,
		})
	}
	return &n
}

// newStep is nil for an iteration without a task list.
func newStep(it ralph.Iteration) (*step, *settlement) {
	if !stepped(it) {
		return nil, nil
	}
	s := it.Settled
	return &step{Mode: it.Step.Mode, Story: bounded(it.Step.Story), Title: bounded(it.Step.Title), Done: it.Step.Done},
		&settlement{Status: named(s.Status), Problems: boundedAll(s.Problems), Stuck: s.Stuck, Done: s.Done, Left: s.Left}
}

// newSession is nil in every other mode.
func newSession(r ralph.Report) *session {
	if r.Mode != modeSession {
		return nil
	}
	return &session{Status: named(SessionStatus(r)), Rounds: r.Rounds()}
}

// named is nil for a name that is none.
func named(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
