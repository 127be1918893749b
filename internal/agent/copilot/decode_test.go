package copilot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

func decodeStream(stream string, size, exit int) agenttest.Decoded {
	return agenttest.Decode(stream, size, exit, func(emit func(ralph.Event), finished func()) driver.Decoder { return newDecoder(emit, finished) })
}

func TestCopilotTranscripts(t *testing.T) {
	t.Parallel()
	agenttest.Each(t, "copilot", decodeStream, map[string]ralph.FailureKind{
		"api_400_invalid":    ralph.FailureRequest,
		"api_400_too_long":   ralph.FailureRequest,
		"api_401":            ralph.FailureAuth,
		"api_402":            ralph.FailureQuota,
		"api_403":            ralph.FailureAuth,
		"api_404_model":      ralph.FailureModel,
		"api_429":            ralph.FailureAPI,
		"api_429_quota":      ralph.FailureQuota,
		"api_429_user_limit": ralph.FailureQuota,
		"api_500":            ralph.FailureAPI,
		"api_refused":        ralph.FailureAPI,
		"bad_flag":           ralph.FailureCrash,
		"empty_answer":       ralph.FailureEmpty,
		"killed_message":     ralph.FailureCrash,
		"killed_output":      ralph.FailureCrash,
		"no_login":           ralph.FailureCrash,
		"prompt_too_long":    ralph.FailureRequest,
		"sigterm_tool":       ralph.FailureCrash,
		"stream_cut":         ralph.FailureAPI,
	}, func(t *testing.T, got agenttest.Decoded, want agenttest.Ending) {
		if u := got.Turn.Usage; !u.Cost.Unknown || !u.Tokens.Unknown {
			t.Errorf("Usage = %+v, want it unknown: the stream does not tell it", u)
		}
		if got.Done != (len(want.SessionIDs) > 0) {
			t.Errorf("Done = %v, want %v", got.Done, len(want.SessionIDs) > 0)
		}
		if n := strings.Count(agenttest.Recording(t, "copilot", want.Case), `"result":"success"`); got.Turn.Messages != n {
			t.Errorf("Messages = %d, want %d", got.Turn.Messages, n)
		}
		if strings.Contains(got.Render(), "answer <promise>COMPLETE</promise>.") && want.Case != "subagent" {
			t.Error("the prompt came back as an event")
		}
	})
}

func TestCopilotEvents(t *testing.T) {
	t.Parallel()
	agenttest.Golden(t, "copilot", decodeStream, "success_tool", "tool_error", "echo_marker", "file_edit", "subagent", "parallel", "todo", "mcp",
		"thinking_marker", "long_output", "api_401", "api_429_once", "killed_message", "killed_output", "unicode")
}

