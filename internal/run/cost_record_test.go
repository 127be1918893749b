package run

import (
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

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
	// A commit of which the server took nothing is made up for by the next.
	l = costRecord{}
	l.committed(1)
	l.ended(iterationOf(1, 1))
	l.committed(2)
	l.ended(iterationOf(2, 2))
	l.withdrawn()
	if got := l.unreported(iterationOf(3, 3)).Amount; got != 5 {
		t.Errorf("the commit after one that was withdrawn tells of %d, want 5", got)
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
