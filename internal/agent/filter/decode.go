package filter

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// maxEndless is how many lines a filter may run into its limits on before it
// is left out for the rest of the turn.
const maxEndless = 3

// Decoder reads a turn whose words the user's own jq expression picks. Every
// line of JSON goes through it, those of stderr too, as they would through
// `2>&1 | jq -r`; other lines are passed over. What it gives is one text with a
// line end behind each output, in which one copy of the prompt is marked as
// echo.
//
// All that is no text still comes from the decoder of the agent's own stream,
// where there is one: tools, usage, session, failures.
type Decoder struct {
	emit  func(ralph.Event)
	Inner driver.Decoder // nil: none
	Words driver.Decoder // of the filter's output
	Pick  func(v any)    // takes what is wanted from a line
	Sieve                // of the words

	out, errs driver.Lines
	line      int // of both outputs
	values    int // lines that were JSON
	Noise     int // lines that were not
	LastNoise string
	Texts     []byte
}

// Sieve is one of the user's expressions, and how it went in a turn.
type Sieve struct {
	What    string   // for messages
	Program *Program // nil: left out, or halted
	failed  int      // lines it failed on
	endless int      // lines it was stopped on
}

// NewDecoder reads with compiled code; inner is nil where the agent has no stream of its own.
func NewDecoder(code *Code, inner, words driver.Decoder, emit func(ralph.Event)) *Decoder {
	d := &Decoder{emit: emit, Inner: inner, Words: words, Sieve: Sieve{What: "the response filter", Program: NewProgram(code)}}
	d.Pick = d.pickWords
	d.out = driver.Lines{Limit: driver.MaxLine, Line: d.filter}
	d.errs = driver.Lines{Limit: driver.MaxLine, Line: d.filter}
	return d
}

// Stdout goes line by line, so that texts and tool calls stay in order.
func (d *Decoder) Stdout(p []byte) {
	for len(p) > 0 {
		n := bytes.IndexByte(p, '\n') + 1
		if n == 0 {
			n = len(p)
		}
		_, _ = d.out.Write(p[:n])
		if d.Inner != nil {
			d.Inner.Stdout(p[:n])
		}
		p = p[n:]
	}
}

// Stderr takes a piece of stderr.
func (d *Decoder) Stderr(p []byte) {
	_, _ = d.errs.Write(p)
	if d.Inner != nil {
		d.Inner.Stderr(p)
	}
}

// Close ends the stream.
func (d *Decoder) Close() {
	d.out.Close()
	d.errs.Close()
	d.Words.Close()
	if d.Inner != nil {
		d.Inner.Close()
	}
	d.Summarize(&d.Sieve)
}

// Summarize tells how often an expression failed.
func (d *Decoder) Summarize(s *Sieve) {
	if s.failed > 1 {
		d.tell(ralph.EventNotice, fmt.Sprintf("%s failed on %d of %d lines of JSON", s.What, s.failed, d.values))
	}
}

func (d *Decoder) filter(line []byte, cut bool) {
	d.line++
	if d.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if jsonscan.Blank(line) {
		return
	}
	v, ok := jsonscan.Parse(line)
	if cut || !ok {
		d.Noise++
		d.LastNoise = driver.OneLine(jsonscan.Valid(line[:min(len(line), 4*driver.MaxMessage)]))
		return
	}
	d.values++
	d.Pick(v)
}

func (d *Decoder) pickWords(v any) {
	if d.Program == nil {
		return
	}
	var err error
	d.Texts, err = d.Program.Run(d.Texts[:0], v)
	if len(d.Texts) > 0 {
		d.Words.Stdout(d.Texts)
	}
	if cap(d.Texts) > driver.KeepLine {
		d.Texts = nil
	}
	if err != nil {
		d.Fail(&d.Sieve, err)
	}
}

// Fail counts, and tells of an expression's first failure and of its end.
func (d *Decoder) Fail(s *Sieve, err error) {
	what := fmt.Sprintf("%s failed on line %d of the agent's output: %v", s.What, d.line, err)
	switch {
	case errors.Is(err, ErrHalt):
		s.Program = nil
		if err == ErrHalt { //nolint:errorlint // wrapped, it brings a message of the filter's
			return
		}
		s.failed++
		d.tell(ralph.EventWarning, what)
		return
	case errors.Is(err, ErrTime), errors.Is(err, errFilterMemory):
		s.endless++
	}
	s.failed++
	switch {
	case s.endless == maxEndless:
		s.Program = nil
		rest := "; the rest of this turn does without it"
		if s == &d.Sieve {
			rest = "; the rest of this turn is not filtered, and has no words"
		}
		d.tell(ralph.EventWarning, what+rest)
	case s.failed == 1:
		d.tell(ralph.EventWarning, what)
	}
}

func (d *Decoder) tell(kind ralph.EventKind, text string) {
	d.emit(ralph.Event{Kind: kind, At: time.Now(), Text: driver.Clip(text, driver.MaxMessage)})
}

// Turn has its text from the filter.
func (d *Decoder) Turn() ralph.Turn {
	words := d.Words.Turn()
	if d.Inner == nil {
		words.Malformed = d.Noise
		return words
	}
	turn := d.Inner.Turn()
	turn.FinalText = words.FinalText
	return turn
}

// Done reports whether the final result is there.
func (d *Decoder) Done() bool { return d.Inner != nil && d.Inner.Done() }

// Failure judges the words by what the filter picked, and all else as the
// agent's own decoder does.
func (d *Decoder) Failure(exit int) *ralph.Failure {
	if d.Inner != nil && !d.strange() {
		f := d.Inner.Failure(exit)
		switch {
		case f != nil && f.Kind != ralph.FailureEmpty:
			return f
		case d.Spoke() || d.Inner.Turn().Tools > 0:
			return nil
		}
		return d.empty()
	}
	return d.Judge(exit)
}

// Judge goes by the exit code and the words alone.
func (d *Decoder) Judge(exit int) *ralph.Failure {
	switch {
	case exit != 0:
		return &ralph.Failure{Kind: ralph.FailureCrash, Message: driver.Clip(driver.WithWords("the agent "+driver.ExitText(exit), d.LastWords()), driver.MaxMessage)}
	case d.values == 0 && d.Noise > 0:
		return &ralph.Failure{Kind: ralph.FailureMalformed,
			Message: driver.Clip(driver.WithWords("the agent exited with code 0, and no line of its output was JSON", d.LastWords()), driver.MaxMessage)}
	case d.values == 0:
		return &ralph.Failure{Kind: ralph.FailureEmpty, Message: "the agent exited with code 0 and printed nothing"}
	case d.Spoke():
		return nil
	}
	return d.empty()
}

// strange reports whether no line was one of the agent's own stream: another program
// stands behind its name, or an older one.
func (d *Decoder) strange() bool { return d.values > 0 && d.Inner.Turn().Unknown >= d.values }

// Spoke reports whether the expression picked any words.
func (d *Decoder) Spoke() bool { return d.Words.Failure(0) == nil }

func (d *Decoder) empty() *ralph.Failure {
	message := fmt.Sprintf("%s picked no text from %d lines of JSON", d.What, d.values)
	if d.failed > 0 {
		message += fmt.Sprintf(", and failed on %d of them", d.failed)
	}
	return &ralph.Failure{Kind: ralph.FailureEmpty, Message: message}
}

// LastWords is the last line that was no JSON.
func (d *Decoder) LastWords() string {
	if d.Inner != nil {
		return d.Inner.LastWords()
	}
	return d.LastNoise
}