func TestCopilotLines(t *testing.T) {
	t.Parallel()
	say := func(text string) string {
		return `{"type":"assistant.message","data":{"messageId":"m","model":"gpt-5","content":` + agenttest.Quote(text) + `,"toolRequests":[]}}` + "\n"
	}
	fails := func(data string) string {
		return `{"type":"session.error","data":{"message":"it failed",` + data + `}}` + "\n" + `{"type":"result","sessionId":"s","exitCode":1}` + "\n"
	}
	const end = `{"type":"result","sessionId":"s","exitCode":0,"usage":{"premiumRequests":1}}` + "\n"
	for _, tt := range []struct {
		name, stream string
		exit         int
		says         bool
		unknown      int
		failure      string
	}{
		{name: "keys in another order", stream: strings.Replace(`{"data":{"content":"X"},"type":"assistant.message"}`, "X", agenttest.Marker, 1) + "\r\n" + end, says: true, failure: "none"},
		{name: "a subagent's", stream: strings.Replace(say(agenttest.Marker), `"type"`, `"agentId":"a","type"`, 1) + say("x") + end, failure: "none"},
		{name: "a phase of thinking", stream: strings.Replace(say(agenttest.Marker), `"model"`, `"phase":"thinking","model"`, 1) + say("x") + end, failure: "none"},
		{name: "the prompt", stream: `{"type":"user.message","data":{"content":` + agenttest.Quote(agenttest.Marker) + `}}` + "\n" + say("x") + end, failure: "none"},
		{name: "kinds of the future", stream: `{"type":"assistant.dream"}` + "\n" + `{"type":"weather"}` + "\n" + `{"type":"session.mood","data":{}}` + "\n" + say("x") + end, unknown: 2, failure: "none"},
		{name: "an error it recovered from", stream: strings.Split(fails(`"errorType":"query","statusCode":500`), "\n")[0] + "\n" + say("x") + end, failure: "none"},
		{name: "a subagent's error", stream: strings.Replace(strings.Split(fails(`"statusCode":401`), "\n")[0], `"type"`, `"agentId":"a","type"`, 1) + "\n" + strings.Replace(end, `:0,`, `:1,`, 1), exit: 1, failure: "crash"},
		{name: "well, but the program failed", stream: say("x") + end, exit: 3, failure: "crash"},
		{name: "nothing said", stream: end, failure: "empty-answer"},
		{name: "nothing", stream: "", failure: "malformed"},
		// Errors of GitHub's own models, by the schema; none of them was seen.
		{name: "quota", stream: fails(`"errorType":"quota","errorCode":"quota_exceeded","statusCode":402`), exit: 1, failure: "quota"},
		{name: "quota without a status", stream: fails(`"errorType":"quota"`), exit: 1, failure: "quota"},
		{name: "a user's weekly limit", stream: fails(`"errorType":"rate_limit","errorCode":"user_weekly_rate_limited","statusCode":429`), exit: 1, failure: "quota"},
		{name: "too fast", stream: fails(`"errorType":"rate_limit","errorCode":"rate_limited","statusCode":429`), exit: 1, failure: "api-error"},
		{name: "authorization", stream: fails(`"errorType":"authorization"`), exit: 1, failure: "authentication"},
		{name: "a model that is not allowed", stream: fails(`"errorType":"query","errorCode":"model_not_supported","statusCode":400`), exit: 1, failure: "model"},
		{name: "context", stream: fails(`"errorType":"context_limit","statusCode":413`), exit: 1, failure: "request"},
		{name: "policy", stream: fails(`"errorType":"policy"`), exit: 1, failure: "request"},
		{name: "a gateway's 400", stream: `{"type":"model.call_failure","data":{"statusCode":400,"badRequestKind":"bodyless"}}` + "\n" + fails(`"errorType":"query","statusCode":400`), exit: 1, failure: "api-error"},
		{name: "overloaded", stream: fails(`"errorType":"query","statusCode":529`), exit: 1, failure: "api-error"},
	} {
		got := decodeStream(tt.stream, 3, tt.exit)
		if got.Says(agenttest.Marker) != tt.says || agenttest.FailureKind(got.Failure) != tt.failure || got.Turn.Unknown != tt.unknown {
			t.Errorf("%s: says = %v, Unknown = %d, Failure(%d) = %+v, want %v, %d, %s", tt.name, got.Says(agenttest.Marker), got.Turn.Unknown, tt.exit, got.Failure, tt.says, tt.unknown, tt.failure)
		}
	}
}

// Who is to log in is told with what, and who named a model that it is wrong.
func TestCopilotHints(t *testing.T) {
	t.Parallel()
	const github = `{"type":"session.error","data":{"errorType":"authentication","message":"Bad credentials","statusCode":401}}` + "\n" + `{"type":"result","sessionId":"s","exitCode":1}`
	for _, tt := range []struct {
		name, stdout, stderr string
		o                    driver.Options
		want                 string
	}{
		{"a provider's key", agenttest.Recording(t, "copilot", "api_401"), "", driver.Options{BaseURL: "http://x"}, "is the key right in COPILOT_PROVIDER_API_KEY"},
		{"a bearer token", agenttest.Recording(t, "copilot", "api_403"), "", driver.Options{BaseURL: "http://x", Env: []string{"COPILOT_PROVIDER_BEARER_TOKEN=t"}}, "is the key right in COPILOT_PROVIDER_BEARER_TOKEN"},
		{"GitHub's", github, "", driver.Options{}, "is the key right in COPILOT_GITHUB_TOKEN"},
		{"no login", "", "Error: No authentication information found.\n\nCopilot can be authenticated", driver.Options{}, "copilot found no credentials; is the key right in COPILOT_GITHUB_TOKEN"},
		{"a model", agenttest.Recording(t, "copilot", "api_404_model"), "", driver.Options{Model: "gpt-0"}, `it is "gpt-0"`},
	} {
		d := Driver{}.Decoder(tt.o, ralph.Prompt{}, func(ralph.Event) {}, func() {})
		d.Stderr([]byte(tt.stderr))
		agenttest.Feed(d, tt.stdout, 0)
		if f := d.Failure(1); f == nil || !f.Fatal() || !strings.Contains(f.Message, tt.want) {
			t.Errorf("%s: Failure(1) = %+v, want it to say %q", tt.name, f, tt.want)
		}
	}
}

