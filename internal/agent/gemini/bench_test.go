package gemini

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// BenchmarkGeminiDecode decodes 100 MB with lines of about a megabyte.
func BenchmarkGeminiDecode(b *testing.B) {
	code := agenttest.SourceCode()
	var s bytes.Buffer
	for i := 0; s.Len() < 100<<20; i++ {
		fmt.Fprintf(&s, `{"type":"message","role":"assistant","content":"Reading file %d.","delta":true}`+"\n", i)
		fmt.Fprintf(&s, `{"type":"tool_use","tool_name":"read_file","tool_id":"t%d","parameters":{"file_path":"/w/f%d.go"}}`+"\n", i, i)
		fmt.Fprintf(&s, `{"type":"tool_result","tool_id":"t%d","status":"success","output":%s}`+"\n", i, code)
	}
	s.WriteString(`{"type":"result","status":"success","stats":{"models":{"m":{"total_tokens":3,"input_tokens":1,"output_tokens":2,"cached":0}}}}` + "\n")
	agenttest.RunBenchmark(b, s.Bytes(), func(emit func(ralph.Event)) driver.Decoder { return newDecoder(emit, func() {}) })
}

// BenchmarkGeminiDecodeSmall decodes lines as short as most are.
func BenchmarkGeminiDecodeSmall(b *testing.B) {
	agenttest.RunBenchmark(b, []byte(strings.Repeat(agenttest.Recording(b, "gemini", "success_tool"), 1000)), func(emit func(ralph.Event)) driver.Decoder { return newDecoder(emit, func() {}) })
}
