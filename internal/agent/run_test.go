package agent

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// player makes the options of an agent that is this test binary in a role.
func player(t *testing.T, name, role, file string) Options {
	t.Helper()
	// Under the race detector a program sleeps for a second before it exits.
	const quick = "GORACE=atexit_sleep_ms=0"
	s, err := proc.Start(t.Context(), proc.Options{Env: []string{quick}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := file
	if file != "" && !filepath.IsAbs(file) {
		if path, err = filepath.Abs(agenttest.Testdata("claude", file+".ndjson")); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{
		Name: name, Command: []string{self}, Dir: t.TempDir(), Process: s,
		Env:    []string{"PATH=/usr/bin:/bin", "AGENT_ROLE=" + role, "AGENT_FILE=" + path, "CLAUDECODE=1", quick},
		Limits: proc.Limits{Time: 60 * time.Second, Grace: 100 * time.Millisecond},
	}
	if name == "custom" {
		o.Filters = map[string]string{"text": ".text"}
	}
	return o
}

func run(t *testing.T, ctx context.Context, o Options, prompt string) agenttest.Decoded {
	t.Helper()
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var got agenttest.Decoded
	returned := false
	turn, err := a.Run(ctx, ralph.Prompt{Text: prompt, Iteration: 1, Attempt: 1}, func(e ralph.Event) {
		if returned {
			t.Error("an event came after Run returned")
		}
		got.Events = append(got.Events, e)
	})
	returned = true
	if err != nil {
		t.Fatal(err)
	}
	got.Turn, got.Failure = turn, turn.Failure
	if end := got.Events[len(got.Events)-1]; end.Kind != ralph.EventResult || end.Turn.Session != turn.Session {
		t.Errorf("last event = %+v, want the turn", end)
	}
	return got
}

func TestRunClaude(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, role, file string
		limits           proc.Limits
		want             string
		message          string
		marker           bool
		exit             int
	}{
		{name: "good", role: "print", file: "success_tool", want: "none", marker: true},
		{name: "never reads its prompt", role: "deaf", file: "success_tool", want: "none", marker: true},
		{name: "is_error and exit 0", role: "print", file: "api_429", want: "api-error", message: "rate limit"},
		{name: "result and hangs", role: "hang", file: "success_tool", limits: proc.Limits{FinishGrace: 50 * time.Millisecond}, want: "none", marker: true, exit: 143},
		{name: "error result and hangs", role: "hang", file: "api_401", limits: proc.Limits{FinishGrace: 50 * time.Millisecond}, want: "authentication", message: "Invalid API key", exit: 143},
		{name: "result and hangs until the time limit", role: "hang", file: "success_tool", limits: proc.Limits{Time: time.Second}, want: "none", marker: true, exit: 143},
		{name: "no result and hangs", role: "hang", file: "sigterm_tool", limits: proc.Limits{Time: time.Second}, want: "timeout", message: "iteration-timeout (1s)", exit: 143},
		{name: "silent", role: "hang", file: "sigterm_tool", limits: proc.Limits{Silence: time.Second}, want: "idle", message: "idle-timeout (1s)", exit: 143},
		{name: "dies in a line", role: "half", file: "success_tool", want: "crash", message: "137 (killed)", exit: 137},
		{name: "exit 0 without a result", role: "deaf", file: "sigterm_tool", want: "malformed", message: "without a final result"},
		{name: "floods", role: "flood", file: "sigterm_tool", limits: proc.Limits{OutputBytes: 1 << 20}, want: "output-limit", message: "1048576", exit: 143},
		{name: "refuses its flags", role: "fail", file: "bad_flag", want: "crash", message: "unknown option '--no-such-flag'", exit: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := player(t, "claude", tt.role, tt.file)
			if tt.limits != (proc.Limits{}) {
				tt.limits.Grace = o.Limits.Grace
				o.Limits = tt.limits
			}
			got := run(t, t.Context(), o, strings.Repeat("p", 300<<10))
			if agenttest.FailureKind(got.Failure) != tt.want {
				t.Errorf("Run = failure %s (%+v), want %s", agenttest.FailureKind(got.Failure), got.Failure, tt.want)
			}
			if got.Failure != nil && !strings.Contains(got.Failure.Message, tt.message) {
				t.Errorf("Run = failure %q, want it to hold %q", got.Failure.Message, tt.message)
			}
			if g := got.Says(agenttest.Marker); g != tt.marker {
				t.Errorf("marker found = %v, want %v", g, tt.marker)
			}
			if got.Turn.ExitCode != tt.exit || got.Turn.Duration <= 0 || got.Turn.Started.IsZero() {
				t.Errorf("ExitCode, Duration, Started = %d, %v, %v, want %d and set", got.Turn.ExitCode, got.Turn.Duration, got.Turn.Started, tt.exit)
			}
			if tt.file != "bad_flag" && got.Turn.OutputBytes == 0 {
				t.Error("OutputBytes = 0, want the size of the output")
			}
		})
	}
}

func TestRunCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := player(t, "claude", "hang", "sigterm_tool")
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	turn, err := a.Run(ctx, ralph.Prompt{Text: "p"}, func(e ralph.Event) {
		if e.Kind == ralph.EventToolStart {
			cancel()
		}
	})
	if err != nil || agenttest.FailureKind(turn.Failure) != "cancelled" || turn.Tools != 1 {
		t.Errorf("Run = %+v, %v, want a cancelled turn with its tool call", turn, err)
	}
	turn, err = a.Run(ctx, ralph.Prompt{Text: "p"}, func(ralph.Event) {})
	if err != nil || agenttest.FailureKind(turn.Failure) != "cancelled" {
		t.Errorf("Run when cancelled before = %+v, %v, want a cancelled turn", turn, err)
	}
}