// A limit's reset comes from the quotas that are used up.
func TestCopilotReset(t *testing.T) {
	t.Parallel()
	const stream = `{"type":"model.call_failure","data":{"statusCode":402,"quotaSnapshots":{` +
		`"chat":{"remainingPercentage":50,"resetDate":"2027-03-01T00:00:00Z"},` +
		`"premium_interactions":{"remainingPercentage":0,"hasQuota":false,"resetDate":"2026-12-01T00:00:00.000Z"}}}}` + "\n" +
		`{"type":"session.error","data":{"errorType":"quota","message":"used up","statusCode":402}}` + "\n" + `{"type":"result","sessionId":"s","exitCode":1}`
	f := decodeStream(stream, 0, 1).Failure
	if want := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC); f == nil || !f.RetryAt.Equal(want) {
		t.Errorf("Failure = %+v, want it to be over at %v", f, want)
	}
}

// What is hopeless is ended, and judged by what it met.
func TestCopilotGivesUp(t *testing.T) {
	t.Parallel()
	const refused = `{"type":"model.call_failure","data":{"errorMessage":"connection refused"}}` + "\n"
	const quota = `{"type":"model.call_failure","data":{"statusCode":429,"errorCode":"insufficient_quota","errorMessage":"{\"message\":\"No money left\"}"}}` + "\n"
	for _, tt := range []struct {
		name, stream string
		lost         bool
		failure      string
	}{
		{"six failed calls", strings.Repeat(refused, 6), false, "crash"},
		{"failures for ever", strings.Repeat(refused, maxFailedCalls), true, "api-error"},
		{"failures between answers", strings.Repeat(strings.Repeat(refused, 6)+`{"type":"model.call_final_result","data":{"result":"success"}}`+"\n", 9), false, "crash"},
		{"no money", quota, true, "quota"},
		{"a subagent's", strings.Replace(quota, `"type"`, `"agentId":"a","type"`, 1), false, "crash"},
	} {
		lost := false
		got := agenttest.Decode(tt.stream, 0, 137, func(emit func(ralph.Event), finished func()) driver.Decoder {
			d := newDecoder(emit, finished)
			d.Attach(driver.Options{Turn: driver.Turn{GiveUp: func() { lost = true }}}, d.Hints)
			return d
		})
		if lost != tt.lost || agenttest.FailureKind(got.Failure) != tt.failure {
			t.Errorf("%s: given up = %v, Failure = %+v, want %v, %s", tt.name, lost, got.Failure, tt.lost, tt.failure)
		}
	}
}

