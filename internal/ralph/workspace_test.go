package ralph_test

import (
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

func TestRenews(t *testing.T) {
	t.Parallel()
	const one = `not published: "a": a cache that the repository does not track`
	for _, tt := range []struct {
		later, earlier string
		want           bool
	}{
		{`not published: "a", "b\": c": a cache that the repository does not track`, one, true},
		{`not published: "a", "b", "c", "d", "e", and 12 more: a cache that the repository does not track`, one, true},
		{`not published: "a": made by a guardrail`, one, false},
		{`the branch has another "a"`, `the branch has another "b"`, false},
	} {
		if got := ralph.Renews(tt.later, tt.earlier); got != tt.want {
			t.Errorf("Renews(%q, %q) = %t, want %t", tt.later, tt.earlier, got, tt.want)
		}
	}
}
