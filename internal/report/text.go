package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

// Style says what a terminal can show.
type Style struct {
	Emoji bool // else text markers
	Color bool // ANSI colours
	Width int  // columns: prose is wrapped there, the table cut; 0: never
}

const textRows = 30

// Text is what a person reads on a terminal when the run is over: outcome
// first, then the iterations, what is left, where the work is, what it cost.
func Text(r ralph.Report, o Style) string {
	f := &Formatter{Emoji: o.Emoji, Color: o.Color, Width: o.Width}
	var b strings.Builder
	line := func(s style, text string) { b.WriteString(f.paint(s, f.cut(text)) + "\n") }
	prose := func(s style, mark, text string) {
		for _, l := range wrap(mark, text, o.Width) {
			b.WriteString(f.paint(s, l) + "\n")
		}
	}
	mark, colour := outcomeMark(f, r)
	prose(colour, mark+" ", headline(r))
	if r.Reason != "" && r.Outcome != ralph.Completed {
		for _, reason := range reasons(besideFindings(r), 50, 1000) {
			prose(plain, "  ", reason)
		}
	}
	if hasTasks(r) {
		b.WriteByte('\n')
		line(bold, "Stories")
		prose(plain, "  ", storyCount(r.Tasks)+". "+reviewWords(r.Tasks))
		for _, text := range storyWarnings(r, plainWords{}) {
			prose(yellow, "  "+f.sign(warn)+" ", text)
		}
		for _, text := range textStories(f, r.Tasks) {
			line(plain, text)
		}
	}
	if len(r.Iterations) > 0 {
		b.WriteByte('\n')
		for i, text := range textTable(f, r) {
			if i == 0 {
				line(dim, text)
				continue
			}
			line(plain, text)
		}
		if n := len(r.Iterations) - textRows; n > 0 {
			line(dim, "  "+plural(n, "earlier iteration")+" not shown")
		}
	}
	if tasks := textTasks(f, r); len(tasks) > 0 {
		b.WriteByte('\n')
		line(bold, "SCM tasks")
		for _, text := range tasks {
			line(plain, text)
		}
	}
	if list := textFindings(f, r); len(list) > 0 {
		b.WriteByte('\n')
		line(bold, "Findings")
		for _, text := range list {
			prose(plain, "  ", text)
		}
	}
	if list := textNetwork(r); len(list) > 0 {
		b.WriteByte('\n')
		line(bold, "Network: refused addresses")
		for _, text := range list {
			prose(plain, "  ", text)
		}
		prose(dim, "  ", networkHint)
	}
	if left := textLeft(r); len(left) > 0 {
		b.WriteByte('\n')
		line(bold, "What is left to do")
		for _, text := range left {
			prose(plain, "  - ", text)
		}
	}
	b.WriteByte('\n')
	for _, fact := range textFacts(r) {
		b.WriteString(fmt.Sprintf("%-13s %s", fact[0], fact[1]) + "\n")
	}
	if unpublished(r.Publication) {
		for _, s := range r.Publication.Steps[:min(publishSteps, len(r.Publication.Steps))] {
			mark, colour, text := ok, plain, oneLine(s.Name, 80)
			if !s.Done {
				mark, colour = bad, red
			}
			if detail := oneLine(s.Detail, 500); detail != "" {
				text += ": " + detail
			}
			prose(colour, f.sign(mark)+" ", text)
		}
	}
	for _, text := range plainLines(r.Publication.Errors, bounds{list: 20, line: 1000}) {
		prose(red, f.sign(bad)+" ", text)
	}
	for _, text := range plainLines(r.Notes, bounds{list: 20, line: 500}) {
		prose(dim, f.sign(note)+" ", text)
	}
	return b.String()
}

// wrap breaks text at words, with mark before the first line and as much room
// before the others. A word longer than a line is left whole.
func wrap(mark, text string, width int) []string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(mark))
	if width <= len(indent)+10 {
		return []string{mark + text}
	}
	var lines []string
	line, empty := mark, true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return append(lines, line)
}

func outcomeMark(f *Formatter, r ralph.Report) (string, style) {
	colour := red
	mark := f.sign(bad)
	switch r.Outcome {
	case ralph.Completed:
		colour, mark = green, f.sign(ok)
		if withoutWords(r) != "" {
			colour, mark = yellow, f.sign(warn)
		}
	case ralph.MaxIterations, ralph.OverBudget, ralph.Deadline, ralph.Stalled, ralph.Waiting, ralph.Quota, ralph.Interrupted, ralph.Skipped:
		colour, mark = yellow, f.sign(warn)
	}
	if f.Emoji {
		mark = resultIcon(r)
	}
	return mark, colour
}

