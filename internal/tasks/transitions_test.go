package tasks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

func implementText(id, move string) string {
	return "Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. Story " + id +
		" had illegal transition: " + move + "."
}

// twoText is of an implement iteration that moved its story, and another one.
func twoText(own, id string) string {
	return "Implement iterations cannot move multiple stories, and this one implemented " + own + ". Story " + id +
		" had illegal transition: reviewStatus null → needs_review."
}

func reviewText(id, details string) string {
	return "Review iteration made illegal transition on story " + id + ": " + details + "."
}

func fixText(id, move string) string {
	return "Review-fix iterations cannot approve stories. Story " + id + " must go back to needs_review for re-review. Illegal transition: " +
		move + "."
}

func invariantText(id, status string) string {
	return "Story " + id + " has passes=true but reviewStatus is '" + status +
		"', not 'approved'. Only review iterations may approve stories. Set passes back to false or complete the review cycle."
}

func goneText(id string) string {
	return "Story " + id + " was removed or renamed, but is not approved. Keep it with its id; what it leaves over can become new stories."
}

const startText = "a new story must start at passes=false, reviewStatus=null and reviewCount=0"

// startSentence and manySentence follow the text of the mode.
const (
	startSentence = " A new story must start at passes=false, reviewStatus=null and reviewCount=0."
	manySentence  = " In this iteration multiple stories were changed; it may only work on one, and worked on "
)

