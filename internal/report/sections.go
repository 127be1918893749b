package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/words"
)

func (m record) headline() doc.Section {
	return doc.Section{Name: "outcome", Title: doc.Line(resultIcon(m.Report) + " " + Headline(m.Report))}
}

// reasons says why the run ended as it did.
func (m record) reasons() doc.Section {
	s := doc.Section{Name: "reasons"}
	if m.Outcome == ralph.Completed || m.Outcome == "" {
		return s
	}
	var lines []doc.Text
	for _, reason := range reasons(besideFindings(m.Report), m.bounds.reasons, m.line) {
		lines = append(lines, doc.Line(doc.Foreign(reason, m.line)))
	}
	if len(lines) == 1 || len(lines) > 1 && strings.HasSuffix(lines[0].Plain(), ":") {
		s.Blocks, lines = []doc.Block{doc.Para(lines[0])}, lines[1:]
	}
	s.Blocks = append(s.Blocks, doc.Bulleted(lines)...)
	return s
}

func (m record) facts(list []doc.Fact) doc.Section {
	if len(list) == 0 {
		return doc.Section{}
	}
	return doc.Section{Name: "facts", Blocks: []doc.Block{{Kind: doc.FactsBlock, Facts: list}}}
}

// links is where the work can be looked at.
func (m record) links() []doc.Fact {
	p := m.Publication
	var facts []doc.Fact
	add := func(name string, parts ...any) { facts = append(facts, doc.Fact{Name: name, Text: doc.Line(parts...)}) }
	if status := words.SessionStatus(m.Report); status != "" {
		add("Session", doc.Bare(status, m.line), " after "+words.Plural(m.Rounds(), "iteration"))
	}
	if pr := p.PullRequest; pr.Number > 0 {
		number := doc.Linked(pr.URL, fmt.Sprintf("#%d", pr.Number))
		number[0].Shown = true
		add("Pull request", number, pullWords(pr))
	}
	if p.Branch != "" {
		t := doc.Line(doc.Bare(p.Branch, m.line))
		if p.Fork != "" {
			t = doc.Line(t, " in ", doc.Bare(p.Fork, m.line))
		}
		if p.Base != "" {
			t = doc.Line(t, " → ", doc.Bare(p.Base, m.line))
		}
		add("Branch", t)
	}
	if n := commits(m.Report); n > 0 {
		t := doc.Linked(compareURL(m.Report, false), words.Plural(n, "commit"))
		if words := words.Commits(m.Report); words != "" {
			t = doc.Line(t, " ("+words+")")
		}
		facts = append(facts, doc.Fact{Name: "Work", Plain: true, Text: t})
	}
	if p.Issue > 0 {
		t := doc.Linked(issueURL(m.Report), fmt.Sprintf("#%d", p.Issue))
		if doc.WebAddress(p.Comment) != "" {
			t = doc.Line(t, " (", doc.Linked(p.Comment, "comment"), ")")
		}
		add("Issue", t)
	} else if doc.WebAddress(p.Comment) != "" {
		facts = append(facts, doc.Fact{Name: "Told in", Plain: true, Text: doc.Linked(p.Comment, "comment")})
	}
	if doc.WebAddress(m.RunURL) != "" {
		log := doc.Linked(m.RunURL, "log of this run")
		log[0].Shown = true
		facts = append(facts, doc.Fact{Name: "Log", Plain: true, Text: log})
	}
	return facts
}

// figures is what the run used.
func (m record) figures() []doc.Fact {
	var facts []doc.Fact
	if len(m.Iterations) > 0 {
		u := m.Usage()
		cost := u.Cost.String()
		if m.Before != (ralph.Cost{}) {
			cost = words.Resumed(m.Before.Add(u.Cost).String(), m.Before)
		}
		facts = append(facts, doc.Fact{Name: "Cost", Text: doc.Line(cost)}, doc.Fact{Name: "Tokens", Text: doc.Line(words.Tokens(u.Tokens) + words.Since(m.Resumed))})
	}
	facts = append(facts, doc.Fact{Name: "Time", Text: doc.Line(words.Span(m.Duration) + words.Since(m.Resumed))})
	if !m.Started.IsZero() {
		facts = append(facts, doc.Fact{Name: "Started", Text: doc.Line(words.Stamp(m.Started))})
	}
	return facts
}

