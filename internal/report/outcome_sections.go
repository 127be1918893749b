package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

func (m record) headline() section {
	return section{Name: "outcome", Title: line(resultIcon(m.Report) + " " + headline(m.Report))}
}

// reasons says why the run ended as it did.
func (m record) reasons() section {
	s := section{Name: "reasons"}
	if m.Outcome == ralph.Completed {
		return s
	}
	var lines []text
	for _, reason := range reasons(m.Report, m.bounds.reasons, m.line) {
		lines = append(lines, line(foreign(reason, m.line)))
	}
	if len(lines) == 1 || len(lines) > 1 && strings.HasSuffix(lines[0].plain(), ":") {
		s.Blocks, lines = []block{para(lines[0])}, lines[1:]
	}
	s.Blocks = append(s.Blocks, bulleted(lines)...)
	return s
}

func (m record) facts(list []fact) section {
	if len(list) == 0 {
		return section{}
	}
	return section{Name: "facts", Blocks: []block{{Kind: factsBlock, Facts: list}}}
}

// links is where the work can be looked at.
func (m record) links() []fact {
	p := m.Publication
	var facts []fact
	add := func(name string, parts ...any) { facts = append(facts, fact{Name: name, Text: line(parts...)}) }
	if status := SessionStatus(m.Report); status != "" {
		add("Session", bare(status, m.line), " after "+plural(m.Rounds(), "iteration"))
	}
	if pr := p.PullRequest; pr.Number > 0 {
		number := linked(pr.URL, fmt.Sprintf("#%d", pr.Number))
		number[0].Shown = true
		add("Pull request", number, pullWords(pr))
	}
	if p.Branch != "" {
		t := line(bare(p.Branch, m.line))
		if p.Fork != "" {
			t = line(t, " in ", bare(p.Fork, m.line))
		}
		if p.Base != "" {
			t = line(t, " → ", bare(p.Base, m.line))
		}
		add("Branch", t)
	}
	if n := commits(m.Report); n > 0 {
		t := linked(compareURL(m.Report, false), plural(n, "commit"))
		if words := commitWords(p); words != "" {
			t = line(t, " ("+words+")")
		}
		facts = append(facts, fact{"Work", true, t})
	}
	if p.Issue > 0 {
		t := linked(issueURL(m.Report), fmt.Sprintf("#%d", p.Issue))
		if webAddress(p.Comment) != "" {
			t = line(t, " (", linked(p.Comment, "comment"), ")")
		}
		add("Issue", t)
	} else if webAddress(p.Comment) != "" {
		facts = append(facts, fact{"Told in", true, linked(p.Comment, "comment")})
	}
	if webAddress(m.RunURL) != "" {
		facts = append(facts, fact{"Log", true, linked(m.RunURL, "log of this run")})
	}
	return facts
}

// figures is what the run used.
func (m record) figures() []fact {
	var facts []fact
	if len(m.Iterations) > 0 {
		u := m.Usage()
		facts = append(facts, fact{Name: "Cost", Text: line(u.Cost.String())}, fact{Name: "Tokens", Text: line(tokenWords(u.Tokens))})
	}
	if text := branchCostWords(m.Report); text != "" {
		facts = append(facts, fact{Name: "Branch cost", Text: line(text)})
	}
	facts = append(facts, fact{Name: "Time", Text: line(span(m.Duration))})
	if !m.Started.IsZero() {
		facts = append(facts, fact{Name: "Started", Text: line(stamp(m.Started))})
	}
	return facts
}

// errors is what could not be published.
func (m record) errors() section {
	lines := m.lines(m.Publication.Errors)
	if len(lines) == 0 {
		return section{}
	}
	if to := compareURL(m.Report, true); to != "" && m.Publication.PullRequest.Number == 0 {
		lines = append(lines, line("The branch is pushed. ", linked(to, "Open the pull request yourself"), "."))
	}
	return section{Name: "publication errors", Blocks: []block{{Kind: cautionBlock, Lines: lines}}}
}

