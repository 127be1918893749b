package run

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// Updates never hold up the run, skip what is outdated, and end when asked to.
func TestTelling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var posted []string
		failures := 0
		tl := newCommentUpdater(t.Context(), func(_ context.Context, text string) error {
			time.Sleep(5 * time.Second)
			posted = append(posted, text)
			return errors.New("locked")
		}, func(error) { failures++ })
		began := time.Now()
		for _, text := range []string{"1", "2", "3"} {
			tl.update(text)
			synctest.Wait()
		}
		if time.Since(began) != 0 {
			t.Error("say waited for the forge")
		}
		time.Sleep(time.Minute)
		tl.update("4")
		synctest.Wait()
		tl.update("never")
		tl.end(t.Context())
		if want := []string{"1", "3", "4"}; !slices.Equal(posted, want) {
			t.Errorf("posted %q, want %q", posted, want)
		}
		if failures != 1 {
			t.Errorf("told of %d failures, want 1", failures)
		}
	})
}

// What each commit tells of the cost adds up to that of the run.
func TestLedger(t *testing.T) {
	t.Parallel()
	var l costRecord
	var told []int64
	for n, commits := range []bool{false, true, false, false, true} {
		it := iterationOf(n+1, int64(n+1))
		if commits {
			told = append(told, int64(l.unreported(it).Amount))
			l.committed(n + 1)
		}
		l.ended(it)
	}
	if want := []int64{3, 12}; !slices.Equal(told, want) {
		t.Errorf("the commits tell of %v, want %v", told, want)
	}
	// One commit at the end, made when the last iteration has ended.
	l = costRecord{}
	for n := 1; n <= 3; n++ {
		l.ended(iterationOf(n, int64(n)))
	}
	if got := l.unreported(iterationOf(3, 3)).Amount; got != 6 {
		t.Errorf("the commit at the end tells of %d, want 6", got)
	}
}

func iterationOf(n int, micro int64) ralph.Iteration {
	return ralph.Iteration{Number: n, Turns: []ralph.Turn{{Usage: ralph.Usage{Cost: ralph.Cost{Amount: ralph.MicroUSD(micro)}}}}}
}
