package agent

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// maxEndless is how many lines a filter may run into its limits on before it
// is left out for the rest of the turn.
const maxEndless = 3

// filtered reads a turn whose words the user's own jq expression picks. Every
// line of JSON goes through it, those of stderr too, as they would through
// `2>&1 | jq -r`; other lines are passed over. What it gives is one text with a
// line end behind each output, in which one copy of the prompt is marked as
// echo.
//
// All that is no text still comes from the decoder of the agent's own stream,
// where there is one: tools, usage, session, failures.
type filtered struct {
	emit  func(ralph.Event)
	inner decoder     // nil: none
	words decoder     // of the filter's output
	pick  func(v any) // takes what is wanted from a line
	sieve             // of the words

	out, errs lines
	line      int // of both outputs
	values    int // lines that were JSON
	noise     int // lines that were not
	lastNoise string
	texts     []byte
}

// sieve is one of the user's expressions, and how it went in a turn.
type sieve struct {
	what    string // for messages
	jq      *jq    // nil: left out, or halted
	failed  int    // lines it failed on
	endless int    // lines it was stopped on
}

func newFiltered(code *filterCode, inner, words decoder, emit func(ralph.Event)) *filtered {
	d := &filtered{emit: emit, inner: inner, words: words, sieve: sieve{what: "the response filter", jq: newJQ(code)}}
	d.pick = d.pickWords
	d.out = lines{limit: maxLine, line: d.filter}
	d.errs = lines{limit: maxLine, line: d.filter}
	return d
}

// Stdout goes line by line, so that texts and tool calls stay in order.
func (d *filtered) Stdout(p []byte) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			n = len(p)
		}
		_, _ = d.out.Write(p[:n])
		if d.inner != nil {
			d.inner.Stdout(p[:n])
		}
		p = p[n:]
	}
}

func (d *filtered) Stderr(p []byte) {
	_, _ = d.errs.Write(p)
	if d.inner != nil {
		d.inner.Stderr(p)
	}
}

func (d *filtered) Close() {
	d.out.Close()
	d.errs.Close()
	d.words.Close()
	if d.inner != nil {
		d.inner.Close()
	}
	d.summarize(&d.sieve)
}

func (d *filtered) summarize(s *sieve) {
	if s.failed > 1 {
		d.tell(ralph.EventNotice, fmt.Sprintf("%s failed on %d of %d lines of JSON", s.what, s.failed, d.values))
	}
}

func (d *filtered) filter(line []byte, cut bool) {
	d.line++
	if d.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if space(line, 0) == len(line) {
		return
	}
	v, ok := parseJSON(line)
	if cut || !ok {
		d.noise++
		d.lastNoise = oneLine(valid(line[:min(len(line), 4*maxMessage)]))
		return
	}
	d.values++
	d.pick(v)
}

func (d *filtered) pickWords(v any) {
	if d.jq == nil {
		return
	}
	var err error
	d.texts, err = d.jq.run(d.texts[:0], v)
	if len(d.texts) > 0 {
		d.words.Stdout(d.texts)
	}
	if cap(d.texts) > keepLine {
		d.texts = nil
	}
	if err != nil {
		d.fail(&d.sieve, err)
	}
}

// fail counts, and tells of an expression's first failure and of its end.
func (d *filtered) fail(s *sieve, err error) {
	what := fmt.Sprintf("%s failed on line %d of the agent's output: %v", s.what, d.line, err)
	switch {
	case errors.Is(err, errHalt):
		s.jq = nil
		if err == errHalt { //nolint:errorlint // wrapped, it brings a message of the filter's
			return
		}
		s.failed++
		d.tell(ralph.EventWarning, what)
		return
	case errors.Is(err, errFilterTime), errors.Is(err, errFilterMemory):
		s.endless++
	}
	s.failed++
	switch {
	case s.endless == maxEndless:
		s.jq = nil
		rest := "; the rest of this turn does without it"
		if s == &d.sieve {
			rest = "; the rest of this turn is not filtered, and has no words"
		}
		d.tell(ralph.EventWarning, what+rest)
	case s.failed == 1:
		d.tell(ralph.EventWarning, what)
	}
}

func (d *filtered) tell(kind ralph.EventKind, text string) {
	d.emit(ralph.Event{Kind: kind, At: time.Now(), Text: clip(text, maxMessage)})
}

// Turn has its text from the filter.
func (d *filtered) Turn() ralph.Turn {
	words := d.words.Turn()
	if d.inner == nil {
		words.Malformed = d.noise
		return words
	}
	turn := d.inner.Turn()
	turn.FinalText = words.FinalText
	return turn
}

func (d *filtered) Done() bool { return d.inner != nil && d.inner.Done() }

// Failure judges the words by what the filter picked, and all else as the
// agent's own decoder does.
func (d *filtered) Failure(exit int) *ralph.Failure {
	if d.inner != nil && !d.strange() {
		f := d.inner.Failure(exit)
		switch {
		case f != nil && f.Kind != ralph.FailureEmpty:
			return f
		case d.spoke() || d.inner.Turn().Tools > 0:
			return nil
		}
		return d.empty()
	}
	return d.judge(exit)
}

// judge goes by the exit code and the words alone.
func (d *filtered) judge(exit int) *ralph.Failure {
	switch {
	case exit != 0:
		return &ralph.Failure{Kind: ralph.FailureCrash, Message: clip(said("the agent "+ExitText(exit), d.LastWords()), maxMessage)}
	case d.values == 0 && d.noise > 0:
		return &ralph.Failure{Kind: ralph.FailureMalformed,
			Message: clip(said("the agent exited with code 0, and no line of its output was JSON", d.LastWords()), maxMessage)}
	case d.values == 0:
		return &ralph.Failure{Kind: ralph.FailureEmpty, Message: "the agent exited with code 0 and printed nothing"}
	case d.spoke():
		return nil
	}
	return d.empty()
}

// strange says that no line was one of the agent's own stream: another program
// stands behind its name, or an older one.
func (d *filtered) strange() bool { return d.values > 0 && d.inner.Turn().Unknown >= d.values }

func (d *filtered) spoke() bool { return d.words.Failure(0) == nil }

func (d *filtered) empty() *ralph.Failure {
	message := fmt.Sprintf("%s picked no text from %d lines of JSON", d.what, d.values)
	if d.failed > 0 {
		message += fmt.Sprintf(", and failed on %d of them", d.failed)
	}
	return &ralph.Failure{Kind: ralph.FailureEmpty, Message: message}
}

// LastWords is the last line that was no JSON.
func (d *filtered) LastWords() string {
	if d.inner != nil {
		return d.inner.LastWords()
	}
	return d.lastNoise
}

// decoder reads one turn: the agent's own, or with a Filter around it. In text
// mode there is nothing to filter.
func (c *CLI) decoder(p ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	format := c.format
	if mode, ok := format.(textMode); ok {
		format = mode.format
	}
	if custom, ok := format.(custom); ok { // its filters know of no text mode
		return custom.decoder(c.o, p, emit, finished)
	}
	if c.filter == nil || c.o.Plain {
		return c.format.decoder(c.o, p, emit, finished)
	}
	words := text{}.decoder(c.o, p, emit, finished)
	if _, ok := c.format.(text); ok {
		return newFiltered(c.filter, nil, words, emit)
	}
	inner := c.format.decoder(c.o, p, func(e ralph.Event) {
		if e.Kind != ralph.EventText {
			emit(e)
		}
	}, finished)
	return newFiltered(c.filter, inner, words, emit)
}