// left is what is left to do, by the agent and by people.
func (m record) left() section {
	var lines []text
	if m.Outcome != ralph.Completed {
		lines = m.remaining()
	}
	if t := leftOutAdvice(m.Report); len(t) > 0 {
		lines = append(lines, t)
	}
	if text := advice(m.Report); text != "" {
		lines = append(lines, line(text))
	}
	return listed("What is left to do", lines)
}

// listed is a section that is a list, or none.
func listed(title string, lines []text) section {
	if len(lines) == 0 {
		return section{}
	}
	return section{Title: line(title), Blocks: bulleted(lines)}
}

// asked is what was asked for, folded when it is long.
func (m record) asked() section {
	text, cut := head(m.Task, m.prompt)
	if strings.TrimSpace(text) == "" {
		return section{}
	}
	s := section{Title: line("What was asked"), Blocks: []block{pre(text)}}
	if cut {
		s.Blocks = append(s.Blocks, soft(fmt.Sprintf("Cut after %d characters; report.json has all of it.", utf8.RuneCountInString(text))))
	}
	if utf8.RuneCountInString(text) > 700 || strings.Count(text, "\n") > 10 {
		s.Fold = line(strong("What was asked"))
	}
	return s
}

// lastWords is what the agent said last; empty when it said nothing.
func (m record) lastWords() string {
	text, cut := tail(finalText(m.Report), m.bounds.final)
	if cut {
		text = "…" + text
	}
	return strings.Trim(text, "\n")
}

func (m record) final() section {
	text := m.lastWords()
	if strings.TrimSpace(text) == "" {
		return section{}
	}
	return section{Title: line("What the agent said last"), Fold: line("What the agent said last"), Blocks: []block{pre(text)}}
}

const noChange = "Nothing was changed: the run committed nothing."

// unchanged says that a completed run changed nothing, with what the agent said
// instead where the document has no other place for it. What is not known to have
// changed nothing is told there only.
func (m record) unchanged(withWords bool) section {
	looked := slices.ContainsFunc(m.Iterations, func(it ralph.Iteration) bool { return it.Change.Tree != "" })
	changed := slices.ContainsFunc(m.Iterations, func(it ralph.Iteration) bool { return it.Change.SinceStart || it.Change.Files > 0 })
	idle := m.Outcome == ralph.Completed && m.Publication.HeadSHA == "" && commits(m.Report) == 0 && !changed
	if !idle || !withWords && !looked {
		return section{}
	}
	s := section{Name: "no change", Blocks: []block{para(noChange)}}
	if text := m.lastWords(); withWords && strings.TrimSpace(text) != "" {
		s.Blocks = []block{para(noChange + " What the agent said last:"), pre(text)}
	}
	return s
}

func (m record) notes() section { return listed("Notes", m.lines(allNotes(m.Report))) }

// runNotes are the notes of the run alone.
func (m record) runNotes() section { return listed("Notes", m.lines(m.Notes)) }

// allNotes are the notes of a run, then those of its iterations. Each text stands
// there once: what several iterations note is said of the first.
func allNotes(r ralph.Report) []string {
	notes := slices.Clone(r.Notes)
	said := map[string]bool{}
	for _, note := range r.Notes {
		said[note] = true
	}
	for _, it := range r.Iterations {
		for _, note := range it.Change.Notes {
			if !said[note] {
				said[note] = true
				notes = append(notes, fmt.Sprintf("Iteration %d: %s", it.Number, note))
			}
		}
	}
	return notes
}

// lines makes foreign texts into lines, at most list of them.
func (m record) lines(texts []string) []text {
	var lines []text
	for i, s := range texts {
		if i == m.list {
			return append(lines, more(len(texts)-i))
		}
		if oneLine(s, m.line) != "" {
			lines = append(lines, line(foreign(s, m.line)))
		}
	}
	return lines
}

// more says that others are left out.
func more(n int) text { return line(fmt.Sprintf("…and %d more; report.json has them all.", n)) }

