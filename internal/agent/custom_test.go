package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// decodeCustom feeds a stream to a custom agent described by lines NAME: JQ.
func decodeCustom(t testing.TB, filters, stream string, size, exit int) decoded {
	t.Helper()
	return decodeWith(stream, size, exit, func(emit func(ralph.Event), finished func()) decoder {
		o := Options{Name: "custom", Command: []string{"acme"}, Filters: named(filters), Process: noProcess{}}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		return c.decoder(ralph.Prompt{Text: "Make all the tests pass, please."}, emit, finished)
	})
}

// named are the filters of lines NAME: JQ.
func named(lines string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(lines) {
		if name, expr, ok := strings.Cut(line, ":"); ok {
			all[strings.TrimSpace(name)] = strings.TrimSpace(expr)
		}
	}
	return all
}

// documented are the code blocks of docs/custom-agents.md in a language.
func documented(t testing.TB, language string) []string {
	t.Helper()
	b, err := os.ReadFile("../../docs/custom-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		blocks = append(blocks, strings.TrimPrefix(m[1], "agent-filters: |\n"))
	}
	return blocks
}

// gemini says its words in pieces without an id: one constant joins them up to
// the next tool call.
const geminiAsCustom = `
text: select(.type == "message" and .role == "assistant") | .content
message: select(.type == "message" and .role == "assistant") | "words"
tool: select(.type == "tool_use") | {id: .tool_id, name: .tool_name, input: .parameters.command}
tool-end: select(.type == "tool_result" and .status == "success") | {id: .tool_id, output}
tool-error: select(.type == "tool_result" and .status != "success") | {id: .tool_id, output}
session: .session_id
model: .model
input-tokens: .stats.input
output-tokens: .stats.output_tokens
cache-read-tokens: .stats.cached
error: select(.type == "result" and .status == "error") | .error.message
done: .type == "result"
`

// The examples of the documentation, and real CLIs, whole and in small pieces.
func TestCustomStreams(t *testing.T) {
	t.Parallel()
	examples := documented(t, "yaml")
	invented, opencode := examples[1], examples[2]
	for _, tt := range []struct {
		name, filters, stream string
		exit                  int
		says                  bool
		failure               string
		tools, toolErrors     int
		session, model        string
		usage                 ralph.Usage
	}{
		{"the documented one", invented, documented(t, "json")[0], 0, true, "none", 1, 1, "s-1", "gpt-5.4",
			ralph.Usage{Cost: ralph.Cost{Amount: 3100}, Tokens: ralph.Tokens{Input: 1200, Output: 80}}},
		{"opencode", opencode, recording(t, "custom", "opencode"), 0, true, "none", 1, 0, "ses_e0473e11dffe7K5Uakf3LPNBpI", "",
			ralph.Usage{Cost: ralph.Cost{Amount: 760}, Tokens: ralph.Tokens{Input: 400, CacheRead: 1600, Output: 100}}},
		{"opencode, tool errors", opencode, recording(t, "custom", "opencode_tool_error"), 0, false, "none", 2, 1, "ses_e04843babffeF7j2yTuoQ24kDm", "",
			ralph.Usage{Cost: ralph.Cost{Amount: 1140}, Tokens: ralph.Tokens{Input: 600, CacheRead: 2400, Output: 150}}},
		{"opencode, 401", opencode, recording(t, "custom", "opencode_401"), 1, false, "authentication", 0, 0, "ses_e0473557effes0V9bh4kZT6HEn", "",
			ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}}},
		{"gemini", geminiAsCustom, recording(t, "custom", "gemini"), 0, true, "none", 1, 0, "0aa5d511-9b1a-4393-8bdd-f12c4891f032", "gemini-2.5-flash",
			ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Input: 400, CacheRead: 1600, Output: 100}}},
		{"gemini, 401", geminiAsCustom, recording(t, "custom", "gemini_401"), 145, false, "crash", 0, 0, "", "gemini-2.5-flash", ralph.Usage{Cost: ralph.Cost{Unknown: true}}},
	} {
		got := decodeCustom(t, tt.filters, tt.stream, 0, tt.exit)
		if small := decodeCustom(t, tt.filters, tt.stream, 7, tt.exit); small.render() != got.render() {
			t.Errorf("%s: in pieces of 7 bytes = %s, want %s", tt.name, small.render(), got.render())
		}
		turn := got.turn
		if got.says(marker) != tt.says || kind(got.failure) != tt.failure || turn.Tools != tt.tools || turn.ToolErrors != tt.toolErrors {
			t.Errorf("%s: says = %v, failure = %+v, %d tools, %d errors, want %v, %s, %d, %d", tt.name, got.says(marker), got.failure, turn.Tools, turn.ToolErrors, tt.says, tt.failure, tt.tools, tt.toolErrors)
		}
		if tt.session == "" {
			tt.session = turn.Session
		}
		if turn.Session != tt.session || turn.Model != tt.model || turn.Usage != tt.usage || turn.Malformed != 0 || !turn.CountsTools {
			t.Errorf("%s: turn = %+v, want session %q, model %q, usage %+v", tt.name, turn, tt.session, tt.model, tt.usage)
		}
	}
}

