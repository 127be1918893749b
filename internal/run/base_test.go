package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

// What the base of a pull request is compared with is what the step found, and not what
// the agent has made of it.
func TestHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"changed", "made", "untold"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("agent's"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := &plan{Input: &Input{Workspace: dir, Sources: config.LoadOptions{Instead: map[string][]byte{"changed": []byte("found"), "made": nil, "removed": []byte("found")}}}}
	for name, want := range map[string]string{"changed": "found", "made": "", "removed": "found", "untold": "agent's", "missing": ""} {
		if got := p.here(name); string(got) != want || (got == nil) != (want == "") {
			t.Errorf("here(%s) = %q, want %q", name, got, want)
		}
	}
}
