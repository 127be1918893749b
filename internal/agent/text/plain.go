package text

import (
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
)

// PlainDecoder reads the answer of a CLI from its stdout, or from the file it
// was told to leave it in. Then stdout counts only when the file stayed empty.
type PlainDecoder struct {
	*Decoder
	answer driver.File
	held   driver.Tail // of stdout, until it is known what the file holds
	errs   driver.Tail
}

// NewPlainDecoder reads the answer from the file, if there is one.
func NewPlainDecoder(d *Decoder, answer driver.File) *PlainDecoder {
	return &PlainDecoder{Decoder: d, answer: answer, held: driver.Tail{Limit: driver.MaxText}, errs: driver.Tail{Limit: 8 << 10}}
}

// Stdout takes a piece of stdout.
func (d *PlainDecoder) Stdout(p []byte) {
	if !d.answer.IsZero() {
		_, _ = d.held.Write(p)
		return
	}
	d.Decoder.Stdout(p)
}

// Stderr takes a piece of stderr.
func (d *PlainDecoder) Stderr(p []byte) { _, _ = d.errs.Write(p) }

// Close ends the stream.
func (d *PlainDecoder) Close() {
	if !d.answer.IsZero() {
		text := d.answer.Read()
		if text == "" {
			text = d.held.String()
		}
		d.Decoder.Stdout([]byte(text))
	}
	d.Decoder.Close()
}

// LastWords is the last line on stderr, or else of the answer.
func (d *PlainDecoder) LastWords() string {
	if s := driver.LastLine(d.errs.String()); s != "" {
		return s
	}
	return d.Decoder.LastWords()
}

// Failure judges the output and the exit code.
func (d *PlainDecoder) Failure(exit int) *ralph.Failure {
	return d.judge(exit, d.LastWords())
}