// What becomes of the documented stream, event by event.
func TestCustomEvents(t *testing.T) {
	t.Parallel()
	got := decodeCustom(t, documented(t, "yaml")[1], documented(t, "json")[0], 0, 0)
	const want = `text text 0 "I look at the tests.\n"
start c1 shell "make test"
end error c1 shell "1 test failed"
text text 0 "It is done. <promise>COMPLETE</promise>"
`
	var words decoded
	for _, e := range got.events {
		if e.Kind != ralph.EventUsage {
			words.events = append(words.events, e)
		}
	}
	if words.render() != want {
		t.Errorf("events =\n%s\nwant\n%s", words.render(), want)
	}
	if !got.done || got.finished != 1 || got.count(ralph.EventUsage) != 1 {
		t.Errorf("done = %v, %d times finished, %d events of usage", got.done, got.finished, got.count(ralph.EventUsage))
	}
}

func TestCustomLines(t *testing.T) {
	t.Parallel()
	const text = "text: .text\n"
	const half = len(marker) / 2
	say := func(id, text string) string { return fmt.Sprintf(`{"id":%q,"text":%q}`+"\n", id, text) }
	for _, tt := range []struct {
		name, filters, stream string
		exit                  int
		says                  bool
		malformed             int
		failure               string
	}{
		{name: "words alone", filters: text, stream: say("", marker), says: true, failure: "none"},
		{name: "null is nothing", filters: text, stream: "{}\n", failure: "empty-answer"},
		{name: "an echo of the prompt", filters: text, stream: say("", "Make all the tests pass, please."), failure: "empty-answer"},
		{name: "pieces of one message", filters: text + "message: .id", stream: say("a", marker[:half]) + say("a", marker[half:]), says: true, failure: "none"},
		{name: "pieces of two messages", filters: text + "message: .id", stream: say("a", marker[:half]) + say("b", marker[half:]), failure: "none"},
		{name: "pieces without an id", filters: text + "message: .id", stream: say("", marker[:half]) + say("", marker[half:]), failure: "none"},
		{name: "pieces with a tool call between", filters: text + "message: .id\ntool: .tool", stream: say("a", marker[:half]) + `{"tool":"x"}` + "\n" + say("a", marker[half:]), failure: "none"},
		{name: "pieces and no filter for it", filters: text, stream: say("a", marker[:half]) + say("a", marker[half:]), failure: "none"},
		{name: "several texts of a line", filters: "text: .[]", stream: `["a","` + marker + `"]`, says: true, failure: "none"},
		{name: "not JSON", filters: text, stream: "Loading...\n" + say("", "x"), malformed: 1, failure: "none"},
		{name: "nothing that is JSON", filters: text, stream: "Loading...\n", malformed: 1, failure: "malformed"},
		{name: "nothing", filters: text, failure: "empty-answer"},
		{name: "a last line that breaks off", filters: text, stream: say("", "x") + `{"text":"` + marker, malformed: 1, failure: "none"},
		{name: "exit 3", filters: text, stream: say("", "x"), exit: 3, failure: "crash"},
		{name: "tools and no words", filters: text + "tool: .tool", stream: `{"tool":"x"}`, failure: "none"},
		{name: "no end", filters: text + "done: .end", stream: say("", "x"), failure: "malformed"},
		{name: "an end", filters: text + "done: .end", stream: say("", "x") + `{"end":true}`, failure: "none"},
		{name: "an end that is none", filters: text + "done: .end", stream: say("", "x") + `{"end":false}`, failure: "malformed"},
		{name: "an end that is no boolean", filters: text + "done: .", stream: say("", "x"), malformed: 1, failure: "malformed"},
		{name: "an end and nothing said", filters: text + "done: .end", stream: `{"end":true}`, failure: "empty-answer"},
		{name: "an end and exit 1", filters: text + "done: .end", stream: say("", "x") + `{"end":true}`, exit: 1, failure: "crash"},
		{name: "an error", filters: text + "error: .error", stream: say("", "x") + `{"error":"it broke"}`, failure: "crash"},
		{name: "an error that is an object", filters: text + "error: .error", stream: `{"error":{"a":1}}`, failure: "crash"},
		{name: "401", filters: text + "status: .s", stream: `{"s":401}`, failure: "authentication"},
		{name: "403 as a string", filters: text + "status: .s", stream: `{"s":"403"}`, failure: "authentication"},
		{name: "404", filters: text + "status: .s", stream: `{"s":404}`, failure: "model"},
		{name: "413", filters: text + "status: .s", stream: `{"s":413}`, failure: "request"},
		{name: "429", filters: text + "status: .s\nerror: .e", stream: `{"s":429,"e":"slow"}`, exit: 1, failure: "api-error"},
		{name: "529", filters: text + "status: .s", stream: `{"s":529}`, failure: "api-error"},
		{name: "200", filters: text + "status: .s", stream: say("", "x") + `{"s":200}`, failure: "none"},
		{name: "no status", filters: text + "status: .s", stream: say("", "x") + `{"s":"ok"}`, malformed: 1, failure: "none"},
		{name: "a limit", filters: text + "quota-reset: .r\nstatus: .s", stream: `{"r":1795300000,"s":429}`, failure: "quota"},
		{name: "a time that is none", filters: text + "quota-reset: .r", stream: say("", "x") + `{"r":"soon"}`, malformed: 1, failure: "none"},
		{name: "milliseconds are no seconds", filters: text + "quota-reset: .r", stream: say("", "x") + `{"r":1795300000000}`, malformed: 1, failure: "none"},
		{name: "a negative amount", filters: text + "cost: .c", stream: say("", "x") + `{"c":-1}`, malformed: 1, failure: "none"},
		{name: "a filter that fails", filters: text + "tool: .a.b", stream: say("", marker) + `{"a":"x"}` + "\n" + `{"a":1}`, says: true, malformed: 2, failure: "none"},
		{name: "a filter that has seen enough", filters: text + "model: .m, halt", stream: say("", "x") + say("", "y"), failure: "none"},
	} {
		got := decodeCustom(t, tt.filters, tt.stream, 3, tt.exit)
		if got.says(marker) != tt.says || got.turn.Malformed != tt.malformed || kind(got.failure) != tt.failure {
			t.Errorf("%s: says = %v, Malformed = %d, failure = %+v, want %v, %d, %s", tt.name, got.says(marker), got.turn.Malformed, got.failure, tt.says, tt.malformed, tt.failure)
		}
	}
}