// One line is what an iteration found, what the agent left, and what is said.
// What is put back is legal and differs only where something was illegal.
func TestIteration(t *testing.T) {
	t.Parallel()
	type list []string
	a := func(state string, more ...string) string { return story("A", state, more...) }
	b := func(state string, more ...string) string { return story("B", state, more...) }
	for _, c := range []struct {
		name          string
		mode          tasks.Mode
		before, after list
		want          list
		repaired      list // nil: as the agent left it
	}{
		// 003-20
		{"implement: null to needs_review", tasks.Implement, list{a(open), b(approved)}, list{a(waiting), b(approved)}, nil, nil},
		{"implement: nothing", tasks.Implement, list{a(open)}, list{a(open)}, nil, nil},
		{"implement: other fields", tasks.Implement, list{a(open)}, list{a(open, `"estimate": 3`)}, nil, nil},
		{"implement: passes", tasks.Implement, list{a(open)}, list{a(`true null 0 ""`)},
			list{invariantText("A", "null"), implementText("A", "passes false → true")}, list{a(open)}},
		{"implement: approves", tasks.Implement, list{a(open)}, list{a(`false "approved" 0 ""`)},
			list{"Story A has reviewStatus 'approved' but passes=false. The two are out of sync: an approved story passes.",
				implementText("A", "reviewStatus null → approved")}, list{a(open)}},
		{"implement: approves and passes, invariants hold", tasks.Implement, list{a(open)}, list{a(`true "approved" 0 ""`)},
			list{implementText("A", "passes false → true"), implementText("A", "reviewStatus null → approved")}, list{a(open)}},
		{"implement: approves, passes and counts", tasks.Implement, list{a(open)}, list{a(`true "approved" 1 ""`)},
			list{implementText("A", "passes false → true"), implementText("A", "reviewStatus null → approved"),
				implementText("A", "reviewCount 0 → 1")}, list{a(open)}},
		{"implement: counts", tasks.Implement, list{a(open)}, list{a(`false null 1 ""`)},
			list{implementText("A", "reviewCount 0 → 1")}, list{a(open)}},
		{"implement: needs_review and passes; the legal part stays", tasks.Implement, list{a(open)}, list{a(`true "needs_review" 1 ""`)},
			list{invariantText("A", "needs_review"), implementText("A", "passes false → true"), implementText("A", "reviewCount 0 → 1")},
			list{a(waiting)}},
		{"implement: two stories; the iteration's own stays", tasks.Implement, list{a(open, `"dependsOn": ["B"]`), b(open)},
			list{a(waiting, `"dependsOn": ["B"]`), b(waiting)},
			list{twoText("B", "A")}, list{a(open, `"dependsOn": ["B"]`), b(waiting)}},
		{"implement: an approved story falls back", tasks.Implement, list{a(open), b(approved)}, list{a(open), b(waiting)},
			list{implementText("B", "passes true → false"), implementText("B", "reviewStatus approved → needs_review"),
				implementText("B", "reviewCount 1 → 0")}, list{a(open), b(approved)}},
		{"implement: the mark of the cap is removed", tasks.Implement, list{a(open), b(autoState)}, list{a(open), b(`true "approved" 5 ""`)},
			list{implementText("B", `reviewFeedback "[AUTO-APPROVED AT CAP] still slow" → ""`)}, list{a(open), b(autoState)}},
		{"implement: requests changes", tasks.Implement, list{a(open)}, list{a(`false "changes_requested" 0 "x"`)},
			list{implementText("A", "reviewStatus null → changes_requested"), implementText("A", `reviewFeedback "" → "x"`)}, list{a(open)}},
		{"implement: a new story", tasks.Implement, list{a(open)}, list{a(waiting), b(open)}, nil, nil},
		{"implement: a new story that passes", tasks.Implement, list{a(open)}, list{a(open), b(`true "approved" 1 ""`)},
			list{implementText("B", "passes false → true") + startSentence, implementText("B", "reviewStatus null → approved"),
				implementText("B", "reviewCount 0 → 1")}, list{a(open), b(open)}},
		{"implement: a new story that needs review", tasks.Implement, list{a(open)}, list{a(open), b(waiting)},
			list{implementText("B", "reviewStatus null → needs_review") + startSentence}, list{a(open), b(open)}},
		{"implement: a new story with the mark", tasks.Implement, list{a(open)}, list{a(open), b(`false null 0 "[AUTO-APPROVED AT CAP]"`)},
			list{implementText("B", `reviewFeedback "" → "[AUTO-APPROVED AT CAP]"`) + startSentence}, list{a(open), b(open)}},
		{"implement: an open story disappears", tasks.Implement, list{a(open), b(open)}, list{b(open)},
			list{goneText("A")}, list{a(open), b(open)}},
		{"implement: an approved story disappears", tasks.Implement, list{a(open), b(approved)}, list{a(open)}, nil, nil},
		{"implement: renamed and approved", tasks.Implement, list{a(open), b(open)}, list{story("C", approved), b(open)},
			list{implementText("C", "passes false → true") + startSentence, implementText("C", "reviewStatus null → approved"),
				implementText("C", "reviewCount 0 → 1"), goneText("A")}, list{a(open), story("C", open), b(open)}},
		{"implement: an approved story's id for an open one", tasks.Implement, list{a(open), b(approved)}, list{story("B", open), story("A", approved)},
			list{implementText("B", "passes true → false"), implementText("B", "reviewStatus approved → null"), implementText("B", "reviewCount 1 → 0"),
				implementText("A", "passes false → true"), implementText("A", "reviewStatus null → approved"), implementText("A", "reviewCount 0 → 1")},
			list{story("B", approved), story("A", open)}},

		// 003-21
		{"review: approves", tasks.Review, list{a(waiting), b(open)}, list{a(approved), b(open)}, nil, nil},
		{"review: requests changes", tasks.Review, list{a(waiting)}, list{a(rejected)}, nil, nil},
		{"review: count 1 to 2", tasks.Review, list{a(`false "needs_review" 1 ""`)}, list{a(`true "approved" 2 ""`)}, nil, nil},
		{"review: does not count", tasks.Review, list{a(waiting)}, list{a(`true "approved" 0 ""`)},
			list{reviewText("A", "review must increment reviewCount by 1, and it went from 0 to 0")}, list{a(waiting)}},
		{"review: counts twice", tasks.Review, list{a(waiting)}, list{a(`true "approved" 2 ""`)},
			list{reviewText("A", "review must increment reviewCount by 1, and it went from 0 to 2")}, list{a(waiting)}},
		{"review: only counts", tasks.Review, list{a(waiting)}, list{a(`false "needs_review" 1 ""`)},
			list{reviewText("A", "a review ends with approved and passes=true or with changes_requested and passes=false, and this one with needs_review and passes=false")},
			list{a(waiting)}},
		{"review: two stories", tasks.Review, list{a(waiting), b(waiting)}, list{a(approved), b(rejected)},
			list{reviewText("B", "multiple stories were changed; review may only modify one story, and this one reviewed A")}, list{a(approved), b(waiting)}},
		{"review: approves what was not implemented", tasks.Review, list{a(open), b(waiting)}, list{a(approved), b(waiting)},
			list{reviewText("A", "only a story with reviewStatus needs_review may be reviewed, and this one had null")}, list{a(open), b(waiting)}},
		{"review: implements besides", tasks.Review, list{a(open), b(waiting)}, list{a(waiting), b(approved)},
			list{reviewText("A", "only a story with reviewStatus needs_review may be reviewed, and this one had null")}, list{a(open), b(approved)}},
		{"review: no feedback", tasks.Review, list{a(waiting)}, list{a(`false "changes_requested" 1 " "`)},
			list{"Story A has reviewStatus 'changes_requested' but reviewFeedback is empty. Feedback required: say what has to change.",
				reviewText("A", "changes_requested needs reviewFeedback that says what has to change")}, list{a(waiting)}},
		{"review: a new story that is approved", tasks.Review, list{a(waiting)}, list{a(approved), b(approved)},
			list{reviewText("B", startText), reviewText("B", startText), reviewText("B", startText)}, list{a(approved), b(open)}},
		{"review: a new story", tasks.Review, list{a(waiting)}, list{a(approved), b(open)}, nil, nil},
		{"review: another story disappears", tasks.Review, list{a(waiting), b(open)}, list{a(approved)},
			list{goneText("B")}, list{a(approved), b(open)}},
		// 003-25
		{"review: approves at the cap", tasks.Review, list{a(waiting4)}, list{a(autoState)}, nil, nil},
		{"review: finds it good at the cap", tasks.Review, list{a(waiting4)}, list{a(`true "approved" 5 ""`)}, nil, nil},
		{"review: requests changes at the cap", tasks.Review, list{a(waiting4)}, list{a(`false "changes_requested" 5 "slow"`)},
			list{reviewText("A", "reviewCount 5 has reached the review cap of 5: approve the story, with what is left in reviewFeedback after [AUTO-APPROVED AT CAP]")},
			list{a(waiting4)}},
		{"review: gives up before the cap", tasks.Review, list{a(waiting)}, list{a(`true "approved" 1 "[auto-approved at cap] tired"`)},
			list{reviewText("A", "reviewFeedback begins with [AUTO-APPROVED AT CAP], but reviewCount 1 is below the review cap: request changes, or approve without it")},
			list{a(waiting)}},

		// 003-22
		{"review-fix: back to review", tasks.ReviewFix, list{a(rejected)}, list{a(`false "needs_review" 1 ""`)}, nil, nil},
		{"review-fix: nothing yet", tasks.ReviewFix, list{a(rejected)}, list{a(rejected)}, nil, nil},
		{"review-fix: approves", tasks.ReviewFix, list{a(rejected)}, list{a(`true "approved" 1 ""`)},
			list{fixText("A", "passes false → true"), fixText("A", "reviewStatus changes_requested → approved"), fixText("A", `reviewFeedback "fix it" → ""`)},
			list{a(rejected)}},
		{"review-fix: passes", tasks.ReviewFix, list{a(rejected)}, list{a(`true "needs_review" 1 ""`)},
			list{invariantText("A", "needs_review"), fixText("A", "passes false → true")}, list{a(`false "needs_review" 1 ""`)}},
		{"review-fix: counts", tasks.ReviewFix, list{a(rejected)}, list{a(`false "needs_review" 2 ""`)},
			list{fixText("A", "reviewCount 1 → 2")}, list{a(`false "needs_review" 1 ""`)}},
		{"review-fix: leaves the feedback", tasks.ReviewFix, list{a(rejected)}, list{a(`false "needs_review" 1 "fix it"`)},
			list{fixText("A", `reviewFeedback "fix it" → "fix it"`) + ` A review-fix sets reviewFeedback to "".`}, list{a(rejected)}},
		{"review-fix: two stories", tasks.ReviewFix, list{a(rejected), b(rejected)}, list{a(`false "needs_review" 1 ""`), b(`false "needs_review" 1 ""`)},
			list{fixText("B", "reviewStatus changes_requested → needs_review") + manySentence + "A.", fixText("B", `reviewFeedback "fix it" → ""`)},
			list{a(`false "needs_review" 1 ""`), b(rejected)}},
		{"review-fix: implements besides", tasks.ReviewFix, list{a(rejected), b(open)}, list{a(`false "needs_review" 1 ""`), b(waiting)},
			list{fixText("B", "reviewStatus null → needs_review") + manySentence + "A."}, list{a(`false "needs_review" 1 ""`), b(open)}},
		{"review-fix: the story disappears", tasks.ReviewFix, list{a(rejected), b(open)}, list{b(open)},
			list{goneText("A")}, list{a(rejected), b(open)}},
		{"review-fix: a new story that passes", tasks.ReviewFix, list{a(rejected)}, list{a(rejected), b(`true "approved" 0 ""`)},
			list{fixText("B", "passes false → true") + startSentence, fixText("B", "reviewStatus null → approved")}, list{a(rejected), b(open)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := snapshot(t, reviewed, c.before...)
			if s.Mode != c.mode {
				t.Fatalf("mode = %s, want %s", s.Mode, c.mode)
			}
			left := file(c.after...)
			_, problems := s.Verify([]byte(left))
			same(t, "problems", texts(problems), c.want)
			r := s.Repair([]byte(left))
			want := left
			if c.repaired != nil {
				want = file(c.repaired...)
			}
			if got := string(r.List.Bytes()); got != want {
				t.Errorf("repaired =\n%s\nwant\n%s", got, want)
			}
			if r.Changed != (want != left) || r.Whole {
				t.Errorf("changed = %t, whole = %t", r.Changed, r.Whole)
			}
			same(t, "said by repair", texts(r.Problems), c.want)
		})
	}
}

