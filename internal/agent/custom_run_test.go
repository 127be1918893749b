package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
)

// A real child, in text mode too: there is no other way to print for it.
func TestCustomRun(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs(agenttest.Testdata("custom", "gemini.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []bool{false, true} {
		o := player(t, "custom", "print", path)
		o.Filters, o.Plain, o.System = agenttest.Filters(agenttest.GeminiAsCustom), plain, "Be kind."
		got := run(t, t.Context(), o, "do it all")
		if !got.Says(agenttest.Marker) || got.Failure != nil || got.Turn.Tools != 1 || got.Turn.Usage.Tokens.Output != 100 || got.Turn.FinalText != "Writing it.\nAll done. "+agenttest.Marker {
			t.Errorf("Run in text mode %v = %+v, marker = %v", plain, got.Turn, got.Says(agenttest.Marker))
		}
	}
}

// The prompt arrives as agent-prompt says, also with exact arguments and in
// text mode, and nothing stays in the folder.
func TestCustomDelivery(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30<<10) + "the end."
	for _, tt := range []struct {
		delivery, prompt string
		exact            bool
		want             string
	}{
		{"", long, false, "stdin 153608, "},
		{"stdin", "do it all", true, "stdin 9, "},
		{"argument", "do it all", false, "stdin 0, argument 9"},
		{"argument", "do it all", true, "stdin 0, argument 9"},
		{"argument", long, false, "file of 153608 bytes, mode -rw-------, ends \"the end.\""},
		{"file", "do it all", false, "file of 9 bytes, mode -rw-------"},
		{"file", long, true, "file of 153608 bytes, mode -rw-------, ends \"the end.\""},
	} {
		o := player(t, "custom", "task", "")
		o.Filters, o.Delivery, o.Scratch, o.Exact = agenttest.Filters("text: .text"), tt.delivery, t.TempDir(), tt.exact
		var log strings.Builder
		o.Log = &log
		run(t, t.Context(), o, tt.prompt)
		if !strings.Contains(log.String(), tt.want) {
			t.Errorf("%q, exact %v: the agent says %q, want it to hold %q", tt.delivery, tt.exact, log.String(), tt.want)
		}
		if left, err := os.ReadDir(o.Scratch); err != nil || len(left) > 0 {
			t.Errorf("the folder holds %v, %v", left, err)
		}
	}
}