// A filter that fails is told once, and how often it did at the end.
func TestCustomTells(t *testing.T) {
	t.Parallel()
	got := decodeCustom(t, "text: .text\ntool: .tool.name", strings.Repeat(`{"tool":"x"}`+"\n", 5), 0, 0)
	var told []string
	for _, e := range got.events {
		if e.Kind == ralph.EventWarning || e.Kind == ralph.EventNotice {
			told = append(told, e.Text)
		}
	}
	if len(told) != 2 || !strings.HasPrefix(told[0], "agent-filters: tool failed on line 1 of the agent's output: ") || told[1] != "agent-filters: tool failed on 5 of 5 lines of JSON" {
		t.Errorf("told %q", told)
	}
}

// Calls that end are those that began, by id, by name, or the last.
func TestCustomTools(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, filters, stream, want string }{
		{"by id", "tool: .begin\ntool-end: .end", `{"begin":{"id":1,"name":"a"}} {"begin":{"id":2,"name":"b"}} {"end":1} {"end":{"id":2,"output":"o"}}`,
			"start 1 a \"\"|start 2 b \"\"|end 1 a \"\"|end 2 b \"o\""},
		{"by name", "tool: .begin\ntool-end: .end\ntool-error: .fail", `{"begin":"a"} {"begin":"b"} {"fail":"a"} {"end":"b"}`,
			"start call 1 a \"\"|start call 2 b \"\"|end error call 1 a \"\"|end call 2 b \"\""},
		{"the last", "tool: .begin\ntool-end: .end", `{"begin":"a"} {"begin":"b"} {"end":true} {"end":true} {"end":true}`,
			"start call 1 a \"\"|start call 2 b \"\"|end call 2 b \"\"|end call 1 a \"\""},
		{"both filters of an end match", "tool: .begin\ntool-end: .end\ntool-error: .fail", `{"begin":"a"} {"begin":"b"} {"end":true,"fail":true}`,
			"start call 1 a \"\"|start call 2 b \"\"|end error call 2 b \"\""},
		{"begins and ends in one line", "tool: .t\ntool-end: .t", `{"t":{"id":"x","name":"a","input":{"k":[1]},"output":{"r":2}}}`,
			`start x a "{\"k\":[1]}"|end x a "{\"r\":2}"`},
		{"several in a line", "tool: .t[]", `{"t":["a","b"]}`, "start call 1 a \"\"|start call 2 b \"\""},
		{"an end without a beginning", "tool: .begin\ntool-end: .end", `{"end":"x"}`, ""},
	} {
		got := decodeCustom(t, "text: .text\n"+tt.filters, strings.ReplaceAll(tt.stream, " ", "\n"), 0, 0)
		if s := strings.ReplaceAll(strings.TrimSpace(got.render()), "\n", "|"); s != tt.want {
			t.Errorf("%s: events = %s, want %s", tt.name, s, tt.want)
		}
	}
}

