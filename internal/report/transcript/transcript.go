// Package transcript keeps what the agent was asked and did in each iteration, and what
// came of it, as far as there is room: for the page of the report. What is left out is
// counted.
package transcript

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/doc"
)

// Bounds, in bytes on the page.
const (
	maxSteps      = 7 << 20   // of all iterations
	maxIteration  = 512 << 10 // of the steps of one
	maxPrompt     = 64 << 10  // of one prompt
	maxDiffs      = 3 << 20   // of all iterations
	maxText       = 64 << 10  // of one step
	maxIterations = 1000      // newest kept
	stepOverhead  = 200       // of the markup of one step
	openTools     = 4096      // tool calls that have not ended
)

// MaxDiff bounds the patch of each of n iterations, in bytes: they share the room that is
// there, and not all need theirs.
func MaxDiff(n int) int { return min(256<<10, max(16<<10, 4*maxDiffs/max(1, n))) }

// Kept is the iterations of a run. It is told by one goroutine at a time.
type Kept struct {
	Mask func(string) string // takes secrets out of a text
	// Log is the file that holds all that the agent put out; empty: there is none.
	Log string

	limit   int // of one iteration, lower the more there are; 0: maxIteration
	total   int // bytes of those that ended
	diffs   int // bytes of patches
	patched int // iterations that have theirs
	ended   []*Iteration
	now     *Iteration // goes on; nil: none
	tools   map[string]*Step
	prompt  string // the last that differed from the one before
	asked   int    // the iteration that had it first
}

// Iteration is what is kept of one. Secrets are taken out of its texts, and what is
// invisible in them is shown.
type Iteration struct {
	Number int
	Prompt string
	Asked  int // characters of the whole prompt
	SameAs int // an earlier iteration with the same prompt, which is not kept again; 0: none
	// First and Last are the steps; LeftOut were between them, with Bytes of text.
	First, Last    []*Step
	LeftOut, Bytes int

	Diff   string // a patch; empty: see NoDiff
	NoDiff string // why there is no patch, in a sentence; empty: nothing changed
	Cut    int    // bytes of the patch that are left out

	first, last int // bytes of First and Last
}

// Step is one thing that happened.
type Step struct {
	Kind         ralph.EventKind // a tool's start and its end are one EventToolStart
	Took         time.Duration   // of a tool that ended
	Tool, Input  string
	Text         string
	Echo, Failed bool
	Lines, Chars int // of the whole text; 0: Text is all of it

	pieces  []string // as they come; Text is made of them when the iteration ends
	text    int      // bytes of these
	bytes   int      // of all of the step
	at      time.Time
	message string
	inLast  bool
	gone    bool // left out
}

// Iterations is what was kept, oldest first.
func (k *Kept) Iterations() []*Iteration {
	k.end()
	return k.ended
}

// Event takes up what happened.
func (k *Kept) Event(e ralph.Event) {
	if e.Kind == ralph.EventIterationStart {
		k.end()
		k.now, k.tools = &Iteration{Number: e.Iteration}, map[string]*Step{}
	}
	if k.now == nil {
		return
	}
	switch e.Kind {
	case ralph.EventPrompt:
		k.prompted(e)
	case ralph.EventText:
		k.said(e)
	case ralph.EventToolStart:
		s := k.add(e)
		s.Tool, s.Input = e.Tool, e.Text
		k.grow(s, "")
		if len(k.tools) < openTools {
			k.tools[e.ToolID] = s
		}
	case ralph.EventToolEnd:
		k.toolEnded(e)
	case ralph.EventTodo:
		k.grow(k.add(e), todo(e.Todos))
	case ralph.EventResult:
		if e.Turn != nil && e.Turn.Failure != nil {
			k.grow(k.add(e), e.Turn.Failure.Kind.String()+": "+e.Turn.Failure.Message)
		}
	case ralph.EventTaskEnd:
		if e.Task != nil {
			s := k.add(e)
			s.Input, s.Took, s.Failed = e.Task.Command, e.Task.Duration, e.Task.ExitCode != 0
			k.grow(s, e.Task.Output)
		}
	case ralph.EventProgress, ralph.EventKept, ralph.EventRetry, ralph.EventNotice, ralph.EventWarning:
		k.grow(k.add(e), e.Text)
	case ralph.EventIterationEnd:
		if e.Record == nil {
			k.now = nil // nobody was asked
		}
		k.end()
	}
}

