package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// pullWords says in brackets what became of a pull request; empty when there
// is nothing to say.
func pullWords(pr ralph.PullRequest) string {
	var words []string
	switch pr.Operation {
	case ralph.OperationCreated, ralph.OperationUpdated, ralph.OperationClosed:
		words = append(words, string(pr.Operation))
	}
	if pr.Draft {
		words = append(words, "draft")
	}
	if pr.AutoMerge {
		words = append(words, "auto-merge is on")
	}
	if pr.Foreign {
		words = append(words, "described by somebody else")
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

func issueURL(r ralph.Report) string {
	if web(r) == "" {
		return ""
	}
	return fmt.Sprintf("%s/issues/%d", web(r), r.Publication.Issue)
}

// check is the sign of what was done, or could not be.
func check(done bool) string {
	if done {
		return "✅"
	}
	return "❌"
}

const publishSteps = 40 // that are shown

// steps tells what publishing did and what it could not do, in order. When all
// went well they are folded, and stand elsewhere.
func (m record) steps(folded bool) doc.Section {
	all := m.Publication.Steps
	failed := slices.ContainsFunc(all, func(s ralph.PublishStep) bool { return !s.Done })
	if len(all) == 0 || failed == folded {
		return doc.Section{}
	}
	var lines []doc.Text
	for i, s := range all {
		if i == publishSteps {
			lines = append(lines, more(len(all)-i))
			break
		}
		t := doc.Line(check(s.Done)+" ", doc.Foreign(s.Name, 80))
		if s.Detail != "" {
			t = doc.Line(t, ": ", doc.Foreign(s.Detail, m.line))
		}
		lines = append(lines, t)
	}
	if folded {
		return doc.Section{Name: "steps of publishing", Fold: doc.Line(fmt.Sprintf("What was published: %s, none failed", words.Plural(len(all), "step"))), Blocks: doc.Bulleted(lines)}
	}
	return listed("What was published, and what was not", lines)
}

// checksWords sums up the forge's checks; empty when nobody waited for them.
func checksWords(c ralph.Checks) (icon, text string) {
	switch c.State {
	case "":
		return "", ""
	case ralph.ChecksPassed:
		return "✅", words.Plural(c.Passed, "check") + " passed"
	case ralph.ChecksNone:
		return "⚠️", "No check was started"
	}
	var parts []string
	if n := len(c.Failed); n > 0 {
		parts = append(parts, words.Plural(n, "check")+" failed")
	}
	if c.Passed > 0 {
		parts = append(parts, fmt.Sprintf("%d passed", c.Passed))
	}
	if n := len(c.Left); n > 0 {
		parts = append(parts, fmt.Sprintf("%d had not finished in time", n))
	}
	icon = "⏳"
	if c.State == ralph.ChecksFailed || len(c.Failed) > 0 {
		icon = "❌"
	}
	switch {
	case len(parts) > 0:
		return icon, strings.Join(parts, ", ")
	case c.State == ralph.ChecksFailed:
		return icon, "The checks failed"
	}
	return icon, "The checks had not finished in time"
}

// checkNames are the checks that need a look, at most list of them.
func (m record) checkNames() []doc.Text {
	c := m.Publication.Checks
	var lines []doc.Text
	add := func(names []string, words string) {
		for _, name := range names {
			if len(lines) < m.list {
				lines = append(lines, doc.Line(doc.Mono(name, min(100, m.line)), " "+words))
			}
		}
	}
	add(c.Failed, "failed")
	add(c.Left, "had not finished")
	if n := len(c.Failed) + len(c.Left) - len(lines); n > 0 {
		lines = append(lines, more(n))
	}
	return lines
}

// checks is the forge's checks where there is no room for the guardrails.
func (m record) checks() doc.Section {
	line := m.forgeChecks()
	if len(line) == 0 {
		return doc.Section{}
	}
	return doc.Section{Title: doc.Line("Checks"), Blocks: append([]doc.Block{doc.Para(line)}, doc.Bulleted(m.checkNames())...)}
}

// network tells the addresses that the sandbox refused.
func (m record) network() doc.Section {
	if len(m.Network) == 0 {
		return doc.Section{}
	}
	g := doc.Grid{Columns: []doc.Column{{Title: "Address", Class: "t"}, {Title: "Refused", Right: true}, {Title: "Why"}}}
	for _, n := range m.Network[:min(len(m.Network), m.bounds.network)] {
		g.Rows = append(g.Rows, []doc.Text{doc.Line(doc.Bare(n.Address, m.command)), doc.Line(fmt.Sprint(n.Count)), doc.Line(doc.Foreign(n.Reason, 120))})
	}
	s := doc.Section{
		Title:  doc.Line("Network: refused addresses"),
		Fold:   doc.Line(doc.Strong("Network: refused addresses"), fmt.Sprintf(" (%d)", len(m.Network))),
		Blocks: []doc.Block{{Kind: doc.GridBlock, Grid: g}},
	}
	if n := len(m.Network) - m.bounds.network; n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft(more(n)))
	}
	if slices.ContainsFunc(m.Network, func(n ralph.Refused) bool { return !strings.HasPrefix(n.Address, "unix:") }) {
		s.Blocks = append(s.Blocks, doc.Para("If the work needs one of them, name its host in ", doc.Bare("allowed-hosts", 20), "."))
	}
	return s
}
