package proposal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/run/proposal"
)

// board is a forge on which everything takes a second.
type board struct {
	began time.Time
	said  []string
	fails error
	busy  map[string]bool
	t     *testing.T
}

func (b *board) say(ctx context.Context, what string, r ralph.Report) error {
	kind, _, _ := strings.Cut(what, " ")
	if kind == "update" {
		kind = "propose" // of one pull request
	}
	if b.busy[kind] {
		b.t.Errorf("%s while another one goes on", what)
	}
	b.busy[kind] = true
	defer func() { b.busy[kind] = false }()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	b.said = append(b.said, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", time.Since(b.began).Truncate(time.Second), what, r.Now.Iteration, r.Now.Doing)))
	return b.fails
}

func (b *board) options() proposal.Options {
	return proposal.Options{
		Mask:    func(s string) string { return strings.ReplaceAll(s, "s3cret", "***") },
		Comment: func(ctx context.Context, r ralph.Report) error { return b.say(ctx, "comment", r) },
		Propose: func(ctx context.Context, r ralph.Report, at publish.State) (ralph.PullRequest, error) {
			return ralph.PullRequest{Number: 7, Operation: ralph.OperationCreated}, b.say(ctx, "propose "+at.Branch, r)
		},
		Update: func(ctx context.Context, number int, r ralph.Report, _ publish.State) error {
			return b.say(ctx, fmt.Sprint("update #", number), r)
		},
		Early: true, Failed: func(err error) { b.said = append(b.said, "failed: "+err.Error()) },
	}
}

// live runs f with a Live on a board, in a bubble.
func live(t *testing.T, change func(*board, *proposal.Options), f func(t *testing.T, b *board, l *proposal.Live)) []string {
	t.Helper()
	t.Parallel()
	var said []string
	synctest.Test(t, func(t *testing.T) {
		b := &board{began: time.Now(), busy: map[string]bool{}, t: t}
		o := b.options()
		if change != nil {
			change(b, &o)
		}
		l := proposal.New(t.Context(), ralph.Report{Started: b.began}, o)
		f(t, b, l)
		l.End(t.Context())
		said = b.said
	})
	return said
}

func start(l *proposal.Live, n int) {
	l.Event(ralph.Event{Kind: ralph.EventIterationStart, Iteration: n, At: time.Now()}, &ralph.Report{Started: time.Now()})
}

func end(l *proposal.Live, n int) {
	l.Event(ralph.Event{Kind: ralph.EventIterationEnd, Iteration: n, Record: &ralph.Iteration{Number: n}}, &ralph.Report{Started: time.Now()})
	l.Event(ralph.Event{Kind: ralph.EventNext, Iteration: n + 1}, nil)
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("written:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The pull request appears as soon as something is pushed and the run goes on, and
// both texts are kept up to date: each iteration, and every two minutes while one runs.
func TestKeptUpToDate(t *testing.T) {
	want(t, live(t, nil, func(t *testing.T, _ *board, l *proposal.Live) {
		time.Sleep(5 * time.Second)
		start(l, 1)
		time.Sleep(40 * time.Second)
		l.Pushed(publish.State{Branch: "ralph/x"}, nil)
		end(l, 1)
		start(l, 2)
		time.Sleep(100 * time.Second)
		l.Event(ralph.Event{Kind: ralph.EventToolStart, Tool: "Bash", ToolID: "a", Text: "npm test s3cret", At: time.Now()}, nil)
		l.Event(ralph.Event{Kind: ralph.EventToolStart, Tool: "Read", ToolID: "b", Text: "x", At: time.Now()}, nil)
		l.Event(ralph.Event{Kind: ralph.EventToolEnd, ToolID: "b"}, nil)
		l.Event(ralph.Event{Kind: ralph.EventToolStart, Tool: "Bash", ToolID: "a", Text: "npm test s3cret", At: time.Now()}, nil)
		time.Sleep(5 * time.Minute)
	}),
		"1s comment 0", "22s comment 1", "46s comment 2", "47s propose ralph/x 2",
		"2m47s comment 2 Bash: npm test ***", "2m48s update #7 2 Bash: npm test ***",
		"4m48s comment 2 Bash: npm test ***", "4m49s update #7 2 Bash: npm test ***",
		"6m49s comment 2 Bash: npm test ***", "6m50s update #7 2 Bash: npm test ***",
	)
}

// A storm of events makes no storm of updates, and the newest is written.
func TestThrottled(t *testing.T) {
	want(t, live(t, nil, func(t *testing.T, _ *board, l *proposal.Live) {
		time.Sleep(100 * time.Millisecond)
		l.Pushed(publish.State{Branch: "ralph/x"}, nil)
		for n := 1; n <= 100; n++ {
			start(l, n)
			end(l, n)
			time.Sleep(250 * time.Millisecond)
		}
		time.Sleep(10 * time.Minute) // nothing changes, and nothing runs
	}), "1s comment 0", "2s propose ralph/x 4", "22s comment 84", "23s update #7 88", "43s comment 100", "44s update #7 100")
}

// A run of one iteration makes no pull request before its end.
func TestOneIteration(t *testing.T) {
	want(t, live(t, func(_ *board, o *proposal.Options) { o.Comment = nil }, func(t *testing.T, _ *board, l *proposal.Live) {
		start(l, 1)
		time.Sleep(10 * time.Minute)
		l.Pushed(publish.State{Branch: "ralph/x"}, nil)
		l.Event(ralph.Event{Kind: ralph.EventIterationEnd, Iteration: 1, Record: &ralph.Iteration{Number: 1}}, &ralph.Report{})
		time.Sleep(time.Minute)
		if pull, tried := l.PullRequest(); pull.Number != 0 || tried {
			t.Errorf("PullRequest() = %+v, %v, want none", pull, tried)
		}
	}))
}

// Failures are told once, are tried again more seldom, and hold up nothing.
func TestFailuresAreNoneOfTheRun(t *testing.T) {
	want(t, live(t, func(b *board, o *proposal.Options) { b.fails, o.Comment = errors.New("500"), nil }, func(t *testing.T, b *board, l *proposal.Live) {
		l.Pushed(publish.State{Branch: "ralph/x"}, nil)
		for n := 1; n <= 10; n++ {
			start(l, n)
			end(l, n)
			time.Sleep(30 * time.Second)
		}
		b.fails = nil
		time.Sleep(time.Minute)
		start(l, 11)
		end(l, 11)
		time.Sleep(time.Minute)
		if pull, tried := l.PullRequest(); pull.Number != 7 || !tried {
			t.Errorf("PullRequest() = %+v, %v, want #7", pull, tried)
		}
	}), "1s propose ralph/x 1", "failed: 500", "2m2s propose ralph/x 5", "4m3s propose ralph/x 9", "6m4s propose ralph/x 11")
}

// The end waits for an update that is under way, but not for long, and nothing is
// written after it.
func TestEnd(t *testing.T) {
	var took time.Duration
	want(t, live(t, nil, func(t *testing.T, _ *board, l *proposal.Live) {
		synctest.Wait()
		start(l, 1)
		began := time.Now()
		l.End(t.Context())
		took = time.Since(began)
		start(l, 2)
		time.Sleep(time.Hour)
	}), "1s comment 0")
	if took != time.Second {
		t.Errorf("End() took %s, want the second of the update", took)
	}
}

func TestEndCutsOffWhatHangs(t *testing.T) {
	want(t, live(t, func(_ *board, o *proposal.Options) {
		o.Comment = func(ctx context.Context, _ ralph.Report) error { <-ctx.Done(); return ctx.Err() }
	}, func(t *testing.T, b *board, l *proposal.Live) {
		time.Sleep(time.Second)
		l.End(t.Context())
		if took, want := time.Since(b.began), 4*time.Second; took != want {
			t.Errorf("End() returned after %s, want %s", took, want)
		}
	}))
}

// A pull request that somebody else describes is left alone, and an open one of ours
// is written anew.
func TestWhoseItIs(t *testing.T) {
	push := func(t *testing.T, _ *board, l *proposal.Live) {
		l.Pushed(publish.State{Branch: "ralph/x"}, nil)
		start(l, 1)
		end(l, 1)
		start(l, 2)
		time.Sleep(time.Minute)
	}
	t.Run("ours", func(t *testing.T) {
		want(t, live(t, func(_ *board, o *proposal.Options) { o.Comment, o.Pull.Number = nil, 3 }, push), "1s update #3 2")
	})
	t.Run("theirs", func(t *testing.T) {
		want(t, live(t, func(_ *board, o *proposal.Options) {
			o.Comment, o.Pull = nil, ralph.PullRequest{Number: 3, Foreign: true}
		}, push))
	})
}

// The checks want the pull request at once, beside whatever is written.
func TestProposedForChecks(t *testing.T) {
	want(t, live(t, func(_ *board, o *proposal.Options) { o.Comment, o.Early = nil, false }, func(t *testing.T, _ *board, l *proposal.Live) {
		start(l, 1)
		for range 2 {
			if pull, err := l.Propose(t.Context(), publish.State{Branch: "ralph/x"}, nil); err != nil || pull.Number != 7 {
				t.Errorf("Propose() = %+v, %v, want #7", pull, err)
			}
		}
	}), "1s propose ralph/x 1", "2s update #7 1")
}

// Nobody to tell.
func TestNobody(t *testing.T) {
	t.Parallel()
	var l *proposal.Live
	start(l, 1)
	l.Pushed(publish.State{}, nil)
	l.End(t.Context())
	l.Cut()
	if pull, err := l.Propose(t.Context(), publish.State{}, nil); err != nil || pull.Number != 0 {
		t.Errorf("Propose() = %+v, %v, want none", pull, err)
	}
	if pull, tried := l.PullRequest(); pull.Number != 0 || tried {
		t.Errorf("PullRequest() = %+v, %v, want none", pull, tried)
	}
}
