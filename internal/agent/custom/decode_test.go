package custom

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/filter"
	"github.com/org/ralph-action/internal/ralph"
)

// decodeStream feeds a stream to a custom agent described by lines NAME: JQ.
func decodeStream(t testing.TB, filters, stream string, size, exit int) agenttest.Decoded {
	t.Helper()
	return agenttest.Decode(stream, size, exit, func(emit func(ralph.Event), finished func()) driver.Decoder {
		o := driver.Options{Name: "custom", Command: []string{"acme"}, Filters: agenttest.Filters(filters)}
		c, err := newAgent(o)
		if err != nil {
			t.Fatal(err)
		}
		return c.newDecoder(ralph.Prompt{Text: "Make all the tests pass, please."}, emit, finished)
	})
}

// testAgent is one that never runs, for its decoder.
type testAgent struct{ o driver.Options }

func newAgent(o driver.Options) (testAgent, error) {
	_, err := Driver{}.Extras(o)
	return testAgent{o}, err
}

func (c testAgent) newDecoder(p ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	return Driver{}.Decoder(c.o, p, emit, finished)
}

// documented are the code blocks of docs/custom-agents.md in a language; of YAML the
// descriptions alone.
func documented(t testing.TB, language string) []string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/custom-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		filters, described := strings.CutPrefix(m[1], "agent-filters: |\n")
		if described || language != "yaml" {
			blocks = append(blocks, filters)
		}
	}
	return blocks
}

