package main

import (
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// output is one output of the action. Its values are numbers, names from a
// fixed list, commit ids, validated names and paths; never text of an agent.
type output struct{ Name, Help string }

// outcomes is "`completed`, `budget` or `skipped`".
func outcomes() string {
	var names []string
	for _, row := range ralph.Outcomes() {
		names = append(names, "`"+string(row.Outcome)+"`")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// outputs are all outputs, in the order in which they are documented.
func outputs() []output {
	return []output{
		{"status", "How the run ended: " + outcomes() + "."},
		{"completed", "`true` when the agent said that it is done and every guardrail passed."},
		{"iterations", "How many iterations ran."},
		{"cost-usd", "Cost in dollars, reported or estimated; empty if unknown."},
		{"input-tokens", "Tokens the model read; empty if unknown."},
		{"output-tokens", "Tokens the model wrote; empty if unknown."},
		{"duration-seconds", "How long the run took."},
		{"branch", "The branch with the work; empty if nothing was committed."},
		{"head-sha", "The last commit of the branch; empty if nothing was committed."},
		{"pull-request-number", "The number of the pull request; empty if there is none."},
		{"pull-request-url", "The address of the pull request; empty if there is none."},
		{"pull-request-operation", "What happened to the pull request: `created`, `updated`, `closed` or `none`."},
		{"pull-request-head-sha", "The commit the pull request proposes; empty if there is none."},
		{"pull-request-branch", "The branch of the pull request; empty if there is none."},
		{"pull-request-commits-verified", "`true` when the forge calls every commit of this run verified."},
		{"checks", "With `wait-for-ci`: `passed`, `failed`, `pending` or `none`; else empty."},
		{"lane-dir", "With `publish: bundle`: the directory with what the lane hands over, relative to the workspace; its name is the artifact's."},
		{"next", "`mode: integrate`: `true` when another wave is worth starting; else empty, as the three that follow."},
		{"wave", "The number of the wave that was integrated."},
		{"integrated", "How many stories it brought onto the branch."},
		{"returned", "How many stories were handed back."},
		{"report-path", "The report as JSON, relative to the workspace."},
	}
}
