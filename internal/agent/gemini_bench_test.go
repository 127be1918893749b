package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// benchmarkDecode decodes a stream in writes of 64 KiB as they come from a pipe.
func benchmarkDecode(b *testing.B, stream []byte, newDecoder func(emit func(ralph.Event)) decoder) {
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		events := 0
		d := newDecoder(func(ralph.Event) { events++ })
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

func sourceCode() []byte {
	quoted, _ := json.Marshal(strings.Repeat("\tif err := run(ctx, \"name\"); err != nil { // größer\n\t\treturn fmt.Errorf(\"run: %w\", err)\n\t}\n", 1<<20/100))
	return quoted
}

// BenchmarkGeminiDecode decodes 100 MB with lines of about a megabyte.
func BenchmarkGeminiDecode(b *testing.B) {
	code := sourceCode()
	var s bytes.Buffer
	for i := 0; s.Len() < 100<<20; i++ {
		fmt.Fprintf(&s, `{"type":"message","role":"assistant","content":"Reading file %d.","delta":true}`+"\n", i)
		fmt.Fprintf(&s, `{"type":"tool_use","tool_name":"read_file","tool_id":"t%d","parameters":{"file_path":"/w/f%d.go"}}`+"\n", i, i)
		fmt.Fprintf(&s, `{"type":"tool_result","tool_id":"t%d","status":"success","output":%s}`+"\n", i, code)
	}
	s.WriteString(`{"type":"result","status":"success","stats":{"models":{"m":{"total_tokens":3,"input_tokens":1,"output_tokens":2,"cached":0}}}}` + "\n")
	benchmarkDecode(b, s.Bytes(), func(emit func(ralph.Event)) decoder { return newGeminiDecoder(emit, func() {}) })
}

// BenchmarkGeminiDecodeSmall decodes lines as short as most are.
func BenchmarkGeminiDecodeSmall(b *testing.B) {
	benchmarkDecode(b, []byte(strings.Repeat(recording(b, "gemini", "success_tool"), 1000)), func(emit func(ralph.Event)) decoder { return newGeminiDecoder(emit, func() {}) })
}

// BenchmarkOpencodeDecode decodes 100 MB with lines of about a megabyte.
func BenchmarkOpencodeDecode(b *testing.B) {
	code := sourceCode()
	var s bytes.Buffer
	for i := 0; s.Len() < 100<<20; i++ {
		fmt.Fprintf(&s, `{"type":"step_start","sessionID":"s","part":{"id":"p"}}`+"\n"+`{"type":"text","sessionID":"s","part":{"messageID":"m%d","text":"Reading file %d."}}`+"\n", i, i)
		fmt.Fprintf(&s, `{"type":"tool_use","sessionID":"s","part":{"type":"tool","tool":"read","callID":"t%d","state":{"status":"completed","input":{"filePath":"/w/f%d.go"},"output":%s}}}`+"\n", i, i, code)
		s.WriteString(`{"type":"step_finish","sessionID":"s","part":{"reason":"stop","tokens":{"total":3,"input":1,"output":2,"cache":{"read":0,"write":0}},"cost":0.1}}` + "\n")
	}
	benchmarkDecode(b, s.Bytes(), func(emit func(ralph.Event)) decoder { return newOpencodeDecoder(Options{}, emit, func() {}) })
}

// BenchmarkOpencodeDecodeSmall decodes lines as short as most are.
func BenchmarkOpencodeDecodeSmall(b *testing.B) {
	benchmarkDecode(b, []byte(strings.Repeat(recording(b, "opencode", "success_tool"), 1000)), func(emit func(ralph.Event)) decoder { return newOpencodeDecoder(Options{}, emit, func() {}) })
}
