package agent

import (
	"os"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/claude"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/filter"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	claudeFilter = `select(.type=="assistant")|.message.content[]|select(.type=="text")|.text`
	clineFilter  = `select(.type=="say")|.text`
	codexFilter  = `select(.type=="message" and .role=="assistant")|.content`

	echoedPrompt = "Fix the build. Print <promise>COMPLETE</promise> when it is done."
)

func filterStream(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(agenttest.Testdata("filter", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// newFilter is an agent that never runs, for its decoder.
func newFilter(t testing.TB, name, expr string) *CLI {
	t.Helper()
	code, err := filter.Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	known := drivers()
	return &CLI{o: Options{Name: name, Filter: expr}, driver: known[name], filter: code}
}

// filterText decodes the output of an agent without a decoder of ours.
func filterText(t testing.TB, expr, prompt, stream string, size, exit int) agenttest.Decoded {
	t.Helper()
	return filterWith(newFilter(t, "text", expr), prompt, stream, size, exit)
}

func filterWith(c *CLI, prompt, stream string, size, exit int) agenttest.Decoded {
	var got agenttest.Decoded
	d := c.newDecoder(ralph.Prompt{Text: prompt}, func(e ralph.Event) { got.Events = append(got.Events, e) }, func() { got.Finished++ })
	agenttest.Feed(d, stream, size)
	got.Turn, got.Failure, got.Done = d.Turn(), d.Failure(exit), d.Done()
	return got
}

// 000-23: an expression that does not compile is told before anything runs,
// with the place.
func TestCompileFilter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ expr, want string }{
		{claudeFilter, ""},
		{clineFilter, ""},
		{codexFilter, ""},
		{`.`, ""},
		{`env, $ENV, input_filename, debug, stderr`, ""},
		{`# a comment alone`, `missing query (try ".")`},
		{`select(.type=="x") || .text`, `jq expression, character 21 ("| .text"): unexpected token "|"`},
		{`"größe" ] .text`, `character 9 ("] .text"): unexpected token "]"`},
		{"def f: .a;\n  f |\n  ]", `line 3, character 3 ("]"): unexpected token "]"`},
		{`.[`, `character 3 (its end): unexpected EOF`},
		{`"a`, `unterminated string literal`},
		{`.text | selct(.a)`, `function not defined: selct/1`},
		{`$x`, `variable not defined: $x`},
		{`input`, `input(s)/0 is not allowed`},
		{`[inputs]`, `input(s)/0 is not allowed`},
		{`import "a" as a; .`, `cannot load module: "a"`},
		{`include "a"; .`, `cannot load module: "a"`},
		{`import "/etc/passwd" as $a; .`, `cannot load module: "/etc/passwd"`},
		{strings.Repeat(" ", 64<<10+1) + ".", `at most 65536`},
	} {
		_, err := filter.Compile(tt.expr)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("compileFilter(%.40q) = %v, want %q", tt.expr, err, tt.want)
		}
	}
	if _, err := New(Options{Name: "text", Command: []string{"x"}, Process: noProcess{}, Filter: ".["}); err == nil || !strings.Contains(err.Error(), "response filter: jq expression, character 3") {
		t.Errorf("New(Filter: .[) = %v, want the place of the mistake", err)
	}
}

type noProcess struct{ driver.Process }

