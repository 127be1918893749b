// Package report renders the record of a run: the job summary, the pull
// request's title and body, checkpoint messages, the JSON report, the HTML
// page, the session log and the lines of the live log. Everything here is a
// pure function of ralph.Report or ralph.Event: no I/O, no clock, no
// environment. Every text in a report is foreign (the user's own prompt
// included) and reaches a rendering only through package doc.
package report

import (
	"reflect"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
	"github.com/org/ralph-action/internal/report/memory"
	"github.com/org/ralph-action/internal/report/transcript"
)

// bounds keeps a document small by construction, whatever a run produced.
type bounds struct {
	bytes    int // of the document, which is cut between sections; 0: no limit
	reasons  int // lines of why the run ended as it did
	prompt   int // runes of the task
	rows     int // iterations in the table, newest kept
	points   int // iterations in a chart, newest kept
	failures int // guardrail failures told in full
	output   int // runes of one guardrail's output
	final    int // runes of the agent's last words
	said     int // runes of what it says of the change
	files    int // rows of changed files
	list     int // notes, errors, baseline failures
	line     int // runes of one line of foreign text
	cell     int // runes of one in a table
	command  int // runes of a command
	stories  int // rows of the stories, those that need a look first
	runs     int // rows of earlier runs on the branch, at least 1
	findings int // of all kinds together
	network  int // refused addresses
	// storyBytes bounds these rows, and half of it the reviews folded below them.
	storyBytes int
	opens      bool // an iteration can be opened: its number in the table leads there
	lanes      int  // of a wave, in its chart; 0: none is drawn
	bars       int  // stories in that chart
}

// rendering is a document that has limits of its own.
type rendering int

const (
	summaryLimits rendering = iota
	bodyLimits
	commentLimits
	pageLimits
	terminalLimits
)

// bounds are the limits of a document. The runner drops a job summary above 1 MiB
// as a whole, and other programs of a step write to it, too; a forge accepts bodies
// of up to 65,536 characters; a comment is read in a mail; a page on disk has no
// limit but what a browser likes.
func (r rendering) bounds() bounds {
	return [...]bounds{
		summaryLimits:  {lanes: 64, bars: 250, said: 8000, files: 500, reasons: 50, bytes: 960 << 10, prompt: 4000, rows: 200, points: 100, failures: 40, output: 8000, final: 6000, list: 50, line: 500, cell: 80, command: 120, stories: 200, storyBytes: 200 << 10, runs: 50, findings: 200, network: 50},
		bodyLimits:     {lanes: 24, bars: 80, said: 4000, files: 100, reasons: 8, bytes: 65_000, prompt: 2000, rows: 25, points: 60, failures: 6, output: 2000, final: 2000, list: 8, line: 300, cell: 80, command: 120, stories: 60, storyBytes: 12_000, runs: 10, findings: 50, network: 10},
		commentLimits:  {reasons: 8, bytes: 16_000, rows: 5, list: 8, line: 300, cell: 80, command: 120, runs: 1, findings: 10, final: 2000},
		pageLimits:     {lanes: 256, bars: 5000, said: 8000, files: 2000, reasons: 100, prompt: 20_000, rows: 1000, points: 120, failures: 100, output: 20_000, final: 20_000, list: 100, line: 1000, cell: 200, command: 300, stories: 1000, storyBytes: 2 << 20, runs: 1000, findings: 1000, network: 500},
		terminalLimits: {said: 2000, files: 10, rows: 30, reasons: 50, list: 20, line: 1000, cell: 100, command: 200, stories: 20, runs: 10, findings: 30, network: 10},
	}[r]
}

// record builds the sections of a document.
type record struct {
	ralph.Report
	bounds
}

// Summary is the job summary in GitHub-flavoured Markdown, always below 1 MiB.
// The outcome stands in the first line.
func Summary(r ralph.Report) string {
	m := record{r, summaryLimits.bounds()}
	return doc.Markdown(m.bytes, "## ", m.everything(m.links()))
}

// everything is all sections, the most important first.
func (m record) everything(facts []doc.Fact) []doc.Section {
	return slices.Concat([]doc.Section{
		m.headline(), m.facts(facts), m.reasons(), m.unchanged(false), m.errors(), m.steps(false),
	}, m.wave(), []doc.Section{
		m.changed(true), m.files(), m.checked(), m.left(), m.findings(), m.patch(), m.storyTable(), m.asked(false),
		m.table(), m.guardrailFailures(), m.history(), m.workers(), m.putBack(), m.scm(), m.charts(),
		m.final(), m.network(), m.notes(), m.steps(true), m.footer(),
	})
}

// BodyOptions is what the pull request's body needs beyond the record.
type BodyOptions struct {
	// Extra is Markdown of the owner's (the body input), taken as it is; it stands
	// above the record.
	Extra string
	// Marker is the first line, by which the body is known as ours: an HTML
	// comment. Empty: none.
	Marker string
	Closes int // the issue that merging closes; 0: none
	// About is what the body remembers; its issues are closed, too.
	About memory.About
}