// What a turn used stands in the file copilot leaves.
func TestCopilotUsage(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(agenttest.Testdata("copilot", name+".usage.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	sonnet := `{"requests":{"count":3},"usage":{"inputTokens":100,"outputTokens":7,"cacheReadTokens":60,"cacheWriteTokens":30}}`
	credits := `{"totalNanoAiu":2500000000,"aiCreditsStatus":"complete","modelMetrics":{"gpt":` + sonnet + `,"claude":` + sonnet + `}}`
	unknown := ralph.Cost{Unknown: true}
	for _, tt := range []struct {
		name, left string
		goesOn     bool
		usage      ralph.Usage
		models     string
	}{
		{"two requests", read("resume.1"), false, ralph.Usage{Cost: unknown, Tokens: ralph.Tokens{Input: 400, CacheRead: 1600, Output: 100}}, "mock-model"},
		{"a session that goes on", read("resume.2"), true, ralph.Usage{Cost: unknown, Tokens: ralph.Tokens{Input: 800, CacheRead: 3200, Output: 200}}, ""},
		{"a subagent's included", read("subagent"), false, ralph.Usage{Cost: unknown, Tokens: ralph.Tokens{Input: 800, CacheRead: 3200, Output: 200}}, "mock-model"},
		{"anthropic counts otherwise, copilot does not", read("anthropic"), false, ralph.Usage{Cost: unknown, Tokens: ralph.Tokens{Input: 2000, CacheRead: 1600, CacheWrite: 200, Output: 100}}, "mock-model"},
		{"AI credits", credits, false, ralph.Usage{Cost: ralph.Cost{Amount: 25_000}, Tokens: ralph.Tokens{Input: 20, CacheRead: 120, CacheWrite: 60, Output: 14}}, "claude gpt"},
		{"AI credits of a part", strings.Replace(credits, "complete", "partial", 1), false, ralph.Usage{Cost: unknown, Tokens: ralph.Tokens{Input: 20, CacheRead: 120, CacheWrite: 60, Output: 14}}, "claude gpt"},
		{"nothing was asked", read("api_400_invalid"), false, ralph.Usage{Cost: unknown, Tokens: ralph.Tokens{Unknown: true}}, ""},
		{"cut", credits[:len(credits)-20], false, ralph.Usage{Cost: unknown, Tokens: ralph.Tokens{Unknown: true}}, ""},
		{"no file", "", false, ralph.Usage{Cost: unknown, Tokens: ralph.Tokens{Unknown: true}}, ""},
	} {
		got := agenttest.Decode("", 0, 0, func(emit func(ralph.Event), finished func()) driver.Decoder {
			d := newDecoder(emit, finished)
			d.used, d.goesOn = func() string { return tt.left }, tt.goesOn
			return d
		})
		var models []string
		for _, m := range got.Turn.Models {
			models = append(models, m.Model)
		}
		if got.Turn.Usage != tt.usage || strings.Join(models, " ") != tt.models {
			t.Errorf("%s: usage = %+v of %q, want %+v of %q", tt.name, got.Turn.Usage, models, tt.usage, tt.models)
		}
	}
}

// While a turn runs its output tokens are known, where the messages tell them.
func TestCopilotRunningUsage(t *testing.T) {
	t.Parallel()
	const say = `{"type":"assistant.message","data":{"messageId":"m","model":"gpt","content":"x","outputTokens":40}}` + "\n"
	got := decodeStream(say+strings.Replace(say, "gpt", "mini", 1)+say, 0, 0)
	var last []ralph.ModelUsage
	for _, e := range got.Events {
		if e.Kind == ralph.EventUsage {
			last = e.Models
		}
	}
	if len(last) != 2 || last[0].Usage.Tokens.Output != 80 || last[1].Usage.Tokens.Output != 40 || !last[0].Usage.Tokens.Unknown {
		t.Errorf("usage so far = %+v, want at least 80 and 40 written", last)
	}
}

func TestCopilotArgv(t *testing.T) {
	t.Parallel()
	const ours = "--allow-all|--no-ask-user|--no-auto-update|--disable-client-telemetry"
	for _, tt := range []struct {
		name string
		o    driver.Options
		want string
	}{
		{"plain and simple", driver.Options{}, "copilot|--output-format|json|" + ours},
		{"text mode", driver.Options{Plain: true, Args: []string{"--output-format=json"}}, "copilot|-s|" + ours},
		{"model and effort", driver.Options{Model: "gpt-5.4", Effort: "high"}, "copilot|--output-format|json|" + ours + "|--model|gpt-5.4|--reasoning-effort|high"},
		{"the user's own win", driver.Options{Model: "m", Effort: "high", Args: []string{"--model=x", "--effort", "low"}}, "copilot|--output-format|json|" + ours + "|--model=x|--effort|low"},
		{"repeated", driver.Options{Args: []string{"-p", "do it", "--yolo", "--allow-all", "-s", "--output-format", "text", "--no-ask-user", "--add-dir", "/x"}}, "copilot|--output-format|json|" + ours + "|--add-dir|/x"},
		{"the user's permissions", driver.Options{Args: []string{"--allow-all-tools", "--deny-tool", "shell(git push)"}}, "copilot|--output-format|json|--no-ask-user|--no-auto-update|--disable-client-telemetry|--allow-all-tools|--deny-tool|shell(git push)"},
		{"what is denied", driver.Options{Args: []string{"--deny-tool=shell"}}, "copilot|--output-format|json|" + ours + "|--deny-tool=shell"},
		{"files", driver.Options{MCP: "{}", Scratch: "/t", Turn: driver.Turn{Files: map[string]string{"mcp.json": "/t/m", "usage.json": "/t/u"}}}, "copilot|--output-format|json|" + ours + "|--additional-mcp-config|@/t/m|--usage-output-file|/t/u"},
		{"behind another program", driver.Options{Command: []string{"npx", "copilot", "--yolo"}}, "npx|copilot|--output-format|json|" + ours},
	} {
		if got := strings.Join(Driver{}.Argv(tt.o, ralph.Prompt{Text: "p"}), "|"); got != tt.want {
			t.Errorf("%s: argv =\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "|--resume=S"},
		{[]string{"--session-id", "x", "--", "y"}, "|--resume=S|--|y"},
		{[]string{"--continue"}, "|--continue"},
	} {
		got := strings.Join(Driver{}.Argv(driver.Options{Args: tt.args}, ralph.Prompt{Resume: "S"}), "|")
		if want := "copilot|--output-format|json|" + ours + tt.want; got != want {
			t.Errorf("argv of a session with %q =\n%s\nwant\n%s", tt.args, got, want)
		}
	}
}

func TestCopilotEnviron(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, env string
		o         driver.Options
		want      string
	}{
		{"alone", "CLAUDECODE=1 A=b", driver.Options{}, "A=b COPILOT_AUTO_UPDATE=false"},
		{"the user's", "COPILOT_AUTO_UPDATE=true", driver.Options{}, "COPILOT_AUTO_UPDATE=true"},
		{"a compatible endpoint", "COPILOT_AUTO_UPDATE=0", driver.Options{BaseURL: "http://x/v1"}, "COPILOT_AUTO_UPDATE=0 COPILOT_PROVIDER_BASE_URL=http://x/v1"},
		{"openai", "COPILOT_AUTO_UPDATE=0", driver.Options{Provider: "openai"}, "COPILOT_AUTO_UPDATE=0 COPILOT_PROVIDER_TYPE=openai COPILOT_PROVIDER_BASE_URL=https://api.openai.com/v1"},
		{"anthropic elsewhere", "COPILOT_AUTO_UPDATE=0 COPILOT_PROVIDER_BASE_URL=http://y", driver.Options{Provider: "anthropic"}, "COPILOT_AUTO_UPDATE=0 COPILOT_PROVIDER_BASE_URL=http://y COPILOT_PROVIDER_TYPE=anthropic"},
		{"azure", "COPILOT_AUTO_UPDATE=0 COPILOT_PROVIDER_BASE_URL=http://y", driver.Options{Provider: "azure", BaseURL: "https://r"}, "COPILOT_AUTO_UPDATE=0 COPILOT_PROVIDER_TYPE=azure COPILOT_PROVIDER_BASE_URL=https://r"},
		{"github", "COPILOT_AUTO_UPDATE=0 COPILOT_PROVIDER_BASE_URL=http://y COPILOT_PROVIDER_TYPE=azure", driver.Options{Provider: "github"}, "COPILOT_AUTO_UPDATE=0"},
	} {
		tt.o.Env = strings.Fields(tt.env)
		if got := strings.Join(Driver{}.Environ(tt.o), " "); got != tt.want {
			t.Errorf("%s: environ = %s, want %s", tt.name, got, tt.want)
		}
	}
}

// The forge's tokens are never handed over because they happen to be set.
func TestCopilotCredentials(t *testing.T) {
	t.Parallel()
	got := catalog.Of("copilot").Credentials()
	if slices.ContainsFunc(got, func(name string) bool { return !strings.HasPrefix(name, "COPILOT_") }) || got[0] != "COPILOT_GITHUB_TOKEN" {
		t.Errorf("Credentials(copilot) = %q, want COPILOT_GITHUB_TOKEN first, and only copilot's own", got)
	}
}

func TestCopilotReady(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".copilot"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".copilot", "config.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		env  string
		o    driver.Options
		want string // a part of the error; empty: none
	}{
		{"HOME=" + t.TempDir(), driver.Options{}, "set COPILOT_GITHUB_TOKEN"},
		{"HOME=" + home, driver.Options{}, ""},
		{"COPILOT_HOME=" + home + "/.copilot", driver.Options{}, ""},
		{"COPILOT_GITHUB_TOKEN=t", driver.Options{}, ""},
		{"COPILOT_PROVIDER_BASE_URL=http://x", driver.Options{}, "set model, or COPILOT_MODEL"},
		{"COPILOT_PROVIDER_BASE_URL=http://x COPILOT_MODEL=m", driver.Options{}, ""},
		{"", driver.Options{BaseURL: "http://x", Args: []string{"--model=m"}}, ""},
		{"", driver.Options{Provider: "openai", Model: "m"}, "set COPILOT_PROVIDER_API_KEY"},
		{"COPILOT_PROVIDER_API_KEY=k", driver.Options{Provider: "anthropic", Model: "m"}, ""},
		{"COPILOT_PROVIDER_BASE_URL=http://x COPILOT_MODEL=m", driver.Options{Provider: "github"}, "set COPILOT_GITHUB_TOKEN"},
	} {
		tt.o.Env = strings.Fields(tt.env)
		if err := (Driver{}).Ready(tt.o); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ready(%s, %+v) = %v, want %q", tt.env, tt.o, err, tt.want)
		}
	}
}

func TestCopilotExtras(t *testing.T) {
	t.Parallel()
	const servers = `{"mcpServers":{"a":{"command":"x"}}}`
	for _, tt := range []struct {
		name  string
		o     driver.Options
		files string
		want  string // a part of the error
	}{
		{"usage", driver.Options{Scratch: "/t"}, "usage.json", ""},
		{"no folder", driver.Options{}, "", ""},
		{"servers", driver.Options{Scratch: "/t", MCP: servers}, "mcp.json usage.json", ""},
		{"servers in text mode", driver.Options{Scratch: "/t", MCP: servers, Plain: true}, "mcp.json", ""},
		{"the user's own file", driver.Options{Scratch: "/t", Args: []string{"--usage-output-file=/x"}}, "", ""},
		{"no servers", driver.Options{Scratch: "/t", MCP: `{"servers":{}}`}, "", `whose member "mcpServers"`},
		{"settings", driver.Options{Settings: "{}"}, "", "agent-settings has no effect"},
		{"effort", driver.Options{Effort: "huge"}, "", `effort "huge": unknown; known are none, minimal, low`},
		{"provider", driver.Options{Provider: "bedrock"}, "", `provider "bedrock": copilot knows github`},
		{"azure", driver.Options{Provider: "azure"}, "", "needs base-url"},
		{"github elsewhere", driver.Options{Provider: "github", BaseURL: "x"}, "", "COPILOT_GH_HOST"},
	} {
		files, err := Driver{}.Extras(tt.o)
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		if strings.Join(names, " ") != tt.files || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: extras = %q, %v, want %q, %q", tt.name, names, err, tt.files, tt.want)
		}
	}
}

