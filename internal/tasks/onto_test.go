package tasks_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/matrix"
	"github.com/org/ralph-action/internal/tasks"
)

// A story that was taken out of the other version meanwhile stays out; a new one comes.
func TestOntoTakenOut(t *testing.T) {
	t.Parallel()
	since := read(t, file(story("A", open), story("B", open)))
	left := read(t, file(story("A", open), story("B", waiting), story("C", open)))
	got := string(left.Onto(read(t, file(story("B", open))), tasks.Rules{ReviewCap: 5, Only: []string{"B"}}, since).Bytes())
	if want := file(story("B", waiting), story("C", open)); got != want {
		t.Errorf("Onto =\n%s\nwant\n%s", got, want)
	}
}

// Two jobs that write the list as their tools do: the text of what is not theirs stays.
func TestOnto(t *testing.T) {
	t.Parallel()
	only := tasks.Rules{ReviewCap: 5, Only: []string{"B"}}
	for _, c := range []struct {
		name, base, left, want string
		rules                  tasks.Rules
	}{
		{"its story alone", file(story("A", open), story("B", open)), file(story("A", approved), story("B", waiting)),
			file(story("A", open), story("B", waiting)), only},
		{"every story", file(story("A", open), story("B", open)), file(story("A", approved), story("B", waiting)),
			file(story("A", approved), story("B", waiting)), reviewed},
		{"written anew", file(story("A", open), story("B", open)), strings.NewReplacer("\n", "", "  ", "").Replace(file(story("B", waiting), story("A", open))),
			file(story("A", open), story("B", waiting)), only},
		{"a new story follows the one it follows", file(story("A", open), story("B", open), story("C", open)), file(story("A", open), story("B", waiting), story("D", open), story("C", open)),
			file(story("A", open), story("B", waiting), story("D", open), story("C", open)), only},
		{"more members, and fewer", file(story("A", open), story("B", open, `"x": 1`)), file(story("A", open), story("B", waiting, `"y": [2, 3]`)),
			file(story("A", open), story("B", waiting, `"x": 1`, `"y": [2, 3]`)), only},
		{"the other's list as a whole", file(story("A", approved), story("B", open), story("E", open)), file(story("A", open), story("B", waiting)),
			file(story("A", approved), story("B", waiting), story("E", open)), only},
	} {
		if got := string(read(t, c.left).Onto(read(t, c.base), c.rules, nil).Bytes()); got != c.want {
			t.Errorf("%s: Onto =\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	const back = `false "changes_requested" 0 "merge it"`
	for _, c := range []struct {
		name         string
		before, want []string
		rules        tasks.Rules
	}{
		{"the last that is done", []string{story("A", approved), story("B", approved), story("C", open)}, []string{story("A", approved), story("B", back), story("C", open)}, reviewed},
		{"the one", []string{story("A", approved), story("B", approved)}, []string{story("A", back), story("B", approved)}, tasks.Rules{ReviewCap: 5, Only: []string{"A"}}},
		{"without reviews", []string{story("A", `true null 0 ""`)}, []string{story("A", open)}, unreviewed},
		{"what was left at the cap", []string{story("A", autoState)}, []string{story("A", `false "changes_requested" 0 "merge it\n\n[AUTO-APPROVED AT CAP] still slow"`)}, reviewed},
		{"nothing is done", []string{story("A", waiting)}, []string{story("A", waiting)}, reviewed},
	} {
		l := read(t, file(c.before...)).Reopen(c.rules, "merge it")
		if got, want := string(l.Bytes()), file(c.want...); got != want {
			t.Errorf("%s: Reopen =\n%s\nwant\n%s", c.name, got, want)
		}
		if p := l.Check(c.rules); len(p) > 0 {
			t.Errorf("%s: %v", c.name, p)
		}
	}
}

// What git cannot merge, two pull requests must not hold.
func TestTouching(t *testing.T) {
	t.Parallel()
	line := func(id string) string { return strings.ReplaceAll(story(id, open), "\n", " ") }
	for _, c := range []struct {
		name, text, want string
		ids              []string
	}{
		{"a field to a line", file(story("A", open), story("B", open)), "", []string{"A", "B"}},
		{"a story to a line", file(line("A"), line("B"), line("C")), "A B", []string{"A", "B"}},
		{"a line between", file(line("A"), line("B"), line("C")), "", []string{"A", "C"}},
		{"one line", strings.ReplaceAll(file(line("A"), line("B"), line("C")), "\n", ""), "A C", []string{"A", "C"}},
		{"brackets share a line", strings.ReplaceAll(file(story("A", open), story("B", open)), "},\n    {", "}, {"), "", []string{"A", "B"}},
		{"brackets share the lines of members", strings.NewReplacer("\n    }", "}", "    {\n", "    {").Replace(file(story("A", open), story("B", open))), "A B", []string{"A", "B"}},
		{"one of them", file(line("A"), line("B")), "", []string{"A"}},
	} {
		ids := map[string]bool{}
		for _, id := range c.ids {
			ids[id] = true
		}
		a, b, touch := read(t, c.text).Touching(ids)
		if got := strings.TrimSpace(a + " " + b); touch != (c.want != "") || touch && got != c.want {
			t.Errorf("%s: Touching = %q, %t, want %q", c.name, got, touch, c.want)
		}
	}
	_, _, err := matrix.Of(read(t, file(line("A"), line("B"))), reviewed, func(string) (*matrix.Branch, error) { return nil, nil })
	if err == nil || !strings.Contains(err.Error(), "stories A and B stand on touching lines of tasks.json") {
		t.Errorf("Of = %v", err)
	}
}

// What stands on a story's branch decides whether it needs a job.
func TestMatrixOfBranches(t *testing.T) {
	t.Parallel()
	list := read(t, file(story("A", open), story("B", open, `"dependsOn": ["A"]`)))
	for _, c := range []struct {
		name  string
		there *matrix.Branch
		want  string // mode; empty: no job
	}{
		{"no branch", nil, "implement"},
		{"implemented", &matrix.Branch{List: read(t, file(story("A", waiting)))}, "review"},
		{"changes requested", &matrix.Branch{List: read(t, file(story("A", rejected))), Conflicts: true}, "review-fix"},
		{"waits for people", &matrix.Branch{List: read(t, file(story("A", approved)))}, ""},
		{"conflicts", &matrix.Branch{List: read(t, file(story("A", approved))), Conflicts: true}, "merge"},
		{"no list", &matrix.Branch{}, "implement"},
		{"another list", &matrix.Branch{List: read(t, file(story("C", approved)))}, "implement"},
	} {
		got, _, err := matrix.Of(list, reviewed, func(branch string) (*matrix.Branch, error) {
			if branch != "ralph/shop-a" {
				t.Errorf("%s: asked for %s", c.name, branch)
			}
			return c.there, nil
		})
		want := `{"include":[]}`
		if c.want != "" {
			want = `{"include":[{"story":"A","branch":"ralph/shop-a","mode":"` + c.want + `"}]}`
		}
		if err != nil || string(got) != want {
			t.Errorf("%s: Of = %s, %v, want %s", c.name, got, err, want)
		}
	}
}