// Amounts are the last, or the sum; a turn that is cut off used at least those.
func TestCustomAmounts(t *testing.T) {
	t.Parallel()
	const all = "text: .t\ninput-tokens: .in\nadd-output-tokens: .out\nadd-cost: .usd\ncache-write-tokens: .cw\n"
	const stream = `{"t":"x","in":100,"out":5,"usd":0.25} {"in":"200","out":6,"usd":0.5,"cw":7} {"in":null}`
	want := ralph.Usage{Cost: ralph.Cost{Amount: 750_000}, Tokens: ralph.Tokens{Input: 200, Output: 11, CacheWrite: 7}}
	lines := strings.ReplaceAll(stream, " ", "\n")
	if got := decodeCustom(t, all, lines, 0, 0); got.turn.Usage != want || got.count(ralph.EventUsage) != 2 {
		t.Errorf("usage = %+v with %d events, want %+v with 2", got.turn.Usage, got.count(ralph.EventUsage), want)
	}
	want.Cost.Unknown, want.Tokens.Unknown = true, true
	if got := decodeCustom(t, all+"done: .end", lines, 0, 0).turn.Usage; got != want {
		t.Errorf("usage of a turn that was cut off = %+v, want %+v", got, want)
	}
	want = ralph.Usage{Cost: ralph.Cost{Amount: 1_000_000}, Tokens: ralph.Tokens{Unknown: true}}
	if got := decodeCustom(t, "text: .t\ncost: .usd", `{"t":"x","usd":1}`, 0, 0).turn.Usage; got != want {
		t.Errorf("usage with a cost alone = %+v, want %+v", got, want)
	}
}

func TestCustomReset(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	for _, at := range []string{`"2026-11-22T06:00:00Z"`, `"2026-11-22T07:00:00+01:00"`, fmt.Sprint(want.Unix()), fmt.Sprintf("%q", fmt.Sprint(want.Unix()))} {
		f := decodeCustom(t, "text: .t\nquota-reset: .r", `{"r":`+at+`}`, 0, 1).failure
		if f == nil || f.Kind != ralph.FailureQuota || !f.RetryAt.Equal(want) || f.Message == "" {
			t.Errorf("Failure for %s = %+v, want it over at %v", at, f, want)
		}
	}
}

func TestCustomRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		want   string // a part of the error; empty: none
	}{
		{"nothing", func(*Options) {}, ""},
		{"a response filter", func(o *Options) { o.Filters, o.Filter = nil, ".text" }, ""},
		{"no command", func(o *Options) { o.Command = nil }, `agent "custom": needs agent-command`},
		{"no words", func(o *Options) { o.Filters = named("tool: .x") }, "agent-filters: needs text"},
		{"two for the words", func(o *Options) { o.Filter = ".x" }, "text and response-filter are the same"},
		{"a name", func(o *Options) { o.Filters["tokens"] = "." }, `agent-filters: "tokens" is unknown; known are add-cache-read-tokens, add-`},
		{"a filter", func(o *Options) { o.Filters["tool"] = ".[" }, "agent-filters: tool: jq expression, character 3 (its end): "},
		{"two at once", func(o *Options) { o.Filters["tool"], o.Filters["x"] = ".[", "." }, "agent-filters: \"x\" is unknown"},
		{"a sum and a part", func(o *Options) { o.Filters["cost"], o.Filters["add-cost"] = ".a", ".b" }, "cost is the sum so far and add-cost is what a line adds"},
		{"delivery", func(o *Options) { o.Delivery = "pipe" }, `agent-prompt "pipe": must be stdin, argument or file`},
		{"a file and no folder", func(o *Options) { o.Delivery = "file" }, "needs a folder"},
		{"model", func(o *Options) { o.Model = "m" }, "model has no effect"},
		{"effort", func(o *Options) { o.Effort = "high" }, "effort has no effect"},
		{"servers", func(o *Options) { o.MCP = "{}" }, "mcp-config has no effect: write it into agent-args"},
	} {
		o := Options{Name: "custom", Command: []string{"acme"}, Filters: named("text: .text"), Process: noProcess{}}
		tt.change(&o)
		if _, err := New(o); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New = %v, want %q", tt.name, err, tt.want)
		}
	}
}

// The names are documented, all of them and no others.
func TestCustomNames(t *testing.T) {
	t.Parallel()
	names := customFilters()
	if !slices.IsSorted(names) {
		t.Errorf("%q are not sorted", names)
	}
	b, err := os.ReadFile("../../docs/custom-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "## Filters")
	table, _, _ = strings.Cut(table, "How a turn is judged")
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(table, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			told = append(told, strings.Trim(name, "`"))
		}
	}
	slices.Sort(told)
	if !slices.Equal(told, names) {
		t.Errorf("documented are %q, want %q", told, names)
	}
	t.Run("read", func(t *testing.T) {
		read := []string{"message", "text"}
		for _, f := range (&customTurn{}).finders() {
			read = append(read, f.name)
		}
		if slices.Sort(read); !slices.Equal(read, names) {
			t.Errorf("read are %q, want %q", read, names)
		}
	})
}

// The prompt arrives as agent-prompt says, also with exact arguments and in
// text mode, and nothing stays in the folder.
func TestCustomDelivery(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30<<10) + "the end."
	for _, tt := range []struct {
		delivery, prompt string
		exact            bool
		want             string
	}{
		{"", long, false, "stdin 153608, "},
		{"stdin", "do it all", true, "stdin 9, "},
		{"argument", "do it all", false, "stdin 0, argument 9"},
		{"argument", "do it all", true, "stdin 0, argument 9"},
		{"argument", long, false, "file of 153608 bytes, mode -rw-------, ends \"the end.\""},
		{"file", "do it all", false, "file of 9 bytes, mode -rw-------"},
		{"file", long, true, "file of 153608 bytes, mode -rw-------, ends \"the end.\""},
	} {
		o := player(t, "custom", "task", "")
		o.Filters, o.Delivery, o.Scratch, o.Exact = named("text: .text"), tt.delivery, t.TempDir(), tt.exact
		var log strings.Builder
		o.Log = &log
		run(t, t.Context(), o, tt.prompt)
		if !strings.Contains(log.String(), tt.want) {
			t.Errorf("%q, exact %v: the agent says %q, want it to hold %q", tt.delivery, tt.exact, log.String(), tt.want)
		}
		if left, err := os.ReadDir(o.Scratch); err != nil || len(left) > 0 {
			t.Errorf("the folder holds %v, %v", left, err)
		}
	}
}

