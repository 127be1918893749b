package run

import "github.com/org/ralph-action/internal/ralph"

// ledger knows what each iteration cost and which commit tells of it, so that
// the commits of a run together tell all that it cost.
type ledger struct {
	costs []ralph.Cost // of the iterations that ended, from the first
	told  int          // how many of them the last commit tells of
}

// ended takes note of an iteration.
func (l *ledger) ended(it ralph.Iteration) {
	for len(l.costs) < it.Number {
		l.costs = append(l.costs, ralph.Cost{})
	}
	l.costs[it.Number-1] = it.Usage().Cost
}

// committed says that a commit tells of everything up to an iteration.
func (l *ledger) committed(iteration int) { l.told = iteration }

// untold is what was spent since the last commit, the iteration that is being
// committed included.
func (l *ledger) untold(it ralph.Iteration) ralph.Cost {
	sum := it.Usage().Cost
	for i := l.told; i < min(it.Number-1, len(l.costs)); i++ {
		sum = sum.Add(l.costs[i])
	}
	return sum
}