// textTable lays the newest iterations out in columns. Where there are steps,
// they and what they came to take the room of less important columns.
func textTable(f *Formatter, r ralph.Report) []string {
	table := [][]string{{"#", "time", "turns", "tools", "tokens in / out", "cost", "files", "guardrails", "commit", "result"}}
	steps := anyStep(r.Iterations)
	if steps {
		table[0] = []string{"#", "time", "cost", "guardrails", "commit", "step", "result"}
	}
	for _, it := range newest(r.Iterations, textRows) {
		words := newRow(it)
		checks := words.Guardrails
		if !f.Emoji {
			checks = strings.NewReplacer("✅ ", "ok ", "❌ ", "failed ").Replace(checks)
		}
		short := words.SHA
		if short == "" {
			short = nothing
		}
		cells := []string{words.Number, words.Time, words.Turns, words.Tools, words.Tokens, words.Cost, words.Files, checks, short, words.Result}
		if steps {
			cells = []string{words.Number, words.Time, words.Cost, checks, short, stepWords(it, r.Tasks.SkipReview), words.Result}
		}
		table = append(table, cells)
	}
	table = withValues(table)
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, c := range cells {
			widths[i] = max(widths[i], columns(c))
		}
	}
	numbers := []string{"#", "time", "turns", "tools", "tokens in / out", "cost"}
	lines := make([]string, 0, len(table))
	for _, cells := range table {
		var b strings.Builder
		for i, c := range cells {
			pad := strings.Repeat(" ", widths[i]-columns(c))
			if slices.Contains(numbers, table[0][i]) {
				b.WriteString("  " + pad + c)
			} else {
				b.WriteString("  " + c + pad)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// withValues leaves out the columns for which no row has a value, such as the tokens of
// a plain script.
func withValues(table [][]string) [][]string {
	var kept []int
	for i, name := range table[0] {
		empty := func(cells []string) bool { return cells[i] == nothing || cells[i] == "unknown" }
		if name == "#" || name == "time" || slices.ContainsFunc(table[1:], func(cells []string) bool { return !empty(cells) }) {
			kept = append(kept, i)
		}
	}
	short := make([][]string, len(table))
	for row, cells := range table {
		for _, i := range kept {
			short[row] = append(short[row], cells[i])
		}
	}
	return short
}

// columns is the width on a terminal: the two marks of the guardrails are the
// only wide characters here.
func columns(s string) int {
	return utf8.RuneCountInString(s) + strings.Count(s, "✅") + strings.Count(s, "❌")
}

// textLeft is what remaining says, in plain words.
func textLeft(r ralph.Report) []string {
	var lines []string
	if r.Outcome != ralph.Completed {
		lines = remaining(r, bounds{list: 10, line: 300}, plainWords{})
	}
	for _, text := range []string{leftOutAdvice(r), advice(r)} {
		if text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// textFacts is where the work is and what it cost.
func textFacts(r ralph.Report) [][2]string {
	var facts [][2]string
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, [2]string{name, value})
		}
	}
	if status := SessionStatus(r); status != "" {
		add("Session", status+" after "+plural(r.Rounds(), "iteration"))
	}
	p := r.Publication
	if pr := p.PullRequest; pr.Number > 0 {
		add("Pull request", fmt.Sprintf("#%d", pr.Number)+pullWords(pr)+" "+oneLine(pr.URL, 500))
	}
	if p.Branch != "" {
		text := oneLine(p.Branch, 200)
		if n := commits(r); n > 0 {
			text += ", " + plural(n, "commit")
		}
		if p.Pushed {
			text += ", pushed"
		}
		if p.Fork != "" {
			text += " to " + oneLine(p.Fork, 200)
		}
		if words := commitWords(p); p.Pushed && words != "" {
			text += ", " + words
		}
		add("Branch", text)
	}
	u := r.Usage()
	if len(r.Iterations) > 0 {
		add("Cost", u.Cost.String()+", tokens "+tokenWords(u.Tokens))
		add("", priceNote(r))
	}
	if text := branchCostWords(r); text != "" {
		add("The branch", text+", "+plural(r.History.Iterations()+lastNumber(r), "iteration")+" in "+plural(len(r.History.Runs)+1, "run"))
	}
	if _, text := checksWords(p.Checks); text != "" {
		add("Checks", text)
	}
	if rows, more := workerRows(r); len(rows) > 0 {
		name := "Agents"
		for _, w := range rows {
			add(name, fmt.Sprintf("%s, %s: %s in %s, tokens %s", w.Agent, w.Model, w.Cost, plural(w.Iterations, "iteration"), w.Tokens))
			name = ""
		}
		if more > 0 {
			add("", fmt.Sprintf("and %d more", more))
		}
	}
	add("Time", span(r.Duration))
	add("Mode", oneLine(r.Mode, 40))
	add("Isolation", oneLine(r.Isolation, 300))
	return facts
}
