package forge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// The whole way over real connections: a push, its CI, the log of what failed,
// and the same run as an event tells of it.
func TestChecksOfAPush(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	sha := h.commit(t, h.repo, "ralph/x", "three")
	h.repo.SetCI(func(_ string, asked int) []fakegithub.Check {
		lint := fakegithub.Check{Name: "lint", Status: "completed", Conclusion: "success", Workflow: "CI"}
		test := fakegithub.Check{Name: "test", Status: "in_progress", Workflow: "CI", Log: jobLog()}
		switch {
		case asked < 2:
			return nil
		case asked > 3:
			test.Status, test.Conclusion = "completed", "failure"
		}
		return []fakegithub.Check{lint, test}
	})
	h.repo.SetStatus(sha, fakegithub.Status{Context: "deploy", State: "success"})
	checks, err := h.client.WaitChecks(within(t, time.Minute), sha, forge.CheckOptions{Grace: time.Minute, Poll: time.Millisecond})
	if err != nil || checks.State != ralph.ChecksFailed || checks.Passed != 2 || len(checks.Failures) != 1 {
		t.Fatalf("WaitChecks() = %+v, %v, want test failed", checks, err)
	}
	logs := h.client.FailedLogs(t.Context(), checks)
	if len(logs) != 1 || logs[0].Name != "test" || !strings.Contains(logs[0].Tail, "✗ greet says hello") {
		t.Errorf("FailedLogs() = %+v, want that of test", logs)
	}
	run, err := h.client.FailedRun(t.Context(), h.repo.NewRun(sha, "push", fakegithub.Check{Name: "test", Status: "completed", Conclusion: "failure", Workflow: "CI", Log: jobLog()}))
	if err != nil || len(run) != 1 || !strings.Contains(run[0].Tail, "✗ greet says hello") {
		t.Errorf("FailedRun() = %+v, %v, want test and its log", run, err)
	}
	if _, tokens := h.Logs(); len(tokens) > 0 {
		t.Errorf("the server of logs got %q", tokens)
	}
	for user, want := range map[string]forge.Permission{"maria": forge.PermissionWrite, "bob": forge.PermissionRead} {
		if got, err := h.client.Permission(t.Context(), user); err != nil || got != want {
			t.Errorf("Permission(%s) = %s, %v, want %s", user, got, err, want)
		}
	}
	if got, err := h.client.Permission(t.Context(), "mallory"); err != nil || got.CanWrite() {
		t.Errorf("Permission(mallory) = %s, %v, want no right to write", got, err)
	}
}
