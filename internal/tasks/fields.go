package tasks

import (
	"math"
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
)

const (
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
		return literal("false")
	case fieldStatus:
		return literal("null")
	case fieldCount:
		return literal("0")
	}
	return literal(`""`)
}

func listRules() rules {
	return newRules(
		rule{"project", true, wantText}, rule{"branchName", true, wantText}, rule{"description", true, wantText},
		rule{"verifyCommands", false, wantTexts}, rule{fieldStories, true, wantStories},
	)
}

func storyRules() rules {
	return newRules(
		rule{fieldID, true, wantID}, rule{"title", true, wantText}, rule{"description", false, wantText},
		rule{"acceptanceCriteria", true, wantCriteria}, rule{"priority", true, wantPriority},
		rule{fieldPasses, true, wantBool}, rule{fieldStatus, true, wantStatus}, rule{fieldCount, true, wantCount},
		rule{fieldFeedback, true, wantText}, rule{fieldNotes, false, wantText}, rule{fieldDepends, false, wantTexts},
	)
}

func wantText(n *node) string {
	if n.kind != text {
		return "give a string"
	}
	return ""
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

func wantBool(n *node) string {
	if n.kind != boolean {
		return "give true or false"
	}
	return ""
}

func wantPriority(n *node) string {
	const want = "give a number from -1000000000 to 1000000000, 1 for what comes first"
	if n.kind != number {
		return want
	}
	if f, err := strconv.ParseFloat(n.raw, 64); err != nil || math.Abs(f) > maxRank {
		return want
	}
	return ""
}

func wantCount(n *node) string {
	const want = "give a non-negative integer, at most 1000000"
	if n.kind != number {
		return want
	}
	if f, err := strconv.ParseFloat(n.raw, 64); err != nil || f < 0 || f > maxCount || f != math.Trunc(f) {
		return want
	}
	return ""
}

func wantStatus(n *node) string {
	if n.kind == text {
		switch Status(n.text) {
		case NeedsReview, ChangesRequested, Approved:
			return ""
		}
	}
	if n.kind != null {
		return `give null, "needs_review", "changes_requested" or "approved"`
	}
	return ""
}

// blank says that s holds nothing but ASCII white space.
func blank(s string) bool { return strings.Trim(s, " \t\n\r\f\v") == "" }

// show is a value in a message.
func show(n *node) string {
	switch n.kind {
	case text:
		return quote(n.text)
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
