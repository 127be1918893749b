package ralph

import (
	"context"
	"fmt"
	"slices"
)

// Backlog is a list of stories that the agent writes to. What it wrote counts
// only as far as it was allowed to. 003
type Backlog interface {
	// Begin keeps the list as it is and says what the next iteration is for. An
	// error ends the run as a [Refusal] says, else as invalid.
	Begin(iteration, max int) (Step, error)
	// Unsaid is a question for what the turn left unsaid, so that what it did cannot
	// count; empty: nothing is. It is put once, in a short turn, and it.Asked has the
	// answer then. The session is a new one: what the agent ran could have written to
	// the file of the old one.
	Unsaid(it Iteration) string
	// Settle compares the list with what Begin kept and puts back what the
	// iteration was not allowed to write. It is asked after the turn and, because
	// guardrails run the agent's code, again after them; then it.Verdicts is
	// complete, and the workspace's last snapshot is of now. An error ends the run
	// as that of Begin does.
	Settle(it Iteration) (Settlement, error)
	// Again puts every story back to how Begin kept it: the turn failed, and is
	// tried again.
	Again() error
}

// The modes of a step, and the states of a story.
const (
	StepImplement = "implement"
	StepReview    = "review"
	StepFix       = "review-fix"

	StoryNeedsReview      = "needs_review"
	StoryChangesRequested = "changes_requested"
	StoryApproved         = "approved"
)

// Step is what an iteration on a Backlog is for.
type Step struct {
	Mode  string // implement, review or review-fix; empty: there is no backlog
	Story string // id; empty: no story is left
	Title string // foreign text
	Done  bool   // every story is done
}

// Settlement is what an iteration did to its Backlog.
type Settlement struct {
	// Status is where the step's story stands now: "", needs_review,
	// changes_requested or approved. Empty also when it is gone.
	Status string
	// Problems is what was put back, for the agent and for people to read. Foreign
	// text in it is escaped and cut.
	Problems []string
	AtCap    bool // the step's story was approved because its reviews were used up
	// Unprotected is set when the step's story was approved by a review that a program
	// it started could have forged.
	Unprotected bool
	Stuck       bool // a review that came to no verdict that counts
	Done        bool // every story is done
	Left        int  // stories that are not
}

// Story is one story of a Backlog as it stands.
type Story struct {
	ID           string
	Title        string // foreign text, as are ID and Feedback
	Passes       bool
	Status       string // "", needs_review, changes_requested or approved
	Reviews      int    // in its whole life
	Feedback     string // of its last review
	AutoApproved bool   // because its reviews were used up
	Unprotected  bool   // it was approved in this run, or in a lane that it integrates, by a review that TaskList.Unprotected is about
	Done         bool
	Iterations   int // of this run
}

// TaskList is a Backlog as it stands, for the report.
type TaskList struct {
	File       string   // as people name it; empty: the run has none
	Project    string   // foreign text
	Only       []string // the stories that the run is about, foreign text; empty: all of them
	SkipReview bool
	ReviewCap  int // 0: none
	// Unprotected is why a program that a reviewer of this run started could have
	// approved in its place; empty: none could, or there are no reviews.
	Unprotected string
	Stories     []Story
}

// Chosen are the stories that the run is about.
func (t TaskList) Chosen() []Story {
	return slices.DeleteFunc(slices.Clone(t.Stories), func(s Story) bool { return len(t.Only) > 0 && !slices.Contains(t.Only, s.ID) })
}

// AutoApproved counts the stories that were approved because their reviews
// were used up.
func (t TaskList) AutoApproved() int {
	n := 0
	for i := range t.Stories {
		if t.Stories[i].AutoApproved {
			n++
		}
	}
	return n
}

// stuckLimit is how many reviews in a row may come to no verdict that counts.
const stuckLimit = 3

// begin asks the backlog what the iteration is for. An ending is returned when
// there is nothing left to do, or the list cannot be used.
func (r *run) begin(n int) (Step, *ending) {
	if r.Backlog == nil {
		return Step{}, nil
	}
	step, err := r.Backlog.Begin(n, r.Policy.MaxIterations)
	if err != nil {
		return step, refused(err)
	}
	return step, nil
}

// allDone looks at a list on which nothing is left before somebody is asked.
// Guardrails judge the tree: those that ran last, or the untouched tree's.
func (r *run) allDone(step Step) *ending {
	if !step.Done {
		return nil
	}
	verdicts, n := r.baseline, len(r.report.Iterations)
	if n > 0 {
		last := r.report.Iterations[n-1]
		if last.Rejection == RejectedStopped {
			return nil
		}
		verdicts = last.Verdicts
	}
	switch {
	case len(failed(verdicts)) > 0 || len(verdicts) < len(r.Guardrails):
		return nil
	case n == 0:
		return &ending{Completed, "every story is already done"}
	}
	return &ending{Completed, completedReason(n)}
}

// askUnsaid puts the backlog's question, if it has one.
func (r *run) askUnsaid(ctx context.Context, it *Iteration) {
	if r.Backlog == nil || len(it.Turns) == 0 || it.Last().Failure != nil || ctx.Err() != nil || r.stopped() {
		return
	}
	question := r.Backlog.Unsaid(*it)
	if question == "" {
		return
	}
	r.emit(Event{Kind: EventNotice, Text: "The reviewer gave no verdict; ralph asks once more.", Iteration: it.Number})
	_, turn, err := r.ask(ctx, it.Number, "its verdict", question)
	it.Asked = turn
	if err != nil {
		r.emit(Event{Kind: EventWarning, Text: err.Error(), Iteration: it.Number})
	}
}

// settle lets the backlog judge what the agent wrote. Problems of the first
// look stay.
func (r *run) settle(it *Iteration) *ending {
	if r.Backlog == nil || len(it.Turns) == 0 {
		return nil
	}
	said := it.Settled.Problems
	s, err := r.Backlog.Settle(*it)
	if err != nil {
		return refused(err)
	}
	for _, p := range s.Problems {
		r.emit(Event{Kind: EventWarning, Text: p, Iteration: it.Number})
	}
	s.Problems = append(said, s.Problems...)
	it.Settled = s
	return nil
}

// stuckFor counts the iterations in a row that came to no verdict that counts, it
// included, and says whether that is enough.
func (r *run) stuckFor(it Iteration) bool {
	if !it.Settled.Stuck {
		return false
	}
	n := 1
	for i := len(r.report.Iterations) - 1; i >= 0 && r.report.Iterations[i].Settled.Stuck; i-- {
		n++
	}
	return n >= stuckLimit
}

func stuckReason(story string) string {
	if story == "" {
		return fmt.Sprintf("%d iterations in a row added no story for what is left, though every story is done", stuckLimit)
	}
	return fmt.Sprintf("%d iterations in a row came to no verdict that counts; the story to review was %s", stuckLimit, story)
}

// rejection says why the list is no completion.
func (s Settlement) rejection() Rejection {
	switch {
	case s.Done:
		return NotRejected
	case s.Stuck:
		return RejectedStuck
	case len(s.Problems) > 0:
		return RejectedTransition
	}
	return RejectedStoriesLeft
}

func storiesLeft(n int) string {
	if n == 1 {
		return "1 story is"
	}
	return fmt.Sprintf("%d stories are", n)
}
