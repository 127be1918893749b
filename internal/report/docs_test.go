package report_test

import (
	"os"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/report/memory"
)

// The examples of the documentation are what the code prints.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	last := completed().Iterations[1]
	last.Said.Commit = "Round prices half up"
	for what, example := range map[string]string{
		"session log":    session("run", "the work was done in 1 iteration"),
		"commit message": memory.CommitMessage(last, memory.Checkpoint{Run: "42", Cost: ralph.Cost{Amount: 15_100}, Outcome: ralph.Completed}),
		"verbose log":    strings.Join(verboseToTheLetter, "\n") + "\n",
		"live log":       strings.Join(toTheLetter, "\n") + "\n",
	} {
		if !strings.Contains(doc, "```text\n"+example+"```\n") {
			t.Errorf("docs/report.md lacks the %s:\n%s", what, example)
		}
	}
	var dated strings.Builder
	for line := range strings.Lines(supervisedToTheLetter) {
		dated.WriteString("[2026-02-05 10:00:00] " + line)
	}
	if !strings.Contains(doc, "```text\n"+dated.String()+"```\n") {
		t.Errorf("docs/report.md lacks the log of a supervised command:\n%s", dated.String())
	}
	for name, r := range samples() {
		first, _, _ := strings.Cut(report.Text(r, report.Style{Emoji: true}), "\n")
		found := false
		for line := range strings.SplitSeq(doc, "\n") {
			cells := strings.Split(line, "|")
			if len(cells) >= 5 && strings.Contains(cells[2], "`"+string(r.Outcome)+"`") {
				found = found || strings.HasPrefix(first, strings.TrimSpace(cells[1]))
			}
		}
		if !found {
			t.Errorf("docs/report.md does not explain %q, the first line of %s", first, name)
		}
	}
}
