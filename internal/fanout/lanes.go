package fanout

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

// Artifact is a folder that a lane handed over.
type Artifact struct {
	Name   string  // of the folder, for people; foreign text
	Result *Result // nil: it cannot be read
	Err    error   // why
}

// Offer is what a lane has to integrate.
type Offer struct {
	Lane     *Lane
	Key      string
	Artifact *Artifact // the newest of the lane; nil: it handed nothing over
	// Why says in one line why nothing of the artifact is looked at; empty: all may be.
	Why string
}

// PartOf is the part of a branch, or the only one for an empty name.
func (p *Plan) PartOf(branch string) (*Part, error) {
	var names []string
	for i := range p.Parts {
		if part := &p.Parts[i]; part.Branch == branch || branch == "" && len(p.Parts) == 1 {
			return part, nil
		}
		names = append(names, p.Parts[i].Branch)
	}
	if branch == "" {
		return nil, fmt.Errorf("the plan has several branches: name one of %s", ralph.Listed(names))
	}
	return nil, fmt.Errorf("the plan does not have the branch %q: it has %s", branch, ralph.Listed(names))
}

// Match gives each lane of a part, in the plan's order, its newest artifact. notes name
// the artifacts that belong to no lane of the plan.
func (p *Plan) Match(part *Part, found []Artifact) (offers []Offer, notes []string) {
	id := p.ID()
	newest := map[string]*Artifact{}
	for i := range found {
		a := &found[i]
		if a.Result == nil {
			notes = append(notes, fmt.Sprintf("%q is not looked at: %v", a.Name, a.Err))
			continue
		}
		switch key, err := ParseLaneKey(a.Result.Key); {
		case err != nil || key.Plan != id || key.Wave != p.Wave:
			notes = append(notes, fmt.Sprintf("%q is not looked at: it is of %s, which is no lane of the plan (wave %d, %s)", a.Name, a.Result.Key, p.Wave, id))
			continue
		}
		if old := newest[a.Result.Key]; old == nil || newer(a, old) {
			newest[a.Result.Key] = a
		}
	}
	for i := range part.Lanes {
		o := Offer{Lane: &part.Lanes[i]}
		o.Key = LaneKey{Wave: p.Wave, Lane: o.Lane.Name, Plan: id}.String()
		if o.Artifact = newest[o.Key]; o.Artifact != nil {
			o.Why = o.unlike(part)
		}
		offers = append(offers, o)
	}
	return offers, notes
}

// newer reports whether an artifact tells more of a lane than another one.
func newer(a, b *Artifact) bool {
	return cmp.Or(cmp.Compare(a.Result.Sequence, b.Result.Sequence), a.Result.Ended.Compare(b.Result.Ended), cmp.Compare(a.Name, b.Name)) > 0
}

// unlike says where a result does not follow its plan; empty: nowhere.
func (o *Offer) unlike(part *Part) string {
	r := o.Artifact.Result
	switch {
	case r.Base != part.Base:
		return fmt.Sprintf("it began at %.12s, and the plan at %.12s", r.Base, part.Base)
	case r.Digest != part.Digest:
		return "it worked on another task list than the plan has"
	}
	at := 0
	for _, s := range r.Stories {
		i := slices.Index(o.Lane.Stories, s.ID)
		switch {
		case i < 0:
			return fmt.Sprintf("it hands over story %q, which is not one of its own", s.ID)
		case i < at:
			return fmt.Sprintf("it hands over story %q out of the plan's order", s.ID)
		}
		at = i + 1
	}
	return ""
}

// Turn is a story whose turn it is to be integrated.
type Turn struct {
	Story string
	Lane  int // index into Part.Lanes
}

// Order is the order in which the stories of a part are integrated: of the next stories of
// all lanes the one on the lowest level of dependencies, then with the lowest priority
// number, then of the first lane. A lane's own order is kept.
func Order(list *tasks.List, part *Part) []Turn {
	stories := make(map[string]*tasks.Story, len(list.Stories))
	for i := range list.Stories {
		stories[list.Stories[i].ID] = &list.Stories[i]
	}
	wave := map[string]bool{}
	left := 0
	for _, l := range part.Lanes {
		left += len(l.Stories)
		for _, id := range l.Stories {
			wave[id] = true
		}
	}
	level := map[string]int{}
	var depth func(id string) int
	depth = func(id string) int { // a list has no cycles
		if n, known := level[id]; known || stories[id] == nil {
			return n
		}
		n := 0
		for _, on := range stories[id].DependsOn {
			if wave[on] {
				n = max(n, depth(on)+1)
			}
		}
		level[id] = n
		return n
	}
	priority := func(id string) float64 {
		if s := stories[id]; s != nil {
			return s.Priority
		}
		return 0
	}
	next := make([]int, len(part.Lanes))
	order := make([]Turn, 0, left)
	for len(order) < left {
		best := Turn{Lane: -1}
		for i := range part.Lanes {
			if next[i] == len(part.Lanes[i].Stories) {
				continue
			}
			id := part.Lanes[i].Stories[next[i]]
			if best.Lane < 0 || cmp.Or(cmp.Compare(depth(id), depth(best.Story)), cmp.Compare(priority(id), priority(best.Story))) < 0 {
				best = Turn{id, i}
			}
		}
		next[best.Lane]++
		order = append(order, best)
	}
	return order
}

// Next decides whether another wave is worth starting, and says why. left is the number
// of stories that are not done.
func (p *Plan) Next(left int, w *ralph.Wave) (next bool, why string) {
	in := 0
	for _, s := range w.Stories {
		if s.Fate == ralph.FateIn || s.Fate == ralph.FateAlready {
			in++
		}
	}
	switch {
	case left == 0:
		return false, "every story is done"
	case in == 0:
		return false, "no story of this wave got in: another one would come to the same"
	case p.Waves > 0 && p.Wave >= p.Waves:
		return false, fmt.Sprintf("this was the last of %d waves", p.Waves)
	case p.Budget > 0 && w.Cost.Amount >= p.Budget:
		return false, fmt.Sprintf("the budget of %s is spent", p.Budget)
	}
	if left == 1 {
		return true, "one story is left"
	}
	return true, fmt.Sprintf("%d stories are left", left)
}
