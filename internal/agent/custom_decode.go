package agent

import (
	"errors"

	"github.com/org/ralph-action/internal/ralph"
)

// customTurn is what the filters of a custom agent find besides its words, which
// [filtered] has.
type customTurn struct {
	common
	lines  *filtered
	ids    *customSieve   // of messages; nil: none
	sieves []*customSieve // of all else but the words
	bad    int            // lines a filter failed on

	ends    bool   // the end of a call is told
	marks   bool   // the end of the turn is told
	message string // id of the text at hand; empty: none that may go on
	calls   []call // that have not ended, in their order
	anyone  bool   // this line ended a call it did not name

	done    bool
	fault   customFault
	used    ralph.Usage
	amounts map[string]float64 // by the names of their filters, without add-
}

// customSieve is a filter and what becomes of what it finds. An error is about
// the value.
type customSieve struct {
	sieve
	found func(v any) error
}

// call is a tool call that has not ended.
type call struct{ id, name string }

// newCustomDecoder reads a turn with the code of each filter by its name; that
// of text has to be there.
func newCustomDecoder(codes map[string]*filterCode, o Options, p ralph.Prompt, emit func(ralph.Event), finished func()) *filtered {
	words := text{}.decoder(o, p, emit, finished)
	t := &customTurn{common: newCommon("the agent", emit, finished), amounts: map[string]float64{}}
	t.lines = newFiltered(codes["text"], t, words, emit)
	t.lines.pick = t.pick
	if o.Filter == "" {
		t.lines.what = "agent-filters: text"
	}
	t.turn.CountsTools = codes["tool"] != nil
	t.ends = codes["tool-end"] != nil || codes["tool-error"] != nil
	t.marks = codes["done"] != nil
	named := func(name string, found func(v any) error) *customSieve {
		return &customSieve{sieve{what: "agent-filters: " + name, jq: newJQ(codes[name])}, found}
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
func (t *customTurn) pick(v any) {
	bad, id := false, ""
	if t.ids != nil {
		bad = t.sift(t.ids, v, func(v any) error { id = firstOf(id, scalar(v)); return nil })
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
func (t *customTurn) sift(s *customSieve, v any, found func(v any) error) (failed bool) {
	if s.jq == nil {
		return false
	}
	err := s.jq.each(v, func(v any) error {
		if v == nil || v == false {
			return nil
		}
		return found(v)
	})
	if err == nil {
		return false
	}
	t.lines.fail(&s.sieve, err)
	return !errors.Is(err, errHalt)
}

// words passes on the texts of a line, and says whether the filter failed. Texts
// of one message are one text, unless another or a tool call stands between.
func (t *customTurn) words(v any, id string) (failed bool) {
	d := t.lines
	if d.jq == nil {
		return false
	}
	d.texts = d.texts[:0]
	err := d.jq.each(v, func(v any) (err error) {
		if v != nil {
			d.texts, err = d.jq.add(d.texts, v, d.jq.bytes)
		}
		return err
	})
	if n := len(d.texts); n > 0 {
		if t.message != "" && id != t.message {
			d.words.Stdout([]byte{'\n'})
		}
		if t.message = id; id != "" {
			n-- // it may go on
		}
		d.words.Stdout(d.texts[:n])
	}
	if cap(d.texts) > keepLine {
		d.texts = nil
	}
	if err != nil {
		d.fail(&d.sieve, err)
	}
	return err != nil && !errors.Is(err, errHalt)
}

// endText ends the text at hand: what follows a tool call is another.
func (t *customTurn) endText() {
	if t.message != "" {
		t.message = ""
		t.lines.words.Stdout([]byte{'\n'})
	}
	t.flush()
}

// flush emits the words at hand, so that they stand before what comes.
func (t *customTurn) flush() {
	if d, ok := t.lines.words.(*textDecoder); ok {
		d.flush(len(d.held))
	}
}

// Stdout has the lines from [filtered] already.
func (t *customTurn) Stdout([]byte) {}

// Close tells which filters failed how often; those of the words have been told.
func (t *customTurn) Close() {
	for _, s := range t.sieves {
		t.lines.summarize(&s.sieve)
	}
}

func (t *customTurn) Turn() ralph.Turn {
	turn := t.turn
	turn.Malformed = t.lines.noise + t.bad
	turn.Usage = t.used
	cut := t.marks && !t.done // then it is what was used at least
	_, paid := t.amounts["cost"]
	turn.Usage.Cost.Unknown = cut || !paid
	turn.Usage.Tokens.Unknown = cut || !t.counts()
	return turn
}

// counts says that both kinds of tokens were told.
func (t *customTurn) counts() bool {
	_, in := t.amounts["input-tokens"]
	_, out := t.amounts["output-tokens"]
	return in && out
}

// Done says that there was the end the filter done finds, or an error.
func (t *customTurn) Done() bool { return t.done || t.fault.set }

// LastWords is what the CLI printed last for people.
func (t *customTurn) LastWords() string {
	return firstOf(oneLine(t.errs.String()), t.lines.lastNoise)
}

// Failure is what went wrong by the CLI's own word. Where no filter finds the
// end, the exit code and the words tell.
func (t *customTurn) Failure(exit int) *ralph.Failure {
	t.said = t.lines.spoke()
	switch {
	case t.fault.set:
		return t.fault.failure()
	case t.marks && !t.done:
		return t.unfinished(exit, t.LastWords())
	case t.marks:
		return t.finishedWell(exit, t.LastWords())
	}
	return t.lines.judge(exit)
}
