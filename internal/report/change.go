package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

// changed is what changed and why, in the agent's words: of this run, then of earlier ones
// on the branch, the newest first. named puts the title of this run's change above it.
func (m record) changed(named bool) doc.Section {
	said := m.Said()
	var runs []ralph.Past
	for _, p := range m.History.Runs {
		if p.Said.Title != "" || len(p.Did) > 0 {
			runs = append(runs, p)
		}
	}
	var blocks []doc.Block
	if said.Title != "" && (named || continued(m.Report)) {
		blocks = append(blocks, doc.Para(doc.Strong(doc.Foreign(said.Title, m.line))))
	}
	switch lines := commitLines(m.Report); {
	case said.Description != "":
		blocks = append(blocks, doc.Rich(said.Description, m.said)...)
	case len(lines) > 0:
		blocks = append(blocks, doc.Bulleted(m.lines(lines))...)
	case m.saysLast() && m.lastWords() != "":
		blocks = append(blocks, doc.Rich(m.lastWords(), m.said)...)
	case len(runs) > 0: // else only theirs would be told
		blocks = append(blocks, doc.Bulleted(m.lines(subjects(m.Report)))...)
	}
	older := max(0, len(runs)-earlierTold)
	slices.Reverse(runs)
	for _, p := range runs[:len(runs)-older] {
		t := doc.Line("Before, in ", doc.Linked(runURL(m.Report, p.Run), "run ", doc.Foreign(p.Run, 40)))
		if p.Said.Title != "" {
			t = doc.Line(t, ": ", doc.Foreign(p.Said.Title, m.line))
		}
		blocks = append(blocks, doc.Para(doc.Strong(t)))
		if p.Said.Description != "" {
			blocks = append(blocks, doc.Rich(p.Said.Description, m.said/2)...)
		} else {
			blocks = append(blocks, doc.Bulleted(m.lines(p.Did))...)
		}
	}
	if older > 0 {
		blocks = append(blocks, doc.Soft(words.Plural(older, "earlier run")+" said more; see the commits of the branch."))
	}
	if len(blocks) == 0 {
		return doc.Section{}
	}
	title := "What changed and why"
	if said.Description != "" && tone(m.Report) != "good" {
		title += ", as the agent says"
	}
	return doc.Section{Title: doc.Line(title), Blocks: blocks}
}

const earlierTold = 3 // earlier runs whose changes are told

// commitLines are what the agent said of each commit, each once.
func commitLines(r ralph.Report) []string {
	return distinct(r, func(it ralph.Iteration) []string { return []string{it.Said.Commit} })
}

// subjects are those of the commits of the run, each once.
func subjects(r ralph.Report) []string {
	return distinct(r, func(it ralph.Iteration) []string { return []string{it.Commit.Subject} })
}

// saysLast reports whether the agent's last words are all that it says of what it changed.
func (m record) saysLast() bool {
	return m.bounds.final > 0 && !words.HasTasks(m.Report) && m.Said().Description == "" && len(commitLines(m.Report)) == 0 && (commits(m.Report) > 0 || len(m.Publication.Files) > 0)
}

const filesOpen = 10 // files that are shown without a fold

// files is a table of what the branch changes.
func (m record) files() doc.Section {
	all := m.Publication.Files
	if len(all) == 0 {
		return doc.Section{}
	}
	g := doc.Grid{Columns: []doc.Column{{Title: "File", Class: "t"}, {Title: "Lines", Right: true}}}
	var sum ralph.Change
	for i, f := range all {
		sum.Insertions, sum.Deletions = sum.Insertions+f.Insertions, sum.Deletions+f.Deletions
		if f.Uncounted {
			sum.Uncounted++
		}
		if i >= m.bounds.files {
			continue
		}
		name := doc.Line(doc.Bare(f.Path, m.command))
		switch {
		case f.New && f.From == "":
			name = doc.Line(name, " (new)")
		case f.Gone:
			name = doc.Line(name, " (deleted)")
		case f.From != "":
			name = doc.Line(name, " (from ", doc.Bare(f.From, m.command), ")")
		}
		lines := words.Lines(f.Insertions, f.Deletions)
		if f.Uncounted || f.From != "" {
			lines = doc.Nothing
		}
		g.Rows = append(g.Rows, []doc.Text{name, doc.Line(doc.Tight(lines))})
	}
	sum.Files = len(all)
	count, lines := words.Plural(len(all), "file"), words.ChangedLines(sum)
	if len(all) > 1 {
		g.Total = []doc.Text{doc.Line(count), doc.Line(doc.Tight(lines))}
	}
	title := "Changed files"
	if m.Publication.Branch == "" { // else they are the branch's
		title += words.Since(m.Resumed)
	}
	s := doc.Section{Title: doc.Line(title), Blocks: []doc.Block{{Kind: doc.GridBlock, Grid: g}}}
	if n := len(all) - m.bounds.files; n > 0 {
		s.Blocks = append(s.Blocks, doc.Soft(more(n)))
	}
	if len(all) > filesOpen {
		s.Fold = doc.Line(doc.Strong(title), fmt.Sprintf(" (%s, %s)", count, lines))
	}
	return s
}