// A review iteration that changed no story goes nowhere: it is said, and there
// is nothing to put back. 003-21
func TestReviewStuck(t *testing.T) {
	t.Parallel()
	s := snapshot(t, reviewed, story("A", open), story("B", waiting))
	for _, left := range []string{file(story("A", open), story("B", waiting)), file(story("A", open), story("B", waiting), story("C", open))} {
		_, problems := s.Verify([]byte(left))
		if len(problems) != 1 || problems[0].Kind != tasks.Stuck || problems[0].Story != "B" {
			t.Fatalf("problems = %v", problems)
		}
		same(t, "problems", texts(problems), []string{
			reviewText("B", "review must increment reviewCount and either approve the story or request changes, and no story changed")})
		if r := s.Repair([]byte(left)); r.Changed || string(r.List.Bytes()) != left {
			t.Errorf("a stuck review was repaired")
		}
	}
}

// Without a snapshot transitions are not looked at; schema and invariants are.
// 003-23
func TestNoSnapshot(t *testing.T) {
	t.Parallel()
	s := tasks.Snapshot{Rules: reviewed}
	if s.Known() {
		t.Error("an empty snapshot says that it knows something")
	}
	for left, want := range map[string][]string{
		file(story("A", approved)):         {},
		file(story("A", `true null 0 ""`)): {invariantText("A", "null")},
		`{`:                                {"it is not valid JSON: a name in double quotes is expected"},
	} {
		_, problems := s.Verify([]byte(left))
		same(t, "problems", texts(problems), want)
	}
}

