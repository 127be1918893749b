package tasks

import "fmt"

// Figures is what the review cycle did to a list, and whether it was worth it:
// when nearly every story is approved at its first review, reviews cost one
// iteration and find little; many with three or four say that they find much;
// those approved at the cap are for people.
type Figures struct {
	Stories  int
	Done     int
	Reviews  int      // of all stories together
	Most     int      // of one story
	Reviewed int      // stories with one review or more
	First    int      // of these, approved at their first
	Capped   []string // ids of those approved because their reviews were used up
}

// Figures counts. Stories that the rules leave out count as well.
func (l *List) Figures(r Rules) Figures {
	f := Figures{Stories: len(l.Stories)}
	for i := range l.Stories {
		s := &l.Stories[i]
		if s.done(r) {
			f.Done++
		}
		f.Reviews += s.ReviewCount
		f.Most = max(f.Most, s.ReviewCount)
		if s.ReviewCount > 0 {
			f.Reviewed++
		}
		if s.AutoApproved() {
			f.Capped = append(f.Capped, s.ID)
		} else if s.Status == Approved && s.ReviewCount == 1 {
			f.First++
		}
	}
	return f
}

// Lines is the figures for people: one line for each, none about reviews where
// there were none.
func (f Figures) Lines() []string {
	lines := []string{fmt.Sprintf("Stories completed: %d of %d", f.Done, f.Stories)}
	if f.Reviews > 0 {
		lines = append(lines, fmt.Sprintf("Reviews: %d, %.1f per reviewed story, at most %d", f.Reviews, float64(f.Reviews)/float64(f.Reviewed), f.Most),
			fmt.Sprintf("Approved at the first review: %d of %s", f.First, count(f.Reviewed, "reviewed story", "reviewed stories")))
	}
	return lines
}

// CappedIDs names the stories approved at the cap, the first of them, with
// foreign text made visible; "" when there are none.
func (f Figures) CappedIDs() string { return some(f.Capped, Visible) }
