package hook_test

import (
	"fmt"
	"testing"

	"github.com/org/ralph-action/internal/agent/hook"
)

// The documented thresholds are those at which the monitor speaks, and no others.
func TestThresholds(t *testing.T) {
	t.Parallel()
	want := map[int64]hook.Threshold{}
	for _, one := range hook.Thresholds() {
		want[int64(one.Percent)] = one
	}
	dir := t.TempDir()
	for percent := int64(1); percent <= 100; percent++ {
		said := post(t, hook.Monitor{Dir: dir}, "s", transcriptOf(t, dir, percent*8000)).Context
		text := ""
		if due, ok := want[percent]; ok {
			text = fmt.Sprintf("%s: about %d%% of the context window is in use. %s", due.Severity, percent, due.Text)
		}
		if said != text {
			t.Errorf("at %d%% the monitor says %q, want %q", percent, said, text)
		}
	}
}
