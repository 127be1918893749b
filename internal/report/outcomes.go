package report

import (
	"fmt"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// OutcomesTable is the table of outcomes for the documentation, in Markdown.
func OutcomesTable() string {
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