// errors is what could not be published.
func (m record) errors() doc.Section {
	lines := m.lines(m.Publication.Errors)
	if len(lines) == 0 {
		return doc.Section{}
	}
	if to := compareURL(m.Report, true); to != "" && m.Publication.PullRequest.Number == 0 {
		lines = append(lines, doc.Line("The branch is pushed. ", doc.Linked(to, "Open the pull request yourself"), "."))
	}
	return doc.Section{Name: "publication errors", Blocks: []doc.Block{{Kind: doc.CautionBlock, Lines: lines}}}
}

// left is what is left to do, by the agent and by people.
func (m record) left() doc.Section {
	var lines []doc.Text
	switch m.Outcome {
	case "": // it goes on
		return doc.Section{}
	case ralph.Completed:
	default:
		lines = m.remaining()
	}
	if t := leftOutAdvice(m.Report); len(t) > 0 {
		lines = append(lines, t)
	}
	if text := Advice(m.Report); text != "" {
		lines = append(lines, doc.Line(text))
	}
	return listed("What is left to do", lines)
}

// leftToReview is left for those who merge: they are told of nothing, too.
func (m record) leftToReview() doc.Section {
	s := m.left()
	if len(s.Blocks) == 0 && m.Outcome == ralph.Completed && commits(m.Report) > 0 && !m.Publication.PullRequest.Draft {
		return doc.Section{Title: doc.Line("What is left to do"), Blocks: []doc.Block{doc.Para("Nothing but your review.")}}
	}
	return s
}

// listed is a section that is a list, or none.
func listed(title string, lines []doc.Text) doc.Section {
	if len(lines) == 0 {
		return doc.Section{}
	}
	return doc.Section{Title: doc.Line(title), Blocks: doc.Bulleted(lines)}
}

// asked is what was asked for, folded when it is long, or always.
func (m record) asked(folded bool) doc.Section {
	text, cut := doc.Head(m.Task, m.prompt)
	if strings.TrimSpace(text) == "" {
		return doc.Section{}
	}
	s := doc.Section{Title: doc.Line("What was asked"), Blocks: []doc.Block{doc.Pre(text)}}
	if cut {
		s.Blocks = append(s.Blocks, doc.Soft(fmt.Sprintf("Cut after %d characters; report.json has all of it.", utf8.RuneCountInString(text))))
	}
	if folded || utf8.RuneCountInString(text) > 700 || strings.Count(text, "\n") > 10 {
		s.Fold = doc.Line(doc.Strong("What was asked"))
	}
	return s
}

const noChange = "Nothing was changed: the run committed nothing."

// unchanged says that a completed run changed nothing, with what the agent said
// instead where the document has no other place for it. What is not known to have
// changed nothing is told there only.
func (m record) unchanged(withWords bool) doc.Section {
	looked := slices.ContainsFunc(m.Iterations, func(it ralph.Iteration) bool { return it.Change.Tree != "" })
	changed := slices.ContainsFunc(m.Iterations, func(it ralph.Iteration) bool { return it.Change.SinceStart || it.Change.Files > 0 })
	idle := m.Outcome == ralph.Completed && m.Publication.HeadSHA == "" && commits(m.Report) == 0 && !changed
	if !idle || !withWords && !looked {
		return doc.Section{}
	}
	s := doc.Section{Name: "no change", Blocks: []doc.Block{doc.Para(noChange)}}
	if text := m.lastWords(); withWords && strings.TrimSpace(text) != "" {
		s.Blocks = append([]doc.Block{doc.Para(noChange + " What the agent said last:")}, doc.Rich(text, m.bounds.final)...)
	}
	return s
}

func (m record) notes() doc.Section { return listed("Notes", m.lines(allNotes(m.Report))) }

// runNotes are the notes of the run alone.
func (m record) runNotes() doc.Section { return listed("Notes", m.lines(m.Notes)) }

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
			renewed := slices.ContainsFunc(r.Notes, func(later string) bool { return ralph.Renews(later, note) })
			if !said[note] && !renewed {
				said[note] = true
				notes = append(notes, fmt.Sprintf("Iteration %d: %s", it.Number, note))
			}
		}
	}
	return notes
}

// lines makes foreign texts into lines, at most list of them.
func (m record) lines(texts []string) []doc.Text {
	var lines []doc.Text
	for i, s := range texts {
		if i == m.list {
			return append(lines, more(len(texts)-i))
		}
		if doc.OneLine(s, m.line) != "" {
			lines = append(lines, doc.Line(doc.Foreign(s, m.line)))
		}
	}
	return lines
}

// more reports whether others are left out.
func more(n int) doc.Text {
	return doc.Line(fmt.Sprintf("…and %d more; report.json has them all.", n))
}

