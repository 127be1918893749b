package agent

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Command lines that go on in a session. Those of claude and codex were tried
// with claude 2.1.197 and 2.1.329 and codex 0.169.0; amp's are of its --help.
// // 004-13
func TestResumeArgv(t *testing.T) {
	t.Parallel()
	const id = "01a20078-4c9c-74e2-986e-be7870e02063"
	for _, tt := range []struct {
		name string
		o    Options
		want string // arguments joined by "|", with ID for the session
	}{
		{"claude", Options{Name: "claude", Args: []string{"--effort", "high"}},
			"claude|-p|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--effort|high|--resume|ID"},
		{"claude: a session id of the user's is for the first turn", Options{Name: "claude", Args: []string{"--session-id", "x", "--effort", "high", "--", "y"}},
			"claude|-p|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--effort|high|--resume|ID|--|y"},
		{"claude: the user chose", Options{Name: "claude", Args: []string{"--continue"}},
			"claude|-p|--output-format|stream-json|--verbose|--dangerously-skip-permissions|--setting-sources|user|--add-dir=.|--continue"},
		{"claude: exact", Options{Name: "claude", Exact: true, ExactArgs: []string{"-p", "--x"}}, "claude|-p|--x|--resume|ID"},
		{"codex", Options{Name: "codex", Model: "m", Args: []string{"-s", "workspace-write"}},
			"codex|exec|--json|--skip-git-repo-check|-c|analytics.enabled=false|-m|m|-s|workspace-write|resume|ID|-"},
		{"codex: the user chose", Options{Name: "codex", Args: []string{"resume", "--last"}},
			"codex|exec|--json|--dangerously-bypass-approvals-and-sandbox|--skip-git-repo-check|-c|analytics.enabled=false|resume|--last|-"},
		{"codex: exact", Options{Name: "codex", Exact: true, ExactArgs: []string{"e", "--json", "-"}}, "codex|e|--json|resume|ID|-"},
		{"codex: exact, the command has exec", Options{Name: "codex", Exact: true, Command: []string{"/opt/codex", "exec"}, ExactArgs: []string{"--json"}}, "/opt/codex|exec|--json|resume|ID|-"},
		{"codex: exact without exec", Options{Name: "codex", Exact: true, ExactArgs: []string{"--json"}}, "codex|--json"},
		{"amp", Options{Name: "amp", Args: []string{"--mode", "high"}},
			"amp|threads|continue|ID|--mode|high|--stream-json|--dangerously-allow-all|-x"},
		{"amp: behind another program", Options{Name: "amp", Command: []string{"npx", "amp", "-x"}},
			"npx|amp|threads|continue|ID|--stream-json|--dangerously-allow-all|-x"},
		{"amp: the user chose", Options{Name: "amp", Args: []string{"threads", "continue", "T-1"}},
			"amp|threads|continue|T-1|--stream-json|--dangerously-allow-all|-x"},
		{"amp: exact", Options{Name: "amp", Exact: true, ExactArgs: []string{"-x", "--stream-json"}}, "amp|threads|continue|ID|-x|--stream-json"},
		{"copilot: exact", Options{Name: "copilot", Exact: true, ExactArgs: []string{"--yolo"}}, "copilot|--yolo|--resume=ID"},
		{"copilot: the user chose", Options{Name: "copilot", Exact: true, ExactArgs: []string{"--continue"}}, "copilot|--continue"},
		{"cline", Options{Name: "cline"}, "cline|--json|<prompt>"},
		{"text", Options{Name: "text", Command: []string{"x"}}, "x"},
	} {
		o := tt.o
		o.Process = noProcess{}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		fresh := c.Argv(ralph.Prompt{Text: "do it all"})
		got := strings.Join(c.Argv(ralph.Prompt{Text: "do it all", Resume: id}), "|")
		if want := strings.ReplaceAll(tt.want, "ID", id); got != want {
			t.Errorf("%s: Argv =\n%s\nwant\n%s", tt.name, got, want)
		}
		if err := c.CanResume(); (err == nil) != strings.Contains(tt.want, "ID") {
			t.Errorf("%s: CanResume() = %v, but its command line is %s", tt.name, err, got)
		}
		// What comes out of a stream is no argument unless it looks like an id.
		for _, bad := range []string{"-x", "--last", "a b", "a/../b", "a\x00", "ä", "a\n", "a=b", "$(id)", strings.Repeat("x", 129)} {
			if got := c.Argv(ralph.Prompt{Text: "do it all", Resume: bad}); !slices.Equal(got, fresh) {
				t.Errorf("%s: Argv with the session %q = %q, want a new one", tt.name, bad, got)
			}
		}
	}
}

