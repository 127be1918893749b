package tasks

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/glob"
	"github.com/org/ralph-action/internal/lib/printable"
	"github.com/org/ralph-action/internal/tasks/document"
)

const (
	maxID      = 200       // characters
	maxCount   = 1_000_000 // of reviews
	maxRank    = 1e9       // of a priority, either way
	maxTouches = 50
)

// rule is what a field of tasks.json has to be.
type rule struct {
	name     string
	required bool
	// want is what would be right, when the value is not; "" when it is.
	want func(*document.Node) string
}

// rules are the known fields of an object; others may stand there, too.
type rules struct {
	list  []rule
	index map[string]int
}

func newRules(list ...rule) rules {
	index := make(map[string]int, len(list))
	for i, r := range list {
		index[r.name] = i
	}
	return rules{list, index}
}

// Fields of a story that the review cycle is about.
const (
	fieldPasses   = "passes"
	fieldStatus   = "reviewStatus"
	fieldCount    = "reviewCount"
	fieldFeedback = "reviewFeedback"
	// Others that are named more than once.
	fieldStories = "userStories"
	fieldID      = "id"
	fieldNotes   = "notes"
	fieldDepends = "dependsOn"
)

func stateFields() []string { return []string{fieldPasses, fieldStatus, fieldCount, fieldFeedback} }

// initial is how a new story starts.
func initial(field string) document.Node {
	switch field {
	case fieldPasses:
		return document.Node{Kind: document.Boolean, Raw: "false"}
	case fieldStatus:
		return document.Node{Kind: document.Null, Raw: "null"}
	case fieldCount:
		return document.Node{Kind: document.Number, Raw: "0"}
	}
	return document.Node{Kind: document.Text, Raw: `""`}
}

// listRules are the fields of a list.
var listRules = sync.OnceValue(func() rules {
	wantText := wantKind(document.Text, "give a string")
	return newRules(
		rule{"project", true, wantText}, rule{"branchName", true, wantText}, rule{"description", true, wantText},
		rule{"verifyCommands", false, wantTexts}, rule{fieldStories, true, wantStories},
	)
})

// storyRules are those of a story.
var storyRules = sync.OnceValue(func() rules {
	wantText := wantKind(document.Text, "give a string")
	return newRules(append([]rule{
		{fieldID, true, wantID}, {"title", true, wantText}, {"description", false, wantText}, {"acceptanceCriteria", true, wantCriteria},
		{"priority", true, wantNumber(-maxRank, maxRank, false, "give a number from -1000000000 to 1000000000, 1 for what comes first")},
	}, append(stateRules(),
		rule{fieldFeedback, true, wantText}, rule{fieldNotes, false, wantText}, rule{fieldDepends, false, wantTexts}, rule{"touches", false, wantTouches})...)...)
})

// stateRules are those of a story's state, feedback apart.
func stateRules() []rule {
	return []rule{
		{fieldPasses, true, wantKind(document.Boolean, "give true or false")}, {fieldStatus, true, wantStatus}, {fieldCount, true, wantCount},
	}
}

func wantCount(n *document.Node) string {
	return wantNumber(0, maxCount, true, "give a non-negative integer, at most 1000000")(n)
}

// wantKind is the check of a field whose values are all of one kind.
func wantKind(k document.Kind, want string) func(*document.Node) string {
	return func(n *document.Node) string {
		if n.Kind != k {
			return want
		}
		return ""
	}
}

// wantNumber is the check of a number within bounds.
func wantNumber(low, high float64, whole bool, want string) func(*document.Node) string {
	return func(n *document.Node) string {
		f, err := strconv.ParseFloat(n.Raw, 64)
		if n.Kind != document.Number || err != nil || f < low || f > high || whole && f != math.Trunc(f) {
			return want
		}
		return ""
	}
}

// wantWord is the check of a field that takes one of some words.
func wantWord(want string, words ...string) func(*document.Node) string {
	return func(n *document.Node) string {
		if n.Kind != document.Text || !slices.Contains(words, n.Text) {
			return want
		}
		return ""
	}
}

func wantTexts(n *document.Node) string {
	if n.Kind != document.Array {
		return "give an array of strings"
	}
	for i := range n.Items {
		if n.Items[i].Value.Kind != document.Text {
			return "give an array of strings only"
		}
	}
	return ""
}

func wantTouches(n *document.Node) string {
	if want := wantTexts(n); want != "" {
		return want
	}
	if len(n.Items) > maxTouches {
		return "give at most 50 patterns of paths"
	}
	for _, one := range n.Texts() {
		if _, err := glob.Parse(one); err != nil {
			return Quote(one) + ": " + err.Error()
		}
	}
	return ""
}

func wantCriteria(n *document.Node) string {
	if n.Kind == document.Array && len(n.Items) == 0 {
		return "give at least one criterion"
	}
	return wantTexts(n)
}

func wantStories(n *document.Node) string {
	switch {
	case n.Kind != document.Array:
		return "give an array of stories"
	case len(n.Items) == 0:
		return "give at least one story"
	}
	return ""
}

func wantID(n *document.Node) string {
	switch {
	case n.Kind != document.Text:
		return "give a string"
	case blank(n.Text):
		return "give an id that is not empty"
	case utf8.RuneCountInString(n.Text) > maxID:
		return "give an id of at most 200 characters"
	}
	return ""
}

func wantStatus(n *document.Node) string {
	if n.Kind == document.Null {
		return ""
	}
	return wantWord(`give null, "needs_review", "changes_requested" or "approved"`, string(NeedsReview), string(ChangesRequested), string(Approved))(n)
}

// blank reports whether s holds nothing but ASCII white space.
func blank(s string) bool { return strings.Trim(s, " \t\n\r\f\v") == "" }

// show is a value in a message.
func show(n *document.Node) string {
	switch n.Kind {
	case document.Text:
		return Quote(n.Text)
	case document.Array:
		if len(n.Items) == 0 {
			return "an empty array"
		}
		return "an array"
	case document.Object:
		return "an object"
	}
	return printable.Cut(n.Raw, maxQuote)
}
