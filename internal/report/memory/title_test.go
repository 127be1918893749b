package memory_test

import (
	"regexp"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/memory"
)

// A title becomes the subject of a squash merge, which does not keep the checks
// of the base from running, whatever an issue is called.
func TestTitleLetsChecksRun(t *testing.T) {
	t.Parallel()
	skips := regexp.MustCompile(`(?i)\[\s*(skip ci|ci skip|no ci|skip actions|actions skip)\s*\]`)
	for _, task := range []string{
		"Greet [skip ci]", "[CI  Skip] greet", "greet [no\tci] [skip actions] [actions skip]",
		"The greeting of all people is to be said in a language of theirs [skip ci]",
	} {
		if got := memory.Title(ralph.Report{Task: task}); skips.MatchString(got) {
			t.Errorf("Title(%q) = %q, want none that keeps checks from running", task, got)
		}
	}
}
