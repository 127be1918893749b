// Package text drives any command that prints plain text, and reads such an answer of
// other agents in text mode.
package text

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// Driver is any command that reads the prompt on stdin and prints what it has to
// say. Its output, stdout and stderr alike, is its words; it reports no tools,
// no tokens and no cost.
type Driver struct{ driver.Base }

// Argv is the command line for one unattended turn.
func (Driver) Argv(o driver.Options, _ ralph.Prompt) []string {
	return append(driver.Command(o, ""), o.Args...)
}

// Extras are the files the CLI gets for a turn.
func (Driver) Extras(o driver.Options) ([]driver.Extra, error) {
	if len(o.Command) == 0 {
		return nil, errors.New("needs agent-command, the command that reads the prompt on stdin")
	}
	if o.Model != "" {
		return nil, errors.New("model has no effect; write it into agent-command")
	}
	return nil, driver.RefuseExtras(o, "write them into agent-command")
}

// Merged reports that stdout and stderr are one stream.
func (Driver) Merged(driver.Options) bool { return true }

// Decoder reads one turn.
func (Driver) Decoder(o driver.Options, p ralph.Prompt, emit func(ralph.Event), _ func()) driver.Decoder {
	return NewDecoder(o, p, emit)
}

// NewDecoder reads the answer to a prompt.
func NewDecoder(o driver.Options, p ralph.Prompt, emit func(ralph.Event)) *Decoder {
	d := &Decoder{emit: emit, final: driver.Tail{Limit: driver.MaxText}}
	if !o.TextScanFull {
		d.echo = newEcho(p.Text)
	}
	return d
}

// Decoder emits whole lines with their line ends, as many as there are at
// once, in pieces of at most driver.MaxText bytes. One copy of the prompt in the
// output is marked as echo.
type Decoder struct {
	emit   func(ralph.Event)
	echo   *echo // nil: nothing is an echo
	held   []byte
	isEcho bool // of held
	echoed bool // a copy of the prompt was printed
	part   int  // texts before and after the echo are not one text
	final  driver.Tail
	spoke  bool
}

// Stdout takes a piece of stdout.
func (d *Decoder) Stdout(p []byte) {
	if d.echo == nil {
		d.add(p, false)
	} else {
		d.echo.feed(p, d.add)
	}
	if end := bytes.LastIndexByte(d.held, '\n'); end >= 0 {
		d.flush(end + 1)
	}
}

// Stderr takes a piece of stderr.
func (d *Decoder) Stderr(p []byte) { d.Stdout(p) }

// Close ends the stream.
func (d *Decoder) Close() {
	if d.echo != nil {
		d.echo.close(d.add)
	}
	d.flush(len(d.held))
}

func (d *Decoder) add(p []byte, isEcho bool) {
	if isEcho != d.isEcho {
		d.flush(len(d.held))
		d.isEcho = isEcho
		d.part++
	}
	for len(p) > 0 {
		n := min(len(p), driver.MaxText-len(d.held))
		d.held, p = append(d.held, p[:n]...), p[n:]
		if len(d.held) < driver.MaxText {
			return
		}
		end := bytes.LastIndexByte(d.held, '\n') + 1
		if end == 0 {
			end = max(1, jsonscan.RuneStart(d.held, len(d.held)-1))
		}
		d.flush(end)
	}
}

// Flush emits what is held, so that it stands before what comes.
func (d *Decoder) Flush() { d.flush(len(d.held)) }

// flush emits the first n bytes held.
func (d *Decoder) flush(n int) {
	if n == 0 {
		return
	}
	s := jsonscan.Valid(d.held[:n])
	if d.isEcho {
		d.echoed = true
	} else {
		_, _ = d.final.Write(d.held[:n])
		d.spoke = d.spoke || strings.TrimSpace(s) != ""
	}
	d.held = d.held[:copy(d.held, d.held[n:])]
	d.emit(ralph.Event{Kind: ralph.EventText, At: time.Now(), Text: s, Message: "text " + strconv.Itoa(d.part), Echo: d.isEcho})
}

// Turn is what the output told.
func (d *Decoder) Turn() ralph.Turn {
	return ralph.Turn{
		Usage:     ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}},
		FinalText: driver.Last(strings.TrimSpace(d.final.String()), driver.MaxText),
	}
}

// Done is never known of a text agent before it exits.
func (d *Decoder) Done() bool { return false }

// Failure judges the output and the exit code.
func (d *Decoder) Failure(exit int) *ralph.Failure { return d.judge(exit, d.LastWords()) }

func (d *Decoder) judge(exit int, words string) *ralph.Failure {
	switch {
	case exit != 0:
		return &ralph.Failure{Kind: ralph.FailureCrash, Message: driver.Clip(driver.WithWords("the agent "+driver.ExitText(exit), words), driver.MaxMessage)}
	case !d.spoke && d.echoed:
		return &ralph.Failure{Kind: ralph.FailureEmpty, Message: "the agent exited with code 0 and printed nothing but a copy of its prompt"}
	case !d.spoke:
		return &ralph.Failure{Kind: ralph.FailureEmpty, Message: "the agent exited with code 0 and printed nothing"}
	}
	return nil
}

// LastWords is the last line that is not blank.
func (d *Decoder) LastWords() string { return driver.LastLine(d.final.String()) }

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
