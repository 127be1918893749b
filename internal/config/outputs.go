package config

import (
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// ActionOutput is one output of the action. Its values are numbers, names from a
// fixed list, commit ids, validated names and paths; never text of an agent.
type ActionOutput struct{ Name, Help string }

// outcomes is "`completed`, `budget` or `skipped`".
func outcomes() string {
	var names []string
	for _, row := range ralph.Outcomes() {
		names = append(names, "`"+string(row.Outcome)+"`")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Outputs are all outputs, in the order in which they are documented.
func Outputs() []ActionOutput {
	return []ActionOutput{
		{"status", "How the run ended: " + outcomes() + "."},
		{"completed", "`true` when the agent said that it is done and every guardrail passed, else `false`."},
		{"iterations", "How many iterations ran."},
		{"cost-usd", "What the run cost in dollars, estimated from the tokens where the agent does not report it; empty when it is not known."},
		{"input-tokens", "Tokens the model read; empty when they are not known."},
		{"output-tokens", "Tokens the model wrote; empty when they are not known."},
		{"duration-seconds", "How long the run took."},
		{"branch", "The branch with the work; empty when there is none, because nothing was committed."},
		{"head-sha", "The last commit of the branch; empty when nothing was committed."},
		{"pull-request-number", "The number of the pull request; empty when there is none."},
		{"pull-request-url", "The address of the pull request; empty when there is none."},
		{"pull-request-operation", "What happened to the pull request: `created`, `updated`, `closed` or `none`."},
		{"pull-request-head-sha", "The commit the pull request proposes; empty when there is no pull request."},
		{"pull-request-branch", "The branch of the pull request; empty when there is none."},
		{"pull-request-commits-verified", "`true` when the forge signed every commit of this run and calls it verified, else `false`."},
		{"checks", "What the checks of the pushed commit came to with `wait-for-ci`: `passed`, `failed`, `pending` or `none`; empty when nobody waited."},
		{"report-path", "The report as JSON, relative to the workspace."},
	}
}
