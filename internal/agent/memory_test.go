package agent

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// What the decoders keep does not grow with the stream. This test is not
// parallel: it measures the heap.
func TestMemoryIsFlat(t *testing.T) {
	big := agenttest.Quote(strings.Repeat("all work and no play\n", 50<<10)) // 1 MiB
	for name, tt := range map[string]struct {
		d     driver.Decoder
		lines string
	}{
		"codex": {drivers()["codex"].Decoder(Options{}, ralph.Prompt{Text: "p"}, func(ralph.Event) {}, func() {}), `{"type":"item.completed","item":{"id":"a","type":"agent_message","text":` + big + `}}` + "\n" +
			`{"type":"item.completed","item":{"id":"b","type":"command_execution","command":"x","aggregated_output":` + big + `,"exit_code":0}}` + "\n"},
		"cline": {drivers()["cline"].Decoder(Options{}, ralph.Prompt{Text: "p"}, func(ralph.Event) {}, func() {}), `{"type":"agent_event","event":{"type":"content_start","contentType":"text","text":` + big + `}}` + "\n" +
			`{"type":"agent_event","event":{"type":"content_end","contentType":"tool","toolCallId":"b","output":[{"result":` + big + `,"success":true}]}}` + "\n"},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range 32 { // 64 MiB
			for chunk := range slices.Chunk([]byte(tt.lines), 64<<10) {
				tt.d.Stdout(chunk)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 6<<20 {
			t.Errorf("%s: the decoder keeps %d bytes after 64 MiB, want at most 6 MiB", name, kept)
		}
		runtime.KeepAlive(tt.d)
	}
}
