package tasks

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxID    = 200       // characters
	maxCount = 1_000_000 // of reviews
	maxRank  = 1e9       // of a priority, either way
)

// rule is what a field of tasks.json has to be.
type rule struct {
	name     string
	required bool
	// want is what would be right, when the value is not; "" when it is.
	want func(*node) string
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
func initial(field string) node {
	switch field {
	case fieldPasses:
		return node{kind: boolean, raw: "false"}
	case fieldStatus:
		return node{kind: null, raw: "null"}
	case fieldCount:
		return node{kind: number, raw: "0"}
	}
	return node{kind: text, raw: `""`}
}

func listRules() rules {
	wantText := wantKind(text, "give a string")
	return newRules(
		rule{"project", true, wantText}, rule{"branchName", true, wantText}, rule{"description", true, wantText},
		rule{"verifyCommands", false, wantTexts}, rule{fieldStories, true, wantStories},
	)
}

func storyRules() rules {
	wantText := wantKind(text, "give a string")
	return newRules(append([]rule{
		{fieldID, true, wantID}, {"title", true, wantText}, {"description", false, wantText}, {"acceptanceCriteria", true, wantCriteria},
		{"priority", true, wantNumber(-maxRank, maxRank, false, "give a number from -1000000000 to 1000000000, 1 for what comes first")},
	}, append(stateRules(),
		rule{fieldFeedback, true, wantText}, rule{fieldNotes, false, wantText}, rule{fieldDepends, false, wantTexts})...)...)
}

// stateRules are those of a story's state, feedback apart.
func stateRules() []rule {
	return []rule{
		{fieldPasses, true, wantKind(boolean, "give true or false")}, {fieldStatus, true, wantStatus}, {fieldCount, true, wantCount},
	}
}

func wantCount(n *node) string {
	return wantNumber(0, maxCount, true, "give a non-negative integer, at most 1000000")(n)
}

// wantKind is the check of a field whose values are all of one kind.
func wantKind(k kind, want string) func(*node) string {
	return func(n *node) string {
		if n.kind != k {
			return want
		}
		return ""
	}
}

// wantNumber is the check of a number within bounds.
func wantNumber(low, high float64, whole bool, want string) func(*node) string {
	return func(n *node) string {
		f, err := strconv.ParseFloat(n.raw, 64)
		if n.kind != number || err != nil || f < low || f > high || whole && f != math.Trunc(f) {
			return want
		}
		return ""
	}
}

// wantWord is the check of a field that takes one of some words.
func wantWord(want string, words ...string) func(*node) string {
	return func(n *node) string {
		if n.kind != text || !slices.Contains(words, n.text) {
			return want
		}
		return ""
	}
}

func wantTexts(n *node) string {
	if n.kind != array {
		return "give an array of strings"
	}
	for i := range n.items {
		if n.items[i].value.kind != text {
			return "give an array of strings only"
		}
	}
	return ""
}

func wantCriteria(n *node) string {
	if n.kind == array && len(n.items) == 0 {
		return "give at least one criterion"
	}
	return wantTexts(n)
}

func wantStories(n *node) string {
	switch {
	case n.kind != array:
		return "give an array of stories"
	case len(n.items) == 0:
		return "give at least one story"
	}
	return ""
}

func wantID(n *node) string {
	switch {
	case n.kind != text:
		return "give a string"
	case blank(n.text):
		return "give an id that is not empty"
	case utf8.RuneCountInString(n.text) > maxID:
		return "give an id of at most 200 characters"
	}
	return ""
}

func wantStatus(n *node) string {
	if n.kind == null {
		return ""
	}
	return wantWord(`give null, "needs_review", "changes_requested" or "approved"`, string(NeedsReview), string(ChangesRequested), string(Approved))(n)
}

// blank reports whether s holds nothing but ASCII white space.
func blank(s string) bool { return strings.Trim(s, " \t\n\r\f\v") == "" }

// show is a value in a message.
func show(n *node) string {
	switch n.kind {
	case text:
		return Quote(n.text)
	case array:
		if len(n.items) == 0 {
			return "an empty array"
		}
		return "an array"
	case object:
		return "an object"
	}
	return cut(n.raw, maxQuote)
}
