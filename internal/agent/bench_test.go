package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// bigStream is stream-json as claude prints it with lines of about a megabyte:
// files read and written, with the quotes and line ends of source code.
func bigStream(size int) []byte {
	code := strings.Repeat("\tif err := run(ctx, \"name\"); err != nil { // größer\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 1<<20/100)
	quoted, _ := json.Marshal(code)
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

// BenchmarkDecode decodes 100 MB of stream-json with lines of one megabyte, in
// writes of 64 KiB as they come from a pipe.
func BenchmarkDecode(b *testing.B) {
	stream := bigStream(100 << 20)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		events := 0
		d := newClaudeDecoder("claude", func(ralph.Event) { events++ }, func() {})
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			d.Stdout(rest[:n])
			rest = rest[n:]
		}
		d.Close()
		if events < 100 || d.Failure(0) != nil {
			b.Fatalf("%d events, failure %v", events, d.Failure(0))
		}
	}
}

// BenchmarkDecodeSmall decodes lines as short as most are.
func BenchmarkDecodeSmall(b *testing.B) {
	stream := []byte(strings.Repeat(transcript(b, "success_tool"), 1000))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		d := newClaudeDecoder("claude", func(ralph.Event) {}, func() {})
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			d.Stdout(rest[:n])
			rest = rest[n:]
		}
		d.Close()
	}
}

// BenchmarkText passes 100 MB of short lines through the text agent, with a
// prompt to look for.
func BenchmarkText(b *testing.B) {
	stream := []byte(strings.Repeat("ok   github.com/org/ralph-action/internal/agent  0.036s\n", 100<<20/56))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		d := text{}.decoder(Options{}, ralph.Prompt{Text: "Make all the tests pass, please."}, func(ralph.Event) {}, nil)
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			d.Stdout(rest[:n])
			rest = rest[n:]
		}
		d.Close()
	}
}
