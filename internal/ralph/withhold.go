package ralph

import (
	"fmt"
	"slices"
	"strings"
)

// WithheldCheck is the name under which findings that block publishing stand
// among the verdicts of an iteration.
const WithheldCheck = "what may be published"

// withhold takes in what a look at the work found. While something blocks,
// nothing is committed or pushed, and the agent is told as by a guardrail.
func (r *run) withhold(it *Iteration, findings []Finding) {
	r.report.Findings = findings
	r.tellLeftOut(it.Number, findings)
	it.Verdicts = slices.DeleteFunc(it.Verdicts, func(v Verdict) bool { return v.Command == WithheldCheck })
	text := Blocking(findings)
	news := text != "" && text != r.withheld
	r.withheld = text
	if text == "" {
		return
	}
	list := blockingLines(findings)
	v := Verdict{
		Command: WithheldCheck, ExitCode: -1, Action: Append, Digest: text, Output: list,
		Reason: "nothing is published while this stands",
		Message: "Your work may not be published as it is. Nothing is committed or pushed until this is taken back:\n" + list +
			"\nLeave the rest of your work as it is. What stands in a commit of your own has to leave that commit, too: go back to before the commit that is named (git reset --soft COMMIT~1) and commit again. A test that needs a made-up key builds it when it runs.",
	}
	it.Verdicts = append(it.Verdicts, v)
	if news {
		r.emit(Event{Kind: EventWarning, Text: "Nothing is published: " + text, Iteration: it.Number})
	}
}

// tellLeftOut tells people of each place that is not published, once.
func (r *run) tellLeftOut(iteration int, findings []Finding) {
	for _, f := range OfSeverity(findings, LeftOut) {
		if !r.told[f.Path] && len(r.told) < maxBlockingLines {
			r.emit(Event{Kind: EventWarning, Text: "Left out of what is published: " + f.String(), Iteration: iteration})
		}
		r.told[f.Path] = true
	}
}

// unreported is what was left out that the agent has to be told: all of it in a new
// session, which knows of nothing, and in one that goes on what is new.
func (r *run) untold() []Finding {
	if r.session == "" || r.toldSession == nil {
		r.toldSession = map[string]bool{}
	}
	var list []Finding
	for _, f := range OfSeverity(r.report.Findings, LeftOut) {
		if !r.toldSession[f.Path] {
			r.toldSession[f.Path] = true
			list = append(list, f)
		}
	}
	return list
}

// Blocking says in one line which of the findings block publishing; empty: none.
func Blocking(findings []Finding) string {
	var parts []string
	n := 0
	for _, f := range findings {
		if f.Severity != Block {
			continue
		}
		if n++; n <= 3 {
			parts = append(parts, f.String())
		}
	}
	if n > 3 {
		parts = append(parts, fmt.Sprintf("and %d more", n-3))
	}
	return strings.Join(parts, "; ")
}

const maxBlockingLines = 30

func blockingLines(findings []Finding) string {
	var b strings.Builder
	n := 0
	for _, f := range findings {
		if f.Severity != Block {
			continue
		}
		if n++; n <= maxBlockingLines {
			fmt.Fprintf(&b, "- %s\n", f)
		}
	}
	if n > maxBlockingLines {
		fmt.Fprintf(&b, "- and %d more\n", n-maxBlockingLines)
	}
	return b.String()
}

// String is the finding in one line: where, and what.
func (f Finding) String() string {
	where := f.Where
	switch {
	case f.Path != "" && f.Line > 0:
		where = fmt.Sprintf("%s:%d", f.Path, f.Line)
	case f.Path != "":
		where = f.Path
	}
	switch {
	case where == "":
		return f.Text
	case f.Path != "" && f.Where != "":
		where += " (" + f.Where + ")"
	}
	return where + ": " + f.Text
}
