package agent

import (
	"github.com/org/ralph-action/internal/ralph"
)

// textMode is an agent in text mode: it prints its answer on stdout, and on stderr
// what it wants to say besides. With exact arguments nobody knows what it
// prints where, so both are one stream.
type textMode struct{ format }

func (textMode) merged(o Options) bool {
	return o.Exact || o.Merge && o.answer.root == nil && !o.judges()
}

func (textMode) decoder(o Options, p ralph.Prompt, emit func(ralph.Event), finished func()) decoder {
	d := text{}.decoder(o, p, emit, finished).(*textDecoder)
	if o.Exact {
		return d
	}
	return &plainDecoder{textDecoder: d, answer: o.answer, held: tail{limit: maxText}, errs: tail{limit: 8 << 10}}
}

// plainDecoder reads the answer of a CLI from its stdout, or from the file it
// was told to leave it in. Then stdout counts only when the file stayed empty.
type plainDecoder struct {
	*textDecoder
	answer file
	held   tail // of stdout, until it is known what the file holds
	errs   tail
}

func (d *plainDecoder) Stdout(p []byte) {
	if d.answer.root != nil {
		_, _ = d.held.Write(p)
		return
	}
	d.textDecoder.Stdout(p)
}

func (d *plainDecoder) Stderr(p []byte) { _, _ = d.errs.Write(p) }

func (d *plainDecoder) Close() {
	if d.answer.root != nil {
		text := d.answer.read()
		if text == "" {
			text = d.held.String()
		}
		d.textDecoder.Stdout([]byte(text))
	}
	d.textDecoder.Close()
}

// LastWords is the last line on stderr, or else of the answer.
func (d *plainDecoder) LastWords() string {
	if s := lastLine(d.errs.String()); s != "" {
		return s
	}
	return d.textDecoder.LastWords()
}

func (d *plainDecoder) Failure(exit int) *ralph.Failure {
	return d.judge(exit, d.LastWords())
}
