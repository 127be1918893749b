// Package agenttest helps the tests of agents: it feeds recordings to decoders, and stands
// in for the process of a CLI.
package agenttest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// Testdata is the path of a file that was recorded with an agent, or belongs to its
// tests.
func Testdata(name, file string) string {
	below := filepath.Join(name, "testdata")
	if _, err := os.Stat(below); err != nil {
		below = filepath.Join("..", below) // a test beside the agent's own package
	}
	return filepath.Join(below, file)
}

const Marker = "<promise>COMPLETE</promise>"

// Decoded is what a decoder made of a stream.
type Decoded struct {
	Events   []ralph.Event
	Turn     ralph.Turn
	Failure  *ralph.Failure
	Done     bool
	Finished int // calls
}

// Feed gives a decoder a stream in pieces of size bytes; 0 is all at once.
func Feed(d driver.Decoder, stream string, size int) {
	pieces([]byte(stream), size, d.Stdout)
	d.Close()
}

// pieces hands a stream on in pieces of size bytes; 0 is all at once.
func pieces(stream []byte, size int, to func(p []byte)) {
	if size == 0 {
		size = max(1, len(stream))
	}
	for piece := range slices.Chunk(stream, size) {
		to(piece)
	}
}

// Searchable is what the loop searches: the texts that are no echo, joined per
// message.
func (d Decoded) Searchable() []string {
	var texts []string
	var message string
	for _, e := range d.Events {
		if e.Kind != ralph.EventText || e.Echo {
			continue
		}
		if len(texts) == 0 || e.Message != message {
			texts, message = append(texts, ""), e.Message
		}
		texts[len(texts)-1] += e.Text
	}
	return texts
}

// Says reports whether the agent's own words hold a text.
func (d Decoded) Says(what string) bool {
	return slices.ContainsFunc(d.Searchable(), func(text string) bool { return strings.Contains(text, what) })
}

