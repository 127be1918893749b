package run

import "github.com/org/ralph-action/internal/ralph"

// costRecord knows what each iteration cost and which commit reports it, so that
// the commits of a run together report all that it cost.
type costRecord struct {
	costs    []ralph.Cost // of the iterations that ended, from the first
	reported int          // how many of them the last commit reports
	before   int          // how many those before it do
}

// ended takes note of an iteration.
func (l *costRecord) ended(it ralph.Iteration) {
	for len(l.costs) < it.Number {
		l.costs = append(l.costs, ralph.Cost{})
	}
	l.costs[it.Number-1] = it.Usage().Cost
}

// committed notes that a commit reports everything up to an iteration.
func (l *costRecord) committed(iteration int) {
	if iteration != l.reported {
		l.before, l.reported = l.reported, iteration
	}
}

// withdrawn notes that the server refused all of the last commit.
func (l *costRecord) withdrawn() { l.reported = l.before }

// unreported is what was spent since the last commit, the iteration that is being
// committed included.
func (l *costRecord) unreported(it ralph.Iteration) ralph.Cost {
	sum := it.Usage().Cost
	for i := l.reported; i < min(it.Number-1, len(l.costs)); i++ {
		sum = sum.Add(l.costs[i])
	}
	return sum
}
