package report_test

import (
	"fmt"
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
	for what, example := range map[string]string{
		"session log":    session("run", "the work was done in 1 iteration"),
		"commit message": memory.CommitMessage(completed().Iterations[1], memory.Checkpoint{Run: "42", Cost: ralph.Cost{Amount: 15_100}, Outcome: ralph.Completed}),
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
			cells := strings.Split(line, " | ")
			if len(cells) >= 3 && strings.Contains(cells[1], "`"+string(r.Outcome)+"`") {
				found = found || strings.HasPrefix(first, strings.TrimPrefix(cells[0], "| "))
			}
		}
		if !found {
			t.Errorf("docs/report.md does not explain %q, the first line of %s", first, name)
		}
	}
}

// The documents that list the outcomes are written from the table of them:
// go test ./internal/report -run TestOutcomeDocuments -update.
func TestOutcomeDocuments(t *testing.T) {
	t.Parallel()
	var names []string
	for _, row := range ralph.Outcomes() {
		names = append(names, "        \""+string(row.Outcome)+"\"")
	}
	for _, doc := range []struct {
		path, begin, end, want string
	}{
		{"../../docs/report.md", "<!-- outcomes:start -->\n", "<!-- outcomes:end -->", outcomesTable()},
		{"../../docs/report.schema.json", "\"How the run ended.\",\n      \"type\": \"string\",\n      \"enum\": [\n", "\n      ]", strings.Join(names, ",\n")},
	} {
		text, err := os.ReadFile(doc.path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, found := strings.Cut(string(text), doc.begin)
		got, after, ended := strings.Cut(rest, doc.end)
		switch {
		case !found || !ended:
			t.Errorf("%s has no place for the outcomes between %q and %q", doc.path, doc.begin, doc.end)
		case got == doc.want:
		case *update:
			if err := os.WriteFile(doc.path, []byte(before+doc.begin+doc.want+doc.end+after), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s differs from the table of outcomes (go test ./internal/report -run TestOutcomeDocuments -update writes it); got\n%s\nwant\n%s", doc.path, got, doc.want)
		}
	}
}

// outcomesTable is the table of outcomes for the documentation, in Markdown.
func outcomesTable() string {
	var b strings.Builder
	b.WriteString("| first line begins | `status` | exit code | when | branch and pull request |\n|---|---|---|---|---|\n")
	for _, row := range ralph.Outcomes() {
		code := fmt.Sprint(row.ExitCode)
		if row.Kind == ralph.Limited {
			code += ", or 0 with `on-incomplete: succeed`"
		}
		fmt.Fprintf(&b, "| %s %s | `%s` | %s | %s | %s |\n", row.Sign, firstWords(row), row.Outcome, code, row.When, row.Work)
	}
	return b.String()
}

// firstWords are the first words of an outcome's headline, up to what differs
// from run to run.
func firstWords(row ralph.OutcomeRow) string {
	text := row.Headline
	if row.Kind == ralph.Misconfigured {
		text = row.Unstarted
	}
	text, _, _ = strings.Cut(strings.Replace(text, "{limit}", "iteration", 1), "{")
	return strings.TrimRight(text, " (")
}
