package tasks_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/matrix"
	"github.com/org/ralph-action/internal/run/stories"
	"github.com/org/ralph-action/internal/tasks"
)

func ranked(id, state, priority string, depends ...string) string {
	s := story(id, state, `"dependsOn": [`+strings.Join(depends, ",")+`]`)
	return strings.Replace(s, `"priority": 1`, `"priority": `+priority, 1)
}

// The mode follows from the list, and the story from the mode. 003-08, 003-27
func TestModeAndNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		rules   tasks.Rules
		stories []string
		mode    tasks.Mode
		next    string // "": none
	}{
		{"all open", reviewed, []string{ranked("A", open, "2"), ranked("B", open, "1")}, tasks.Implement, "B"},
		{"a fraction", reviewed, []string{ranked("A", open, "1.5"), ranked("B", open, "1.25")}, tasks.Implement, "B"},
		{"equals in the order of the file", reviewed, []string{ranked("B", open, "1"), ranked("A", open, "1")}, tasks.Implement, "B"},
		{"below zero", reviewed, []string{ranked("A", open, "0"), ranked("B", open, "-5")}, tasks.Implement, "B"},
		{"review before implement", reviewed, []string{ranked("A", open, "1"), ranked("B", waiting, "9")}, tasks.Review, "B"},
		{"fix before review", reviewed, []string{ranked("A", open, "1"), ranked("B", waiting, "2"), ranked("C", rejected, "3")}, tasks.ReviewFix, "C"},
		{"reviews by priority", reviewed, []string{ranked("A", waiting, "2"), ranked("B", waiting, "1")}, tasks.Review, "B"},
		{"what it depends on comes first", reviewed, []string{ranked("A", open, "1", `"B"`), ranked("B", open, "2")}, tasks.Implement, "B"},
		{"what it depends on is done", reviewed, []string{ranked("A", open, "1", `"B"`), ranked("B", approved, "2")}, tasks.Implement, "A"},
		{"one of two is done", reviewed, []string{ranked("A", open, "1", `"B"`, `"C"`), ranked("B", approved, "2"), ranked("C", open, "3")}, tasks.Implement, "C"},
		{"a chain", reviewed, []string{ranked("A", open, "1", `"B"`), ranked("B", open, "1", `"C"`), ranked("C", open, "9")}, tasks.Implement, "C"},
		{"all done", reviewed, []string{ranked("A", approved, "1")}, tasks.Implement, ""},
		{"no reviews", unreviewed, []string{ranked("A", rejected, "2"), ranked("B", `true null 0 ""`, "1")}, tasks.Implement, "A"},
		{"no reviews, dependencies", unreviewed, []string{ranked("A", open, "1", `"B"`), ranked("B", `true null 0 ""`, "3"), ranked("C", open, "2")}, tasks.Implement, "A"},
		{"no reviews, all done", unreviewed, []string{ranked("A", `true null 0 ""`, "2")}, tasks.Implement, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := read(t, file(c.stories...))
			next, ok := l.Next(c.rules)
			if mode := l.Mode(c.rules); mode != c.mode || next.ID != c.next || ok != (c.next != "") {
				t.Errorf("mode %s, next %q (%t), want %s, %q", mode, next.ID, ok, c.mode, c.next)
			}
			if s := tasks.Take(l, c.rules); s.Mode != c.mode || s.Story.ID != c.next || s.List() != l {
				t.Errorf("snapshot has mode %s, story %q", s.Mode, s.Story.ID)
			}
		})
	}
}

// 003-09, 003-12
func TestDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stories            []string
		reviewed, unviewed bool
	}{
		{[]string{story("A", approved), story("B", autoState)}, true, true},
		{[]string{story("A", approved), story("B", open)}, false, false},
		{[]string{story("A", approved), story("B", waiting)}, false, false},
		{[]string{story("A", approved), story("B", `true null 0 ""`)}, false, true},
		{[]string{story("A", `true "needs_review" 0 ""`)}, false, true},
		{[]string{story("A", `false "approved" 0 ""`)}, false, false},
	} {
		l := read(t, file(c.stories...))
		if got, skipped := l.Done(reviewed), l.Done(unreviewed); got != c.reviewed || skipped != c.unviewed {
			t.Errorf("%s: done = %t, without reviews %t", states(l), got, skipped)
		}
	}
	if (&tasks.List{}).Done(reviewed) {
		t.Error("an empty list is done")
	}
}

