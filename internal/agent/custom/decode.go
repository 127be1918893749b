package custom

import (
	"cmp"
	"errors"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/filter"
	"github.com/org/ralph-action/internal/agent/text"
	"github.com/org/ralph-action/internal/ralph"
)

// decoder is what the filters of a custom agent find besides its words, which
// [Filtered] has.
type decoder struct {
	driver.Stream
	lines  *filter.Decoder
	ids    *fieldSieve   // of messages; nil: none
	sieves []*fieldSieve // of all else but the words
	bad    int           // lines a filter failed on

	ends    bool   // the end of a call is told
	marks   bool   // the end of the turn is told
	message string // id of the text at hand; empty: none that may go on
	calls   []call // that have not ended, in their order
	anyone  bool   // this line ended a call it did not name

	done    bool
	fault   fault
	used    ralph.Usage
	amounts map[string]float64 // by the names of their filters, without add-
}

// fieldSieve is a filter and what becomes of what it finds. An error is about
// the value.
type fieldSieve struct {
	filter.Sieve
	found func(v any) error
}

// call is a tool call that has not ended.
type call struct{ id, name string }

// newDecoder reads a turn with the code of each filter by its name; that
// of text has to be there.
func newDecoder(codes map[string]*filter.Code, o driver.Options, p ralph.Prompt, emit func(ralph.Event), finished func()) *filter.Decoder {
	words := text.NewDecoder(o, p, emit)
	t := &decoder{Stream: driver.NewStream("the agent", emit, finished), amounts: map[string]float64{}}
	t.lines = filter.NewDecoder(codes["text"], t, words, emit)
	t.lines.Pick = t.pick
	if o.Filter == "" {
		t.lines.What = "agent-filters: text"
	}
	t.Told.CountsTools = codes["tool"] != nil
	t.ends = codes["tool-end"] != nil || codes["tool-error"] != nil
	t.marks = codes["done"] != nil
	named := func(name string, found func(v any) error) *fieldSieve {
		return &fieldSieve{filter.Sieve{What: "agent-filters: " + name, Program: filter.NewProgram(codes[name])}, found}
	}
	if codes["message"] != nil {
		t.ids = named("message", nil)
	}
	for _, f := range t.finders() {
		if codes[f.name] != nil {
			t.sieves = append(t.sieves, named(f.name, f.found))
		}
	}
	return t.lines
}

// pick reads one line: its words first, whose message is asked before.
func (t *decoder) pick(v any) {
	bad, id := false, ""
	if t.ids != nil {
		bad = t.sift(t.ids, v, func(v any) error { id = cmp.Or(id, scalar(v)); return nil })
	}
	bad = t.words(v, id) || bad
	t.anyone = false
	for _, s := range t.sieves {
		bad = t.sift(s, v, s.found) || bad
	}
	if bad {
		t.bad++
	}
	t.spend()
}

// sift runs a filter on a line, and says whether it failed. null and false are
// nothing.
func (t *decoder) sift(s *fieldSieve, v any, found func(v any) error) (failed bool) {
	if s.Program == nil {
		return false
	}
	err := s.Program.Each(v, func(v any) error {
		if v == nil || v == false {
			return nil
		}
		return found(v)
	})
	if err == nil {
		return false
	}
	t.lines.Fail(&s.Sieve, err)
	return !errors.Is(err, filter.ErrHalt)
}

// words passes on the texts of a line, and says whether the filter failed. Texts
// of one message are one text, unless another or a tool call stands between.
func (t *decoder) words(v any, id string) (failed bool) {
	d := t.lines
	if d.Program == nil {
		return false
	}
	d.Texts = d.Texts[:0]
	err := d.Program.Each(v, func(v any) (err error) {
		if v != nil {
			d.Texts, err = d.Program.Append(d.Texts, v, d.Program.Bytes)
		}
		return err
	})
	if n := len(d.Texts); n > 0 {
		if t.message != "" && id != t.message {
			d.Words.Stdout([]byte{'\n'})
		}
		if t.message = id; id != "" {
			n-- // it may go on
		}
		d.Words.Stdout(d.Texts[:n])
	}
	if cap(d.Texts) > driver.KeepLine {
		d.Texts = nil
	}
	if err != nil {
		d.Fail(&d.Sieve, err)
	}
	return err != nil && !errors.Is(err, filter.ErrHalt)
}

// endText ends the text at hand: what follows a tool call is another.
func (t *decoder) endText() {
	if t.message != "" {
		t.message = ""
		t.lines.Words.Stdout([]byte{'\n'})
	}
	t.flush()
}

// flush emits the words at hand, so that they stand before what comes.
func (t *decoder) flush() {
	if d, ok := t.lines.Words.(*text.Decoder); ok {
		d.Flush()
	}
}

// Stdout has the lines from [Filtered] already.
func (t *decoder) Stdout([]byte) {}

// Close tells which filters failed how often; those of the words have been told.
func (t *decoder) Close() {
	for _, s := range t.sieves {
		t.lines.Summarize(&s.Sieve)
	}
}

func (t *decoder) Turn() ralph.Turn {
	turn := t.Told
	turn.Malformed = t.lines.Noise + t.bad
	turn.Usage = t.used
	cut := t.marks && !t.done // then it is what was used at least
	_, paid := t.amounts["cost"]
	turn.Usage.Cost.Unknown = cut || !paid
	turn.Usage.Tokens.Unknown = cut || !t.counts()
	return turn
}

// counts says that both kinds of tokens were told.
func (t *decoder) counts() bool {
	_, in := t.amounts["input-tokens"]
	_, out := t.amounts["output-tokens"]
	return in && out
}

// Done says that there was the end the filter done finds, or an error.
func (t *decoder) Done() bool { return t.done || t.fault.set }

// LastWords is what the CLI printed last for people.
func (t *decoder) LastWords() string {
	return cmp.Or(driver.OneLine(t.Errs.String()), t.lines.LastNoise)
}

// Failure is what went wrong by the CLI's own word. Where no filter finds the
// end, the exit code and the words tell.
func (t *decoder) Failure(exit int) *ralph.Failure {
	t.Said = t.lines.Spoke()
	switch {
	case t.fault.set:
		return t.fault.failure()
	case t.marks && !t.done:
		return t.Unfinished(exit, t.LastWords())
	case t.marks:
		return t.FinishedWell(exit, t.LastWords())
	}
	return t.lines.Judge(exit)
}