// footer is how the run was set up.
func (m record) footer() doc.Section {
	var facts []doc.Text
	add := func(parts ...any) { facts = append(facts, doc.Line(parts...)) }
	if m.Mode != "" {
		add("mode ", doc.Bare(m.Mode, 40))
	}
	if names := agentNames(m.Report); len(names) > 0 {
		name := "agent "
		if len(names) > 1 {
			name = "agents "
		}
		t := doc.Line(name, m.codes(names))
		if names := models(m.Report); len(names) > 0 {
			t = doc.Line(t, " (", m.codes(names), ")")
		}
		facts = append(facts, t)
	}
	if m.Actor != "" {
		add("started by ", doc.Bare(m.Actor, m.cell))
	}
	if m.Isolation != "" {
		add("isolation: ", doc.Foreign(m.Isolation, m.line))
	}
	if text := allowed(m.Report); text != "" {
		add("allowed: " + text)
	}
	if m.Outcome != "" {
		add(fmt.Sprintf("exit code %d", m.ExitCode))
	}
	if m.Version != "" {
		add("ralph ", doc.Foreign(m.Version, 60))
	}
	return doc.Section{Name: "footer", Blocks: []doc.Block{doc.Small(doc.Joined(facts, " · "))}}
}

// codes are the first of some names.
func (m record) codes(names []string) doc.Text {
	var list []doc.Text
	for _, name := range names[:min(len(names), 5)] {
		list = append(list, doc.Line(doc.Bare(name, m.cell)))
	}
	return doc.Joined(list, ", ")
}

// progress says how far a run is that goes on.
func (m record) progress() doc.Section {
	title := "🔄 Starting"
	if n := m.Now.Iteration; n > 0 {
		title = fmt.Sprintf("🔄 Working: %s %d", unit(m.Report), n)
		if m.MaxIterations > 0 {
			title += fmt.Sprintf(" of at most %d", m.MaxIterations)
		}
	}
	return doc.Section{Name: "progress", Title: doc.Line(title)}
}

// now is what a run does that goes on, and what it has used.
func (m record) now() []doc.Fact {
	var facts []doc.Fact
	if now := m.Now; now.Took > 0 {
		t := doc.Line(words.Span(now.Took) + " in this " + unit(m.Report) + ", as of " + m.Started.Add(m.Duration).UTC().Format("15:04 UTC"))
		if now.Doing != "" {
			t = doc.Line(doc.Mono(now.Doing, m.command), " for "+words.Span(now.For)+"; ", t)
		}
		facts = append(facts, doc.Fact{Name: "Now", Text: t})
	}
	if len(m.Iterations) > 0 {
		facts = append(facts, doc.Fact{Name: "So far", Text: doc.Line(words.Cost(m.Usage().Cost) + ", " + words.Span(m.Duration))})
	}
	return facts
}

// soFarFacts is what is known of a run that goes on.
func (m record) soFarFacts() []doc.Fact {
	facts := m.now()
	if words.HasTasks(m.Report) {
		facts = append(facts, doc.Fact{Name: "Stories", Plain: true, Text: doc.Line(words.StoryCount(m.Tasks))})
	}
	return append(facts, m.links()...)
}

// soFar is a line for each of the last iterations.
func (m record) soFar() doc.Section {
	var lines []doc.Text
	for _, it := range newest(m.Iterations, m.rows) {
		r := words.NewRow(it)
		t := doc.Line(fmt.Sprintf("%s %s %s: %s", r.Icon, strings.ToUpper(unit(m.Report)[:1])+unit(m.Report)[1:], r.Number, r.Result))
		if step := words.Step(it, m.Tasks.SkipReview); step != "" {
			t = doc.Line(t, ", ", doc.Foreign(step, m.cell))
		}
		if r.Error != "" {
			t = doc.Line(t, ", ", doc.Foreign(r.Error, m.command))
		}
		for _, name := range r.Failing[:min(3, len(r.Failing))] {
			t = doc.Line(t, ", ", doc.Mono(name, 60))
		}
		t = doc.Line(t, ", "+r.Time+", "+words.Cost(it.Usage().Cost))
		if r.SHA != "" {
			t = doc.Line(t, ", ", m.commitCell(it, ", "))
		}
		lines = append(lines, t)
	}
	if n := len(m.Iterations) - len(lines); n > 0 {
		lines = slices.Insert(lines, 0, doc.Line(words.Plural(n, unit(m.Report))+" before"))
	}
	return doc.Section{Name: "iterations", Blocks: doc.Bulleted(lines)}
}

