package driver

import (
	"strconv"

	"github.com/org/ralph-action/internal/agent/jsonscan"
)

// Pieces gathers texts that come a few letters at a time.
type Pieces struct {
	Begun  bool // a part of the text at hand was there
	stream *Stream
	texts  int
	held   []byte
	echo   bool // the text at hand is no word of the agent's own
	goesOn bool // a part of it was emitted
}

// NewPieces emits the texts to a stream.
func NewPieces(d *Stream) Pieces { return Pieces{stream: d} }

// Add adds a string value to the text at hand. An echo begins another text.
func (t *Pieces) Add(value []byte, echo bool) {
	raw, _ := jsonscan.Inner(value)
	if len(raw) == 0 {
		return
	}
	if echo && !t.echo {
		t.End()
	}
	if !t.Begun {
		t.texts++
		t.Begun, t.echo = true, echo
	}
	for len(raw) > 0 {
		t.held, raw = jsonscan.Unescape(t.held, raw, MaxText)
		if len(raw) > 0 || len(t.held) >= MaxText {
			t.flush()
		}
	}
}

func (t *Pieces) flush() {
	if len(t.held) > 0 {
		t.stream.Words(jsonscan.Valid(t.held), "text "+strconv.Itoa(t.texts), t.echo, t.goesOn)
		t.held, t.goesOn = t.held[:0], true
	}
}

// End emits what is left of the text at hand.
func (t *Pieces) End() {
	t.flush()
	t.Begun, t.goesOn, t.echo = false, false, false
}
