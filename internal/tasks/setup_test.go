package tasks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/tasks"
)

// No iteration changes which commands check the work, or on which branch it is.
func TestSetup(t *testing.T) {
	t.Parallel()
	const before = `{"project": "p", "branchName": "ralph/x", "description": "", "verifyCommands": ["make test"], "userStories": [
  {"id": "US-001", "title": "a", "description": "", "acceptanceCriteria": ["c"], "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "", "notes": "", "dependsOn": []}
]}
`
	was, err := tasks.Read([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	rules := tasks.Rules{ReviewCap: 5}
	for _, tc := range []struct{ name, old, now, want string }{
		{"nothing", "", "", ""},
		{"other words are the agent's", `"description": "", "verify`, `"description": "more", "verify`, ""},
		{"no checks", `["make test"]`, `[]`, "verifyCommands"},
		{"weaker checks", `make test`, `true`, "verifyCommands"},
		{"the checks are gone", `"verifyCommands": ["make test"], `, ``, "verifyCommands"},
		{"another branch", `ralph/x`, `main`, "branchName"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			after := strings.Replace(before, tc.old, tc.now, 1)
			list, err := tasks.Read([]byte(after))
			if err != nil {
				t.Fatal(err)
			}
			r := tasks.Take(was, rules).Setup(list)
			if r.Changed != (tc.want != "") || r.List.BranchName != was.BranchName || !slices.Equal(r.List.VerifyCommands, was.VerifyCommands) {
				t.Errorf("Setup() = changed %v, branch %q, checks %q", r.Changed, r.List.BranchName, r.List.VerifyCommands)
			}
			if tc.want != "" && (len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0].Text, tc.want+" is for the people")) {
				t.Errorf("Setup() says %v, want that of %s", r.Problems, tc.want)
			}
			if _, problems := tasks.Take(was, rules).Verify(r.List.Bytes()); len(problems) > 0 {
				t.Errorf("the list put back has problems: %v", problems)
			}
		})
	}
}
