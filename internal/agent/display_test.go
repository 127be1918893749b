package agent

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// displayed runs an agent in a role with a display command, and returns what
// the two showed.
func displayed(t *testing.T, ctx context.Context, role, file, display string) (got agenttest.Decoded, shown, log string) {
	t.Helper()
	o := player(t, "claude", role, file)
	o.Display = display
	o.DisplayProcess = player(t, "claude", role, file).Process
	var out locked
	var raw bytes.Buffer
	o.DisplayOut, o.Log = &out, &raw
	got = run(t, ctx, o, "a prompt")
	return got, out.String(), raw.String()
}

type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// 000-24: the display filter gets the raw stream, and log and decoder get it
// as well.
func TestDisplay(t *testing.T) {
	t.Parallel()
	stream := agenttest.Transcript(t, "success_tool")
	for _, tt := range []struct {
		name, command string
		want          func(shown, log string) bool
	}{
		{"everything", "cat", func(shown, log string) bool {
			return strings.Contains(shown, stream[:len(stream)-1]) && strings.Contains(shown, "prompt of 8 bytes") && len(shown) == len(log)
		}},
		{"a pipeline, on both outputs", `grep -c '"type":"result"' >&2; echo end`, func(shown, _ string) bool { return shown == "1\nend\n" }},
		{"ends before the agent", "exec true", func(shown, _ string) bool { return !strings.Contains(shown, "type") }},
		{"does not exist", "exec no-such-command-of-ours", func(shown, _ string) bool { return strings.Contains(shown, "not found") }},
		{"without the agent's credentials", "cat >/dev/null; echo key=$ANTHROPIC_API_KEY role=$AGENT_ROLE", func(shown, _ string) bool { return shown == "key= role=print\n" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, shown, log := displayed(t, t.Context(), "print", "success_tool", tt.command)
			if !tt.want(shown, log) {
				t.Errorf("shown = %q", shown)
			}
			if got.Failure != nil || !got.Says(agenttest.Marker) || !strings.Contains(log, stream[:len(stream)/2]) {
				t.Errorf("failure %v, marker %v, log of %d bytes: want a good turn whatever the display does", got.Failure, got.Says(agenttest.Marker), len(log))
			}
		})
	}
}

// A command that ends while the agent works is told of once, and not waited for.
func TestDisplayEndsEarly(t *testing.T) {
	t.Parallel()
	o := player(t, "text", "print", "")
	o.Command = []string{"/bin/sh", "-c", "cat >/dev/null; i=0; while [ $i -lt 3000 ]; do echo a line of the agent; i=$((i+1)); done; sleep 3; echo last"}
	o.Display, o.DisplayProcess = "head -n 1; exit 3", player(t, "text", "print", "").Process
	var out locked
	o.DisplayOut = &out
	got := run(t, t.Context(), o, "p")
	if want := "a line of the agent\nralph: the display filter exited with code 3 before it had read everything; the rest is not shown\n"; out.String() != want {
		t.Errorf("shown = %q, want %q", out.String(), want)
	}
	if !strings.HasSuffix(got.Words(false), "last\n") {
		t.Error("the agent's last line is missing")
	}
}

func TestDisplayNotStarted(t *testing.T) {
	t.Parallel()
	o := player(t, "claude", "print", "success_tool")
	closed, err := proc.Start(t.Context(), proc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	var out locked
	o.Display, o.DisplayProcess, o.DisplayOut = "cat", closed, &out
	if got := run(t, t.Context(), o, "p"); got.Failure != nil || !got.Says(agenttest.Marker) {
		t.Errorf("failure = %v", got.Failure)
	}
	if s := out.String(); strings.Count(s, "ralph: ") != 1 || !strings.Contains(s, "the display filter cannot be started") {
		t.Errorf("shown = %q, want one note", s)
	}
}

// A command that reads nothing holds nobody up: the agent's output is whole,
// and the turn ends soon after.
func TestDisplaySlow(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 1023) + "\n"
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, []byte(strings.Repeat(line, 20<<10)), 0o600); err != nil {
		t.Fatal(err)
	}
	o := player(t, "text", "print", big)
	o.Display, o.DisplayProcess = "sleep 600", player(t, "text", "print", "").Process
	var out locked
	var words int
	o.DisplayOut = &out
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	turn, err := a.Run(ctx, ralph.Prompt{Text: "p"}, func(e ralph.Event) {
		if words += len(e.Text); words >= 20<<20 {
			cancel() // the display filter has a second then
		}
	})
	if err != nil || turn.OutputBytes < 20<<20 {
		t.Errorf("Run = %d bytes, %v, want all of them", turn.OutputBytes, err)
	}
	if s := out.String(); strings.Count(s, "ralph: ") != 1 || !strings.Contains(s, "did not end in time and was ended") || !strings.Contains(s, "bytes it had not read are not shown") {
		t.Errorf("shown = %q, want one note", s)
	}
	if turn.Duration > 30*time.Second {
		t.Errorf("it took %v", turn.Duration)
	}
}

func TestDisplayOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{Display: "cat"},
		{Display: "ca\x00t", DisplayProcess: noProcess{}},
	} {
		o.Name, o.Command, o.Process = "text", []string{"x"}, noProcess{}
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), "display filter") {
			t.Errorf("New(%q) = %v, want an error about the display filter", o.Display, err)
		}
	}
}

// Lines of stdout and stderr do not get mixed up.
func TestDisplayLines(t *testing.T) {
	t.Parallel()
	queue := newLineQueue(1<<20, func(int64) {})
	s := &shown{Decoder: nothing{}, queue: queue}
	s.Stdout([]byte(`{"a":`))
	s.Stderr([]byte("warning\npart"))
	s.Stdout([]byte("1}\n{"))
	s.Stderr([]byte(" two\n"))
	s.Stderr([]byte("end"))
	s.Stdout([]byte("}\n"))
	s.Close()
	queue.close()
	got, err := io.ReadAll(queue)
	if want := "{\"a\":1}\nwarning\n{}\npart two\nend"; err != nil || string(got) != want {
		t.Errorf("the display gets %q, %v, want %q", got, err, want)
	}
	s.Stderr(bytes.Repeat([]byte("x"), maxStderrLine+1))
	if len(s.errs) > 0 {
		t.Errorf("%d bytes of stderr are kept", len(s.errs))
	}
}

type nothing struct{ driver.Decoder }

func (nothing) Stdout([]byte) {}
func (nothing) Stderr([]byte) {}
func (nothing) Close()        {}

// A full queue drops whole lines and tells how much.
func TestLineQueue(t *testing.T) {
	t.Parallel()
	var dropped int64
	q := newLineQueue(20, func(n int64) { dropped += n })
	read := func() string {
		b := make([]byte, 100)
		n, _ := q.Read(b)
		return string(b[:n])
	}
	q.write([]byte("one\ntwo\nth"))         // 10
	q.write([]byte("ree\nfour is too lon")) // does not fit: three does, four is dropped
	if got := read(); got != "one\ntwo\nthree\n" {
		t.Errorf("read %q, want three whole lines", got)
	}
	q.write([]byte("g\nfive\n"))
	if got := read(); got != "five\n" || dropped != 17 {
		t.Errorf("read %q, %d bytes dropped, want five and 17", got, dropped)
	}
	q.write([]byte("si"))
	if got := read(); got != "si" {
		t.Errorf("read %q, want si", got)
	}
	q.write([]byte(strings.Repeat("x", 30) + "\nseven\n")) // six was read in part: it gets a line end
	q.write([]byte("eight\n"))
	if got := read(); got != "\nseven\neight\n" || dropped != 17+31 {
		t.Errorf("read %q, %d bytes dropped, want seven, eight and 48", got, dropped)
	}
	q.write([]byte("nine is\nmuch\ntoo long by far\n"))
	q.write([]byte("lost\n"))
	q.close()
	q.write([]byte("late\n"))
	rest, err := io.ReadAll(q)
	if string(rest) != "nine is\nmuch\n" || err != nil || dropped != 48+16+5 {
		t.Errorf("read %q, %v, %d bytes dropped, want nine, much and 69", rest, err, dropped)
	}
	if unread, closed := q.leave(); unread != 0 || !closed {
		t.Errorf("leave() = %d, %v, want 0, true", unread, closed)
	}
}