// The words are what `jq -r` would print.
func TestFilterWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, expr, stream, want string
	}{
		{"amp", claudeFilter, filterStream(t, "amp"), "I look at the build.\nGrößer, 😀.\n<promise>COMPLETE</promise>\n"},                     // 000-18
		{"codex of the old format", codexFilter, filterStream(t, "codex"), "I look at the build.\nAll green. <promise>COMPLETE</promise>\n"}, // 000-21
		{"other values", `.v`, `{"v":null}{` + "\n" + `{"v":[1,{"b":"<é>","a":[]}]}` + "\n" + `{"v":true}`, "[\n  1,\n  {\n    \"a\": [],\n    \"b\": \"<é>\"\n  }\n]\ntrue\n"},
		{"null", `.v`, `{"v":null}`, "null\n"},
		{"numbers keep what they are", `.v, .w`, `{"v":100000000000000000000000001,"w":3.14159265358979323846}`, "100000000000000000000000001\n3.14159265358979323846\n"},
		{"numbers beyond all bounds", `.v[]|.+1|tostring|length < 1000`, `{"v":[1e999999999,-1e-999999999,123456789012345678901234567890]}`, "true\ntrue\ntrue\n"},
		{"a number too long is no JSON", `.v`, `{"v":` + strings.Repeat("9", 5000) + `}` + "\n" + `{"v":1}`, "1\n"},
		{"several outputs", `.v[]`, `{"v":["a","b\n","c"]}`, "a\nb\n\nc\n"},
		{"empty strings are left out", `.v[]`, `{"v":["a","",""]}`, "a\n"},
		{"no outputs", `empty`, `{"v":1}`, ""},
		{"carriage returns, blank lines, a byte order mark", `.v`, "\xef\xbb\xbf{\"v\":\"a\"}\r\n\r\n  \n{\"v\":\"b\"}\r\n", "a\nb\n"},
		{"lines that are no JSON", `.v`, "npm warn x\n{\"v\":\"a\"}\n{\"v\":\"b\"\n[1,\n{\"v\":\"c\"}", "a\nc\n"},
		{"what is nested too deep is no JSON", `.v? // empty`, strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n{\"v\":\"a\"}", "a\n"},
		{"an error skips the rest of its line", `.v, (.w|ascii_downcase)`, "{\"v\":\"a\",\"w\":1}\n{\"v\":\"b\",\"w\":\"C\"}", "a\nb\nc\n"},
		{"environment", `env, $ENV, (env|length)`, `{}`, "{}\n{}\n0\n"},
		{"debug and its like do nothing", `debug, stderr, input_filename`, `{}`, "{}\n{}\nnull\n"},
		{"halt is the end of the words", `if .v=="b" then halt else .v end`, "{\"v\":\"a\"}\n{\"v\":\"b\"}\n{\"v\":\"c\"}", "a\n"},
		{"a giant line", `.v|length`, `{"v":"` + strings.Repeat("x", 10<<20) + `"}`, "10485760\n"},
		{"a line too long", `.v|length`, `{"v":"` + strings.Repeat("x", driver.MaxLine) + `"}` + "\n{\"v\":\"ab\"}", "2\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := filterText(t, tt.expr, "", tt.stream, 0, 0)
			if words := strings.Join(got.Searchable(), "¦"); words != tt.want {
				t.Errorf("words = %q, want %q", words, tt.want)
			}
			if got.Turn.FinalText != strings.TrimSpace(tt.want) {
				t.Errorf("FinalText = %q, want %q", got.Turn.FinalText, strings.TrimSpace(tt.want))
			}
		})
	}
}

// 000-27: only what the filter picks is searched, and never a copy of our own
// prompt, however the stream is cut into pieces.
func TestFilterMarker(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, agent, expr, stream string
		want                      bool
	}{
		{"claude", "claude", claudeFilter, agenttest.Transcript(t, "success_tool"), true}, // 000-19
		{"claude, marker in prompt and tool output only", "claude", claudeFilter, agenttest.Transcript(t, "echo_marker"), false},
		{"amp", "text", claudeFilter, filterStream(t, "amp"), true},
		{"amp, without its last message", "text", claudeFilter, withoutLine(filterStream(t, "amp"), 4), false},
		{"amp, a filter for users' messages too", "text", `.message.content[]?|.text? // empty`, withoutLine(filterStream(t, "amp"), 4), false},
		{"cline", "text", clineFilter, filterStream(t, "cline"), true}, // 000-20
		{"cline, the task alone", "text", clineFilter, withoutLine(filterStream(t, "cline"), 3), false},
		{"codex", "text", codexFilter, filterStream(t, "codex"), true},
		{"codex, without its last message", "text", codexFilter, withoutLine(filterStream(t, "codex"), 4), false},
		{"put together of two outputs", "text", `.v`, `{"v":"<promise>COM"}` + "\n" + `{"v":"PLETE</promise>"}`, false},
		{"escaped", "text", `.v`, `{"v":"\u003cpromise\u003eCOMPLETE\u003c\/promise\u003e"}`, true},
		{"in a value that is no string", "text", `.v`, `{"v":["<promise>COMPLETE</promise>"]}`, true},
		{"in a line that broke off", "text", `.v`, `{"v":"<promise>COMPLETE</promise>"`, false},
		{"in a line that is no JSON", "text", `.`, `<promise>COMPLETE</promise>`, false},
	} {
		for _, size := range []int{0, 1, 7, 4096} {
			got := filterWith(newFilter(t, tt.agent, tt.expr), echoedPrompt, tt.stream, size, 0)
			detector := ralph.NewDetector(ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"})
			for _, e := range got.Events {
				if e.Kind == ralph.EventText && !e.Echo {
					detector.Write(e.Message, e.Text)
				}
			}
			if detector.Found() != tt.want {
				t.Errorf("%s in pieces of %d: found = %v, want %v", tt.name, size, detector.Found(), tt.want)
			}
		}
	}
}