// footer is how the run was set up.
func (m record) footer() section {
	var facts []text
	add := func(parts ...any) { facts = append(facts, line(parts...)) }
	if m.Mode != "" {
		add("mode ", bare(m.Mode, 40))
	}
	if names := agentNames(m.Report); len(names) > 0 {
		name := "agent "
		if len(names) > 1 {
			name = "agents "
		}
		t := line(name, m.codes(names))
		if names := models(m.Report); len(names) > 0 {
			t = line(t, " (", m.codes(names), ")")
		}
		facts = append(facts, t)
	}
	if m.Actor != "" {
		add("started by ", bare(m.Actor, m.cell))
	}
	if m.Isolation != "" {
		add("isolation: ", foreign(m.Isolation, m.line))
	}
	if text := allowed(m.Report); text != "" {
		add("allowed: " + text)
	}
	add(fmt.Sprintf("exit code %d", m.ExitCode))
	if m.Version != "" {
		add("ralph ", foreign(m.Version, 60))
	}
	return section{Name: "footer", Blocks: []block{small(joined(facts, " · "))}}
}

// codes are the first of some names.
func (m record) codes(names []string) text {
	var list []text
	for _, name := range names[:min(len(names), 5)] {
		list = append(list, line(bare(name, m.cell)))
	}
	return joined(list, ", ")
}

// progress says how far a run is that goes on.
func (m record) progress(n int) section {
	title := "🔄 Starting"
	if n > 0 {
		title = fmt.Sprintf("🔄 Working: %s %d", unit(m.Report), n)
		if m.MaxIterations > 0 {
			title += fmt.Sprintf(" of at most %d", m.MaxIterations)
		}
	}
	return section{Name: "progress", Title: line(title)}
}

// soFarFacts is what is known of a run that goes on.
func (m record) soFarFacts() []fact {
	var facts []fact
	if len(m.Iterations) > 0 {
		facts = append(facts, fact{Name: "So far", Text: line(costWords(m.Usage().Cost))})
	}
	if hasTasks(m.Report) {
		facts = append(facts, fact{"Stories", true, line(storyCount(m.Tasks))})
	}
	return append(facts, m.links()...)
}

// soFar is a line for each of the last iterations.
func (m record) soFar() section {
	var lines []text
	for _, it := range newest(m.Iterations, m.rows) {
		r := newRow(it)
		t := line(fmt.Sprintf("%s %s %s: %s", r.Icon, strings.ToUpper(unit(m.Report)[:1])+unit(m.Report)[1:], r.Number, r.Result))
		if step := stepWords(it, m.Tasks.SkipReview); step != "" {
			t = line(t, ", ", foreign(step, m.cell))
		}
		if r.Error != "" {
			t = line(t, ", ", foreign(r.Error, m.command))
		}
		for _, name := range r.Failing[:min(3, len(r.Failing))] {
			t = line(t, ", ", mono(name, 60))
		}
		t = line(t, ", "+r.Time+", "+costWords(it.Usage().Cost))
		if r.SHA != "" {
			t = line(t, ", ", m.commitCell(it, ", "))
		}
		lines = append(lines, t)
	}
	if n := len(m.Iterations) - len(lines); n > 0 {
		lines = slices.Insert(lines, 0, line(plural(n, unit(m.Report))+" before"))
	}
	return section{Name: "iterations", Blocks: bulleted(lines)}
}

// commentFooter tells what the branch cost so far, and what is allowed.
func (m record) commentFooter() section {
	var facts []text
	if text := branchCostWords(m.Report); text != "" {
		facts = append(facts, line("cost of the branch: "+text))
	}
	if m.Actor != "" {
		facts = append(facts, line("started by ", bare(m.Actor, m.cell)))
	}
	if text := allowed(m.Report); text != "" && m.Outcome == "" {
		facts = append(facts, line("allowed: "+text))
	}
	if len(facts) == 0 {
		return section{}
	}
	return section{Name: "footer", Blocks: []block{small(joined(facts, " · "))}}
}
