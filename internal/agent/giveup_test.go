package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// refused decodes a stream line by line, as a CLI that is ended when the turn is
// given up: what it would have said behind that never comes.
func refused(d driver.Decoder, over *bool, stream string, exit int) (read int, f *ralph.Failure) {
	for line := range strings.Lines(stream) {
		if *over {
			exit = 143
			break
		}
		d.Stdout([]byte(line))
		read++
	}
	d.Close()
	return read, d.Failure(exit)
}

// A key that is refused, a model that is not there and a usage limit end the turn
// as soon as the stream shows them, and the message says what to look at. What may
// pass is left to the CLI.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	retry := func(attempt, status string) string {
		return `{"type":"system","subtype":"api_retry","attempt":` + attempt + `,"max_retries":10,"retry_delay_ms":500,"error_status":` + status + `,"error":"x"}` + "\n"
	}
	const rejected = `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795399999}}` + "\n"
	again := func(message string) string {
		return `{"type":"error","message":` + agenttest.Quote(message) + `}` + "\n"
	}
	const unauthorized = "(unexpected status 401 Unauthorized: nope, url: "
	lost := again("Reconnecting... waiting for network (Connection failed: error sending request)")
	const waits = 20 // in a row, for the network
	read := func(path string) string {
		b, err := os.ReadFile(agenttest.Testdata(filepath.Dir(path), filepath.Base(path)+".ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tt := range []struct {
		name, agent, stream string
		read                int // lines; 0: all
		want                string
		says                string
	}{
		{"claude: 401", "claude", read("claude/slow_api_401_default"), 3, "authentication", "claude: the API refused the request, twice (401 authentication_failed); is the key right in THE_KEY (input api-key)"},
		{"claude: 401, which a second attempt overcomes", "claude", retry("1", "401") + agenttest.Say("a", "hi") + agenttest.Good, 0, "none", ""},
		{"claude: 403", "claude", retry("1", "403") + retry("2", "403") + agenttest.Good, 2, "authentication", "is the key right in THE_KEY"},
		{"claude: 404", "claude", retry("1", "404") + retry("2", "404") + agenttest.Good, 2, "model", `; is the input model right? it is "the-model"`},
		{"claude: 404 at once", "claude", read("claude/v329_api_404"), 0, "model", `; is the input model right? it is "the-model"`},
		{"claude: 403 at once", "claude", read("claude/v329_api_403"), 0, "authentication", "is the key right in THE_KEY"},
		{"claude: 500", "claude", retry("1", "500") + retry("2", "500") + agenttest.Say("a", "hi") + agenttest.Good, 0, "none", ""},
		{"claude: 429", "claude", retry("1", "429") + retry("2", "429") + agenttest.Say("a", "hi") + agenttest.Good, 0, "none", ""},
		{"claude: a usage limit it would wait for", "claude", rejected + retry("1", "429") + agenttest.Say("a", "hi") + agenttest.Good, 2, "quota", "claude: the usage limit is reached"},
		{"codex: 401", "codex", read("codex/retry_401"), 3, "authentication", "unexpected status 401 Unauthorized: mock, url: http://127.0.0.1:8981/v1/responses; is the key right in THE_KEY"},
		{"codex: 403", "codex", read("codex/retry_403"), 3, "authentication", "; is the key right in THE_KEY"},
		{"codex: a proxy without WebSockets", "codex", again("Reconnecting... 1/5 (unexpected status 403 Forbidden: no, url: wss://x/v1/responses)") + agenttest.Say("a", "x"), 0, "malformed", ""},
		{"codex: 401 to a WebSocket", "codex", again("Reconnecting... 1/5 "+unauthorized+"wss://x/v1/responses)") + again("x"), 1, "authentication", "THE_KEY"},
		{"codex: without WebSockets, then 401", "codex", read("codex/websocket_401"), 8, "authentication", "THE_KEY"},
		{"codex: model", "codex", read("codex/model_404"), 0, "model", "The model `gpt-9` does not exist or you do not have access to it.; is the input model right?"},
		{"codex: 400", "codex", read("codex/body_400"), 0, "request", "Unsupported value"},
		{"codex: 400 of an account", "codex", read("codex/model_400"), 0, "request", "The model is not supported with this account."},
		{"codex: no network", "codex", strings.Repeat(lost, waits+3), waits, "api-error", "codex found no way to its API, again and again: waiting for network"},
		{"codex: no network for a while", "codex", strings.Repeat(lost, waits-1) + `{"type":"turn.started"}` + "\n" + strings.Repeat(lost, waits-1), 0, "malformed", ""},
		{"cline: 401", "cline", read("cline/api_401"), 0, "authentication", "Incorrect API key provided; is the key right in THE_KEY"},
	} {
		over := false
		env := map[string]string{"claude": "ANTHROPIC_API_KEY=k", "codex": "CODEX_API_KEY=k", "cline": "CLINE_API_KEY=k"}[tt.agent]
		o := Options{Name: tt.agent, Model: "the-model", Env: []string{env}, Turn: driver.Turn{GiveUp: func() { over = true }}}
		d := drivers()[tt.agent].Decoder(o, ralph.Prompt{Text: "p"}, func(ralph.Event) {}, func() {})
		tt.says = strings.ReplaceAll(tt.says, "THE_KEY", strings.TrimSuffix(env, "=k"))
		n, f := refused(d, &over, tt.stream, 0)
		if want := tt.read; n != want && want > 0 || want == 0 && n != strings.Count(tt.stream, "\n") {
			t.Errorf("%s: given up behind %d lines, want %d", tt.name, n, want)
		}
		if agenttest.FailureKind(f) != tt.want || f != nil && (!strings.Contains(f.Message, tt.says) || len([]rune(f.Message)) > driver.MaxMessage) {
			t.Errorf("%s: failure = %+v, want %s that says %q", tt.name, f, tt.want, tt.says)
		}
		if tt.want == "quota" && !f.RetryAt.Equal(time.Unix(1795399999, 0)) {
			t.Errorf("%s: RetryAt = %v", tt.name, f.RetryAt)
		}
	}
}

// A refused key ends the child, and the turn fails for that reason.
func TestGiveUpEndsTheCLI(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(agenttest.Transcript(t, "slow_api_401_default"), "\n")
	file := filepath.Join(t.TempDir(), "refused.ndjson")
	if err := os.WriteFile(file, []byte(strings.Join(lines[:3], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	o := player(t, "claude", "hang", file)
	o.Env = append(o.Env, "ANTHROPIC_API_KEY=k")
	start := time.Now()
	got := run(t, t.Context(), o, "p")
	if agenttest.FailureKind(got.Failure) != "authentication" || !strings.Contains(got.Failure.Message, "is the key right in ANTHROPIC_API_KEY") || time.Since(start) > 30*time.Second {
		t.Errorf("failure = %+v after %v, want authentication", got.Failure, time.Since(start))
	}
}
