package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

// summaryBytes is below the 1 MiB beyond which a runner drops a job summary
// whole, with room for what other programs of the same step write.
const summaryBytes = 960 << 10

// bounds keeps a document small by construction, whatever a run produced.
type bounds struct {
	prompt   int // runes of the task
	rows     int // iterations in the table, newest kept
	points   int // iterations in a chart, newest kept
	failures int // guardrail failures told in full
	output   int // runes of one guardrail's output
	final    int // runes of the agent's last words
	list     int // notes, errors, baseline failures
	line     int // runes of one line of foreign text
	stories  int // rows of the stories, those that need a look first
	runs     int // rows of earlier runs on the branch, at least 1
	findings int // of all kinds together
	network  int // refused addresses
	// storyBytes bounds these rows, and half of it the reviews folded below them.
	storyBytes int
}

// Summary is the job summary in GitHub-flavoured Markdown, always below 1 MiB.
// The outcome stands in the first line.
func Summary(r ralph.Report) string {
	m := markdown{r, bounds{prompt: 4000, rows: 200, points: 100, failures: 40, output: 8000, final: 6000, list: 50, line: 500, stories: 200, storyBytes: 200 << 10, runs: 50, findings: 200, network: 50}}
	return assemble(summaryBytes, []section{
		{"outcome", m.outcome("## ")},
		{"that nothing changed", m.nothing()},
		{"publication errors", m.errors()},
		{"steps of publishing", m.steps(false)},
		{"what is left to do", m.left()},
		{"findings", m.findings()},
		{"changes left out", m.patch()},
		{"checks", m.checks()},
		{"stories", m.storyTable()},
		{"what was asked", m.asked()},
		{"iterations", m.table()},
		{"history of the branch", m.history()},
		{"agents and models", m.workers()},
		{"what was put back", m.putBack()},
		{"SCM tasks", m.scm()},
		{"charts", m.charts()},
		{"guardrail failures", m.guardrailFailures()},
		{"baseline", m.baseline()},
		{"the agent's last words", m.final()},
		{"refused addresses", m.network()},
		{"notes", m.notes()},
		{"steps of publishing", m.steps(true)},
		{"footer", m.footer()},
	})
}

// markdown renders the parts that the summary and the pull request share.
type markdown struct {
	ralph.Report
	bounds
}

func (m markdown) outcome(mark string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s %s\n", mark, resultIcon(m.Report), headline(m.Report))
	if facts := m.links(); len(facts) > 0 {
		b.WriteString("\n" + strings.Join(facts, " · ") + "\n")
	}
	if m.Outcome == ralph.Completed {
		return b.String()
	}
	list := reasons(besideFindings(m.Report), m.list, m.line)
	for i, line := range list {
		list[i] = inline(line, m.line)
	}
	if len(list) == 1 || len(list) > 1 && strings.HasSuffix(list[0], ":") {
		b.WriteString("\n" + list[0] + "\n")
		list = list[1:]
	}
	if len(list) > 0 {
		b.WriteString("\n" + bullets(list))
	}
	return b.String()
}

// links is where the work can be looked at.
func (m markdown) links() []string {
	p := m.Publication
	var facts []string
	if status := SessionStatus(m.Report); status != "" {
		facts = append(facts, "**Session** `"+status+"` after "+plural(m.Rounds(), "iteration"))
	}
	if pr := p.PullRequest; pr.Number > 0 {
		facts = append(facts, "**Pull request** "+link(fmt.Sprintf("#%d", pr.Number), pr.URL)+pullWords(pr))
	}
	if p.Branch != "" {
		name := "**Branch** " + code(p.Branch, m.line)
		if p.Fork != "" {
			name += " in " + code(p.Fork, m.line)
		}
		if p.Base != "" {
			name += " → " + code(p.Base, m.line)
		}
		facts = append(facts, name)
	}
	if n := commits(m.Report); n > 0 {
		text := link(plural(n, "commit"), compareURL(m.Report, false))
		if words := commitWords(p); words != "" {
			text += " (" + words + ")"
		}
		facts = append(facts, text)
	}
	if p.Issue > 0 {
		text := "**Issue** " + link(fmt.Sprintf("#%d", p.Issue), issueURL(m.Report))
		if webAddress(p.Comment) != "" {
			text += " (" + link("comment", p.Comment) + ")"
		}
		facts = append(facts, text)
	} else if webAddress(p.Comment) != "" {
		facts = append(facts, link("comment", p.Comment))
	}
	if m.RunURL != "" && webAddress(m.RunURL) != "" {
		facts = append(facts, link("log of this run", m.RunURL))
	}
	return facts
}

