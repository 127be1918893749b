package words

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

// Row is one iteration in words. Text of foreign origin stands in Models,
// Failing and Error only.
type Row struct {
	Number     string
	Rounds     string // of an agent that its stop hook kept going; else empty
	Time       string
	Turns      string
	Tools      string
	Tokens     string
	Cost       string
	Files      string
	Guardrails string
	Failing    []string
	Rejected   bool // by the guardrails
	Result     string
	Icon       string
	Error      string
	SHA        string
}

// NewRow words an iteration.
func NewRow(it ralph.Iteration) Row {
	u := it.Usage()
	r := Row{
		Number: IterationNumber(it),
		Rounds: roundWords(it),
		Time:   Span(it.Duration),
		Turns:  Requests(EveryTurn(it)) + Retried(len(it.Turns)-1),
		Tools:  Tools(EveryTurn(it)),
		Tokens: TokenPair(u.Tokens),
		Cost:   u.Cost.String(),
		Files:  files(it.Change),
		SHA:    Sha(it.Commit.SHA),
	}
	r.Guardrails, r.Failing = guardrails(it.Verdicts)
	r.Icon, r.Result, r.Error = Result(it)
	r.Rejected = it.Rejection == ralph.RejectedGuardrails
	return r
}

// EveryTurn is every run of the agent in an iteration: its tries, and the
// questions for a verdict and for a commit message.
func EveryTurn(it ralph.Iteration) []ralph.Turn {
	turns := slices.Clip(it.Turns)
	if it.Asked != nil {
		turns = append(turns, *it.Asked)
	}
	if it.Delivery.Turn != nil {
		turns = append(turns, *it.Delivery.Turn)
	}
	return turns
}

// Requests counts the requests to the model.
func Requests(list []ralph.Turn) string {
	n := 0
	for _, t := range list {
		n += t.Messages
	}
	if n == 0 {
		return doc.Nothing
	}
	return strconv.Itoa(n)
}

// Retried is " (2 retries)"; empty when there was none.
func Retried(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return " (1 retry)"
	default:
		return fmt.Sprintf(" (%d retries)", n)
	}
}

// Tools counts the tool calls.
func Tools(list []ralph.Turn) string {
	calls, failed, counted := 0, 0, false
	for _, t := range list {
		calls, failed = calls+t.Tools, failed+t.ToolErrors
		counted = counted || t.CountsTools
	}
	switch {
	case !counted && calls == 0:
		return doc.Nothing
	case failed > 0:
		return fmt.Sprintf("%d (%d failed)", calls, failed)
	default:
		return strconv.Itoa(calls)
	}
}

func files(c ralph.Change) string {
	if c.Files == 0 {
		return doc.Nothing
	}
	switch {
	case c.Uncounted >= c.Files:
		return fmt.Sprintf("%d (lines not counted)", c.Files)
	case c.Uncounted > 0:
		return fmt.Sprintf("%d (+%d −%d, %d not counted)", c.Files, c.Insertions, c.Deletions, c.Uncounted)
	}
	return fmt.Sprintf("%d (+%d −%d)", c.Files, c.Insertions, c.Deletions)
}

// guardrails counts the verdicts and names those that failed.
func guardrails(verdicts []ralph.Verdict) (text string, failing []string) {
	if len(verdicts) == 0 {
		return doc.Nothing, nil
	}
	for _, v := range verdicts {
		if !v.Passed {
			failing = append(failing, v.Command)
		}
	}
	mark := "✅"
	if len(failing) > 0 {
		mark = "❌"
	}
	return fmt.Sprintf("%s %d/%d", mark, len(verdicts)-len(failing), len(verdicts)), failing
}

// Failed says how a guardrail failed: "failed with exit code 1" or
// "could not be started", with the reason when there is one (foreign text).
func Failed(v ralph.Verdict) (text, reason string) {
	switch {
	case v.Passed:
		return "passed", ""
	case v.Broken:
		return "could not be started", v.Reason
	case v.Reason != "":
		return "failed", v.Reason
	default:
		return "failed with exit code " + strconv.Itoa(v.ExitCode), ""
	}
}

// Exit is an exit code in words; below 0 there was none.
func Exit(code int) string {
	if code < 0 {
		return "no exit code"
	}
	return "exit code " + strconv.Itoa(code)
}

var commitID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// Sha shortens a commit id; what is no commit id is nothing.
func Sha(id string) string {
	if !commitID.MatchString(id) {
		return ""
	}
	return id[:7]
}
