package stories

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/tasks"
)

// Values are what prompt.md can ask for.
type Values struct {
	Iteration     int // from 1
	MaxIterations int // 0: no limit
	Dir           string
	Snapshot      tasks.Snapshot
}

// variable is a name that prompt.md can use, as {{NAME}}, $NAME and ${NAME}.
type variable struct {
	name  string
	value func(Values) string
}

func variables() []variable {
	return []variable{
		{"RALPH_ITERATION", func(v Values) string { return strconv.Itoa(v.Iteration) }},
		{"RALPH_MAX_ITERATIONS", func(v Values) string { return limit(v.MaxIterations) }},
		{"RALPH_DIR", func(v Values) string { return v.Dir }},
		{"MODE", func(v Values) string { return string(v.Snapshot.Mode) }},
		{"STORY_ID", func(v Values) string { return cmp.Or(tasks.Visible(v.Snapshot.Story.ID), "none") }},
		{"STORY_TITLE", func(v Values) string { return cmp.Or(tasks.Visible(v.Snapshot.Story.Title), "every story is done") }},
		{"REVIEW_CAP", func(v Values) string { return limit(v.Snapshot.Rules.ReviewCap) }},
		{"SKIP_REVIEW", func(v Values) string { return strconv.FormatBool(v.Snapshot.Rules.SkipReview) }},
	}
}

// Variables are the names that prompt.md can use.
func Variables() []string {
	var names []string
	for _, one := range variables() {
		names = append(names, one.name)
	}
	return names
}

func limit(n int) string {
	if n == 0 {
		return "unlimited"
	}
	return strconv.Itoa(n)
}

var reference = lazyregexp.New(`\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)

// Expand puts the values into a prompt. What is no variable stays as it is, and
// values are not expanded again.
func (v Values) Expand(prompt string) string {
	all := variables()
	return reference.ReplaceAllStringFunc(prompt, func(found string) string {
		name := strings.Trim(found, "{$}")
		if i := slices.IndexFunc(all, func(one variable) bool { return one.name == name }); i >= 0 {
			return all[i].value(v)
		}
		return found
	})
}