func (m markdown) errors() string {
	lines := m.lines(m.Publication.Errors)
	if len(lines) == 0 {
		return ""
	}
	if to := compareURL(m.Report, true); to != "" && m.Publication.PullRequest.Number == 0 {
		lines = append(lines, "The branch is pushed. "+link("Open the pull request yourself", to)+".")
	}
	return alert("CAUTION", lines...)
}

func (m markdown) left() string {
	var lines []string
	if m.Outcome != ralph.Completed {
		lines = remaining(m.Report, m.bounds, markdownWords{})
	}
	for _, text := range []string{inline(leftOutAdvice(m.Report), 2*m.line), advice(m.Report)} {
		if text != "" {
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "### What is left to do\n\n" + bullets(lines)
}

func (m markdown) asked() string {
	text, cut := head(m.Task, m.prompt)
	if strings.TrimSpace(text) == "" {
		return ""
	}
	body := fence(text)
	if cut {
		body += fmt.Sprintf("\n_Cut after %d characters; report.json has all of it._\n", utf8.RuneCountInString(text))
	}
	if utf8.RuneCountInString(text) > 700 || strings.Count(text, "\n") > 10 {
		return details("<b>What was asked</b>", body)
	}
	return "### What was asked\n\n" + body
}

func (m markdown) final() string {
	text, cut := tail(finalText(m.Report), m.bounds.final)
	if strings.TrimSpace(text) == "" {
		return ""
	}
	if cut {
		text = "…" + text
	}
	return details("What the agent said last", fence(text))
}

func (m markdown) notes() string {
	lines := m.lines(allNotes(m.Report))
	if len(lines) == 0 {
		return ""
	}
	return "### Notes\n\n" + bullets(lines)
}

// allNotes are the notes of a run, then those of its iterations. Each text stands
// there once: what several iterations note is said of the first.
func allNotes(r ralph.Report) []string {
	notes := append([]string(nil), r.Notes...)
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

// lines makes foreign texts into lines of Markdown, at most list of them.
func (m markdown) lines(texts []string) []string {
	var lines []string
	for i, text := range texts {
		if i == m.list {
			return append(lines, fmt.Sprintf("…and %d more; report.json has them all.", len(texts)-i))
		}
		if text = inline(text, m.line); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

func (m markdown) footer() string {
	var facts []string
	if m.Mode != "" {
		facts = append(facts, "mode "+code(m.Mode, 40))
	}
	if list := agentNames(m.Report); len(list) > 0 {
		agent := "agent "
		if len(list) > 1 {
			agent = "agents "
		}
		for i := range list {
			list[i] = code(list[i], 80)
		}
		agent += strings.Join(list[:min(len(list), 5)], ", ")
		if names := models(m.Report); len(names) > 0 {
			for i := range names {
				names[i] = code(names[i], 80)
			}
			agent += " (" + strings.Join(names[:min(len(names), 5)], ", ") + ")"
		}
		facts = append(facts, agent)
	}
	if m.Actor != "" {
		facts = append(facts, "started by "+code(m.Actor, 80))
	}
	if m.Isolation != "" {
		facts = append(facts, "isolation: "+inline(m.Isolation, m.line))
	}
	if text := allowed(m.Report); text != "" {
		facts = append(facts, "allowed: "+text)
	}
	facts = append(facts, fmt.Sprintf("exit code %d", m.ExitCode))
	if m.Version != "" {
		facts = append(facts, "ralph "+inline(m.Version, 60))
	}
	return "<sub>" + strings.Join(facts, " · ") + "</sub>\n"
}