// prompted takes up a prompt: the iteration's, which its attempts share, or a question
// for what the turn left unsaid.
func (k *Kept) prompted(e ralph.Event) {
	switch {
	case e.Attempt > 1:
		k.add(e)
	case e.Attempt < 1:
		k.grow(k.add(e), e.Text)
	case e.Text == k.prompt && k.asked > 0:
		k.now.SameAs = k.asked
	default:
		k.prompt, k.asked = e.Text, k.now.Number
		k.now.Asked = utf8.RuneCountInString(e.Text)
		k.now.Prompt = shortened(k.shown(e.Text), maxPrompt)
	}
}

// said takes up a text, or more of one.
func (k *Kept) said(e ralph.Event) {
	if s := k.latest(); s != nil && s.Kind == e.Kind && s.message == e.Message && s.Echo == e.Echo && s.text < maxText {
		k.grow(s, e.Text)
		return
	}
	s := k.add(e)
	s.message, s.Echo = e.Message, e.Echo
	k.grow(s, e.Text)
}

func (k *Kept) toolEnded(e ralph.Event) {
	s := k.tools[e.ToolID]
	if s == nil { // its start was not reported
		s = k.add(e)
		s.Kind, s.Tool = ralph.EventToolStart, e.Tool
	}
	delete(k.tools, e.ToolID)
	s.Took = max(0, e.At.Sub(s.at))
	s.Failed, s.Lines, s.Chars = e.IsError, e.Lines, e.Chars
	k.grow(s, e.Text)
}

func todo(list []ralph.Todo) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteString([...]string{ralph.TodoPending: "[ ] ", ralph.TodoActive: "[>] ", ralph.TodoDone: "[x] "}[t.Status] + t.Text + "\n")
	}
	return b.String()
}