func TestCanResume(t *testing.T) {
	t.Parallel()
	for _, name := range append(Known(), "", "other") {
		if got, want := catalog.Of(name).Sessions, slices.Contains([]string{"amp", "claude", "codex", "copilot", "gemini", "opencode"}, name); got != want {
			t.Errorf("Of(%q).Sessions = %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"claude": "in text mode", "cline": "agents that can are amp, claude, codex", "text": "agents that can are",
	} {
		c, err := New(Options{Name: name, Command: []string{"x"}, Plain: true, Process: noProcess{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CanResume(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CanResume of %s in text mode = %v, want it to say %q", name, err, want)
		}
	}
}

// turnsOf runs an agent once for each stream and returns the turns.
func turnsOf(t *testing.T, o Options, streams ...string) (turns []ralph.Turn) {
	t.Helper()
	o.Process = &printer{Streams: streams}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	session := ""
	for range streams {
		var told *ralph.Turn
		turn, err := c.Run(t.Context(), ralph.Prompt{Text: "p", Resume: session}, func(e ralph.Event) {
			if e.Turn != nil {
				told = e.Turn
			}
		})
		if err != nil || told == nil || told.Usage != turn.Usage {
			t.Fatalf("Run = %+v, %v; the event has %+v", turn, err, told)
		}
		turns = append(turns, turn)
		session = turn.Session
	}
	return turns
}

// codex counts the tokens of the whole session; a turn's are what is new.
func TestCodexResumedUsage(t *testing.T) {
	t.Parallel()
	first, second := agenttest.Recording(t, "codex", "resume.1"), agenttest.Recording(t, "codex", "resume.2")
	other := agenttest.Recording(t, "codex", "success_tool")
	cut := first[:strings.Index(first, `{"type":"turn.completed"`)]
	one := ralph.Tokens{Input: 400, CacheRead: 1600, Output: 100}
	next := ralph.Tokens{Input: 200, CacheRead: 800, Output: 50}
	for _, tt := range []struct {
		name    string
		streams []string
		want    []ralph.Tokens
	}{
		{"a session of two turns", []string{first, second}, []ralph.Tokens{one, next}},
		{"a session that began elsewhere", []string{second}, []ralph.Tokens{{Input: 600, CacheRead: 2400, Output: 150}}},
		{"another session in between", []string{first, other, second}, []ralph.Tokens{one, one, next}},
		{"a turn that told nothing", []string{first, cut, second}, []ralph.Tokens{one, {Unknown: true}, next}},
		{"a session that counts anew", []string{second, first}, []ralph.Tokens{{Input: 600, CacheRead: 2400, Output: 150}, one}},
	} {
		for i, turn := range turnsOf(t, Options{Name: "codex"}, tt.streams...) {
			if turn.Usage.Tokens != tt.want[i] {
				t.Errorf("%s: tokens of turn %d = %+v, want %+v", tt.name, i+1, turn.Usage.Tokens, tt.want[i])
			}
		}
	}
}

// Of a session that is gone on in claude 2.1.197 reports the turn, and 2.1.329
// the session, besides what is new.
func TestClaudeResumedUsage(t *testing.T) {
	t.Parallel()
	older := []string{agenttest.Transcript(t, "resume.1"), agenttest.Transcript(t, "resume.2")}
	const session = `"session_id":"45077036-6835-4543-a064-c4169709d71e"`
	newer := []string{
		agenttest.Say("1", "one") + `{` + session + `,"total_cost_usd":0.00566,"modelUsage":{"claude-opus-5-5":{"inputTokens":1000,"outputTokens":50,"cacheReadInputTokens":800,"cacheCreationInputTokens":100,"costUSD":0.00566}},"is_error":false,"subtype":"success","result":"one","type":"result","result_index":0,"model_usage_since_last_result":{"claude-opus-5-5":{"inputTokens":1000,"outputTokens":50,"cacheReadInputTokens":800,"cacheCreationInputTokens":100,"costUSD":0.00566}}}` + "\n",
		agenttest.Say("2", "two") + `{` + session + `,"total_cost_usd":0.01132,"modelUsage":{"claude-opus-5-5":{"inputTokens":2000,"outputTokens":100,"cacheReadInputTokens":1600,"cacheCreationInputTokens":200,"costUSD":0.01132}},"is_error":false,"subtype":"success","result":"two","type":"result","result_index":0,"model_usage_since_last_result":{"claude-opus-5-5":{"inputTokens":1000,"outputTokens":50,"cacheReadInputTokens":800,"cacheCreationInputTokens":100,"costUSD":0.00566}}}` + "\n",
	}
	// A second result of one run, after a subagent in the background.
	late := newer[1] + agenttest.Say("3", "three") + strings.NewReplacer(`"total_cost_usd":0.01132`, `"total_cost_usd":0.02`, `"inputTokens":2000`, `"inputTokens":3500`, `"result_index":0`, `"result_index":1`).Replace(newer[1])
	usage := func(cost ralph.MicroUSD, in, out, read, write int64) ralph.Usage {
		return ralph.Usage{Cost: ralph.Cost{Amount: cost}, Tokens: ralph.Tokens{Input: in, Output: out, CacheRead: read, CacheWrite: write}}
	}
	for _, tt := range []struct {
		name    string
		streams []string
		want    []ralph.Usage
	}{
		{"2.1.197", older, []ralph.Usage{usage(14550, 2000, 100, 1600, 200), usage(7275, 1000, 50, 800, 100)}},
		{"2.1.329", newer, []ralph.Usage{usage(5660, 1000, 50, 800, 100), usage(5660, 1000, 50, 800, 100)}},
		{"2.1.329, a session that began elsewhere", newer[1:], []ralph.Usage{usage(5660, 1000, 50, 800, 100)}},
		{"2.1.329, two results", []string{late}, []ralph.Usage{usage(14340, 2500, 50, 800, 100)}},
		{"costs by model that do not add up", []string{strings.Replace(newer[0], `"costUSD":0.00566}}}`, `"costUSD":0.004}}}`, 1)}, []ralph.Usage{usage(5660, 1000, 50, 800, 100)}},
	} {
		for i, turn := range turnsOf(t, Options{Name: "claude"}, tt.streams...) {
			if turn.Usage != tt.want[i] {
				t.Errorf("%s: usage of turn %d = %+v, want %+v", tt.name, i+1, turn.Usage, tt.want[i])
			}
		}
	}
}

// The prompt reaches a session as it reaches a new one.
func TestResumeRun(t *testing.T) {
	t.Parallel()
	p := &printer{Streams: []string{agenttest.Transcript(t, "resume.1")}}
	c, err := New(Options{Name: "claude", Process: p})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := c.Run(t.Context(), ralph.Prompt{Text: "first"}, func(ralph.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), ralph.Prompt{Text: "go on", Resume: turn.Session}, func(ralph.Event) {}); err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(p.Argv[1], "--resume"); i < 0 || p.Argv[1][i+1] != "11111111-2222-4333-8444-555555555555" || slices.Contains(p.Argv[0], "--resume") {
		t.Errorf("command lines %q, want the second to resume", p.Argv)
	}
	if !slices.Equal(p.Stdin, []string{"first", "go on"}) {
		t.Errorf("stdin = %q", p.Stdin)
	}
}

// printer is a Process whose children print one stream after the other and
// exit well.
type printer struct {
	Streams []string
	Argv    [][]string
	Stdin   []string
}

// Run prints the next stream.
func (p *printer) Run(_ context.Context, c proc.Command) (proc.Exit, error) {
	in, err := io.ReadAll(c.Stdin)
	if err != nil {
		return proc.Exit{}, err
	}
	p.Argv, p.Stdin = append(p.Argv, c.Argv), append(p.Stdin, string(in))
	_, err = io.WriteString(c.Stdout, p.Streams[(len(p.Argv)-1)%len(p.Streams)])
	return proc.Exit{Why: proc.Exited}, err
}