// withoutLine drops the n-th line, from 0.
func withoutLine(s string, n int) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(append(lines[:n:n], lines[n+1:]...), "")
}

// With text-scan full a copy of the prompt counts. 000-28
func TestFilterScanFull(t *testing.T) {
	t.Parallel()
	c := newFilter(t, "text", clineFilter)
	c.o.TextScanFull = true
	if got := filterWith(c, echoedPrompt, withoutLine(filterStream(t, "cline"), 3), 0, 0); !got.Says(agenttest.Marker) {
		t.Error("the marker in the echoed prompt was not found")
	}
}

// The stream's own decoder still tells all that is no text.
func TestFilterKeepsDecoder(t *testing.T) {
	t.Parallel()
	stream := agenttest.Transcript(t, "success_tool")
	plain, got := filterWith(&CLI{o: Options{Name: "claude"}, driver: claude.Driver{}}, "", stream, 0, 0), filterWith(newFilter(t, "claude", `select(.type=="result")|"filtered: "+.subtype`), "", stream, 7, 0)
	if words := strings.Join(got.Searchable(), "¦"); words != "filtered: success\n" {
		t.Errorf("words = %q, want those of the filter only", words)
	}
	if got.Turn.FinalText != "filtered: success" {
		t.Errorf("FinalText = %q", got.Turn.FinalText)
	}
	if got.Turn.Tools != plain.Turn.Tools || got.Turn.Tools == 0 || got.Turn.Usage != plain.Turn.Usage || got.Turn.Session != plain.Turn.Session || got.Turn.Session == "" {
		t.Errorf("turn = %+v, want tools, usage and session of %+v", got.Turn, plain.Turn)
	}
	if !got.Done || got.Finished == 0 || got.Count(ralph.EventToolStart) != plain.Count(ralph.EventToolStart) || got.Failure != nil {
		t.Errorf("done %v, finished %d, %d tools, failure %v", got.Done, got.Finished, got.Count(ralph.EventToolStart), got.Failure)
	}
}

func TestFilterOrder(t *testing.T) {
	t.Parallel()
	stream := agenttest.Transcript(t, "success_tool")
	got := filterWith(newFilter(t, "claude", claudeFilter), "", stream, 0, 0)
	plain := filterWith(&CLI{o: Options{Name: "claude"}, driver: claude.Driver{}}, "", stream, 0, 0)
	order := func(d agenttest.Decoded) (kinds []ralph.EventKind) {
		for _, e := range d.Events {
			kinds = append(kinds, e.Kind)
		}
		return kinds
	}
	g, w := order(got), order(plain)
	if len(g) != len(w) {
		t.Fatalf("kinds = %v, want %v", g, w)
	}
	for i := range g {
		if g[i] != w[i] {
			t.Fatalf("kinds = %v, want %v: texts and tool calls stay in order", g, w)
		}
	}
}