// 003-19
func TestInvariants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, state, want string }{
		{"null", `true null 0 ""`, invariantText("A", "null")},
		{"needs_review", `true "needs_review" 0 ""`, invariantText("A", "needs_review")},
		{"changes_requested", `true "changes_requested" 1 "x"`, invariantText("A", "changes_requested")},
		{"approved", approved, ""},
		{"out of sync", `false "approved" 1 ""`, "Story A has reviewStatus 'approved' but passes=false. The two are out of sync: an approved story passes."},
		{"no feedback", `false "changes_requested" 1 ""`,
			"Story A has reviewStatus 'changes_requested' but reviewFeedback is empty. Feedback required: say what has to change."},
		{"cap + 1", `true "approved" 6 ""`, ""},
		{"cap + 2", `true "approved" 7 ""`, "Story A has reviewCount 7, which no story reaches with a review cap of 5. Set it back to the number of its reviews."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := read(t, file(story("A", c.state)))
			if got := strings.Join(texts(l.Check(reviewed)), "\n"); got != c.want {
				t.Errorf("Check = %q, want %q", got, c.want)
			}
			if p := l.Check(unreviewed); len(p) > 0 {
				t.Errorf("with reviews skipped: %v", p)
			}
		})
	}
	if p := read(t, file(story("A", `true "approved" 70 ""`))).Check(tasks.Rules{}); len(p) > 0 {
		t.Errorf("without a cap: %v", p)
	}
}

