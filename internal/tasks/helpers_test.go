package tasks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

var reviewed = tasks.Rules{ReviewCap: 5}
var unreviewed = tasks.Rules{ReviewCap: 5, SkipReview: true}

// story is a story as JSON: state is passes, reviewStatus, reviewCount and
// reviewFeedback, more is further members.
func story(id, state string, more ...string) string {
	var passes, status, count, feedback = "false", "null", "0", `""`
	for i, v := range strings.SplitN(state, " ", 4) {
		*[]*string{&passes, &status, &count, &feedback}[i] = v
	}
	s := fmt.Sprintf(`    {
      "id": %q,
      "title": "Title of %s",
      "acceptanceCriteria": ["works"],
      "priority": 1,
      "passes": %s,
      "reviewStatus": %s,
      "reviewCount": %s,
      "reviewFeedback": %s,
      "notes": "some"`, id, id, passes, status, count, feedback)
	for _, m := range more {
		s += ",\n      " + m
	}
	return s + "\n    }"
}

// States of stories.
const (
	open      = `false null 0 ""`
	waiting   = `false "needs_review" 0 ""`
	waiting4  = `false "needs_review" 4 ""`
	rejected  = `false "changes_requested" 1 "fix it"`
	approved  = `true "approved" 1 ""`
	autoState = `true "approved" 5 "[AUTO-APPROVED AT CAP] still slow"`
)

func file(stories ...string) string {
	return `{
  "project": "Shop",
  "branchName": "ralph/shop",
  "description": "A shop.",
  "verifyCommands": ["make test"],
  "userStories": [
` + strings.Join(stories, ",\n") + `
  ]
}
`
}

func read(t testing.TB, text string) *tasks.List {
	t.Helper()
	l, err := tasks.Read([]byte(text))
	if err != nil {
		t.Fatalf("Read: %v\n%s", err, text)
	}
	return l
}

func snapshot(t testing.TB, r tasks.Rules, stories ...string) tasks.Snapshot {
	t.Helper()
	l := read(t, file(stories...))
	if p := l.Check(r); len(p) > 0 {
		t.Fatalf("the list before the iteration is wrong: %v", p)
	}
	return tasks.Take(l, r)
}

func texts(problems []tasks.Problem) []string {
	all := []string{}
	for _, p := range problems {
		all = append(all, p.Text)
	}
	return all
}

func states(l *tasks.List) string {
	var all []string
	for _, s := range l.Stories {
		all = append(all, fmt.Sprintf("%s %t %s %d %q", s.ID, s.Passes, s.Status, s.ReviewCount, s.ReviewFeedback))
	}
	return strings.Join(all, "; ")
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s =\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func unmarshal(t testing.TB, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return v
}