func TestFilterFailure(t *testing.T) {
	t.Parallel()
	claudeEmpty := agenttest.Transcript(t, "empty_answer")
	for _, tt := range []struct {
		name, agent, expr, stream string
		exit                      int
		want, message             string
	}{
		{name: "good", agent: "text", expr: ".v", stream: `{"v":"a"}`, want: "none"},
		{name: "exit code", agent: "text", expr: ".v", stream: "{\"v\":\"a\"}\noops: no\n", exit: 3, want: "crash", message: "code 3: oops: no"},
		{name: "no JSON", agent: "text", expr: ".v", stream: "hello\nthere\n", want: "malformed", message: "no line of its output was JSON: there"},
		{name: "nothing printed", agent: "text", expr: ".v", stream: "\n\n", want: "empty-answer", message: "printed nothing"},
		{name: "nothing picked", agent: "text", expr: "empty", stream: "{}\n{}\n", want: "empty-answer", message: "picked no text from 2 lines of JSON"},
		{name: "blanks picked", agent: "text", expr: `" "`, stream: "{}\n", want: "empty-answer"},
		{name: "filter fails", agent: "text", expr: `.a.b.c`, stream: "{\"a\":1}\n{\"a\":2}\n", want: "empty-answer", message: "and failed on 2 of them"},
		{name: "claude, nothing picked but tools", agent: "claude", expr: "empty", stream: agenttest.Transcript(t, "success_tool"), want: "none"},
		{name: "claude, nothing picked", agent: "claude", expr: "empty", stream: agenttest.Transcript(t, "text_only"), want: "empty-answer", message: "picked no text"},
		{name: "claude, nothing said but something picked", agent: "claude", expr: `.type`, stream: claudeEmpty, want: "none"},
		{name: "claude, nothing said", agent: "claude", expr: claudeFilter, stream: claudeEmpty, want: "empty-answer"},
		{name: "claude's own failure", agent: "claude", expr: ".type", stream: agenttest.Transcript(t, "api_401"), exit: 1, want: "authentication", message: "Invalid API key"},
		{name: "claude without a result", agent: "claude", expr: ".type", stream: "{\"type\":\"assistant\"}\n", want: "malformed", message: "without a final result"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := filterWith(newFilter(t, tt.agent, tt.expr), "", tt.stream, 0, tt.exit)
			if agenttest.FailureKind(got.Failure) != tt.want {
				t.Fatalf("failure = %s (%+v), want %s", agenttest.FailureKind(got.Failure), got.Failure, tt.want)
			}
			if got.Failure != nil && !strings.Contains(got.Failure.Message, tt.message) {
				t.Errorf("failure = %q, want it to hold %q", got.Failure.Message, tt.message)
			}
		})
	}
}

// A filter that fails on a line is told of once, and its failures are counted.
func TestFilterWarns(t *testing.T) {
	t.Parallel()
	got := filterText(t, `.v|ascii_downcase`, "", "x\n{\"v\":1}\n{\"v\":\"A\"}\n{\"v\":2}\n{\"v\":3}\n", 0, 0)
	var told []string
	for _, e := range got.Events {
		if e.Kind == ralph.EventWarning || e.Kind == ralph.EventNotice {
			told = append(told, e.Text)
		}
	}
	want := []string{
		"the response filter failed on line 2 of the agent's output: ascii_downcase cannot be applied to: number (1)",
		"the response filter failed on 3 of 4 lines of JSON",
	}
	if strings.Join(told, "¦") != strings.Join(want, "¦") {
		t.Errorf("told %q, want %q", told, want)
	}
	if got.Turn.Malformed != 1 || strings.Join(got.Searchable(), "") != "a\n" {
		t.Errorf("Malformed, words = %d, %q, want 1 and a", got.Turn.Malformed, strings.Join(got.Searchable(), ""))
	}
	got = filterText(t, `"a", halt_error`, "", "{\"v\":1}\n{\"v\":2}\n", 0, 0)
	if strings.Join(got.Searchable(), "") != "a\n" || got.Count(ralph.EventWarning) != 1 || got.Count(ralph.EventNotice) != 0 {
		t.Errorf("halt_error = words %q, %+v, want one a and one warning", strings.Join(got.Searchable(), ""), got.Events)
	}
}
