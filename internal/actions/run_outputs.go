package actions

import (
	"cmp"
	"math"
	"strconv"

	"github.com/org/ralph-action/internal/ralph"
)

// Output is a value for later steps.
type Output struct{ Name, Value string }

// Outputs are what a run hands to later steps: numbers, enums, shas, validated names and paths;
// never agent text. path is where the report lies; empty: nowhere.
func Outputs(run ralph.Report, path string) []Output {
	p, u := run.Publication, run.Usage()
	number := func(n int64, known bool) string {
		if !known {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	cost := ""
	if !u.Cost.Unknown {
		cost = strconv.FormatFloat(u.Cost.Amount.Dollars(), 'f', -1, 64)
	}
	proposed := p.PullRequest.Number != 0
	only := func(known bool, v string) string {
		if !known {
			return ""
		}
		return v
	}
	list := []Output{
		{"status", string(run.Outcome)},
		{"completed", strconv.FormatBool(run.Outcome == ralph.Completed)},
		{"iterations", strconv.Itoa(run.Rounds())},
		{"cost-usd", cost},
		{"input-tokens", number(u.Tokens.In(), !u.Tokens.Unknown)},
		{"output-tokens", number(u.Tokens.Output, !u.Tokens.Unknown)},
		{"duration-seconds", strconv.Itoa(int(math.Round(run.Duration.Seconds())))},
		{"branch", p.Branch},
		{"head-sha", p.HeadSHA},
		{"pull-request-number", number(int64(p.PullRequest.Number), p.PullRequest.Number != 0)},
		{"pull-request-url", p.PullRequest.URL},
		{"pull-request-operation", string(p.PullRequest.Operation)},
		{"pull-request-head-sha", only(proposed, cmp.Or(p.HeadSHA, p.Tip))},
		{"pull-request-branch", only(proposed, p.Branch)},
		{"pull-request-commits-verified", strconv.FormatBool(p.Verified)},
		{"checks", string(p.Checks.State)},
		{"lane-dir", p.Lane.Dir},
		{"report-path", path},
	}
	w, in, back := run.Wave, 0, 0
	if w == nil {
		w = &ralph.Wave{}
	}
	for _, s := range w.Stories {
		switch s.Fate {
		case ralph.FateIn:
			in++
		case ralph.FateReturned:
			back++
		}
	}
	waves := run.Wave != nil
	return append(list, Output{"next", only(waves, strconv.FormatBool(w.Next))}, Output{"wave", only(waves, strconv.Itoa(w.Number))},
		Output{"integrated", only(waves, strconv.Itoa(in))}, Output{"returned", only(waves, strconv.Itoa(back))})
}
