package agent

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/streamjson"
	"github.com/org/ralph-action/internal/agent/text"
	"github.com/org/ralph-action/internal/ralph"
)

// BenchmarkDecode decodes 100 MB of stream-json with lines of one megabyte, in
// writes of 64 KiB as they come from a pipe.
func BenchmarkDecode(b *testing.B) {
	stream := agenttest.BigStream(100 << 20)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		events := 0
		d := streamjson.New("claude", func(ralph.Event) { events++ }, func() {})
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
	stream := []byte(strings.Repeat(agenttest.Transcript(b, "success_tool"), 1000))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		d := streamjson.New("claude", func(ralph.Event) {}, func() {})
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
		d := text.Driver{}.Decoder(Options{}, ralph.Prompt{Text: "Make all the tests pass, please."}, func(ralph.Event) {}, nil)
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 64<<10)
			d.Stdout(rest[:n])
			rest = rest[n:]
		}
		d.Close()
	}
}