func FuzzCopilot(f *testing.F) {
	agenttest.RunFuzz(f, []string{"copilot"}, func(emit func(ralph.Event)) driver.Decoder {
		d := newDecoder(emit, func() {})
		d.used = func() string { return `{"modelMetrics":{"m":{"usage":{"inputTokens":1}}}}` }
		return d
	})
}

func FuzzCopilotUsage(f *testing.F) {
	f.Add([]byte(`{"modelMetrics":{"m":{"usage":{"inputTokens":1,"outputTokens":-5,"cacheReadTokens":1e300}}},"totalNanoAiu":1e300,"aiCreditsStatus":"complete"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := newDecoder(func(ralph.Event) {}, func() {})
		d.metrics(b)
		if u := d.Told.Usage; u.Cost.Amount < 0 || u.Tokens.Input < 0 || u.Tokens.Output < 0 || len(d.Told.Models) > driver.MaxModels {
			t.Errorf("usage = %+v of %d models", u, len(d.Told.Models))
		}
	})
}

// BenchmarkCopilot decodes 100 MB of lines of about a megabyte.
func BenchmarkCopilot(b *testing.B) {
	code, err := json.Marshal(strings.Repeat("\tif err := run(ctx, \"name\"); err != nil { // größer\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 1<<20/100))
	if err != nil {
		b.Fatal(err)
	}
	var stream bytes.Buffer
	for i := 0; stream.Len() < 100<<20; i++ {
		fmt.Fprintf(&stream, `{"type":"assistant.message","data":{"messageId":"m%d","model":"m","content":"Reading.","toolRequests":[{"toolCallId":"t%d"}]}}`+"\n", i, i)
		fmt.Fprintf(&stream, `{"type":"tool.execution_start","data":{"toolCallId":"t%d","toolName":"view","arguments":{"path":"/w/f.go"}}}`+"\n", i)
		fmt.Fprintf(&stream, `{"type":"tool.execution_complete","data":{"toolCallId":"t%d","success":true,"result":{"content":%s,"detailedContent":"x"}}}`+"\n", i, code)
	}
	stream.WriteString(`{"type":"result","sessionId":"s","exitCode":0}` + "\n")
	b.SetBytes(int64(stream.Len()))
	b.ReportAllocs()
	for b.Loop() {
		d := newDecoder(func(ralph.Event) {}, func() {})
		for rest := stream.Bytes(); len(rest) > 0; {
			n := min(len(rest), 64<<10)
			d.Stdout(rest[:n])
			rest = rest[n:]
		}
		d.Close()
		if f := d.Failure(0); f != nil {
			b.Fatal(f)
		}
	}
}