// The examples of the documentation, and real CLIs, whole and in small pieces.
func TestCustomStreams(t *testing.T) {
	t.Parallel()
	examples := documented(t, "yaml")
	invented, opencode := examples[0], examples[1]
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
		{"opencode", opencode, agenttest.Recording(t, "custom", "opencode"), 0, true, "none", 1, 0, "ses_e0473e11dffe7K5Uakf3LPNBpI", "",
			ralph.Usage{Cost: ralph.Cost{Amount: 760}, Tokens: ralph.Tokens{Input: 400, CacheRead: 1600, Output: 100}}},
		{"opencode, tool errors", opencode, agenttest.Recording(t, "custom", "opencode_tool_error"), 0, false, "none", 2, 1, "ses_e04843babffeF7j2yTuoQ24kDm", "",
			ralph.Usage{Cost: ralph.Cost{Amount: 1140}, Tokens: ralph.Tokens{Input: 600, CacheRead: 2400, Output: 150}}},
		{"opencode, 401", opencode, agenttest.Recording(t, "custom", "opencode_401"), 1, false, "authentication", 0, 0, "ses_e0473557effes0V9bh4kZT6HEn", "",
			ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}}},
		{"gemini", agenttest.GeminiAsCustom, agenttest.Recording(t, "custom", "gemini"), 0, true, "none", 1, 0, "0aa5d511-9b1a-4393-8bdd-f12c4891f032", "gemini-2.5-flash",
			ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Input: 400, CacheRead: 1600, Output: 100}}},
		{"gemini, 401", agenttest.GeminiAsCustom, agenttest.Recording(t, "custom", "gemini_401"), 145, false, "crash", 0, 0, "", "gemini-2.5-flash", ralph.Usage{Cost: ralph.Cost{Unknown: true}}},
	} {
		got := decodeStream(t, tt.filters, tt.stream, 0, tt.exit)
		if small := decodeStream(t, tt.filters, tt.stream, 7, tt.exit); small.Render() != got.Render() {
			t.Errorf("%s: in pieces of 7 bytes = %s, want %s", tt.name, small.Render(), got.Render())
		}
		turn := got.Turn
		if got.Says(agenttest.Marker) != tt.says || agenttest.FailureKind(got.Failure) != tt.failure || turn.Tools != tt.tools || turn.ToolErrors != tt.toolErrors {
			t.Errorf("%s: says = %v, failure = %+v, %d tools, %d errors, want %v, %s, %d, %d", tt.name, got.Says(agenttest.Marker), got.Failure, turn.Tools, turn.ToolErrors, tt.says, tt.failure, tt.tools, tt.toolErrors)
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
	got := decodeStream(t, documented(t, "yaml")[0], documented(t, "json")[0], 0, 0)
	const want = `text text 0 "I look at the tests.\n"
start c1 shell "make test"
end error c1 shell "1 test failed"
text text 0 "It is done. <promise>COMPLETE</promise>"
`
	var words agenttest.Decoded
	for _, e := range got.Events {
		if e.Kind != ralph.EventUsage {
			words.Events = append(words.Events, e)
		}
	}
	if words.Render() != want {
		t.Errorf("events =\n%s\nwant\n%s", words.Render(), want)
	}
	if !got.Done || got.Finished != 1 || got.Count(ralph.EventUsage) != 1 {
		t.Errorf("done = %v, %d times finished, %d events of usage", got.Done, got.Finished, got.Count(ralph.EventUsage))
	}
}

func TestCustomLines(t *testing.T) {
	t.Parallel()
	const text = "text: .text\n"
	const half = len(agenttest.Marker) / 2
	say := func(id, text string) string { return fmt.Sprintf(`{"id":%q,"text":%q}`+"\n", id, text) }
	for _, tt := range []struct {
		name, filters, stream string
		exit                  int
		says                  bool
		malformed             int
		failure               string
	}{
		{name: "words alone", filters: text, stream: say("", agenttest.Marker), says: true, failure: "none"},
		{name: "null is nothing", filters: text, stream: "{}\n", failure: "empty-answer"},
		{name: "an echo of the prompt", filters: text, stream: say("", "Make all the tests pass, please."), failure: "empty-answer"},
		{name: "pieces of one message", filters: text + "message: .id", stream: say("a", agenttest.Marker[:half]) + say("a", agenttest.Marker[half:]), says: true, failure: "none"},
		{name: "pieces of two messages", filters: text + "message: .id", stream: say("a", agenttest.Marker[:half]) + say("b", agenttest.Marker[half:]), failure: "none"},
		{name: "pieces without an id", filters: text + "message: .id", stream: say("", agenttest.Marker[:half]) + say("", agenttest.Marker[half:]), failure: "none"},
		{name: "pieces with a tool call between", filters: text + "message: .id\ntool: .tool", stream: say("a", agenttest.Marker[:half]) + `{"tool":"x"}` + "\n" + say("a", agenttest.Marker[half:]), failure: "none"},
		{name: "pieces and no filter for it", filters: text, stream: say("a", agenttest.Marker[:half]) + say("a", agenttest.Marker[half:]), failure: "none"},
		{name: "several texts of a line", filters: "text: .[]", stream: `["a","` + agenttest.Marker + `"]`, says: true, failure: "none"},
		{name: "not JSON", filters: text, stream: "Loading...\n" + say("", "x"), malformed: 1, failure: "none"},
		{name: "nothing that is JSON", filters: text, stream: "Loading...\n", malformed: 1, failure: "malformed"},
		{name: "nothing", filters: text, failure: "empty-answer"},
		{name: "a last line that breaks off", filters: text, stream: say("", "x") + `{"text":"` + agenttest.Marker, malformed: 1, failure: "none"},
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
		{name: "a filter that fails", filters: text + "tool: .a.b", stream: say("", agenttest.Marker) + `{"a":"x"}` + "\n" + `{"a":1}`, says: true, malformed: 2, failure: "none"},
		{name: "a filter that has seen enough", filters: text + "model: .m, halt", stream: say("", "x") + say("", "y"), failure: "none"},
	} {
		got := decodeStream(t, tt.filters, tt.stream, 3, tt.exit)
		if got.Says(agenttest.Marker) != tt.says || got.Turn.Malformed != tt.malformed || agenttest.FailureKind(got.Failure) != tt.failure {
			t.Errorf("%s: says = %v, Malformed = %d, failure = %+v, want %v, %d, %s", tt.name, got.Says(agenttest.Marker), got.Turn.Malformed, got.Failure, tt.says, tt.malformed, tt.failure)
		}
	}
}

// A filter that fails is told once, and how often it did at the end.
func TestCustomTells(t *testing.T) {
	t.Parallel()
	got := decodeStream(t, "text: .text\ntool: .tool.name", strings.Repeat(`{"tool":"x"}`+"\n", 5), 0, 0)
	var told []string
	for _, e := range got.Events {
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
		got := decodeStream(t, "text: .text\n"+tt.filters, strings.ReplaceAll(tt.stream, " ", "\n"), 0, 0)
		if s := strings.ReplaceAll(strings.TrimSpace(got.Render()), "\n", "|"); s != tt.want {
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
	if got := decodeStream(t, all, lines, 0, 0); got.Turn.Usage != want || got.Count(ralph.EventUsage) != 2 {
		t.Errorf("usage = %+v with %d events, want %+v with 2", got.Turn.Usage, got.Count(ralph.EventUsage), want)
	}
	want.Cost.Unknown, want.Tokens.Unknown = true, true
	if got := decodeStream(t, all+"done: .end", lines, 0, 0).Turn.Usage; got != want {
		t.Errorf("usage of a turn that was cut off = %+v, want %+v", got, want)
	}
	want = ralph.Usage{Cost: ralph.Cost{Amount: 1_000_000}, Tokens: ralph.Tokens{Unknown: true}}
	if got := decodeStream(t, "text: .t\ncost: .usd", `{"t":"x","usd":1}`, 0, 0).Turn.Usage; got != want {
		t.Errorf("usage with a cost alone = %+v, want %+v", got, want)
	}
}

func TestCustomReset(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	for _, at := range []string{`"2026-11-22T06:00:00Z"`, `"2026-11-22T07:00:00+01:00"`, fmt.Sprint(want.Unix()), fmt.Sprintf("%q", fmt.Sprint(want.Unix()))} {
		f := decodeStream(t, "text: .t\nquota-reset: .r", `{"r":`+at+`}`, 0, 1).Failure
		if f == nil || f.Kind != ralph.FailureQuota || !f.RetryAt.Equal(want) || f.Message == "" {
			t.Errorf("Failure for %s = %+v, want it over at %v", at, f, want)
		}
	}
}

func TestCustomRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(o *driver.Options)
		want   string // a part of the error; empty: none
	}{
		{"nothing", func(*driver.Options) {}, ""},
		{"a response filter", func(o *driver.Options) { o.Filters, o.Filter = nil, ".text" }, ""},
		{"no command", func(o *driver.Options) { o.Command = nil }, `needs agent-command`},
		{"no words", func(o *driver.Options) { o.Filters = agenttest.Filters("tool: .x") }, "agent-filters: needs text"},
		{"two for the words", func(o *driver.Options) { o.Filter = ".x" }, "text and response-filter are the same"},
		{"a name", func(o *driver.Options) { o.Filters["tokens"] = "." }, `agent-filters: "tokens" is unknown; known are add-cache-read-tokens, add-`},
		{"a filter", func(o *driver.Options) { o.Filters["tool"] = ".[" }, "agent-filters: tool: jq expression, character 3 (its end): "},
		{"two at once", func(o *driver.Options) { o.Filters["tool"], o.Filters["x"] = ".[", "." }, "agent-filters: \"x\" is unknown"},
		{"a sum and a part", func(o *driver.Options) { o.Filters["cost"], o.Filters["add-cost"] = ".a", ".b" }, "cost is the sum so far and add-cost is what a line adds"},
		{"delivery", func(o *driver.Options) { o.Delivery = "pipe" }, `agent-prompt "pipe": must be stdin, argument or file`},
		{"a file and no folder", func(o *driver.Options) { o.Delivery = "file" }, "needs a folder"},
		{"model", func(o *driver.Options) { o.Model = "m" }, "model has no effect"},
		{"effort", func(o *driver.Options) { o.Effort = "high" }, "effort has no effect"},
		{"servers", func(o *driver.Options) { o.MCP = "{}" }, "mcp-config has no effect: write it into agent-args"},
	} {
		o := driver.Options{Name: "custom", Command: []string{"acme"}, Filters: agenttest.Filters("text: .text")}
		tt.change(&o)
		if _, err := newAgent(o); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New = %v, want %q", tt.name, err, tt.want)
		}
	}
}

