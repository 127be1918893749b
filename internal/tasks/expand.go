package tasks

import (
	"cmp"
	"strconv"
	"strings"
)

// Values are what prompt.md can ask for.
type Values struct {
	Iteration     int // from 1
	MaxIterations int // 0: no limit
	Dir           string
	Snapshot      Snapshot
}

// Variables are the names that prompt.md can use, as {{NAME}}, $NAME and
// ${NAME}.
func Variables() []string {
	return []string{
		"RALPH_ITERATION", "RALPH_MAX_ITERATIONS", "RALPH_DIR", "MODE", "STORY_ID", "STORY_TITLE", "REVIEW_CAP", "SKIP_REVIEW",
	}
}

func (v Values) value(name string) (string, bool) {
	switch name {
	case "RALPH_ITERATION":
		return strconv.Itoa(v.Iteration), true
	case "RALPH_MAX_ITERATIONS":
		return limit(v.MaxIterations), true
	case "RALPH_DIR":
		return v.Dir, true
	case "MODE":
		return string(v.Snapshot.Mode), true
	case "STORY_ID":
		return cmp.Or(visible(v.Snapshot.Story.ID), "none"), true
	case "STORY_TITLE":
		return cmp.Or(visible(v.Snapshot.Story.Title), "every story is done"), true
	case "REVIEW_CAP":
		return limit(v.Snapshot.Rules.ReviewCap), true
	case "SKIP_REVIEW":
		return strconv.FormatBool(v.Snapshot.Rules.SkipReview), true
	}
	return "", false
}

func limit(n int) string {
	if n == 0 {
		return "unlimited"
	}
	return strconv.Itoa(n)
}

// Expand puts the values into a prompt. What is no variable stays as it is, and
// values are not expanded again.
func (v Values) Expand(prompt string) string {
	var b strings.Builder
	for {
		i := strings.IndexAny(prompt, "${")
		if i < 0 {
			break
		}
		b.WriteString(prompt[:i])
		prompt = prompt[i:]
		name, length := reference(prompt)
		value, declared := v.value(name)
		if !declared {
			value, length = prompt[:1], 1
		}
		b.WriteString(value)
		prompt = prompt[length:]
	}
	b.WriteString(prompt)
	return b.String()
}

// reference is the name that text begins to refer to, and how many bytes that
// takes.
func reference(text string) (name string, length int) {
	for _, form := range [][2]string{{"{{", "}}"}, {"${", "}"}, {"$", ""}} {
		rest, ok := strings.CutPrefix(text, form[0])
		if !ok {
			continue
		}
		n := 0
		for n < len(rest) && (rest[n] == '_' || rest[n] >= 'A' && rest[n] <= 'Z' || rest[n] >= 'a' && rest[n] <= 'z' || n > 0 && rest[n] >= '0' && rest[n] <= '9') {
			n++
		}
		if strings.HasPrefix(rest[n:], form[1]) {
			return rest[:n], len(form[0]) + n + len(form[1])
		}
	}
	return "", 0
}