// checked is how the work was checked: guardrails as they were last asked, against what they
// said before anything was changed; the forge's checks; reviews.
func (m record) checked() doc.Section {
	s := doc.Section{Title: doc.Line("How it was checked")}
	if g, left := m.guardrails(); len(g.Rows) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Kind: doc.GridBlock, Grid: g})
		if left > 0 {
			s.Blocks = append(s.Blocks, doc.Soft(more(left)))
		}
	}
	if line := m.forgeChecks(); len(line) > 0 {
		s.Blocks = append(append(s.Blocks, doc.Para("Checks of the forge: ", line)), doc.Bulleted(m.checkNames())...)
	}
	if words.HasTasks(m.Report) {
		s.Blocks = append(s.Blocks, doc.Para(reviewWords(m.Tasks)))
	}
	if len(s.Blocks) > 0 {
		return s
	}
	if commits(m.Report) == 0 && (len(m.Iterations) == 0 || m.Outcome == "") {
		return doc.Section{}
	}
	text := "⚠️ Not at all: the run has no guardrails"
	if m.Publication.ServerURL != "" {
		text += ", and did not wait for checks of the forge"
	}
	s.Blocks = []doc.Block{doc.Para(text + ".")}
	return s
}

const checkedRows = 15 // guardrails that are shown

// lastVerdicts are those of the last iteration that has some, with its number, or on what
// a wave came to; else those before any change.
func (m record) lastVerdicts() (list []ralph.Verdict, in int) {
	if m.Wave != nil && len(m.Wave.Verdicts) > 0 {
		return m.Wave.Verdicts, 1
	}
	for _, it := range slices.Backward(m.Iterations) {
		if len(it.Verdicts) > 0 {
			return it.Verdicts, it.Number
		}
	}
	return m.Baseline, 0
}

// guardrails is a table of the last verdict of each; left are those it has no room for.
func (m record) guardrails() (g doc.Grid, left int) {
	g = doc.Grid{Columns: []doc.Column{{Title: "Guardrail", Class: "t"}, {Title: "Before"}, {Title: "Result"}, {Title: "Time", Right: true}}}
	before := map[string]ralph.Verdict{}
	for _, v := range m.Baseline {
		before[v.Command] = v
	}
	last, in := m.lastVerdicts()
	ran := in > 0 || len(last) == 0
	said := func(v ralph.Verdict) string {
		how, _ := words.Failed(v)
		return words.Icon(v) + " " + how
	}
	for _, v := range last {
		if saysFindings(m.Report, v) {
			continue
		}
		if len(g.Rows) == checkedRows {
			left++
			continue
		}
		was, now, took := doc.Nothing, "not run again", doc.Nothing
		if b, known := before[v.Command]; known {
			was = said(b)
		}
		if ran {
			now, took = said(v), words.Span(v.Duration)
		}
		if ran && v.PassedIn > 0 {
			now, took = fmt.Sprintf("%s in iteration %d, on the same files", said(v), v.PassedIn), doc.Nothing
		}
		g.Rows = append(g.Rows, []doc.Text{doc.Line(doc.Bare(v.Command, m.cell)), doc.Line(was), doc.Line(now), doc.Line(took)})
	}
	if m.Outcome != "" && len(m.Iterations) > 0 {
		for _, command := range m.Guardrails {
			switch known := slices.ContainsFunc(last, func(v ralph.Verdict) bool { return v.Command == command }); {
			case known:
			case len(g.Rows) == checkedRows:
				left++
			default:
				g.Rows = append(g.Rows, []doc.Text{doc.Line(doc.Bare(command, m.cell)), doc.Line(doc.Nothing), doc.Line("not run"), doc.Line(doc.Nothing)})
			}
		}
	}
	return g, left
}

// forgeChecks sums up the forge's checks; empty when nobody waited for them.
func (m record) forgeChecks() doc.Text {
	c := m.Publication.Checks
	icon, sum := checksWords(c)
	if sum == "" {
		return nil
	}
	t := doc.Line(icon + " " + sum)
	if short := words.Sha(c.SHA); short != "" {
		t = doc.Line(t, " (", doc.Linked(commitURL(m.Report, c.SHA), doc.Bare(short, 7)), ")")
	}
	return doc.Line(t, ".")
}

// lastWords is what the agent said last, without what it said to us; empty when it said
// nothing.
func (m record) lastWords() string {
	text, cut := doc.Tail(ralph.Words(finalText(m.Report)), m.bounds.final)
	if cut {
		text = "…" + text
	}
	return strings.Trim(text, "\n")
}

// final is what the agent said last, unless that stands on top.
func (m record) final() doc.Section {
	text := m.lastWords()
	if strings.TrimSpace(text) == "" || m.saysLast() {
		return doc.Section{}
	}
	return doc.Section{Title: doc.Line("What the agent said last"), Fold: doc.Line("What the agent said last"), Blocks: doc.Rich(text, m.bounds.final)}
}