// latest is the step that was the last; nil: none.
func (k *Kept) latest() *Step {
	list := k.now.First
	if len(k.now.Last) > 0 {
		list = k.now.Last
	}
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// add begins a step.
func (k *Kept) add(e ralph.Event) *Step {
	it := k.now
	s := &Step{Kind: e.Kind, at: e.At}
	if s.inLast = it.LeftOut > 0 || len(it.Last) > 0 || it.first > k.most()/2; s.inLast {
		it.Last = append(it.Last, s)
	} else {
		it.First = append(it.First, s)
	}
	k.grow(s, "")
	return s
}

// grow adds a piece to the text of a step, and makes room.
func (k *Kept) grow(s *Step, piece string) {
	it, was := k.now, s.bytes
	if s.gone {
		it.Bytes += len(piece)
		return
	}
	if piece != "" {
		s.pieces, s.text = append(s.pieces, piece), s.text+len(piece)
	}
	if s.bytes = stepOverhead + len(s.Tool) + len(s.Input) + s.text; !s.inLast {
		it.first += s.bytes - was
		return
	}
	it.last += s.bytes - was
	for it.last > k.most()/2 && len(it.Last) > 1 {
		out := it.Last[0]
		it.last -= out.bytes
		it.LeftOut, it.Bytes = it.LeftOut+1, it.Bytes+out.text
		out.gone, out.pieces = true, nil
		it.Last[0], it.Last = nil, it.Last[1:]
	}
}

// most bounds the steps of one iteration.
func (k *Kept) most() int {
	if k.limit == 0 {
		k.limit = maxIteration
	}
	return k.limit
}

// end takes the iteration that goes on for ended.
func (k *Kept) end() {
	it := k.now
	if it == nil {
		return
	}
	k.now, k.tools = nil, nil
	for _, s := range slices.Concat(it.First, it.Last) {
		s.Tool, s.Input, s.Text = k.shown(s.Tool), k.shown(s.Input), strings.Trim(k.shown(strings.Join(s.pieces, "")), "\n")
		s.pieces = nil
	}
	k.ended = append(k.ended, it)
	if len(k.ended) > maxIterations {
		k.total -= k.ended[0].cost()
		k.ended = slices.Delete(k.ended, 0, 1)
	}
	k.total += it.cost()
	for k.total > maxSteps && k.most() > 1<<10 {
		k.limit, k.total = k.most()/2, 0
		for _, it := range k.ended {
			it.shrink(k.limit)
			k.total += it.cost()
		}
	}
}

// shrink leaves out what is in the middle of an iteration.
func (it *Iteration) shrink(limit int) {
	it.Prompt = shortened(it.Prompt, limit/4)
	all := slices.Concat(it.First, it.Last)
	for _, s := range all {
		if s.Chars == 0 && len(s.Text) > limit/8 {
			s.Lines, s.Chars = strings.Count(s.Text, "\n")+1, utf8.RuneCountInString(s.Text)
		}
		s.Text = shortened(s.Text, limit/8)
	}
	head, tail, room, least := 0, len(all), limit, 0
	for ; head < len(it.First) && room-all[head].cost() >= limit/2; head++ {
		room -= all[head].cost()
	}
	if least = head; it.LeftOut > 0 {
		least = len(it.First)
	}
	for ; tail > least && all[tail-1].cost() <= room; tail-- {
		room -= all[tail-1].cost()
	}
	for _, s := range all[head:tail] {
		it.LeftOut, it.Bytes = it.LeftOut+1, it.Bytes+len(s.Text)
	}
	it.First, it.Last = all[:head:head], slices.Clone(all[tail:])
}

// cost is the bytes that an iteration takes of the page, but for its patch.
func (it *Iteration) cost() int {
	n := size(it.Prompt)
	for _, s := range it.First {
		n += s.cost()
	}
	for _, s := range it.Last {
		n += s.cost()
	}
	return n
}

func (s *Step) cost() int { return stepOverhead + size(s.Tool) + size(s.Input) + size(s.Text) }

// size is the bytes of a text in HTML.
func size(s string) int {
	count := func(c string) int { return strings.Count(s, c) } // which is much faster than to look at each byte
	return len(s) + 3*(count("<")+count(">")) + 4*(count("&")+count("+")+count(`"`)+count("'"))
}

// Changed takes up the patch of an iteration that ended, with its secrets taken out. Each
// gets its share of the room that is left.
func (k *Kept) Changed(it *Iteration, patch string) {
	share := (maxDiffs - k.diffs) / max(1, len(k.ended)-k.patched)
	k.patched++
	it.Diff = patch
	if all := size(patch); all > share {
		it.Diff = whole(patch[:len(patch)*share/all])
		if i := strings.LastIndexByte(it.Diff, '\n'); i >= 0 {
			it.Diff = it.Diff[:i+1]
		}
		it.Cut = len(patch) - len(it.Diff)
	}
	k.diffs += size(it.Diff)
}

// shown is a text without secrets, in which the invisible can be seen. A secret that
// something invisible splits is taken out, too.
func (k *Kept) shown(text string) string {
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	text = k.Mask(text)
	clean := doc.Clean(text)
	if clean == text {
		return text
	}
	if masked := k.Mask(clean); masked != clean {
		return masked
	}
	return doc.Visible(text)
}

// leftOut stands in place of the middle of a text.
const leftOut = "\n[… the middle is left out …]\n"

// shortened leaves out the middle of a text that is longer than limit bytes.
func shortened(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head := whole(s[:limit*3/4])
	tail := s[len(s)-limit/4:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + leftOut + tail
}

// whole is s without a character that is cut at its end.
func whole(s string) string {
	for n := 1; n <= min(len(s), utf8.UTFMax); n++ {
		if c := s[len(s)-n:]; utf8.RuneStart(c[0]) {
			if !utf8.FullRuneInString(c) {
				return s[:len(s)-n]
			}
			return s
		}
	}
	return s
}
