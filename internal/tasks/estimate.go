package tasks

import "fmt"

// Estimate is how many iterations a list will need.
type Estimate struct {
	Stories int // not done yet
	Each    int // iterations per story, as a rule
	Likely  int
	// Most is how many it takes when every review but the last asks for
	// changes. 0: no bound, because the reviews have none.
	Most int
}

// Estimate counts what is left to do. A story takes two iterations, a third when
// its review asks for changes; with a review cap of 5 at most ten.
func (l *List) Estimate(r Rules) Estimate {
	e := Estimate{Each: 3}
	if r.SkipReview {
		e.Each = 1
	}
	for s := range l.covered(r) {
		if s.done(r) {
			continue
		}
		e.Stories++
		e.Most += s.most(r)
	}
	e.Likely = e.Stories * e.Each
	if most := e.Most; r.ReviewCap > 0 && !r.SkipReview && most < e.Likely {
		e.Likely = most
		e.Each = (most + e.Stories - 1) / max(1, e.Stories)
	}
	if r.ReviewCap == 0 && !r.SkipReview {
		e.Most = 0
	}
	return e
}

// most is how many iterations a story that is not done takes when every review but the
// last asks for changes.
func (s *Story) most(r Rules) int {
	reviews := max(1, r.ReviewCap-s.ReviewCount)
	switch {
	case r.SkipReview:
		return 1
	case s.Status == NeedsReview:
		return 2*reviews - 1
	}
	return 2 * reviews // one more for the implementation, or for the first fix
}

// Left is how many iterations a story will likely take, as Estimate counts; 0 if it is
// done.
func (s *Story) Left(r Rules) int {
	switch {
	case s.done(r):
		return 0
	case r.SkipReview:
		return 1
	case r.ReviewCap == 0:
		return 3
	}
	return min(3, s.most(r))
}

// String is the line for people: "5 stories × ~3 iterations each = ~15
// iterations needed, at most 50".
func (e Estimate) String() string {
	s := fmt.Sprintf("%s × ~%s each = ~%s needed", count(e.Stories, "story", "stories"), iterations(e.Each), iterations(e.Likely))
	if e.Most > 0 {
		s += fmt.Sprintf(", at most %d", e.Most)
	}
	return s
}

func iterations(n int) string { return count(n, "iteration", "iterations") }

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
