package tasks

import (
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/tasks/document"
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
		rule{"skipReview", false, wantKind(document.Boolean, "give true or false")}, rule{"reviewCap", false, wantCount}, rule{"stories", false, wantTexts},
		rule{fieldMode, false, wantWord(`give "implement", "review" or "review-fix"`, string(Implement), string(Review), string(ReviewFix))},
		rule{fieldBefore, false, wantKind(document.Object, "give an object")}, rule{"commits", false, wantWord(`give "agent" or "ralph"`, ByAgent, ByRalph)},
	)
}

func (r *reader) marked() (m Marked, err error) {
	root := &r.doc.Root
	if root.Kind != document.Object {
		return m, fmt.Errorf("it is %s: an object is expected", show(root))
	}
	found := r.fields(root, markerRules(), -1)
	m.PID = int(found[0].Float())
	if found[1].Text != "" {
		m.Folder = path.Clean(found[1].Text)
	}
	m.Commits = found[7].Text
	rules := Rules{SkipReview: found[2].Raw == "true", ReviewCap: int(found[3].Float()), Only: found[4].Texts()}
	mode, before := Mode(found[5].Text), found[6]
	m.Snapshot = Snapshot{Rules: rules}
	if mode == "" || before.Kind != document.Object {
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
func (r *reader) before(n *document.Node, rules Rules) (*List, error) {
	l := &List{Stories: make([]Story, 0, len(n.Items))}
	seen, known := make(map[string]bool, len(n.Items)), newRules(stateRules()...)
	for i := range n.Items {
		it := &n.Items[i]
		id := document.Node{Kind: document.Text, Text: it.Key}
		switch {
		case wantID(&id) != "":
			return nil, fmt.Errorf("preIterationSnapshot: %s is no id: %s", Quote(it.Key), wantID(&id))
		case seen[it.Key]:
			return nil, fmt.Errorf("preIterationSnapshot: story %s is there twice", Visible(it.Key))
		case it.Value.Kind != document.Object:
			return nil, fmt.Errorf("preIterationSnapshot: story %s is %s: an object is expected", Visible(it.Key), show(&it.Value))
		}
		seen[it.Key] = true
		found := r.fields(&it.Value, known, -1)
		s := Story{ID: it.Key, Passes: found[0].Raw == "true", Status: Status(found[1].Text), ReviewCount: int(found[2].Float())}
		if len(r.problems.List) > 0 {
			return nil, fmt.Errorf("preIterationSnapshot: story %s: %w", Visible(it.Key), errors.New(r.problems.List[0].Text))
		}
		if !rules.SkipReview && s.contradicts(rules) {
			return nil, fmt.Errorf("preIterationSnapshot: story %s has passes=%t, reviewStatus %s and reviewCount %d, which contradict each other",
				Visible(it.Key), s.Passes, s.Status, s.ReviewCount)
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
func wantFolder(n *document.Node) string {
	clean := path.Clean(n.Text)
	if n.Kind != document.Text || clean == "." || !filepath.IsLocal(filepath.FromSlash(clean)) || strings.ContainsRune(clean, 0) {
		return "give a folder below the project"
	}
	return ""
}
