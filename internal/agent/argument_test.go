package agent

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// Direct mode: claude -p PROMPT --dangerously-skip-permissions [--model M], with
// what makes its output a stream. By default the prompt comes on stdin, where
// its length does not matter. // 003-04
func TestDirectMode(t *testing.T) {
	t.Parallel()
	const prompt = "Do the next story."
	for _, tt := range []struct {
		name  string
		o     Options
		argv  string // joined by "|"
		stdin string
	}{
		{"as an argument", Options{Argument: true}, "claude|-p|Do the next story.|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.", ""},
		{"with a model", Options{Argument: true, Model: "opus", Plain: true}, "claude|-p|Do the next story.|--output-format|text|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--model|opus", ""},
		{"on stdin", Options{Model: "opus"}, "claude|-p|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--model|opus", prompt},
		{"in a docker sandbox", Options{Argument: true, Command: []string{"docker", "sandbox", "run", "ralph-_w", "--"}},
			"docker|sandbox|run|ralph-_w|--|-p|Do the next story.|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.", ""},
		{"exact", Options{Argument: true, Exact: true, ExactArgs: []string{"--allowedTools", "Bash"}}, "claude|--allowedTools|Bash|-p|Do the next story.", ""},
	} {
		p := &printer{Streams: []string{agenttest.Transcript(t, "text_only")}}
		o := tt.o
		o.Name, o.Process = "claude", p
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context(), ralph.Prompt{Text: prompt}, func(ralph.Event) {}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Argv[0], "|"); got != tt.argv || p.Stdin[0] != tt.stdin {
			t.Errorf("%s: started\n%s\nwith stdin %q, want\n%s\nwith %q", tt.name, got, p.Stdin[0], tt.argv, tt.stdin)
		}
		shown := strings.ReplaceAll(tt.argv, prompt, "<prompt>")
		if got := strings.Join(c.Argv(ralph.Prompt{Text: prompt}), "|"); got != shown {
			t.Errorf("%s: Argv = %s, want %s", tt.name, got, shown)
		}
	}
}

// A prompt that is an argument is a prompt, whatever it looks like, and not
// longer than an argument may be. // 003-03
func TestArgumentLimits(t *testing.T) {
	t.Parallel()
	p := &printer{Streams: []string{agenttest.Transcript(t, "text_only")}}
	c, err := New(Options{Name: "claude", Argument: true, Process: p, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for prompt, want := range map[string]string{"--help me": "\n--help me", "update": "\nupdate", "do it": "do it"} {
		p.Argv = nil
		if _, err := c.Run(t.Context(), ralph.Prompt{Text: prompt}, func(ralph.Event) {}); err != nil {
			t.Fatal(err)
		}
		if got := p.Argv[0][2]; got != want {
			t.Errorf("the argument for %q is %q, want %q", prompt, got, want)
		}
	}
	p.Argv = nil
	if _, err := c.Run(t.Context(), ralph.Prompt{Text: "a " + strings.Repeat("p", driver.MaxArgument-2)}, func(ralph.Event) {}); err != nil {
		t.Errorf("Run with %d bytes = %v, want no error", driver.MaxArgument, err)
	}
	p.Argv = nil
	_, err = c.Run(t.Context(), ralph.Prompt{Text: strings.Repeat("p", driver.MaxArgument+1)}, func(ralph.Event) {})
	if want := `agent "claude": its prompt is an argument, and 102401 bytes are too long for one (102400)`; err == nil || err.Error() != want || p.Argv != nil {
		t.Errorf("Run with %d bytes = %v, want %q and no start", driver.MaxArgument+1, err, want)
	}
	for _, name := range []string{"amp", "codex", "text"} {
		if _, err := New(Options{Name: name, Command: []string{"x"}, Argument: true, Process: p}); err == nil || !strings.Contains(err.Error(), "cannot be an argument") {
			t.Errorf("New of %s with Argument = %v, want a refusal", name, err)
		}
	}
	if _, err := New(Options{Name: "cline", Argument: true, Process: p}); err != nil {
		t.Errorf("New of cline with Argument = %v, whose prompt is one anyway", err)
	}
}

// Two agents of one run share its process, its log and its folder, and take
// nothing from each other, not even at the same time.
func TestTwoAgents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30<<10) + "the end."
	base := player(t, "cline", "task", "")
	scratch, log := t.TempDir(), &safeLog{}
	implementer, reviewer := base, base
	implementer.Plain, implementer.Scratch, implementer.Log = true, scratch, log
	reviewer.Name, reviewer.Plain, reviewer.Scratch, reviewer.Log = "codex", true, scratch, log
	reviewer.Env = append(driver.Without(base.Env, "AGENT_ROLE"), "AGENT_ROLE=answer", "AGENT_ANSWER=file")
	for _, tt := range []struct {
		o            Options
		prompt, want string
	}{
		{implementer, long, "file of 153608 bytes"},
		{reviewer, "review it, and say what is wrong", "DONE in a file"},
		{implementer, long[5:], "file of 153603 bytes"},
	} {
		t.Run(tt.o.Name, func(t *testing.T) {
			t.Parallel()
			for range 3 {
				if got := run(t, t.Context(), tt.o, tt.prompt); !strings.Contains(got.Turn.FinalText, tt.want) || got.Failure != nil {
					t.Errorf("FinalText = %q, failure %+v, want %q", got.Turn.FinalText, got.Failure, tt.want)
				}
			}
		})
	}
	t.Cleanup(func() { // when all of them are done
		if n := log.n.Load(); n == 0 {
			t.Error("nothing was logged")
		}
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("the folder holds %v, %v", left, err)
		}
	})
}

// safeLog counts what is written to it, from several at a time.
type safeLog struct{ n atomic.Int64 }

func (l *safeLog) Write(p []byte) (int, error) {
	l.n.Add(int64(len(p)))
	return len(p), nil
}