// The names are documented, all of them and no others.
func TestCustomNames(t *testing.T) {
	t.Parallel()
	names := filterNames()
	if !slices.IsSorted(names) {
		t.Errorf("%q are not sorted", names)
	}
	b, err := os.ReadFile("../../../docs/custom-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "## Filters")
	table, _, _ = strings.Cut(table, "\n## ")
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\|(`.*?`)\\|").FindAllStringSubmatch(table, -1) {
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
		for _, f := range (&decoder{}).finders() {
			read = append(read, f.name)
		}
		if slices.Sort(read); !slices.Equal(read, names) {
			t.Errorf("read are %q, want %q", read, names)
		}
	})
}

// A filter that never ends costs its line, and then itself, not the others.
func TestCustomEndless(t *testing.T) {
	var got agenttest.Decoded
	c, err := newAgent(driver.Options{Name: "custom", Command: []string{"acme"}, Filters: agenttest.Filters("text: .text\nmodel: last(repeat(1))")})
	if err != nil {
		t.Fatal(err)
	}
	d := c.newDecoder(ralph.Prompt{}, func(e ralph.Event) { got.Events = append(got.Events, e) }, func() {}).(*filter.Decoder)
	for _, s := range d.Inner.(*decoder).sieves {
		s.Program.Guard.Time = 50 * time.Millisecond
	}
	agenttest.Feed(d, strings.Repeat(`{"text":"x"}`+"\n", 6), 0)
	if n := got.Count(ralph.EventWarning); n != 2 || d.Turn().Malformed != 3 || d.Turn().FinalText != strings.TrimSpace(strings.Repeat("x\n", 6)) {
		t.Errorf("%d warnings, turn = %+v, want 2 and all the words", n, d.Turn())
	}
}