// 003-25
func TestAutoApproved(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{
		autoState: true, approved: false, `true "approved" 5 ""`: false, `true "approved" 5 " [Auto-approved at cap]"`: true,
		`true "approved" 5 "see [AUTO-APPROVED AT CAP]"`: false, `false "needs_review" 5 "[AUTO-APPROVED AT CAP]"`: false,
	} {
		if got := read(t, file(story("A", state))).Stories[0].AutoApproved(); got != want {
			t.Errorf("%s: %t", state, got)
		}
	}
}

// 003-34
func TestEstimate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules   tasks.Rules
		stories []string
		want    string
	}{
		{reviewed, []string{story("A", open), story("B", open), story("C", open), story("D", open), story("E", open)},
			"5 stories × ~3 iterations each = ~15 iterations needed, at most 50"},
		{reviewed, []string{story("A", open), story("B", approved)}, "1 story × ~3 iterations each = ~3 iterations needed, at most 10"},
		{reviewed, []string{story("A", waiting)}, "1 story × ~3 iterations each = ~3 iterations needed, at most 9"},
		{reviewed, []string{story("A", rejected)}, "1 story × ~3 iterations each = ~3 iterations needed, at most 8"},
		{reviewed, []string{story("A", `false "needs_review" 5 ""`)}, "1 story × ~1 iteration each = ~1 iteration needed, at most 1"},
		{tasks.Rules{ReviewCap: 1}, []string{story("A", open)}, "1 story × ~2 iterations each = ~2 iterations needed, at most 2"},
		{tasks.Rules{}, []string{story("A", open)}, "1 story × ~3 iterations each = ~3 iterations needed"},
		{unreviewed, []string{story("A", open), story("B", open)}, "2 stories × ~1 iteration each = ~2 iterations needed, at most 2"},
		{reviewed, []string{story("A", approved)}, "0 stories × ~3 iterations each = ~0 iterations needed"},
	} {
		if got := read(t, file(c.stories...)).Estimate(c.rules).String(); got != c.want {
			t.Errorf("Estimate = %q, want %q", got, c.want)
		}
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	nothing := func(string) (*matrix.Branch, error) { return nil, nil }
	l := read(t, file(story("US-1", open), story("us-1", waiting), story("B.lock", rejected), story("C", open, `"dependsOn": ["US-1"]`),
		story("D", approved), story("E", open, `"dependsOn": ["D"]`)))
	got, jobs, err := matrix.Of(l, reviewed, nothing)
	want := `{"include":[{"story":"US-1","branch":"ralph/shop-us-1","mode":"implement"},{"story":"us-1","branch":"ralph/shop-us-1-2","mode":"review"},` +
		`{"story":"B.lock","branch":"ralph/shop-b-lock","mode":"review-fix"},{"story":"E","branch":"ralph/shop-e","mode":"implement"}]}`
	if err != nil || string(got) != want || jobs != 4 {
		t.Errorf("Matrix = %s, %d, %v\nwant %s", got, jobs, err, want)
	}
	if got, jobs, err := matrix.Of(read(t, file(story("A", approved))), reviewed, nothing); err != nil || jobs != 0 || string(got) != `{"include":[]}` {
		t.Errorf("Matrix = %s, %d, %v", got, jobs, err)
	}
	_, _, err = matrix.Of(read(t, file(story("a b", open), story("$(id)", open))), reviewed, nothing)
	if err == nil || strings.Count(err.Error(), "cannot stand in a workflow") != 2 {
		t.Errorf("Matrix with ids that a shell reads: %v", err)
	}
	bad := read(t, strings.Replace(file(story("A", open)), "ralph/shop", "ralph shop", 1))
	if _, _, err := matrix.Of(bad, reviewed, nothing); err == nil || !strings.Contains(err.Error(), `branchName "ralph shop" makes no branch for story A`) {
		t.Errorf("Matrix with a bad branch: %v", err)
	}
	many := make([]string, 300)
	for i := range many {
		many[i] = story("S"+strings.Repeat("1", i/26)+string(rune('a'+i%26)), open)
	}
	if _, jobs, err := matrix.Of(read(t, file(many...)), reviewed, nothing); err != nil || jobs != 256 {
		t.Errorf("%d jobs, %v", jobs, err)
	}
}

