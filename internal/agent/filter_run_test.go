package agent

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/ralph"
)

// A real child whose words a filter picks, while the log gets all of it, raw.
// 000-16, 000-23
func TestRunFilter(t *testing.T) {
	t.Parallel()
	o := player(t, "claude", "print", "success_tool")
	o.Filter = claudeFilter
	var log bytes.Buffer
	o.Log = &log
	got := run(t, t.Context(), o, "a prompt")
	if !got.Says(agenttest.Marker) || got.Failure != nil || got.Turn.Tools == 0 {
		t.Errorf("Run = marker %v, failure %v, %d tools, want a good turn", got.Says(agenttest.Marker), got.Failure, got.Turn.Tools)
	}
	if len(got.Searchable()) != 1 {
		t.Errorf("%d texts, want one: the filter's output", len(got.Searchable()))
	}
	stream := agenttest.Transcript(t, "success_tool")
	if !strings.Contains(log.String(), stream[:len(stream)-1]) || !strings.Contains(log.String(), "prompt of 8 bytes") {
		t.Errorf("the log has %d bytes, want the raw stream and stderr", log.Len())
	}
}

// An agent without a decoder of ours: any CLI that prints JSON, its stderr
// between the lines. 000-14
func TestRunFilterText(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs(agenttest.Testdata("filter", "cline.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	o := player(t, "text", "print", file)
	o.Filter = clineFilter
	got := run(t, t.Context(), o, echoedPrompt)
	if !got.Says(agenttest.Marker) || got.Failure != nil {
		t.Errorf("Run = marker %v, failure %v", got.Says(agenttest.Marker), got.Failure)
	}
	if !got.Turn.Usage.Cost.Unknown || got.Turn.CountsTools || got.Turn.Malformed != 1 {
		t.Errorf("Run = %+v, want a turn that knows of no cost and no tools, and of one line that was no JSON", got.Turn)
	}
	if strings.Contains(strings.Join(got.Searchable(), ""), "Fix the build") {
		t.Error("the echoed prompt counts as the agent's words")
	}

	o = player(t, "text", "fail", file)
	o.Filter = clineFilter
	if got := run(t, t.Context(), o, "p"); agenttest.FailureKind(got.Failure) != "crash" || !strings.Contains(got.Failure.Message, "unknown option") {
		t.Errorf("Run = failure %v, want a crash with the last words", got.Failure)
	}
}

// In text mode a filter has nothing to do.
func TestFilterPlain(t *testing.T) {
	t.Parallel()
	c := newFilter(t, "text", "empty")
	c.o.Plain = true
	got := filterWith(c, "", "{}\n"+agenttest.Marker, 0, 0)
	if got.Failure != nil || !got.Says(agenttest.Marker) || got.Count(ralph.EventText) == 0 {
		t.Errorf("failure %v, marker %v, want the output as it is", got.Failure, got.Says(agenttest.Marker))
	}
}
