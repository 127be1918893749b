package agent

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/gemini"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

func TestDenied(t *testing.T) {
	t.Parallel()
	auth := &ralph.Failure{Kind: ralph.FailureAuth, Message: "401"}
	claude := Options{Name: "claude", Env: []string{"ANTHROPIC_API_KEY=k"}}
	for _, tt := range []struct {
		name    string
		f       *ralph.Failure
		o       Options
		refused []string
		want    string // empty: the failure as it was
	}{
		{"its API", auth, claude, []string{"evil.example:443", "api.anthropic.com:443"}, "the sandbox refused api.anthropic.com:443, which claude needs: add api.anthropic.com to allowed-hosts"},
		{"its gateway", &ralph.Failure{Kind: ralph.FailureAPI}, Options{Name: "claude", BaseURL: "http://gw.example.com:8080", Env: claude.Env}, []string{"GW.example.com:8080"}, "add GW.example.com:8080 to allowed-hosts"},
		{"one of many", &ralph.Failure{Kind: ralph.FailureCrash}, Options{Name: "copilot"}, []string{"api.individual.githubcopilot.com:443"}, "add api.individual.githubcopilot.com to allowed-hosts"},
		{"an MCP server", &ralph.Failure{Kind: ralph.FailureCrash}, Options{Name: "claude", Env: claude.Env, MCP: `{"mcpServers":{"a":{"url":"https://mcp.example.com/x"}}}`}, []string{"mcp.example.com:443"}, "mcp.example.com"},
		{"nothing was refused", auth, claude, nil, ""},
		{"others were refused", auth, claude, []string{"github.com:443", "xapi.anthropic.com:443", "api.anthropic.com:80", "api.anthropic.com.evil.example:443"}, ""},
		{"not of the network", &ralph.Failure{Kind: ralph.FailureBudget}, claude, []string{"api.anthropic.com:443"}, ""},
		{"cancelled", &ralph.Failure{Kind: ralph.FailureCancelled}, claude, []string{"api.anthropic.com:443"}, ""},
		{"a list of models is no key", auth, Options{Name: "opencode", Model: "anthropic/m"}, []string{"models.opencode.ai:443"}, ""},
		{"a list of models knows models", &ralph.Failure{Kind: ralph.FailureModel}, Options{Name: "opencode", Model: "anthropic/m"}, []string{"models.opencode.ai:443"}, "add models.opencode.ai"},
		{"a good turn", nil, claude, []string{"api.anthropic.com:443"}, ""},
	} {
		got := Denied(tt.f, tt.refused, tt.o)
		switch {
		case tt.want == "":
			if got != tt.f {
				t.Errorf("%s: Denied = %+v, want the failure as it was", tt.name, got)
			}
		case got == nil || got.Kind != ralph.FailureDenied || !strings.Contains(got.Message, tt.want):
			t.Errorf("%s: Denied = %+v, want %q", tt.name, got, tt.want)
		}
	}
}

// gemini 0.61.0 says on stderr that it tries again, ten times in four minutes.
func TestGeminiRefusedByTheSandbox(t *testing.T) {
	t.Parallel()
	ended := false
	d := gemini.Driver{}.Decoder(Options{Turn: driver.Turn{GiveUp: func() { ended = true }, Denied: func() bool { return true }}}, ralph.Prompt{}, func(ralph.Event) {}, func() {})
	d.Stderr([]byte("YOLO mode is enabled. All tool calls will be automatically approved.\n"))
	if ended {
		t.Fatal("given up before there was trouble")
	}
	d.Stderr([]byte("Attempt 1 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request\n"))
	if !ended {
		t.Error("not given up")
	}
}

// recorded is a CLI that prints what was recorded, line after line, until it is
// ended; lines is how far it came.
type recorded struct {
	file  string
	lines int
}

func (p *recorded) Run(ctx context.Context, c proc.Command) (proc.Exit, error) {
	b, err := os.ReadFile(p.file)
	if err != nil {
		return proc.Exit{}, err
	}
	for line := range strings.Lines(string(b)) {
		if ctx.Err() != nil {
			return proc.Exit{Why: proc.Cancelled, Code: -1}, nil
		}
		_, _ = c.Stdout.Write([]byte(line))
		p.lines++
	}
	return proc.Exit{Why: proc.Exited, Code: 1}, nil
}

// Behind a proxy that answers 403 claude 2.1.329 tries for three minutes and codex
// 0.169.0 for ever. The turn is given up at their first word about it, and says
// what is to be done.
func TestRefusedByTheSandbox(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, key, host string }{
		{"claude", "testdata/denied/claude.ndjson", "ANTHROPIC_API_KEY=k", "api.anthropic.com"},
		{"codex", "testdata/denied/codex.ndjson", "CODEX_API_KEY=k", "api.openai.com"},
	} {
		run := func(refused ...string) (ralph.Turn, int) {
			p := &recorded{file: tt.file}
			c, err := New(Options{Name: tt.name, Env: []string{tt.key}, Process: p, Refused: func() func() []string {
				if p.lines > 0 {
					t.Errorf("%s: what is refused is counted from line %d on", tt.name, p.lines)
				}
				return func() []string { return refused }
			}})
			if err != nil {
				t.Fatal(err)
			}
			turn, err := c.Run(t.Context(), ralph.Prompt{Text: "x"}, func(ralph.Event) {})
			if err != nil {
				t.Fatal(err)
			}
			return turn, p.lines
		}
		turn, lines := run("github.com:443", tt.host+":443")
		want := "the sandbox refused " + tt.host + ":443, which " + tt.name + " needs: add " + tt.host + " to allowed-hosts"
		if f := turn.Failure; f == nil || f.Message != want || !f.Fatal() || lines > 4 {
			t.Errorf("%s: after %d lines the failure is %+v, want %q at once", tt.name, lines, f, want)
		}
		if turn, lines = run("github.com:443"); turn.Failure == nil || strings.Contains(turn.Failure.Message, "wall") || lines < 10 {
			t.Errorf("%s: not refused, after %d lines: %+v", tt.name, lines, turn.Failure)
		}
	}
}
