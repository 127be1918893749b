package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/transcript"
	"github.com/org/ralph-action/internal/report/words"
)

// opened is what the page shows of each iteration when it is opened.
func (m record) opened(kept *transcript.Kept) doc.Section {
	if kept == nil {
		return doc.Section{}
	}
	records := map[int]ralph.Iteration{}
	for _, it := range m.Iterations {
		records[it.Number] = it
	}
	return doc.Section{Name: "opened", Title: doc.Line("Iteration by iteration"), Each: func(yield func(doc.Block) bool) {
		for _, t := range kept.Iterations() {
			if it, ok := records[t.Number]; ok && !yield(m.iteration(it, t, kept.Log)) {
				return
			}
		}
	}}
}

// iterationID is where the page's links to an iteration lead.
func iterationID(n int) string { return "iteration-" + strconv.Itoa(n) }

func (m record) iteration(it ralph.Iteration, t *transcript.Iteration, log string) doc.Block {
	r := words.NewRow(it)
	title := doc.Line(doc.Strong("Iteration "+r.Number), " "+r.Icon+" "+r.Result)
	if r.Error != "" {
		title = doc.Line(title, ": ", doc.Foreign(r.Error, m.cell))
	}
	if step := words.Step(it, m.Tasks.SkipReview); step != "" {
		title = doc.Line(title, " · ", doc.Foreign(step, m.cell))
	}
	facts := []string{r.Time, words.Cost(it.Usage().Cost)}
	if it.Change.Files > 0 {
		facts = append(facts, filesWords(it, r))
	}
	b := doc.Fold(doc.Line(title, faint(facts...)), asked(t), m.transcript(it, t, log), m.changes(it, t, r), m.judged(it, r))
	b.ID = iterationID(it.Number)
	return b
}

func filesWords(it ralph.Iteration, r words.Row) string {
	return words.Plural(it.Change.Files, "file") + strings.TrimPrefix(r.Files, strconv.Itoa(it.Change.Files))
}

// faint is facts behind a title.
func faint(facts ...string) doc.Text {
	var t doc.Text
	for _, f := range facts {
		t = doc.Line(t, " ", doc.Faint("· "+f))
	}
	return t
}

// part is the fold of a part of an iteration.
func part(name, fact string, blocks ...doc.Block) doc.Block {
	return doc.Fold(doc.Line(name, faint(fact)), blocks...)
}

// asked is the iteration's prompt.
func asked(t *transcript.Iteration) doc.Block {
	switch {
	case t.SameAs > 0:
		return doc.Item("Prompt", faint("the same as in"), " ", doc.Jump(iterationID(t.SameAs), fmt.Sprintf("iteration %d", t.SameAs)))
	case t.Prompt == "":
		return doc.Item("Prompt", faint("none"))
	}
	return part("Prompt", words.Plural(t.Asked, "character"), doc.Pre(t.Prompt))
}

// transcript is what the agent said and did.
func (m record) transcript(it ralph.Iteration, t *transcript.Iteration, log string) doc.Block {
	n := len(t.First) + len(t.Last) + t.LeftOut
	if n == 0 {
		return doc.Item("Transcript", faint("the agent printed nothing"))
	}
	facts := words.Plural(n, "step")
	if calls, failed := it.Tools(); calls > 0 {
		facts += ", " + words.Plural(calls, "tool call")
		if failed > 0 {
			facts += fmt.Sprintf(" (%d failed)", failed)
		}
	}
	blocks := make([]doc.Block, 0, len(t.First)+len(t.Last)+2)
	for _, s := range t.First {
		blocks = append(blocks, m.step(s))
	}
	if t.LeftOut > 0 {
		blocks = append(blocks, doc.Item("… "+words.Plural(t.LeftOut, "step")+" with "+words.Count(int64(t.Bytes))+" bytes left out here …"))
	}
	for _, s := range t.Last {
		blocks = append(blocks, m.step(s))
	}
	if log != "" {
		blocks = append(blocks, doc.Soft("All that the agent put out is in ", doc.Mono(log, m.cell), "."))
	}
	return part("Transcript", facts, blocks...)
}

