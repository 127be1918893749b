package forge_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/forge"
)

// A rule that refuses is an error where the token may not bypass it, and a warning
// where that is not told. A forge without rules tells by the branch.
func TestCheckRules(t *testing.T) {
	t.Parallel()
	const name = "ralph/work"
	for _, test := range []struct {
		name   string
		make   func(*hub)
		branch forge.Branch
		warns  string
		err    string
		calls  int
	}{
		{name: "no rules", branch: forge.Branch{Name: name}, calls: 1},
		{name: "never", make: func(h *hub) { h.repo.AddRule("update", "never", name) }, branch: forge.Branch{Name: name}, err: "pushes to it are refused (rule update of ruleset 1 in octo/greet)", calls: 2},
		{name: "by pull requests", make: func(h *hub) { h.repo.AddRule("pull_request", "pull_requests_only", name) }, branch: forge.Branch{Name: name}, err: "by pull requests only", calls: 2},
		{name: "may bypass", make: func(h *hub) { h.repo.AddRule("update", "always", name) }, branch: forge.Branch{Name: name}, calls: 2},
		{name: "not told", make: func(h *hub) { h.repo.AddRule("required_status_checks", "", name) }, branch: forge.Branch{Name: name}, warns: "may be refused: checks have to pass", calls: 2},
		{name: "creation, and it is there", make: func(h *hub) { h.repo.AddRule("creation", "never", name) }, branch: forge.Branch{Name: name, Exists: true}, calls: 1},
		{name: "signed", make: func(h *hub) { h.repo.AddRule("required_signatures", "never", name) }, branch: forge.Branch{Name: name, Signed: true}, calls: 1},
		{name: "harmless", make: func(h *hub) { h.repo.AddRule("non_fast_forward", "never", name) }, branch: forge.Branch{Name: name}, calls: 1},
		{name: "another branch's", make: func(h *hub) { h.repo.AddRule("update", "never", "main") }, branch: forge.Branch{Name: name}, calls: 1},
		{name: "protected", make: func(h *hub) { h.repo.Protect("main") }, branch: forge.Branch{Name: "main", Exists: true}, warns: "it is protected", calls: 2},
		{name: "protected on Gitea", make: func(h *hub) {
			h.on("GET", "/rules/branches/main", -1, jsonAnswer(404, `{}`))
			h.on("GET", "/branches/main", -1, jsonAnswer(200, `{"name":"main","protected":true,"user_can_push":false}`))
		}, branch: forge.Branch{Name: "main", Exists: true}, err: "it is protected, and the token's owner may not push to it", calls: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, jobToken)
			if test.make != nil {
				test.make(h)
			}
			warning, err := h.client.CheckRules(t.Context(), test.branch)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("CheckRules() = %v, want %q", err, test.err)
			}
			if (warning != "") != (test.warns != "") || !strings.Contains(warning, test.warns) {
				t.Errorf("CheckRules() = %q, want %q", warning, test.warns)
			}
			if calls := h.sent.calls; len(calls) != test.calls {
				t.Errorf("%d calls, want %d: %v", len(calls), test.calls, calls)
			}
		})
	}
}