// What a prompt asks for, in all three forms; nothing else is touched. 003-06
func TestExpand(t *testing.T) {
	t.Parallel()
	s := snapshot(t, reviewed, strings.Replace(story("US-1", waiting), "Title of US-1", "Cost: $MODE\\n{{MODE}}", 1))
	v := stories.Values{Iteration: 3, MaxIterations: 15, Dir: "ralph", Snapshot: s}
	for in, want := range map[string]string{
		"$RALPH_ITERATION of ${RALPH_MAX_ITERATIONS}":                                                       "3 of 15",
		"{{RALPH_ITERATION}} of {{RALPH_MAX_ITERATIONS}}":                                                   "3 of 15",
		"{{MODE}}: {{STORY_ID}}, {{STORY_TITLE}}":                                                           "review: US-1, Cost: $MODE\uFFFD{{MODE}}",
		"{{RALPH_DIR}}/prd.md, {{REVIEW_CAP}}, {{SKIP_REVIEW}}, $RALPH_DIR/x":                               "ralph/prd.md, 5, false, ralph/x",
		"$ $$ ${ {{ {{}} {{X}} ${HOME} $HOME {{ MODE }} {{MODE} ${MODE $MODEL $RALPH_ITERATIONS {{{MODE}}}": "$ $$ ${ {{ {{}} {{X}} ${HOME} $HOME {{ MODE }} {{MODE} ${MODE $MODEL $RALPH_ITERATIONS {review}",
	} {
		if got := v.Expand(in); got != want {
			t.Errorf("Expand(%q) = %q, want %q", in, got, want)
		}
	}
	if got := (stories.Values{Iteration: 1}).Expand("{{RALPH_MAX_ITERATIONS}} {{REVIEW_CAP}}"); got != "unlimited unlimited" {
		t.Errorf("no limits are %q", got)
	}
	for _, name := range stories.Variables() {
		if in := "{{" + name + "}}"; v.Expand(in) == in {
			t.Errorf("%s has no value", name)
		}
	}
}

// What the mode does not touch stays byte by byte, and what is beyond repair is
// as it was.
func TestRepairKeeps(t *testing.T) {
	t.Parallel()
	before := read(t, full)
	s := tasks.Take(before, reviewed)
	for _, c := range []struct{ name, left, want string }{
		{"unknown fields and order", change(`"passes": false`, `"passes": true`), full},
		{"the agent's own additions stay", strings.Replace(change(`"passes": false`, `"passes": true`), `"estimate": 1e2`, `"estimate": 2, "x": [ ]`, 1),
			change(`"estimate": 1e2`, `"estimate": 2, "x": [ ]`)},
		{"a missing field", change("      \"reviewCount\": 2,\n", ""),
			strings.Replace(change("      \"reviewCount\": 2,\n", ""), `"estimate": 1e2`, "\"estimate\": 1e2,\n      \"reviewCount\": 2", 1)},
		{"the branch", change(`"ralph/shop"`, `null`), full},
		{"verifyCommands", change(`["make test", "make lint"]`, `"true"`), full},
		{"a wrong optional field that was not there", strings.Replace(full, `"notes":"done"}`, `"notes":"done","dependsOn":null}`, 1), full},
		{"a circle", strings.Replace(full, `"notes":"done"}`, `"notes":"done","dependsOn":["US-001"]}`, 1), full},
		{"an approved story that another needs", full[:strings.Index(full, "    {\"id\"")-2] + "\n  ]\n}\n",
			full},
		{"a key twice", change(`"passes": false`, `"passes": false, "passes": true`),
			change("\n      \"passes\": false", ` "passes": false`)},
		{"cut in half", full[:700], full},
		{"empty", "", full},
		{"an array", "[]", full},
		{"stories gone", change(`"userStories"`, `"stories"`), full},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := s.Repair([]byte(c.left))
			if got := string(r.List.Bytes()); got != c.want {
				t.Errorf("repaired =\n%s\nwant\n%s", got, c.want)
			}
			if len(r.Problems) == 0 || !r.Changed {
				t.Error("nothing is said")
			}
		})
	}
	if got := string(before.Bytes()); got != full {
		t.Errorf("the snapshot became\n%s", got)
	}
}
