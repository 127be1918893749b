package tasks_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

// What is wrong in one story costs nothing in another.
func TestRepairElements(t *testing.T) {
	t.Parallel()
	a, b, c := story("A", open), story("B", approved), story("C", open)
	s := snapshot(t, reviewed, a, b, c)
	worked := story("A", waiting, `"x": 1`)
	for _, one := range []struct {
		name       string
		left, want []string
		said       string
	}{
		{"an id twice", []string{worked, b, c, story("A", approved)}, []string{worked, b, c}, "Story A: Duplicate id, in userStories[0] and [3]: give each story an id of its own"},
		{"a new story under an old id", []string{worked, b, c, story("C", open, `"y": 2`)}, []string{worked, b, c}, "Story C: Duplicate id, in userStories[2] and [3]: give each story an id of its own"},
		{"no story", []string{worked, "    null", b, c}, []string{worked, b, c}, "userStories[1] is null: give an object"},
		{"a new story without criteria", []string{worked, b, c, strings.Replace(story("D", open), `["works"]`, "[]", 1)}, []string{worked, b, c},
			"Story D: acceptanceCriteria is an empty array: give at least one criterion"},
		{"an old story without criteria", []string{worked, b, strings.Replace(c, `["works"]`, "[]", 1)}, []string{worked, b, c},
			"Story C: acceptanceCriteria is an empty array: give at least one criterion"},
		{"an id that is none", []string{worked, b, strings.Replace(c, `"id": "C"`, `"id": 3`, 1)}, []string{worked, b, c}, "userStories[2]: id is 3: give a string"},
		{"notes of an approved story", []string{worked, strings.Replace(b, `"some"`, `""`, 1), c}, []string{worked, b, c},
			"Story B has passes=true but its notes are empty: write in notes what was done"},
		{"the first disappears, the others are shuffled", []string{c, b}, []string{a, c, b}, goneText("A")},
		{"the last disappears", []string{worked, b}, []string{worked, b, c}, goneText("C")},
		{"only new ones", []string{story("X", open)}, []string{a, c, story("X", open)}, goneText("A")},
		{"a new story depends on nothing that is there", []string{worked, b, c, story("D", open, `"dependsOn": ["E"]`)},
			[]string{worked, b, c, story("D", open)}, `Story D depends on "E", which is no story`},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			r := s.Repair([]byte(file(one.left...)))
			if got, want := string(r.List.Bytes()), file(one.want...); got != want || r.Whole {
				t.Errorf("repaired (whole: %t) =\n%s\nwant\n%s", r.Whole, got, want)
			}
			if all := strings.Join(texts(r.Problems), "\n"); !strings.Contains(all, one.said) {
				t.Errorf("said %q, want %q", all, one.said)
			}
		})
	}
}

// A problem that hides behind another one is said, too.
func TestRepairSaysEverything(t *testing.T) {
	t.Parallel()
	s := snapshot(t, reviewed, story("A", open), story("B", open))
	left := strings.Replace(file(story("A", approved), story("C", open)), `"Shop"`, "1", 1)
	r := s.Repair([]byte(left))
	all := strings.Join(texts(r.Problems), "\n")
	for _, want := range []string{"project is 1: give a string", implementText("A", "passes false → true"), implementText("A", "reviewStatus null → approved"), goneText("B")} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not said:\n%s", want, all)
		}
	}
	if got := states(r.List); got != `A false null 0 ""; B false null 0 ""; C false null 0 ""` {
		t.Errorf("repaired = %s", got)
	}
}

// Half a file, as an agent leaves it that is killed, costs nothing of what was
// there before, wherever it ends.
func TestRepairHalfAFile(t *testing.T) {
	t.Parallel()
	text := file(story("A", open), story("B", waiting))
	s := tasks.Take(read(t, text), reviewed)
	for n := range len(strings.TrimSpace(text)) {
		r := s.Repair([]byte(text[:n]))
		if !r.Whole || !r.Changed || string(r.List.Bytes()) != text || len(r.Problems) != 1 || r.Problems[0].Kind != tasks.Schema {
			t.Fatalf("after %d bytes: %v", n, r.Problems)
		}
	}
}