// commentFooter tells what the branch cost so far, and what is allowed.
func (m record) commentFooter() doc.Section {
	var facts []doc.Text
	if text := branchCostWords(m.Report); text != "" {
		facts = append(facts, doc.Line("cost of the branch: "+text))
	}
	if m.Actor != "" {
		facts = append(facts, doc.Line("started by ", doc.Bare(m.Actor, m.cell)))
	}
	if text := allowed(m.Report); text != "" && m.Outcome == "" {
		facts = append(facts, doc.Line("allowed: "+text))
	}
	if len(facts) == 0 {
		return doc.Section{}
	}
	return doc.Section{Name: "footer", Blocks: []doc.Block{doc.Small(doc.Joined(facts, " · "))}}
}

// remaining says why the last iteration was not the end.
func (m record) remaining() []doc.Text {
	if len(m.Iterations) == 0 {
		return m.blockers()
	}
	it := m.Iterations[len(m.Iterations)-1]
	lines := m.blockers()
	if f := it.Last().Failure; f != nil && f.Kind == ralph.FailureCancelled {
		lines = append(lines, doc.Line(fmt.Sprintf("Cancelled during %s %d.", unit(m.Report), it.Number)))
	} else if f != nil {
		t := doc.Line("The last turn failed: ", doc.Foreign(f.Kind.String(), m.line))
		switch {
		case f.Message == "":
			lines = append(lines, t)
		case !strings.Contains(m.Reason, f.Message): // else it is said above
			lines = append(lines, doc.Line(t, " – ", doc.Foreign(f.Message, m.line)))
		}
		if !f.RetryAt.IsZero() {
			lines = append(lines, doc.Line("The limit resets at "+words.Stamp(f.RetryAt)+"."))
		}
	}
	failed := 0
	verdicts, in := m.lastVerdicts()
	for _, v := range verdicts {
		if v.Passed || v.Unfinished || saysFindings(m.Report, v) {
			continue
		}
		if failed++; failed > m.list {
			lines = append(lines, doc.Line("…and more guardrails."))
			break
		}
		how, reason := words.Failed(v)
		t := doc.Line("Guardrail ", doc.Mono(v.Command, m.line), " "+how)
		if v.Own {
			t = doc.Line("The work cannot be published as it is")
		}
		if in != it.Number {
			t = doc.Line(t, " when it last ran")
		}
		if reason != "" {
			t = doc.Line(t, ": ", doc.Foreign(reason, m.line))
		}
		lines = append(lines, doc.Line(t, "."))
	}
	if t := m.rejected(it); len(t) > 0 {
		lines = append(lines, t)
	}
	if words.HasTasks(m.Report) {
		lines = append(lines, m.unfinished()...)
	} else {
		lines = append(lines, m.todos(it.Last().Todos)...)
	}
	if e := it.Commit.PushError; e != "" && !m.Publication.Pushed {
		lines = append(lines, doc.Line("The last commit could not be pushed: ", doc.Foreign(e, m.line)))
	}
	return lines
}

// rejected says why the last iteration did not complete the run; empty when other
// lines do.
func (m record) rejected(it ralph.Iteration) doc.Text {
	why, _ := words.Why(it)
	t := doc.Line(why.Left)
	switch e := it.Delivery.Error; {
	case it.Rejection == ralph.RejectedSCM && e != "" && !strings.Contains(m.Reason, e):
		return doc.Line(t, ": ", doc.Foreign(e, m.line))
	case it.Rejection == ralph.RejectedNoMarker && m.Mode == modeSupervise:
		return doc.Line("The task is not marked as done.")
	case it.Rejection == ralph.RejectedNoMarker && it.Stray != "":
		return doc.Line("The agent printed ", doc.Mono(it.Stray, m.line), ", which does not count as done: ", doc.Mono(m.Completion.String(), m.line), " does.")
	case t.Plain() == "":
		return nil
	}
	return t
}

// todos tells what is open in the agent's own list.
func (m record) todos(list []ralph.Todo) []doc.Text {
	var lines []doc.Text
	for _, todo := range list {
		if todo.Status == ralph.TodoDone {
			continue
		}
		if len(lines) == m.list {
			return append(lines, doc.Line("…and more of the agent's own list."))
		}
		lines = append(lines, doc.Line("Open in the agent's own list: ", doc.Foreign(todo.Text, m.line)))
	}
	return lines
}
