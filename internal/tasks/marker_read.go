package tasks

import (
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strings"
)

// Marked is what a marker says. The agent can write to the marker, so this is
// advice for its hooks, and the loop compares with what it holds itself.
type Marked struct {
	PID     int    // 0: not said
	Folder  string // of the list, clean and below the project; "": not said
	Commits string // [ByAgent], [ByRalph]; "": not said

	// Snapshot has Rules, and works with Verify and Transitions. It knows of each
	// story its passes, reviewStatus and reviewCount only: what feedback became
	// is not compared, and which story the iteration is for is not known.
	Snapshot Snapshot
	// Partial says that iterationMode or preIterationSnapshot is missing: then
	// the snapshot knows nothing, and schema and invariants are all there is to
	// check.
	Partial bool
}

// DecodeMarker reads what [Marker.Encode] wrote: at most 16 MiB. The error says
// what no loop would have written: other types, states that contradict each
// other or the mode, a directory outside of the project.
func DecodeMarker(data []byte) (Marked, error) {
	doc, bad := parse(data, maxMarker)
	if bad != nil {
		return Marked{}, fmt.Errorf("%s:%s", MarkerName, bad)
	}
	r := reader{doc: doc}
	m, err := r.marked()
	if err == nil && len(r.problems.List) > 0 {
		r.places()
		err = &r.problems
	}
	if err != nil {
		return Marked{}, fmt.Errorf("%s: %w", MarkerName, err)
	}
	return m, nil
}

const (
	fieldMode   = "iterationMode"
	fieldBefore = "preIterationSnapshot"
)

func markerRules() rules {
	return newRules(
		rule{"pid", false, wantNumber(0, math.MaxInt32, true, "give the number of a process")}, rule{"ralphDir", false, wantFolder},
		rule{"skipReview", false, wantKind(boolean, "give true or false")}, rule{"reviewCap", false, wantCount}, rule{"stories", false, wantTexts},
		rule{fieldMode, false, wantWord(`give "implement", "review" or "review-fix"`, string(Implement), string(Review), string(ReviewFix))},
		rule{fieldBefore, false, wantKind(object, "give an object")}, rule{"commits", false, wantWord(`give "agent" or "ralph"`, ByAgent, ByRalph)},
	)
}

func (r *reader) marked() (m Marked, err error) {
	root := &r.doc.root
	if root.kind != object {
		return m, fmt.Errorf("it is %s: an object is expected", show(root))
	}
	found := r.fields(root, markerRules(), -1)
	m.PID = int(found[0].float())
	if found[1].text != "" {
		m.Folder = path.Clean(found[1].text)
	}
	m.Commits = found[7].text
	rules := Rules{SkipReview: found[2].raw == "true", ReviewCap: int(found[3].float()), Only: found[4].texts()}
	mode, before := Mode(found[5].text), found[6]
	m.Snapshot = Snapshot{Rules: rules}
	if mode == "" || before.kind != object {
		m.Partial = true
		return m, nil
	}
	list, err := r.before(before, rules)
	if err != nil || len(r.problems.List) > 0 {
		return m, err
	}
	if fits := list.Mode(rules); mode != fits {
		return m, fmt.Errorf("iterationMode is %s, and the stories of preIterationSnapshot make it %s", mode, fits)
	}
	m.Snapshot = compare(list, rules)
	m.Snapshot.Mode, m.Snapshot.brief = mode, true
	return m, nil
}

// before is the stories of the snapshot, without what a marker does not tell.
func (r *reader) before(n *node, rules Rules) (*List, error) {
	l := &List{Stories: make([]Story, 0, len(n.items))}
	seen, known := make(map[string]bool, len(n.items)), newRules(stateRules()...)
	for i := range n.items {
		it := &n.items[i]
		id := node{kind: text, text: it.key}
		switch {
		case wantID(&id) != "":
			return nil, fmt.Errorf("preIterationSnapshot: %s is no id: %s", Quote(it.key), wantID(&id))
		case seen[it.key]:
			return nil, fmt.Errorf("preIterationSnapshot: story %s is there twice", Visible(it.key))
		case it.value.kind != object:
			return nil, fmt.Errorf("preIterationSnapshot: story %s is %s: an object is expected", Visible(it.key), show(&it.value))
		}
		seen[it.key] = true
		found := r.fields(&it.value, known, -1)
		s := Story{ID: it.key, Passes: found[0].raw == "true", Status: Status(found[1].text), ReviewCount: int(found[2].float())}
		if len(r.problems.List) > 0 {
			return nil, fmt.Errorf("preIterationSnapshot: story %s: %w", Visible(it.key), errors.New(r.problems.List[0].Text))
		}
		if !rules.SkipReview && s.contradicts(rules) {
			return nil, fmt.Errorf("preIterationSnapshot: story %s has passes=%t, reviewStatus %s and reviewCount %d, which contradict each other",
				Visible(it.key), s.Passes, s.Status, s.ReviewCount)
		}
		l.Stories = append(l.Stories, s)
	}
	return l, nil
}

// contradicts reports whether a story has a contradiction that does not need its
// feedback to be seen.
func (s *Story) contradicts(r Rules) bool {
	told := *s
	told.ReviewFeedback = "not told"
	return told.contradiction(r) != ""
}

// wantFolder is a path below the project.
func wantFolder(n *node) string {
	clean := path.Clean(n.text)
	if n.kind != text || clean == "." || !filepath.IsLocal(filepath.FromSlash(clean)) || strings.ContainsRune(clean, 0) {
		return "give a folder below the project"
	}
	return ""
}
