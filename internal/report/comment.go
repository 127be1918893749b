package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// commentBytes is far below what a forge accepts: a comment is read in a mail.
const commentBytes = 16_000

// CommentOptions is what a comment needs beyond the record.
type CommentOptions struct {
	// Marker is the first line, by which the comment is known as ours: an HTML
	// comment. Empty: none.
	Marker string
	// Iteration is the one that is going on, 1-based, in a run without an outcome;
	// 0: none yet.
	Iteration int
}

// Comment is the record of a run for an issue or a pull request, in a few
// lines. While the run has no outcome it tells what it does, later what came
// of it; the text is meant to replace the one before.
func Comment(r ralph.Report, o CommentOptions) string {
	p := &r.Publication
	p.Issue, p.Comment, p.PullRequest.Foreign = 0, "", false // the reader is there
	m := markdown{r, bounds{rows: 5, list: 8, line: 300, runs: 1, findings: 10, final: 2000}}
	if r.Outcome == "" {
		for _, it := range r.Iterations {
			m.Publication.Pushed = m.Publication.Pushed || it.Commit.Pushed
		}
		return assemble(commentBytes, []section{
			{"marker", o.Marker},
			{"progress", m.progress(o.Iteration)},
			{"iterations", m.soFar()},
			{"footer", m.commentFooter()},
		})
	}
	return assemble(commentBytes, []section{
		{"marker", o.Marker},
		{"outcome", m.outcome("### ")},
		{"no change", m.unchanged()},
		{"publication errors", m.errors()},
		{"findings", m.findings()},
		{"changes left out", m.patch()},
		{"checks", m.checks()},
		{"what is left to do", m.left()},
		{"footer", m.commentFooter()},
	})
}

// unchanged says that a completed run changed nothing, and what the agent said
// instead; empty when there is work to look at.
func (m markdown) unchanged() string {
	if !m.idle() {
		return ""
	}
	text, cut := tail(finalText(m.Report), m.bounds.final)
	switch {
	case strings.TrimSpace(text) == "":
		return noChange + "\n"
	case cut:
		text = "…" + text
	}
	return noChange + " What the agent said last:\n\n" + fence(text)
}

// nothing says that a completed run changed nothing; empty when it did, or when
// that is not known.
func (m markdown) nothing() string {
	looked := slices.ContainsFunc(m.Iterations, func(it ralph.Iteration) bool { return it.Change.Tree != "" })
	if !looked || !m.idle() {
		return ""
	}
	return noChange + "\n"
}

const noChange = "Nothing was changed: the run committed nothing."

// idle reports whether a run was completed without a change that is known.
func (m markdown) idle() bool {
	changed := slices.ContainsFunc(m.Iterations, func(it ralph.Iteration) bool { return it.Change.SinceStart || it.Change.Files > 0 })
	return m.Outcome == ralph.Completed && m.Publication.HeadSHA == "" && commits(m.Report) == 0 && !changed
}

// progress says how far a run is that goes on.
func (m markdown) progress(n int) string {
	text := "### 🔄 Starting"
	if n > 0 {
		text = fmt.Sprintf("### 🔄 Working: %s %d", unit(m.Report), n)
		if m.MaxIterations > 0 {
			text += fmt.Sprintf(" of at most %d", m.MaxIterations)
		}
	}
	facts := m.links()
	if hasTasks(m.Report) {
		facts = append([]string{storyCount(m.Tasks)}, facts...)
	}
	if len(m.Iterations) > 0 {
		facts = append([]string{"**So far** " + costWords(m.Usage().Cost)}, facts...)
	}
	if len(facts) == 0 {
		return text + "\n"
	}
	return text + "\n\n" + strings.Join(facts, " · ") + "\n"
}

// soFar is a line for each of the last iterations.
func (m markdown) soFar() string {
	var lines []string
	for _, it := range newest(m.Iterations, m.rows) {
		r := newRow(it)
		line := fmt.Sprintf("%s %s %s: %s", r.Icon, strings.ToUpper(unit(m.Report)[:1])+unit(m.Report)[1:], r.Number, r.Result)
		if step := stepWords(it, m.Tasks.SkipReview); step != "" {
			line += ", " + inline(step, 80)
		}
		if r.Error != "" {
			line += ", " + inline(r.Error, 120)
		}
		for i, name := range r.Failing {
			if i == 3 {
				break
			}
			line += ", " + code(name, 60)
		}
		line += ", " + r.Time + ", " + costWords(it.Usage().Cost)
		if r.SHA != "" {
			line += ", " + m.commitCell(it)
		}
		lines = append(lines, strings.ReplaceAll(line, "<br>", ", "))
	}
	if n := len(m.Iterations) - len(lines); n > 0 {
		lines = append([]string{fmt.Sprintf("%s before", plural(n, unit(m.Report)))}, lines...)
	}
	return bullets(lines)
}

// commentFooter tells what the branch cost so far, and what is allowed.
func (m markdown) commentFooter() string {
	var facts []string
	if text := branchCostWords(m.Report); text != "" {
		facts = append(facts, "cost of the branch: "+text)
	}
	if m.Actor != "" {
		facts = append(facts, "started by "+code(m.Actor, 80))
	}
	if text := allowed(m.Report); text != "" && m.Outcome == "" {
		facts = append(facts, "allowed: "+text)
	}
	if len(facts) == 0 {
		return ""
	}
	return "<sub>" + strings.Join(facts, " · ") + "</sub>\n"
}
