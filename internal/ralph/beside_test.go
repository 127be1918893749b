package ralph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// server is a workspace whose pushes take their time, and which is used by one at a
// time but for them.
type server struct {
	tree
	t      *testing.T
	takes  func(push int) time.Duration // more than an hour: until it is cut off
	refuse func(push int) string
	pushes int
	busy   bool
	cut    []time.Duration // when pushes were cut off, since began
	began  time.Time
	there  string // the newest commit on the server
}

func (w *server) idle(what string) {
	if w.busy {
		w.t.Errorf("%s while a push goes on", what)
	}
}

func (w *server) Snapshot(ctx context.Context) (ralph.Change, error) {
	w.idle("Snapshot")
	return w.tree.Snapshot(ctx)
}

func (w *server) Checkpoint(ctx context.Context, it ralph.Iteration) (ralph.Commit, error) {
	w.idle("Checkpoint")
	c, err := w.tree.Checkpoint(ctx, it)
	c.Pushed, c.Pushing = false, c.SHA != ""
	return c, err
}

func (w *server) PushCheckpoint(ctx context.Context, c ralph.Commit) ralph.Commit {
	w.idle("PushCheckpoint")
	w.busy = true
	defer func() { w.busy = false }()
	w.pushes++
	n := w.pushes
	c.Pushing = false
	if w.refuse != nil {
		if c.PushError = w.refuse(n); c.PushError != "" {
			return c
		}
	}
	select {
	case <-time.After(w.takes(n)):
		c.Pushed, w.there = true, c.SHA
	case <-ctx.Done():
		c.PushError = ctx.Err().Error()
		w.cut = append(w.cut, time.Since(w.began))
	}
	return c
}

// workers is an agent that works n turns of ten seconds, and says so in the last.
func workers(n int, w *server) *script {
	a := &script{}
	for i := range n {
		s := step{say: "more to do", tools: 1, takes: 10 * time.Second, edit: func() { w.edits++ }}
		if i == n-1 {
			s.say = promise
		}
		a.steps = append(a.steps, s)
	}
	return a
}

// A push goes on beside the next turn: it costs no time, and what became of it is
// in the record of its iteration.
func TestPushBesideTheNextTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &server{t: t, takes: func(int) time.Duration { return 4 * time.Second }}
		var told []string
		l := loop(workers(4, w), nil)
		l.Workspace, l.Emit = w, func(e ralph.Event) {
			switch e.Kind {
			case ralph.EventCheckpoint:
				told = append(told, fmt.Sprintf("%d %s pushing %v pushed %v", e.Iteration, e.Commit.SHA, e.Commit.Pushing, e.Commit.Pushed))
			case ralph.EventIterationEnd:
				told = append(told, fmt.Sprint("end ", e.Iteration))
			}
		}
		began := time.Now()
		r := l.Run(t.Context(), nil)
		if took, want := time.Since(began), 44*time.Second; took != want || r.Outcome != ralph.Completed {
			t.Errorf("Run() = %s after %s, want completed after %s: four turns and the last push", r.Outcome, took, want)
		}
		for i, it := range r.Iterations {
			if c := it.Commit; !c.Pushed || c.Pushing || c.SHA != fmt.Sprint("c", i+1) {
				t.Errorf("the commit of iteration %d = %+v, want it pushed", i+1, c)
			}
		}
		want := []string{
			"1 c1 pushing true pushed false", "end 1", "2 c2 pushing true pushed false", "end 2",
			"3 c3 pushing true pushed false", "end 3", "4 c4 pushing false pushed true", "end 4",
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// A push that takes longer than the turn is waited for: one at a time, and the next
// takes the newest.
func TestOnePushAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &server{t: t, takes: func(int) time.Duration { return 25 * time.Second }}
		l := loop(workers(3, w), nil)
		l.Workspace = w
		began := time.Now()
		r := l.Run(t.Context(), nil)
		if took, want := time.Since(began), 85*time.Second; took != want || w.pushes != 3 || w.there != "c3" || r.Outcome != ralph.Completed {
			t.Errorf("Run() = %s after %s, %d pushes, %s on the server, want completed after %s, 3 and c3", r.Outcome, took, w.pushes, w.there, want)
		}
	})
}

// What fails beside a turn is known before the end of its iteration is recorded, and
// the next push brings it.
func TestPushThatFailsBesideTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &server{t: t, takes: func(int) time.Duration { return time.Second }, refuse: func(n int) string {
			if n == 1 {
				return "the server is down"
			}
			return ""
		}}
		var told []string
		l := loop(workers(3, w), nil)
		l.Workspace, l.Emit = w, func(e ralph.Event) {
			switch {
			case e.Kind == ralph.EventCheckpoint && e.Commit.PushError != "":
				told = append(told, fmt.Sprintf("%d %s", e.Iteration, e.Commit.PushError))
			case e.Kind == ralph.EventIterationEnd:
				told = append(told, fmt.Sprint("end ", e.Iteration))
			}
		}
		r := l.Run(t.Context(), nil)
		if want := []string{"end 1", "1 the server is down", "end 2", "end 3"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if c := r.Iterations[0].Commit; c.Pushed || c.PushError != "the server is down" || w.there != "c3" {
			t.Errorf("the first commit = %+v, %s on the server, want the error and c3", c, w.there)
		}
	})
}

// A run that is cancelled while a push hangs gives it a moment, and has the whole
// time of saving for the last state.
func TestCancelledBesideAPush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &server{t: t, began: time.Now(), takes: func(n int) time.Duration {
			if n == 1 {
				return 24 * time.Hour
			}
			return 3 * time.Second
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(15*time.Second, cancel) // in the second turn
		l := loop(workers(5, w), nil)
		l.Workspace, l.Policy.Grace, l.Policy.Salvage = w, 1500*time.Millisecond, 5500*time.Millisecond
		r := l.Run(ctx, nil)
		if r.Outcome != ralph.Interrupted || w.there != "c2" {
			t.Errorf("Run() = %s, %s on the server, want interrupted and c2", r.Outcome, w.there)
		}
		if want := []time.Duration{16500 * time.Millisecond}; !slices.Equal(w.cut, want) {
			t.Errorf("pushes were cut off after %v, want %v", w.cut, want)
		}
		if took, want := time.Since(w.began), 19500*time.Millisecond; took != want {
			t.Errorf("the run took %s, want %s", took, want)
		}
	})
}
