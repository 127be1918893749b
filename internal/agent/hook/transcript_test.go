package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
)

func TestRecordedTranscript(t *testing.T) {
	t.Parallel()
	s := hook.NewSession("t", "COMPLETE", 9, time.Time{})
	in := input(t, map[string]any{"session_id": "s", "transcript_path": "testdata/stop.jsonl"})
	answer := hook.Hook{Stop: hook.StopFacts{Session: &s}}.Answer(hook.Stop, strings.NewReader(in))
	if answer.Refused || s.Status != hook.PromiseAccepted || s.ToolCallsThisRun != 1 || s.LastAssistantText != "Second stop. <promise>COMPLETE</promise>" {
		t.Errorf("answer = %+v, session = %+v", answer, s)
	}
}

func TestHugeAndStrangeTranscripts(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.works()
	a.raw(strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 20))
	a.says("<promise>DONE</promise>")
	s := hook.NewSession("t", "DONE", 9, time.Time{})
	yes := func() (bool, error) { return true, nil }
	if answer := a.stops(hook.StopFacts{Session: &s, Changed: yes}, ""); answer.Refused || len(answer.Warnings) != 1 {
		t.Errorf("answer = %+v, want the promise accepted for its diff, with a warning", answer)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(a.path, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, "/dev/zero", "/proc/self/fd/0", "/"} {
		s := hook.NewSession("t", "DONE", 9, time.Time{})
		answer := hook.Hook{Stop: hook.StopFacts{Session: &s}}.Answer(hook.Stop, strings.NewReader(input(t, map[string]any{"session_id": "s", "transcript_path": path})))
		if answer.Refused || len(answer.Warnings) == 0 {
			t.Errorf("%s: %+v, want an approval and a warning", path, answer)
		}
	}
}

func TestSessionBeginsLate(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.raw(strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 6))
	a.says("<promise>DONE</promise>")
	s := hook.NewSession("t", "DONE", 9, a.clock.Add(time.Second))
	s.Said = s.Began
	a.clock = a.clock.Add(time.Minute)
	a.says("<promise>DONE</promise>")
	answer := a.stops(hook.StopFacts{Session: &s}, "")
	if !answer.Refused || len(answer.Warnings) > 0 || !strings.HasPrefix(answer.Reason, "Promise detected, but no tool calls/work were performed;") {
		t.Errorf("answer = %+v, want the bypass rejected without a warning", answer)
	}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	a.raw("early\n" + strings.Repeat("x", 5<<20))
	a.says("nonce-1")
	for text, want := range map[string]bool{"nonce-1": true, "nonce-2": false, "early": false, "": false} {
		if got, err := hook.Mentions(a.path, text); got != want || err != nil {
			t.Errorf("Mentions(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, path := range []string{"", "/", "/dev/zero", filepath.Join(t.TempDir(), "none")} {
		if got, err := hook.Mentions(path, "x"); got || err == nil {
			t.Errorf("Mentions of %q = %v, %v, want an error", path, got, err)
		}
	}
}

func TestSessionWaitsForTheTranscript(t *testing.T) {
	t.Parallel()
	const promise = "<promise>DONE</promise>"
	a := newAgent(t)
	a.says("at it")
	late := *a
	synctest.Test(t, func(t *testing.T) {
		s := hook.NewSession("t", "DONE", 9, time.Time{})
		go func() {
			time.Sleep(100 * time.Millisecond) // as the CLI does
			late.works()
			late.says(promise)
		}()
		answer := a.stops(hook.StopFacts{Session: &s}, promise)
		if answer.Refused || s.Status != hook.PromiseAccepted || s.ToolCallsThisRun != 1 {
			t.Errorf("answer = %+v, %+v, want the promise accepted for its work", answer, s)
		}
	})
}