// A real child, in text mode too: there is no other way to print for it.
func TestCustomRun(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs(filepath.Join("testdata", "custom", "gemini.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []bool{false, true} {
		o := player(t, "custom", "print", path)
		o.Filters, o.Plain, o.System = named(geminiAsCustom), plain, "Be kind."
		got := run(t, t.Context(), o, "do it all")
		if !got.says(marker) || got.failure != nil || got.turn.Tools != 1 || got.turn.Usage.Tokens.Output != 100 || got.turn.FinalText != "Writing it.\nAll done. "+marker {
			t.Errorf("Run in text mode %v = %+v, marker = %v", plain, got.turn, got.says(marker))
		}
	}
}

// A filter that never ends costs its line, and then itself, not the others.
func TestCustomEndless(t *testing.T) {
	var got decoded
	c, err := New(Options{Name: "custom", Command: []string{"acme"}, Filters: named("text: .text\nmodel: last(repeat(1))"), Process: noProcess{}})
	if err != nil {
		t.Fatal(err)
	}
	d := c.decoder(ralph.Prompt{}, func(e ralph.Event) { got.events = append(got.events, e) }, func() {}).(*filtered)
	for _, s := range d.inner.(*customTurn).sieves {
		s.jq.guard.time = 50 * time.Millisecond
	}
	feed(d, strings.Repeat(`{"text":"x"}`+"\n", 6), 0)
	if n := got.count(ralph.EventWarning); n != 2 || d.Turn().Malformed != maxEndless || d.Turn().FinalText != strings.TrimSpace(strings.Repeat("x\n", 6)) {
		t.Errorf("%d warnings, turn = %+v, want 2 and all the words", n, d.Turn())
	}
}

func FuzzCustom(f *testing.F) {
	filters := documented(f, "yaml")[1]
	f.Add(documented(f, "json")[0], "", uint8(3))
	f.Add(`{"kind":"call","id":null,"name":{"a":1}}`+"\n"+`{"usd":1e308}`+"\n"+`{"usd":"NaN"}`, ".", uint8(1))
	f.Fuzz(func(t *testing.T, stream, tool string, size uint8) {
		all := named(filters)
		if tool != "" && len(tool) < 20 && CompileFilter(tool) == nil {
			all["tool"], all["tool-end"] = tool, tool
		}
		c, err := New(Options{Name: "custom", Command: []string{"acme"}, Filters: all, Process: noProcess{}})
		if err != nil {
			t.Fatal(err)
		}
		d := c.decoder(ralph.Prompt{Text: "a prompt that is long enough"}, func(e ralph.Event) {
			if len(e.Text) > maxText || len(e.ToolID) > 4*maxName || len(e.Tool) > 4*maxName {
				t.Errorf("event = %+v", e)
			}
		}, func() {})
		feed(d, stream, int(size))
		turn := d.Turn()
		if u := turn.Usage; u.Cost.Amount < 0 || u.Tokens.Input < 0 || u.Tokens.Output < 0 || turn.ToolErrors > turn.Tools {
			t.Errorf("turn = %+v", turn)
		}
		d.Failure(0)
	})
}

// BenchmarkCustom reads 100 MB of lines as short as most are with all of the
// documented filters.
func BenchmarkCustom(b *testing.B) {
	stream := []byte(strings.Repeat(documented(b, "json")[0], 10<<20/600))
	c, err := New(Options{Name: "custom", Command: []string{"acme"}, Filters: named(documented(b, "yaml")[1]), Process: noProcess{}})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		d := c.decoder(ralph.Prompt{}, func(ralph.Event) {}, func() {})
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			d.Stdout(rest[:n])
			rest = rest[n:]
		}
		d.Close()
	}
}
