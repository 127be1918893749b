package agent

import (
	"github.com/org/ralph-action/internal/agent/custom"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/filter"
	"github.com/org/ralph-action/internal/agent/text"
	"github.com/org/ralph-action/internal/ralph"
)

// textMode is an agent in text mode: it prints its answer on stdout, and on stderr
// what it wants to say besides. With exact arguments nobody knows what it
// prints where, so both are one stream.
type textMode struct{ driver.Driver }

func (textMode) Merged(o Options) bool {
	return o.Exact || o.Merge && o.Turn.Answer.IsZero() && !judges(o)
}

func (textMode) Decoder(o Options, p ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	d := text.NewDecoder(o, p, emit)
	if o.Exact {
		return d
	}
	return text.NewPlainDecoder(d, o.Turn.Answer)
}

// newDecoder reads one turn: the agent's own, or with a Filter around it. In text
// mode there is nothing to filter.
func (c *CLI) newDecoder(p ralph.Prompt, emit func(ralph.Event), finished func()) driver.Decoder {
	format := c.driver
	if mode, ok := format.(textMode); ok {
		format = mode.Driver
	}
	if custom, ok := format.(custom.Driver); ok { // its filters know of no text mode
		return custom.Decoder(c.o, p, emit, finished)
	}
	if c.filter == nil || c.o.Plain {
		return c.driver.Decoder(c.o, p, emit, finished)
	}
	words := text.NewDecoder(c.o, p, emit)
	if _, ok := c.driver.(text.Driver); ok {
		return filter.NewDecoder(c.filter, nil, words, emit)
	}
	inner := c.driver.Decoder(c.o, p, func(e ralph.Event) {
		if e.Kind != ralph.EventText {
			emit(e)
		}
	}, finished)
	return filter.NewDecoder(c.filter, inner, words, emit)
}
