package hook_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/hook"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/hooks.md")

// The tables of docs/hooks.md are what the code does. It is not parallel: with
// -update it writes.
func TestDocumentedTables(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "hooks.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, table := range map[string]string{"thresholds": thresholdRows(t), "kinds": kindsTable(), "evasions": evasionsTable()} {
		begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
		before, rest, ok := strings.Cut(text, begin)
		got, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("docs/hooks.md has no %s", name)
		}
		if *update {
			text = before + begin + table + end + after
		} else if got != table {
			t.Errorf("docs/hooks.md: the %s differ from the code; go test ./internal/agent/hook -update rewrites them", name)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func kindsTable() string {
	var b strings.Builder
	b.WriteString("\n| Kind | Refused | Such as | Not |\n| --- | --- | --- | --- |\n")
	for _, k := range hook.Kinds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, k.What, codes(k.Caught[:1]), codes(k.Passed[:1]))
	}
	return b.String() + "\n"
}

func evasionsTable() string {
	var b strings.Builder
	b.WriteString("\n| For example | Why |\n| --- | --- |\n")
	for _, e := range hook.Evasions() {
		line := e.Line
		if len(line) > 80 {
			line = line[:12] + " … " + line[len(line)-20:]
		}
		fmt.Fprintf(&b, "| %s | %s |\n", codes([]string{line}), e.Why)
	}
	return b.String() + "\n"
}

// thresholdRows asks the monitor itself.
func thresholdRows(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n| In use | Severity | The agent is told |\n| --- | --- | --- |\n")
	dir, before := t.TempDir(), ""
	for percent := int64(1); percent <= 100; percent++ {
		answer := post(t, hook.Monitor{Dir: dir}, "s", transcriptOf(t, dir, percent*8000))
		severity, rest, ok := strings.Cut(answer.Context, ": ")
		if !ok {
			continue
		}
		_, told, _ := strings.Cut(rest, ". ")
		if told == before {
			told = "the same"
		} else {
			before = told
		}
		fmt.Fprintf(&b, "| %d %% | %s | %s |\n", percent, severity, told)
	}
	return b.String() + "\n"
}

// codes are commands for a cell of a table.
func codes(lines []string) string {
	out := make([]string, len(lines))
	for i, line := range lines {
		fence := "`"
		for strings.Contains(line, fence) {
			fence += "`"
		}
		if len(fence) > 1 {
			line = " " + line + " "
		}
		out[i] = fence + strings.ReplaceAll(line, "|", `\|`) + fence
	}
	return strings.Join(out, "<br>")
}
