package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

// table is a row per iteration and one of totals.
func (m markdown) table() string {
	if len(m.Iterations) == 0 {
		return ""
	}
	shown := newest(m.Iterations, m.rows)
	var b strings.Builder
	b.WriteString("### Iterations\n\n")
	title, rule, none := "", "", ""
	steps, cell := anyStep(m.Iterations), unbroken
	if steps {
		title, rule, none = " "+widened("Step", stepRunes(shown))+" |", ":--|", " |"
		cell = func(s string) string { return s } // makes room for it
	}
	b.WriteString("| # |" + title + " Result | Time | Turns | Tools | " + cell("Tokens in / out") + " | Cost | Files | Commit |\n")
	b.WriteString("|--:|" + rule + ":--|--:|--:|--:|--:|--:|:--|:--|\n")
	for _, it := range shown {
		r := newRow(it)
		step := ""
		if steps {
			step = " " + inline(stepWords(it, m.Tasks.SkipReview), 80) + " |"
		}
		fmt.Fprintf(&b, "| %s |%s %s | %s | %s | %s | %s | %s | %s | %s |\n",
			r.Number, step, m.resultCell(r), r.Time, unbroken(r.Turns), cell(r.Tools), cell(r.Tokens), unbroken(r.Cost), cell(r.Files), m.commitCell(it))
	}
	total := totals(m.Report)
	fmt.Fprintf(&b, "| |%s **Total** | **%s** | **%s** | **%s** | **%s** | **%s** | | |\n",
		none, total.Time, unbroken(total.Turns), cell(total.Tools), cell(total.Tokens), unbroken(total.Cost))
	if note := priceNote(m.Report); note != "" {
		b.WriteString("\n<sub>" + inline(note, m.line) + "</sub>\n")
	}
	if n := len(m.Iterations) - len(shown); n > 0 {
		fmt.Fprintf(&b, "\n_The first %s are left out here; report.json has them all._\n", plural(n, "iteration"))
	}
	return b.String()
}

// widened is the title of a column that is as wide as a text of n runes, for
// texts that would else be broken at a hyphen. Invisible characters in the text
// itself would be copied with it.
func widened(title string, n int) string {
	missing := min(n, 20) - utf8.RuneCountInString(title)
	return title + strings.Repeat("\u00a0", max(0, missing*8/5+1)) // narrower than a letter
}

// stepRunes is the length of the longest name of a step.
func stepRunes(list []ralph.Iteration) int {
	n := 0
	for _, it := range list {
		n = max(n, utf8.RuneCountInString(stepName(it.Step)))
	}
	return n
}

// unbroken keeps a number and what belongs to it on one line of a cell.
func unbroken(s string) string { return strings.ReplaceAll(s, " ", "\u00a0") }

// resultCell tells result and guardrails: how many passed, then the names of
// those that failed.
func (m markdown) resultCell(r row) string {
	text := r.Icon + "\u00a0" + unbroken(r.Result)
	if r.Error != "" {
		text += ": " + inline(r.Error, 80)
	}
	if r.Rounds != "" {
		text += "<br>" + unbroken(r.Rounds)
	}
	if r.Guardrails != nothing {
		checks := unbroken(r.Guardrails + " guardrails")
		if text += "<br>" + checks; r.Rejected {
			text = checks
		}
	}
	for i, name := range r.Failing {
		if i == 3 {
			return text + fmt.Sprintf("<br>and %d more", len(r.Failing)-i)
		}
		text += "<br>" + code(name, 40)
	}
	return text
}

func (m markdown) commitCell(it ralph.Iteration) string {
	short := sha(it.Commit.SHA)
	if short == "" {
		return nothing
	}
	text := "`" + short + "`"
	switch {
	case it.Commit.Pushed || m.Publication.Pushed:
		text = link(text, commitURL(m.Report, it.Commit.SHA))
	case it.Commit.PushError != "":
		text += "<br>not\u00a0pushed"
	}
	if it.Commit.Own > 0 {
		text += unbroken(fmt.Sprintf("<br>+%d by the agent", it.Commit.Own))
	}
	return text
}

// totals is the row below the table.
func totals(r ralph.Report) row {
	var all []ralph.Turn
	retries := 0
	for _, it := range r.Iterations {
		all = append(all, everyTurn(it)...)
		retries += max(0, len(it.Turns)-1)
	}
	u := r.Usage()
	return row{
		Time: span(r.Duration), Turns: requests(all) + retried(retries), Tools: tools(all),
		Tokens: tokenPair(u.Tokens), Cost: u.Cost.String(),
	}
}

func newest(list []ralph.Iteration, limit int) []ralph.Iteration {
	return list[max(0, len(list)-limit):]
}

// guardrailFailures folds what failed guardrails printed, newest first.
func (m markdown) guardrailFailures() string {
	list := failures(m.Report)
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("### Guardrail failures\n\n")
	for i, f := range list {
		if i == m.failures {
			fmt.Fprintf(&b, "\n_%d more are left out here; report.json has them all._\n", len(list)-i)
			break
		}
		text, reason := verdictWords(f.Verdict)
		title := fmt.Sprintf("Iteration %d: <code>%s</code> %s", f.Iteration, htmlText(f.Command, 120), text)
		if reason != "" {
			title += ": " + htmlText(reason, 200)
		}
		if f.Also > 0 {
			title += fmt.Sprintf(" (the same as in %s)", plural(f.Also, "earlier iteration"))
		}
		b.WriteString(details(title, m.outputOf(f.Verdict)) + "\n")
	}
	return b.String()
}

func (m markdown) outputOf(v ralph.Verdict) string {
	text, cut := tail(v.Output, m.output)
	if cut {
		text = "…\n" + text
	}
	body := "_No output._\n"
	if strings.TrimSpace(text) != "" {
		body = fence(text)
	}
	facts := []string{span(v.Duration)}
	if v.LogFile != "" {
		facts = append(facts, "log: "+code(v.LogFile, 200))
	}
	return body + "\n" + strings.Join(facts, " · ") + "\n"
}

// baseline says what was red before the agent touched anything.
func (m markdown) baseline() string {
	var lines []string
	for _, v := range m.Baseline {
		if v.Passed {
			continue
		}
		if len(lines) == m.list {
			lines = append(lines, "…and more; report.json has them all.")
			break
		}
		text, _ := verdictWords(v)
		if after := now(m.Report, v.Command); after != "" {
			text += "; it " + after
		}
		lines = append(lines, code(v.Command, 120)+" "+text+".")
	}
	if len(lines) == 0 {
		return ""
	}
	return "### Already failing before the run\n\n" + bullets(lines)
}