// With reviews skipped a story is done when it passes, and its state is its own
// business; only removing what is not done is kept from happening. 003-12, 003-19
func TestSkipReview(t *testing.T) {
	t.Parallel()
	s := snapshot(t, unreviewed, story("A", open), story("B", open))
	if s.Mode != tasks.Implement {
		t.Fatalf("mode = %s", s.Mode)
	}
	l, problems := s.Verify([]byte(file(story("A", `true null 0 ""`), story("B", `true null 0 ""`), story("C", `true "approved" 9 ""`))))
	if len(problems) > 0 || !l.Done(unreviewed) || l.Done(reviewed) {
		t.Errorf("problems = %v, done = %t", problems, l.Done(unreviewed))
	}
	left := []byte(file(story("A", `true null 0 ""`)))
	_, problems = s.Verify(left)
	same(t, "problems", texts(problems), []string{
		"Story B was removed or renamed, but does not pass. Keep it with its id; what it leaves over can become new stories."})
	if got := states(s.Repair(left).List); got != `A true null 0 ""; B false null 0 ""` {
		t.Errorf("repaired = %s", got)
	}
}

// A problem says where it is.
func TestProblemPlaces(t *testing.T) {
	t.Parallel()
	s := snapshot(t, reviewed, story("A", open), story("B", open))
	_, problems := s.Verify([]byte(file(story("A", open), story("B", `false null 1 ""`))))
	if len(problems) != 1 || problems[0].Line != 18 || problems[0].Column != 5 || problems[0].Kind != tasks.Transition || problems[0].Story != "B" ||
		!strings.HasPrefix(problems[0].String(), "18:5: Implement") {
		t.Errorf("problems = %+v", problems)
	}
	many := make([]string, 200)
	for i := range many {
		many[i] = story("A"+strings.Repeat("x", i), `false null 1 ""`)
	}
	_, problems = s.Verify([]byte(file(many...)))
	if n := len(problems); n > 60 || !slices.ContainsFunc(problems, func(p tasks.Problem) bool { return p.Text == "and 151 more" }) {
		t.Errorf("%d problems, the last %v", n, problems[n-1])
	}
	if r := s.Repair([]byte(file(many...))); r.Whole || len(r.List.Stories) != 201 {
		t.Errorf("repaired: whole = %t, %d stories", r.Whole, len(r.List.Stories))
	}
}
