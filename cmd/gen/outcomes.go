package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// outcomesTable says what each outcome means.
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

// reportSchemaFile is written by hand but for the names of the outcomes.
const reportSchemaFile = "docs/report.schema.json"

// reportSchema is that file with the names of all outcomes.
func reportSchema(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, reportSchemaFile)) // #nosec G304 -- of this repository
	if err != nil {
		return "", err
	}
	const begin, end = "\"How the run ended.\",\n      \"type\": \"string\",\n      \"enum\": [\n", "\n      ]"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("%s has no place for the outcomes between %q and %q", reportSchemaFile, begin, end)
	}
	var names []string
	for _, row := range ralph.Outcomes() {
		names = append(names, "        \""+string(row.Outcome)+"\"")
	}
	return before + begin + strings.Join(names, ",\n") + end + after, nil
}
