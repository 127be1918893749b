package tasks_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

func TestLint(t *testing.T) {
	t.Parallel()
	f, project := folder(t)
	mustInit(t, f, "x")
	const untouched = "1:1: the template is not filled in yet: say in project, branchName and userStories what is to be done"
	good := file(story("A", open))
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"good":          {good, nil},
		"the template":  {slurp(t, project, "ralph/tasks.json"), []string{untouched}},
		"a bad branch":  {strings.Replace(good, "ralph/shop", "ralph/a b", 1), []string{`3:17: branchName "ralph/a b" is no name of a branch: the name of a branch cannot hold ' '`}},
		"an empty one":  {strings.Replace(good, "ralph/shop", "", 1), []string{`3:17: branchName "" is no name of a branch: give a name such as ralph/work`}},
		"its branch":    {strings.Replace(good, "ralph/shop", "ralph/feature-name", 1), []string{"3:17: branchName is still ralph/feature-name, as in the template: give the branch of this work"}},
		"no words":      {strings.Replace(good, `["works"]`, `["works", " \n"]`, 1), []string{"10:39: Story A has an acceptance criterion without words: say what can be checked"}},
		"no review":     {strings.Replace(file(story("A", approved)), "\"reviewCount\": 1", "\"reviewCount\": 0", 1), []string{"14:22: Story A is approved and has reviewCount 0: no review has approved it. Set reviewStatus to needs_review and passes to false to have it reviewed"}},
		"no title":      {strings.Replace(good, "Title of A", "", 1), []string{"9:16: Story A has no title: it is what commits are named after"}},
		"misspelled":    {strings.Replace(good, `"verifyCommands"`, `"tool": {}, "verifyCommand"`, 1), []string{`5:15: "verifyCommand" is no field of ralph's: did you mean verifyCommands?`}},
		"in a story":    {strings.Replace(good, `"title"`, `"dependOn": [], "url": 1, "title"`, 1), []string{`9:7: "dependOn" of story A is no field of ralph's: did you mean dependsOn?`}},
		"no list":       {"{", nil},
		"another thing": {"[1]", nil},
		"no stories":    {`{"branchName": 1, "userStories": {}}`, nil},
	} {
		var got []string
		for _, p := range tasks.Lint([]byte(c.text)) {
			got = append(got, p.String())
			if (p.Kind == tasks.Naming) != strings.Contains(p.Text, "is no name") {
				t.Errorf("%s: kind %d", name, p.Kind)
			}
		}
		same(t, name, got, c.want)
	}
	if n := len(tasks.Lint([]byte(strings.Replace(good, `["works"]`, `[""`+strings.Repeat(`,""`, 100_000)+`]`, 1)))); n != 51 {
		t.Errorf("%d problems", n)
	}
}

// What the report gets is bounded, and says what a story is.
func TestReport(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 10_000)
	l := read(t, file(strings.Replace(story("A", `false "changes_requested" 2 "`+long+`"`), "Title of A", long, 1), story("B", autoState), story("C", open)))
	got := l.Report(reviewed)
	want := []ralph.Story{
		{ID: "A", Title: strings.Repeat("é", 300), Status: "changes_requested", Reviews: 2, Feedback: strings.Repeat("é", 4000)},
		{ID: "B", Title: "Title of B", Passes: true, Status: "approved", Reviews: 5, Feedback: "[AUTO-APPROVED AT CAP] still slow", AutoApproved: true, Done: true},
		{ID: "C", Title: "Title of C"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d stories", len(got))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("Report[%d] = %+v, want %+v", i, got[i], want[i])
		}
	}
}

// 003-31
func TestFigures(t *testing.T) {
	t.Parallel()
	f := read(t, file(story("A", approved), story("B", autoState), story("C", open), story("D", rejected), story("E", `true "approved" 3 ""`))).Figures(reviewed)
	same(t, "lines", f.Lines(), []string{"Stories completed: 3 of 5", "Reviews: 10, 2.5 per reviewed story, at most 5",
		"Approved at the first review: 1 of 4 reviewed stories"})
	if f.CappedIDs() != "B" {
		t.Errorf("capped: %s", f.CappedIDs())
	}
	same(t, "without reviews", read(t, file(story("A", open))).Figures(reviewed).Lines(), []string{"Stories completed: 0 of 1"})
	capped := make([]string, 12)
	for i := range capped {
		capped[i] = story("S"+strings.Repeat("x", i), autoState)
	}
	if ids := read(t, file(capped...)).Figures(reviewed).CappedIDs(); !strings.HasPrefix(ids, "S, Sx, ") || !strings.HasSuffix(ids, " and 2 more") {
		t.Errorf("capped: %s", ids)
	}
}
