package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/agent/hook/shellguard"
)

func thresholdsTable() string {
	var rows [][]string
	for _, t := range hook.Thresholds() {
		first, _, _ := strings.Cut(t.Text, ". ")
		rows = append(rows, []string{fmt.Sprintf("%d %%", t.Percent), t.Severity, first + " …"})
	}
	return table([]string{"In use", "Severity", "The agent is told"}, rows)
}

func kindsTable() string {
	var rows [][]string
	for _, k := range shellguard.Kinds() {
		rows = append(rows, []string{code(k.Name), k.What, commands(k.Caught[:1]), commands(k.Passed[:1])})
	}
	return table([]string{"Kind", "Refused", "Such as", "Not"}, rows)
}

// evasionsList says what is not seen, without the examples, which are tests.
func evasionsList() string {
	var all []string
	for _, e := range shellguard.Evasions() {
		if !slices.Contains(all, e.Why) {
			all = append(all, e.Why)
		}
	}
	return "Not seen, among others: " + strings.Join(all, "; ") + ".\n"
}

// commands are command lines for a cell, one below the other.
func commands(lines []string) string {
	out := make([]string, len(lines))
	for i, line := range lines {
		fence := "`"
		for strings.Contains(line, fence) {
			fence += "`"
		}
		if len(fence) > 1 {
			line = " " + line + " "
		}
		out[i] = fence + cell(line) + fence
	}
	return strings.Join(out, "<br>")
}