// step is one step of the transcript.
func (m record) step(s *transcript.Step) doc.Block {
	title := doc.Line(doc.Foreign(s.Text, m.line))
	switch s.Kind {
	case ralph.EventText:
		if !s.Echo {
			return doc.Said(s.Text)
		}
		return doc.Fold(doc.Line(doc.Faint("shown, not said: "), doc.Foreign(s.Text, m.cell)), doc.Pre(s.Text))
	case ralph.EventToolStart:
		title = doc.Line(doc.Mono(s.Tool, m.cell), " ", doc.Foreign(s.Input, m.line))
	case ralph.EventTaskEnd:
		title = doc.Line("SCM task ", doc.Mono(s.Input, m.command))
	case ralph.EventTodo:
		done, all := strings.Count("\n"+s.Text, "\n[x]"), strings.Count("\n"+s.Text, "\n[")
		return doc.Fold(doc.Line(fmt.Sprintf("Todo list: %d of %d done", done, all)), doc.Pre(s.Text))
	case ralph.EventPrompt:
		if s.Text == "" {
			return doc.Item("The same prompt again:")
		}
		return doc.Fold(doc.Line("Asked: ", title), doc.Pre(s.Text))
	case ralph.EventResult:
		return doc.Item("❌ ", title)
	case ralph.EventRetry:
		return doc.Item("🔁 Tried again: ", title)
	case ralph.EventKept:
		return doc.Item("🔁 Kept going: ", title)
	case ralph.EventWarning:
		return doc.Item("⚠️ ", title)
	default:
		return doc.Item(title)
	}
	if s.Failed {
		title = doc.Line("❌ ", title)
	}
	var facts []string
	if s.Took > 0 {
		facts = []string{words.Span(s.Took)}
	}
	if s.Text == "" {
		return doc.Item(title, faint(facts...))
	}
	blocks := []doc.Block{doc.Pre(s.Text)}
	lines := strings.Count(s.Text, "\n") + 1
	if s.Chars > 0 { // the text was cut
		lines = s.Lines
		blocks = append(blocks, doc.Soft(fmt.Sprintf("Not all of its %d characters.", s.Chars)))
	}
	return doc.Fold(doc.Line(title, faint(append([]string{words.Plural(lines, "line")}, facts...)...)), blocks...)
}

// changes is what the iteration changed, file by file.
func (m record) changes(it ralph.Iteration, t *transcript.Iteration, r words.Row) doc.Block {
	if t.Diff == "" {
		return doc.Item("Changes · ", doc.Foreign(cmp.Or(t.NoDiff, "none"), m.line))
	}
	files, notes := patched(t.Diff)
	blocks := make([]doc.Block, 0, len(files)+2)
	for _, f := range files {
		counts := faint(fmt.Sprintf("+%d −%d", f.added, f.deleted))
		blocks = append(blocks, doc.Fold(doc.Line(doc.Bare(f.name, m.line), counts), doc.Diff(f.text)))
	}
	for _, n := range notes {
		blocks = append(blocks, doc.Item(doc.Foreign(n, m.line)))
	}
	if t.Cut > 0 {
		rest := doc.Line(words.Count(int64(t.Cut)) + " bytes of the diff are left out here")
		if sha := words.Sha(it.Commit.SHA); sha != "" {
			rest = doc.Line(rest, "; commit ", doc.Bare(sha, 7), " has all of it")
		}
		blocks = append(blocks, doc.Item(rest, "."))
	}
	facts := words.Plural(len(files), "file")
	if it.Change.Files > 0 {
		facts = filesWords(it, r)
	}
	return part("Changes", facts, blocks...)
}

// file is what a patch says of one.
type file struct {
	name, text     string
	added, deleted int
}

// patched reads a patch as git and package patch write it; notes are the comments above
// it.
func patched(diff string) (files []file, notes []string) {
	const head = "diff --git "
	if !strings.HasPrefix(diff, head) {
		before, rest, more := strings.Cut(diff, "\n"+head)
		for note := range strings.SplitSeq(before, "\n") {
			if note = strings.TrimSpace(strings.TrimPrefix(note, "#")); note != "" {
				notes = append(notes, note)
			}
		}
		if !more {
			return nil, notes
		}
		diff = head + rest
	}
	for one := range strings.SplitSeq(strings.TrimPrefix(diff, head), "\n"+head) {
		files = append(files, patchedFile(one))
	}
	return files, notes
}

// patchedFile reads what stands behind "diff --git " about one file.
func patchedFile(text string) file {
	names, text, _ := strings.Cut(text, "\n")
	f := file{name: names}
	if half := len(names) / 2; len(names) > 2 && names[half] == ' ' { // a/name b/name, maybe in quotes
		f.name = strings.Replace(names[half+1:], "b/", "", 1)
	}
	about, hunks := text, ""
	if i := strings.Index("\n"+text, "\n@@ "); i >= 0 {
		about, hunks = text[:i], text[i:]
	}
	for line := range strings.Lines(about) {
		if !strings.HasPrefix(line, "index ") && !strings.HasPrefix(line, "--- ") && !strings.HasPrefix(line, "+++ ") {
			f.text += line
		}
	}
	f.text += hunks
	for line := range strings.Lines(hunks) {
		switch line[0] {
		case '+':
			f.added++
		case '-':
			f.deleted++
		}
	}
	return f
}

// judged is what the guardrails said.
func (m record) judged(it ralph.Iteration, r words.Row) doc.Block {
	if len(it.Verdicts) == 0 {
		return doc.Item("Guardrails", faint("none ran"))
	}
	blocks := make([]doc.Block, 0, len(it.Verdicts))
	for _, v := range it.Verdicts {
		how, reason := words.Failed(v)
		t := doc.Line(words.Icon(v)+" ", doc.Mono(v.Command, m.command), " "+how)
		if reason != "" {
			t = doc.Line(t, ": ", doc.Foreign(reason, m.cell))
		}
		blocks = append(blocks, doc.Fold(t, m.outputOf(v)...))
	}
	return part("Guardrails", r.Guardrails, blocks...)
}