func FuzzCustom(f *testing.F) {
	filters := documented(f, "yaml")[0]
	f.Add(documented(f, "json")[0], "", uint8(3))
	f.Add(`{"kind":"call","id":null,"name":{"a":1}}`+"\n"+`{"usd":1e308}`+"\n"+`{"usd":"NaN"}`, ".", uint8(1))
	f.Fuzz(func(t *testing.T, stream, tool string, size uint8) {
		all := agenttest.Filters(filters)
		if tool != "" && len(tool) < 20 && compiles(tool) {
			all["tool"], all["tool-end"] = tool, tool
		}
		c, err := newAgent(driver.Options{Name: "custom", Command: []string{"acme"}, Filters: all})
		if err != nil {
			t.Fatal(err)
		}
		d := c.newDecoder(ralph.Prompt{Text: "a prompt that is long enough"}, func(e ralph.Event) {
			if len(e.Text) > driver.MaxText || len(e.ToolID) > 4*driver.MaxName || len(e.Tool) > 4*driver.MaxName {
				t.Errorf("event = %+v", e)
			}
		}, func() {})
		agenttest.Feed(d, stream, int(size))
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
	c, err := newAgent(driver.Options{Name: "custom", Command: []string{"acme"}, Filters: agenttest.Filters(documented(b, "yaml")[0])})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		d := c.newDecoder(ralph.Prompt{}, func(ralph.Event) {}, func() {})
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			d.Stdout(rest[:n])
			rest = rest[n:]
		}
		d.Close()
	}
}

func compiles(expr string) bool {
	_, err := filter.Compile(expr)
	return err == nil
}

// A long line keeps no filter busy, whatever function it uses: what gojq needs to
// find all matches grows with the square of the text, and cannot be stopped.
func TestLongLinesAndExpressions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		filter string
		size   int
		passed bool
	}{
		{`.text|gsub("a";"b")`, 1 << 20, false},
		{`.text|[scan("a")]|length`, 1 << 20, false},
		{`[.text|splits("a+")]|length`, 1 << 20, false},
		{`.text|sub("a";"b")`, 4 << 10, true},
		{`.text|ltrimstr("a")|length`, 1 << 20, true}, // no expression
		{`select(.text|test("a"))|"found"`, 1 << 20, true},
	} {
		codes, err := Driver{}.compile(driver.Options{Filters: map[string]string{"text": tt.filter}})
		if err != nil {
			t.Fatal(err)
		}
		passed := false
		d := newDecoder(codes, driver.Options{}, ralph.Prompt{}, func(e ralph.Event) { passed = passed || e.Kind == ralph.EventText }, func() {})
		started := time.Now()
		d.Stdout([]byte(`{"text":"` + strings.Repeat("a", tt.size) + `"}` + "\n"))
		d.Close()
		if took := time.Since(started); passed != tt.passed || took > time.Minute {
			t.Errorf("%s on %d bytes: passed = %t after %v, want %t", tt.filter, tt.size, passed, took, tt.passed)
		}
	}
}
