package tasks_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

// A job of a matrix works on one story: what is next, ready, done and left is
// said of it alone.
func TestOnly(t *testing.T) {
	t.Parallel()
	text := file(story("A", approved), story("B", open, `"dependsOn": ["A"]`), story("C", rejected), story("D", open, `"dependsOn": ["B"]`), story("E", waiting))
	for _, c := range []struct {
		only    string
		mode    tasks.Mode
		next    string
		done    bool
		ready   int
		left    int
		problem string
	}{
		{"", tasks.ReviewFix, "C", false, 3, 4, ""},
		{"A", tasks.Implement, "", true, 0, 0, ""},
		{"B", tasks.Implement, "B", false, 1, 1, ""},
		{"C", tasks.ReviewFix, "C", false, 1, 1, ""},
		{"D", tasks.Implement, "", false, 0, 1, "story D depends on B, not done yet: finish that first, or choose another story"},
		{"E", tasks.Review, "E", false, 1, 1, ""},
		{"B D", tasks.Implement, "B", false, 1, 2, ""},
		{"C B", tasks.ReviewFix, "C", false, 2, 2, ""},
		{"D B A", tasks.Implement, "", false, 1, 2, "story D depends on B, not done yet: finish that first, or choose another story"},
		{"E x E", tasks.Review, "E", false, 1, 1, "story \"x\" is not in the list: give one of A, B, C, D, E\nstory E is given twice"},
		{"b", tasks.Implement, "", false, 0, 0, `story "b" is not in the list: give one of A, B, C, D, E`},
	} {
		l, r := read(t, text), tasks.Rules{ReviewCap: 5, Only: strings.Fields(c.only)}
		next, _ := l.Next(r)
		if l.Mode(r) != c.mode || next.ID != c.next || l.Done(r) != c.done || len(l.Ready(r)) != c.ready || l.Estimate(r).Stories != c.left {
			t.Errorf("%s: mode %s, next %q, done %t, ready %d, estimate %s", c.only, l.Mode(r), next.ID, l.Done(r), len(l.Ready(r)), l.Estimate(r))
		}
		problem := ""
		if err := l.CheckOnly(r); err != nil {
			problem = err.Error()
		}
		if problem != c.problem {
			t.Errorf("%s: CheckOnly = %q, want %q", c.only, problem, c.problem)
		}
	}
	many := make([]string, 30)
	for i := range many {
		many[i] = story("S"+strings.Repeat("x", i), open)
	}
	if err := read(t, file(many...)).CheckOnly(tasks.Rules{Only: []string{"T"}}); err == nil || !strings.HasSuffix(err.Error(), "and 20 more") {
		t.Errorf("CheckOnly = %v", err)
	}
}

// Where the work is about A, nobody else may change state or disappear, with
// reviews and without.
func TestOnlyKeepsOthers(t *testing.T) {
	t.Parallel()
	const foreign = "This run works on story A only. Story B had illegal transition: "
	const kept = "Story B was removed or renamed, and this run works on others only. Keep it with its id."
	a, b := func(s string) string { return story("A", s) }, func(s string) string { return story("B", s) }
	type list = []string
	for _, c := range []struct {
		name          string
		skip          bool
		before, after list
		want          list
		repaired      list // nil: as after
	}{
		{"implement", false, list{a(open), b(open)}, list{a(waiting), b(open)}, nil, nil},
		{"implement: another, too", false, list{a(open), b(open)}, list{a(waiting), b(waiting)},
			list{twoText("A", "B")}, list{a(waiting), b(open)}},
		{"implement: another instead", false, list{a(open), b(open)}, list{a(open), b(waiting)},
			list{implementText("B", "reviewStatus null → needs_review")}, list{a(open), b(open)}},
		{"implement: text of another, and a new story", false, list{a(open), b(open)},
			list{a(waiting), story("B", open, `"x": 1`), story("C", open)}, nil, nil},
		{"implement while another waits", false, list{a(open), b(waiting)}, list{a(waiting), b(waiting)}, nil, nil},
		{"review: another instead", false, list{a(waiting), b(waiting)}, list{a(waiting), b(approved)},
			list{reviewText("B", "this run works on story A only")}, list{a(waiting), b(waiting)}},
		{"review: another, too", false, list{a(waiting), b(waiting)}, list{a(approved), b(approved)},
			list{reviewText("B", "multiple stories were changed; review may only modify one story, and this one reviewed A")}, list{a(approved), b(waiting)}},
		{"review-fix: another instead", false, list{a(rejected), b(rejected)}, list{a(rejected), b(`false "needs_review" 1 ""`)},
			list{fixText("B", "reviewStatus changes_requested → needs_review"), fixText("B", `reviewFeedback "fix it" → ""`)}, list{a(rejected), b(rejected)}},
		{"another disappears that is done", false, list{a(open), b(approved)}, list{a(waiting)}, list{kept}, list{a(waiting), b(approved)}},
		{"skip: passes", true, list{a(open), b(open)}, list{a(`true null 0 ""`), b(open)}, nil, nil},
		{"skip: another passes", true, list{a(open), b(open)}, list{a(`true null 0 ""`), b(`true null 0 ""`)},
			list{foreign + "passes false → true."}, list{a(`true null 0 ""`), b(open)}},
		{"skip: another passes no more", true, list{a(open), b(approved)}, list{a(open), b(open)},
			list{foreign + "passes true → false.", foreign + "reviewStatus approved → null.", foreign + "reviewCount 1 → 0."}, list{a(open), b(approved)}},
		{"skip: a new story that passes", true, list{a(open)}, list{a(open), b(`true null 0 ""`)},
			list{foreign + "passes false → true."}, list{a(open), b(open)}},
		{"skip: another disappears", true, list{a(open), b(`true null 0 ""`)}, list{a(open)}, list{kept}, list{a(open), b(`true null 0 ""`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := snapshot(t, tasks.Rules{ReviewCap: 5, SkipReview: c.skip, Only: []string{"A"}}, c.before...)
			left := file(c.after...)
			r := s.Repair([]byte(left))
			same(t, "problems", texts(r.Problems), c.want)
			want := left
			if c.repaired != nil {
				want = file(c.repaired...)
			}
			if got := string(r.List.Bytes()); got != want || r.Whole {
				t.Errorf("repaired =\n%s\nwant\n%s", got, want)
			}
			_, told := decode(t, tasks.Marker{At: noon, Snapshot: s}).Snapshot.Verify([]byte(left))
			if (len(told) == 0) != (len(c.want) == 0) {
				t.Errorf("the hook says %q", texts(told))
			}
		})
	}
}