// The program can not be started: no turn happens, and none ever will.
func TestRunNotStarted(t *testing.T) {
	t.Parallel()
	for _, name := range Known() {
		o := player(t, name, "not-found", "")
		a, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), ralph.Prompt{Text: "p"}, func(ralph.Event) {}); err == nil || !strings.Contains(err.Error(), "127 (not found): sh: 1: claude: not found") {
			t.Errorf("Run(%s, exit 127) = %v, want an error with its last words", name, err)
		}
		o.Command = []string{filepath.Join(t.TempDir(), "absent")}
		if a, err = New(o); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), ralph.Prompt{Text: "p"}, func(ralph.Event) {}); !errors.Is(err, fs.ErrNotExist) && (err == nil || !strings.Contains(err.Error(), "not found")) {
			t.Errorf("Run(%s, absent) = %v, want not found", name, err)
		}
	}
}

func TestRunText(t *testing.T) {
	t.Parallel()
	o := player(t, "text", "count", "")
	o.Args = []string{"--flag", "a b"}
	got := run(t, t.Context(), o, strings.Repeat("0123456789", 500_000))
	if want := `read 5000000 bytes, args ["--flag" "a b"], CLAUDECODE=""`; got.Words(false) != want+"\n" || got.Failure != nil {
		t.Errorf("Run with 5 MB = %q, %+v, want %q", got.Words(false), got.Failure, want)
	}

	o = player(t, "text", "both", "")
	var log bytes.Buffer
	o.Log = &log
	got = run(t, t.Context(), o, "p")
	if want := "one\ntwo\nthree\n"; got.Words(false) != want || log.String() != want {
		t.Errorf("Run = %q, log %q, want both streams in order: %q", got.Words(false), log.String(), want)
	}
}

func TestRunLogsRaw(t *testing.T) {
	t.Parallel()
	o := player(t, "claude", "print", "success_tool")
	var log bytes.Buffer
	o.Log = &log
	run(t, t.Context(), o, strings.Repeat("p", 1000))
	if want := agenttest.Transcript(t, "success_tool"); !strings.Contains(log.String(), want[:len(want)/2]) || !strings.Contains(log.String(), "prompt of 1000 bytes") {
		t.Errorf("log holds %d bytes, want the raw stream and stderr", log.Len())
	}
	o = player(t, "claude", "print", "success_tool")
	o.Log = failingWriter{}
	if got := run(t, t.Context(), o, "p"); got.Failure != nil {
		t.Errorf("Run with a full disk = %+v, want no failure", got.Failure)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