// Body is the pull request's body: at most 65,536 characters, cut between
// sections.
func Body(r ralph.Report, o BodyOptions) string {
	o.About = o.About.With(o.Closes)
	m := record{r, bodyLimits.bounds()}
	facts := m.beside()
	if r.Outcome == "" {
		facts = append(m.now(), facts...)
	}
	return doc.Markdown(m.bytes, "### ", slices.Concat([]doc.Section{
		asIs("marker", memory.Marks(o.Marker, o.About)), asIs("description", doc.Own(o.Extra, ownBytes)), asIs("issue", m.closings(o.About.Issues)),
		m.standing(), m.facts(facts), m.reasons(), m.errors(),
	}, m.wave(), []doc.Section{
		m.changed(false), m.files(), m.checked(), m.leftToReview(), m.findings(), m.patch(), m.storyTable(), m.asked(true),
		m.table(), m.guardrailFailures(), m.history(), m.workers(), m.putBack(), m.scm(),
		m.network(), m.notes(), m.charts(), m.final(), m.footer(),
	}))
}

// standing is how a run ended, or how far it is, if it goes on.
func (m record) standing() doc.Section {
	if m.Outcome == "" {
		return m.progress()
	}
	return m.headline()
}

// beside are the links that the page of the pull request does not have.
func (m record) beside() []doc.Fact {
	return slices.DeleteFunc(m.links(), func(f doc.Fact) bool { return f.Name == "Pull request" || f.Name == "Branch" })
}

// closings are the lines by which merging closes issues.
func (m record) closings(issues []int) string {
	var lines []string
	for _, n := range issues {
		if line := memory.Closing(n, len(omitted(m.Report)) > 0); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Comment is the record of a run for an issue or a pull request, in a few
// lines. While the run has no outcome it tells what it does, later what came
// of it; the text is meant to replace the one before. marker is the first line, by which
// the comment is known as ours: an HTML comment; empty: none.
func Comment(r ralph.Report, marker string) string {
	p := &r.Publication
	p.Issue, p.Comment, p.PullRequest.Foreign = 0, "", false // the reader is there
	m := record{r, commentLimits.bounds()}
	if r.Outcome == "" {
		return doc.Markdown(m.bytes, "### ", []doc.Section{asIs("marker", marker), m.progress(), m.facts(m.soFarFacts()), m.soFar(), m.commentFooter()})
	}
	return doc.Markdown(m.bytes, "### ", []doc.Section{
		asIs("marker", marker), m.headline(), m.facts(m.links()), m.reasons(), m.unchanged(true), m.errors(),
		m.findings(), m.patch(), m.checks(), m.left(), m.commentFooter(),
	})
}

// asIs is a section of Markdown that is ours or the owner's.
func asIs(name, markdown string) doc.Section {
	return doc.Section{Name: name, Blocks: []doc.Block{doc.Para(markdown)}}
}

// HTML is a page of its own with the same sections as the summary, and with the
// iterations that were kept, to be opened; nil: none. It loads nothing, has charts as
// inline SVG, and is readable on light and dark screens, without scripts, and on paper.
func HTML(r ralph.Report, kept *transcript.Kept) ([]byte, error) {
	m := record{r, pageLimits.bounds()}
	m.opens = kept != nil
	sections := m.everything(append(m.links(), m.figures()...))
	after := 1 + slices.IndexFunc(sections, func(s doc.Section) bool { return s.Name == tableName })
	return doc.Page(memory.Title(r), resultIcon(r), tone(r), slices.Insert(sections, after, m.opened(kept)))
}

// Style says what a terminal can show.
type Style = doc.Style

// Text is what a person reads on a terminal when the run is over: outcome
// first, then the iterations, what is left, where the work is, what it cost.
func Text(r ralph.Report, o Style) string {
	m := record{r, terminalLimits.bounds()}
	facts := m.links()
	if len(m.Iterations) > 0 { // else nothing was used
		facts = append(facts, m.figures()...)
	}
	return doc.Terminal(o, slices.Concat([]doc.Section{m.headline(), m.reasons()}, m.wave(), []doc.Section{
		m.changed(true), m.files(), m.checked(), m.storyLines(o), m.iterationLines(o), m.history(), m.workers(), m.taskLines(o), m.findings(), m.network(),
		m.left(), m.facts(facts), m.steps(false), m.errors(), m.runNotes(), m.footer(),
	}))
}

// Brief is what of Text a person reads whose terminal shows other runs beside this one.
func Brief(r ralph.Report, o Style) string {
	m := record{r, terminalLimits.bounds()}
	return doc.Terminal(o, []doc.Section{m.headline(), m.reasons(), m.findings(), m.errors()})
}

// ownBytes is the most that the owner's text may take of a body.
const ownBytes = 20_000

// Redacted is a deep copy of r in which every text is cleaned of invisible
// characters (which could split a secret) and then passed through mask. Render
// from it, so that no rendering has to know about secrets. Names of ours, ids and
// what has a type of its own are kept: links and files are made of them.
func Redacted(r ralph.Report, mask func(string) string) ralph.Report {
	redact(reflect.ValueOf(&r).Elem(), mask)
	return r
}

// keptFields are those of the record that hold no text of anybody else's.
func keptFields() []string {
	return []string{"Version", "Mode", "Repository", "ServerURL", "HeadSHA", "SHA", "Tip", "Head", "Tree", "Digest", "Status"}
}

// redact masks the texts of v, and gives it slices and pointers of its own.
func redact(v reflect.Value, mask func(string) string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(mask(doc.Clean(v.String())))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(keptFields(), f.Name) {
				redact(v.Field(i), mask)
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		v.Set(own)
		for i := range v.Len() {
			redact(v.Index(i), mask)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		own := reflect.New(v.Type().Elem())
		own.Elem().Set(v.Elem())
		v.Set(own)
		redact(own.Elem(), mask)
	}
}