// Count is how many events of a kind there were.
func (d Decoded) Count(kind ralph.EventKind) int {
	n := 0
	for _, e := range d.Events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// Render is the list of events, one per line, for golden files.
func (d Decoded) Render() string {
	names := map[ralph.EventKind]string{
		ralph.EventText: "text", ralph.EventToolStart: "start", ralph.EventToolEnd: "end",
		ralph.EventTodo: "todo", ralph.EventProgress: "progress", ralph.EventKept: "kept",
		ralph.EventUsage: "usage",
	}
	var b strings.Builder
	for _, e := range d.Events {
		fmt.Fprint(&b, names[e.Kind])
		if e.Echo {
			fmt.Fprint(&b, " echo")
		}
		if e.IsError {
			fmt.Fprint(&b, " error")
		}
		for _, s := range []string{e.Message, e.ToolID, e.Tool} {
			if s != "" {
				fmt.Fprintf(&b, " %s", s)
			}
		}
		switch e.Kind {
		case ralph.EventUsage:
			for _, m := range e.Models {
				u := m.Usage
				fmt.Fprintf(&b, " %q %d+%d+%d/%d %s;", m.Model, u.Tokens.Input, u.Tokens.CacheRead, u.Tokens.CacheWrite, u.Tokens.Output, u.Cost)
			}
		case ralph.EventTodo:
			for _, t := range e.Todos {
				fmt.Fprintf(&b, " %d:%s;", t.Status, t.Text)
			}
		default:
			fmt.Fprintf(&b, " %q", e.Text)
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// Transcript is a recording of claude.
func Transcript(t testing.TB, name string) string {
	t.Helper()
	return Recording(t, "claude", name)
}

// FailureKind is the kind of a failure as a word; none if there was none.
func FailureKind(f *ralph.Failure) string {
	if f == nil {
		return "none"
	}
	return f.Kind.String()
}

// Update is the flag -update of the tests.
var Update = flag.Bool("update", false, "rewrite the golden files")

// Ending is an entry of testdata/NAME/index.json: what a parser should find in
// each transcript, worked out apart from this package.
type Ending struct {
	Case         string
	ExitCode     *int     `json:"exit_code"`
	NotJSON      int      `json:"not_json"`
	SessionIDs   []string `json:"session_ids"`
	MainTextLast string   `json:"main_text_last"`
	Marker       bool     `json:"marker_in_main_text"`
	Ends         []struct {
		Status string
		Usage  map[string]float64
	}
}

// Each decodes every transcript of an agent, whole and in small pieces, and
// compares it with the index.
func Each(t *testing.T, name string, decode func(stream string, size, exit int) Decoded, failures map[string]ralph.FailureKind, more func(t *testing.T, got Decoded, want Ending)) {
	b, err := os.ReadFile(Testdata(name, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []Ending
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no transcripts")
	}
	for _, want := range all {
		t.Run(want.Case, func(t *testing.T) {
			t.Parallel()
			stream := Recording(t, name, want.Case)
			exit := 137
			if want.ExitCode != nil {
				exit = *want.ExitCode
			}
			got := decode(stream, 0, exit)
			for _, size := range []int{1, 7} {
				if small := decode(stream, size, exit); small.Render() != got.Render() {
					t.Errorf("decode in pieces of %d bytes = %s, want %s", size, small.Render(), got.Render())
				}
			}
			if got.Turn.Malformed != want.NotJSON || got.Turn.Unknown != 0 {
				t.Errorf("Malformed, Unknown = %d, %d, want %d, 0", got.Turn.Malformed, got.Turn.Unknown, want.NotJSON)
			}
			if g := got.Says(Marker); g != want.Marker {
				t.Errorf("marker in the agent's own text = %v, want %v", g, want.Marker)
			}
			if n := len(want.SessionIDs); n > 0 && got.Turn.Session != want.SessionIDs[n-1] {
				t.Errorf("Session = %q, want %q", got.Turn.Session, want.SessionIDs[n-1])
			}
			if got.Turn.FinalText != want.MainTextLast {
				t.Errorf("FinalText = %q, want %q", got.Turn.FinalText, want.MainTextLast)
			}
			wantKind := "none"
			if k, ok := failures[want.Case]; ok {
				wantKind = k.String()
			}
			if g := FailureKind(got.Failure); g != wantKind {
				t.Errorf("Failure(%d) = %s (%+v), want %s", exit, g, got.Failure, wantKind)
			}
			if got.Failure != nil && got.Failure.Message == "" {
				t.Errorf("Failure(%d).Message is empty", exit)
			}
			for _, e := range got.Events {
				if e.Kind == ralph.EventToolEnd && e.Tool == "" {
					t.Errorf("tool end %q has no start", e.ToolID)
				}
			}
			more(t, got, want)
		})
	}
}

// Recording is the stream that was recorded in a case of an agent's.
func Recording(t testing.TB, name, which string) string {
	t.Helper()
	b, err := os.ReadFile(Testdata(name, which+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Decode feeds a stream to a new decoder in pieces of size bytes; 0 is all
// at once.
func Decode(stream string, size, exit int, newDecoder func(emit func(ralph.Event), finished func()) driver.Decoder) Decoded {
	var got Decoded
	d := newDecoder(func(e ralph.Event) { got.Events = append(got.Events, e) }, func() { got.Finished++ })
	Feed(d, stream, size)
	got.Turn, got.Failure, got.Done = d.Turn(), d.Failure(exit), d.Done()
	return got
}

// Golden compares the events of recordings, one by one.
func Golden(t *testing.T, name string, decode func(stream string, size, exit int) Decoded, which ...string) {
	for _, which := range which {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			got := decode(Recording(t, name, which), 0, 0)
			for i := range got.Events {
				got.Events[i].Text = driver.Clip(got.Events[i].Text, 300)
			}
			path := Testdata(name, which+".golden")
			if *Update {
				if err := os.WriteFile(path, []byte(got.Render()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.Render() != string(want) {
				t.Errorf("events of %s =\n%s\nwant\n%s", which, got.Render(), want)
			}
		})
	}
}

// RunFuzz fuzzes a decoder, seeded with the recordings of agents.
func RunFuzz(f *testing.F, names []string, newDecoder func(emit func(ralph.Event)) driver.Decoder) {
	for _, name := range names {
		files, err := filepath.Glob(Testdata(name, "*.ndjson"))
		if err != nil {
			f.Fatal(err)
		}
		for i, path := range files {
			if b, err := os.ReadFile(path); err == nil && len(b) < 8<<10 {
				f.Add(b, uint8(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		var events []ralph.Event
		d := newDecoder(func(e ralph.Event) { events = append(events, e) })
		Feed(d, string(stream), int(size)+1)
		turn := d.Turn()
		u := turn.Usage
		if u.Cost.Amount < 0 || u.Tokens.Input < 0 || u.Tokens.Output < 0 || u.Tokens.CacheRead < 0 || turn.ToolErrors > max(turn.Tools, len(events)) {
			t.Errorf("Turn() = %+v", turn)
		}
		kept := slices.DeleteFunc(slices.Clone(events), func(e ralph.Event) bool { return e.Kind != ralph.EventKept })
		if turn.Kept != len(kept) {
			t.Errorf("Kept = %d, with %d events", turn.Kept, len(kept))
		}
		for _, e := range events {
			if len(e.Text) > driver.MaxText || strings.ToValidUTF8(e.Text, "") != e.Text || len(e.Tool) > 8*driver.MaxName || len(e.Todos) > driver.MaxOpen {
				t.Errorf("event %+v is not bounded or not valid", e)
			}
		}
		if f := d.Failure(0); f != nil && f.Kind == 0 {
			t.Error("a failure without a kind")
		}
	})
}

// Words joins the texts that are searched, or those that are an echo.
func (d Decoded) Words(echo bool) string {
	var b strings.Builder
	for _, e := range d.Events {
		if e.Echo == echo {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// RunBenchmark decodes a stream in writes of 64 KiB as they come from a pipe.
func RunBenchmark(b *testing.B, stream []byte, newDecoder func(emit func(ralph.Event)) driver.Decoder) {
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		events := 0
		d := newDecoder(func(ralph.Event) { events++ })
		pieces(stream, 64<<10, d.Stdout)
		d.Close()
		if events < 100 || d.Failure(0) != nil {
			b.Fatalf("%d events, failure %v", events, d.Failure(0))
		}
	}
}

// SourceCode is a long text with many escapes.
func SourceCode() []byte {
	quoted, _ := json.Marshal(strings.Repeat("\tif err := run(ctx, \"name\"); err != nil { // größer\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 1<<20/100))
	return quoted
}

// WriteFile writes a file, and makes its directories.
func WriteFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// WithStderr writes to a decoder's Stderr before it is closed.
type WithStderr struct {
	driver.Decoder
	Complaints string
	Size       int
}

// Close feeds stderr before it closes the decoder.
func (d *WithStderr) Close() {
	pieces([]byte(d.Complaints), d.Size, d.Stderr)
	d.Decoder.Close()
}

// Complaints is what stood on stderr; "" when nothing did.
func Complaints(t *testing.T, name, which string) string {
	t.Helper()
	b, err := os.ReadFile(Testdata(name, which+".stderr"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// BigStream is stream-json as claude prints it with lines of about a megabyte:
// files read and written, with the quotes and line ends of source code.
func BigStream(size int) []byte {
	quoted := SourceCode()
	var b bytes.Buffer
	b.WriteString(`{"type":"system","subtype":"init","session_id":"s","model":"m"}` + "\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"type":"assistant","message":{"id":"msg_%d","model":"m","content":[{"type":"text","text":"Reading file %d."}]},"parent_tool_use_id":null,"session_id":"s"}`+"\n", i, i)
		fmt.Fprintf(&b, `{"type":"assistant","message":{"id":"msg_%d","model":"m","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"/w/f%d.go"}}]},"parent_tool_use_id":null,"session_id":"s"}`+"\n", i, i, i)
		fmt.Fprintf(&b, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t%d","type":"tool_result","content":%s,"is_error":false}]},"parent_tool_use_id":null,"session_id":"s"}`+"\n", i, quoted)
	}
	b.WriteString(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"done","session_id":"s","total_cost_usd":0.5,"modelUsage":{"m":{"inputTokens":1,"outputTokens":2}}}` + "\n")
	return b.Bytes()
}

// Quote is a text as JSON.
func Quote(s string) string { b, _ := json.Marshal(s); return string(b) }

// Say is a line of claude's with a text.
func Say(id, text string) string {
	return `{"type":"assistant","message":{"id":"` + id + `","model":"m","content":[{"type":"text","text":` + Quote(text) + `}]},"parent_tool_use_id":null,"session_id":"s"}` + "\n"
}

const Good = `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"bye","session_id":"s","total_cost_usd":0.25,"modelUsage":{"a":{"inputTokens":1,"outputTokens":2,"cacheReadInputTokens":3,"cacheCreationInputTokens":4},"b":{"inputTokens":10}}}` + "\n"

// Filters are the filters of lines NAME: JQ.
func Filters(lines string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(lines) {
		if name, expr, ok := strings.Cut(line, ":"); ok {
			all[strings.TrimSpace(name)] = strings.TrimSpace(expr)
		}
	}
	return all
}

// GeminiAsCustom are the filters for gemini as a custom agent. It says its words in pieces
// without an id: one constant joins them up to the next tool call.
const GeminiAsCustom = `
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

const Servers = `{"mcpServers":{"demo":{"command":"npx","args":["-y","it's"],"env":{"TOKEN":"${SECRET}"}},"web":{"type":"http","url":"https://mcp.example.com/x","headers":{"Authorization":"Bearer ${SECRET}"}}}}`
