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
	list := "- " + strings.Join(blocking(findings, maxBlockingLines), "\n- ") + "\n"
	v := Verdict{
		Command: WithheldCheck, Own: true, ExitCode: -1, Action: Append, Digest: text, Output: list,
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

// untold is what was left out that the agent has to be told: all of it in a new
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
func Blocking(findings []Finding) string { return strings.Join(blocking(findings, 3), "; ") }

const maxBlockingLines = 30

// blocking are the findings that block publishing, a line each, and how many more.
func blocking(findings []Finding, most int) []string {
	var lines []string
	all := OfSeverity(findings, Block)
	for _, f := range all[:min(len(all), most)] {
		lines = append(lines, f.String())
	}
	if n := len(all) - len(lines); n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
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
