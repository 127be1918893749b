package tasks_test

import (
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

// While no iteration runs nothing may move, whatever it would have been in one.
func TestBetween(t *testing.T) {
	t.Parallel()
	move := func(id, move string) string {
		return "No story may change state between two iterations. Story " + id + " had illegal transition: " + move + "."
	}
	a, b := func(s string) string { return story("A", s) }, func(s string) string { return story("B", s) }
	type list = []string
	for _, c := range []struct {
		name          string
		rules         tasks.Rules
		before, after list
		want          list
		repaired      list // nil: as after
	}{
		{"nothing", reviewed, list{a(waiting)}, list{a(waiting)}, nil, nil},
		{"text and new stories", reviewed, list{a(waiting)}, list{story("A", waiting, `"x": 1`), b(open)}, nil, nil},
		{"implemented", reviewed, list{a(open)}, list{a(waiting)}, list{move("A", "reviewStatus null → needs_review")}, list{a(open)}},
		{"approved", reviewed, list{a(waiting)}, list{a(approved)}, list{move("A", "passes false → true"),
			move("A", "reviewStatus needs_review → approved"), move("A", "reviewCount 0 → 1")}, list{a(waiting)}},
		{"fixed", reviewed, list{a(rejected)}, list{a(`false "needs_review" 1 ""`)}, list{move("A", "reviewStatus changes_requested → needs_review"),
			move("A", `reviewFeedback "fix it" → ""`)}, list{a(rejected)}},
		{"feedback", reviewed, list{a(rejected)}, list{a(`false "changes_requested" 1 "fine"`)}, list{move("A", `reviewFeedback "fix it" → "fine"`)}, list{a(rejected)}},
		{"new and approved", reviewed, list{a(open)}, list{a(open), b(approved)}, list{move("B", "passes false → true"),
			move("B", "reviewStatus null → approved"), move("B", "reviewCount 0 → 1")}, list{a(open), b(open)}},
		{"removed", reviewed, list{a(open), b(approved)}, list{a(open)},
			list{"Story B was removed or renamed between two iterations. Keep it with its id."}, list{a(open), b(approved)}},
		{"removed, not done", reviewed, list{a(open), b(open)}, list{a(open)}, list{goneText("B")}, list{a(open), b(open)}},
		{"skip: passes", unreviewed, list{a(open)}, list{a(`true null 0 ""`)}, list{move("A", "passes false → true")}, list{a(open)}},
		{"only: passes", tasks.Rules{SkipReview: true, Only: []string{"A"}}, list{a(open)}, list{a(`true null 0 ""`)}, list{move("A", "passes false → true")}, list{a(open)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := tasks.Between(read(t, file(c.before...)), c.rules)
			left := file(c.after...)
			r := s.Repair([]byte(left))
			same(t, "problems", texts(r.Problems), c.want)
			want := left
			if c.repaired != nil {
				want = file(c.repaired...)
			}
			if got := string(r.List.Bytes()); got != want || r.Whole || r.Changed != (want != left) {
				t.Errorf("repaired =\n%s\nwant\n%s", got, want)
			}
		})
	}
	s := tasks.Between(read(t, file(a(open))), reviewed)
	if r := s.Repair([]byte("{")); !r.Whole || string(r.List.Bytes()) != file(a(open)) {
		t.Error("half a file was not put back")
	}
}

// An approval counts only when the checks agree. Nothing else of what the review
// wrote is touched.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	s := snapshot(t, reviewed, story("A", waiting4), story("B", open))
	text := func(story, why string) string {
		return "The review approved story " + story + " while checks fail: " + why + ". It does not count, and the story is to be reviewed again."
	}
	for _, state := range []string{`true "approved" 5 ""`, autoState} {
		left := read(t, file(story("A", state, `"x": 1`), story("B", open), story("C", open)))
		before := string(left.Bytes())
		r := s.Withdraw(left, "make test\nexit 1")
		same(t, "problems", texts(r.Problems), []string{text("A", "make test\ufffdexit 1")})
		want := file(story("A", waiting4, `"x": 1`), story("B", open), story("C", open))
		if string(r.List.Bytes()) != want || !r.Changed || r.Whole || r.Problems[0].Story != "A" || r.Problems[0].Line != 7 {
			t.Errorf("Withdraw = %+v\n%s", r, r.List.Bytes())
		}
		if string(left.Bytes()) != before || left.Stories[0].Status != tasks.Approved {
			t.Error("the list was changed")
		}
		if _, problems := s.Verify(r.List.Bytes()); len(problems) != 1 || problems[0].Kind != tasks.Stuck {
			t.Errorf("what is left is not legal: %v", problems)
		}
	}
	for name, c := range map[string]struct {
		s    tasks.Snapshot
		left string
	}{
		"changes requested": {snapshot(t, reviewed, story("A", waiting)), file(story("A", rejected))},
		"nothing reviewed":  {s, file(story("A", waiting4), story("B", open))},
		"implement":         {snapshot(t, reviewed, story("A", open)), file(story("A", waiting))},
		"no snapshot":       {tasks.Snapshot{Rules: reviewed}, file(story("A", approved))},
		"a marker":          {decode(t, tasks.Marker{At: noon, Snapshot: s}).Snapshot, file(story("A", `true "approved" 5 ""`))},
	} {
		if r := c.s.Withdraw(read(t, c.left), "x"); r.Changed || len(r.Problems) > 0 || string(r.List.Bytes()) != c.left {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
