package agent

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

const (
	maxText    = 64 << 10 // of one text event; longer texts come as several
	maxOutput  = 16 << 10 // of a tool's output in an event; a live log shows less
	maxName    = 128      // of ids and names
	maxMessage = 500      // of a failure's message and of progress
	maxOpen    = 4096     // tool calls, background tasks and todos kept at a time
	maxBlocks  = 1024     // content blocks of one line; today's CLIs print one or a few
)

// common is what the decoders of JSON lines share. Nothing it keeps grows with
// the stream.
type common struct {
	name     string // of the CLI, in messages
	emit     func(ralph.Event)
	finished func() // called when the turn's result is there, perhaps more than once

	giveUp func()         // see [decoder]; nil: nobody to tell
	denied func() bool    // see [Options]; nil: no walls
	hints  hints          // for messages
	lost   *ralph.Failure // why the turn was given up; nil: it was not

	out     lines
	errs    tail
	turn    ralph.Turn
	count   int // lines
	said    bool
	open    map[string]string // name of each running tool call by its id
	noise   string            // a line that was no JSON
	scratch []byte
}

func newCommon(name string, emit func(ralph.Event), finished func()) common {
	return common{
		name: name, emit: emit, finished: finished,
		errs: tail{limit: 8 << 10},
		turn: ralph.Turn{
			CountsTools: true,
			Usage:       ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}},
		},
		open: map[string]string{},
	}
}

func (d *common) Stdout(p []byte) { _, _ = d.out.Write(p) }
func (d *common) Stderr(p []byte) { _, _ = d.errs.Write(p) }

// Close ends the stream.
func (d *common) Close() { d.out.Close() }

// next counts a line and takes a byte order mark off the first one; blank says
// that there is nothing in it.
func (d *common) next(b []byte) (line []byte, blank bool) {
	d.count++
	if d.count == 1 {
		b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	}
	return b, space(b, 0) == len(b)
}

// malformed counts a line that was cut or is no JSON. One of no known kind is
// kept: it may be the CLI's last words.
func (d *common) malformed(b []byte, kind string) {
	d.turn.Malformed++
	if kind == "" {
		d.noise = oneLine(valid(b[:min(len(b), 4*maxMessage)]))
	}
}

// text emits the text of a string value, a message of its own or a block of
// one, in pieces of bounded size.
func (d *common) text(value []byte, message string, echo bool) {
	raw, _ := inner(value)
	for goesOn := false; len(raw) > 0; goesOn = true {
		d.scratch, raw = unescape(d.scratch[:0], raw, maxText)
		d.words(valid(d.scratch), message, echo, goesOn)
	}
}

// words emits a text, or more of one that goes on.
func (d *common) words(s, message string, echo, goesOn bool) {
	d.emit(ralph.Event{Kind: ralph.EventText, At: time.Now(), Text: s, Message: message, Echo: echo})
	if echo {
		return
	}
	d.said = true
	if !goesOn {
		d.turn.FinalText = ""
	}
	d.turn.FinalText = last(d.turn.FinalText+s, maxText)
}

// progress shows what the CLI itself has to say.
func (d *common) progress(text string) {
	if text != "" {
		d.emit(ralph.Event{Kind: ralph.EventProgress, At: time.Now(), Text: text})
	}
}

// usage reports what the turn has used so far, by model: at least that much. A
// model's cost is unknown unless the CLI told it.
func (d *common) usage(models ...ralph.ModelUsage) {
	d.emit(ralph.Event{Kind: ralph.EventUsage, At: time.Now(), Models: models})
}

// started reports a tool call, unless the one with this id runs already.
func (d *common) started(id, name, summary string, echo bool) bool {
	if _, running := d.open[id]; running && id != "" {
		return false
	}
	if len(d.open) < maxOpen {
		d.open[id] = name
	}
	d.turn.Tools++
	d.emit(ralph.Event{Kind: ralph.EventToolStart, At: time.Now(), Tool: name, ToolID: id, Text: summary, Echo: echo})
	return true
}

// ended reports the end of a tool call with what it put out, and returns its
// name.
func (d *common) ended(id string, o output, failed, echo bool) (name string) {
	name = d.open[id]
	delete(d.open, id)
	if failed {
		d.turn.ToolErrors++
	}
	text, lines, chars := o.result()
	d.scratch = o.kept
	d.emit(ralph.Event{Kind: ralph.EventToolEnd, At: time.Now(), Tool: name, ToolID: id, Text: text, Lines: lines, Chars: chars, IsError: failed, Echo: echo})
	return name
}

// output gathers what a tool put out, in a buffer of the decoder's.
func (d *common) output() output { return output{kept: d.scratch[:0]} }

// output is the beginning of a tool's output and the size of the rest.
type output struct {
	kept           []byte
	lineEnds, left int // of what was left out
}

// add appends the text behind raw, the inside of a JSON string.
func (o *output) add(raw []byte) {
	var rest []byte
	o.kept, rest = unescape(o.kept, raw, maxOutput)
	lineEnds, left := measure(rest)
	o.lineEnds, o.left = o.lineEnds+lineEnds, o.left+left
}

// addString appends the text of a string value and says whether it is one.
func (o *output) addString(value []byte) bool {
	raw, ok := inner(value)
	if ok {
		o.add(raw)
	}
	return ok
}

// addLine begins a new line, unless there is nothing before it.
func (o *output) addLine() {
	if len(o.kept) > 0 {
		o.add([]byte(`\n`))
	}
}

// result is the text kept. When something was left out, lines and chars are
// how much there was, else 0.
func (o *output) result() (text string, lines, chars int) {
	text = valid(o.kept)
	if o.left == 0 {
		return text, 0, 0
	}
	return text, strings.Count(text, "\n") + o.lineEnds + 1, utf8.RuneCountInString(text) + o.left
}

// Turn is the turn as the stream told it.
func (d *common) Turn() ralph.Turn { return d.turn }

// LastWords is what the CLI printed last on stderr, or a line that was no JSON.
func (d *common) LastWords() string {
	if s := oneLine(d.errs.String()); s != "" {
		return s
	}
	return d.noise
}

// unfinished judges a turn that has no final result.
func (d *common) unfinished(exit int, words string) *ralph.Failure {
	if exit == 0 {
		return d.failure(ralph.FailureMalformed, "exited with code 0 without a final result", words)
	}
	return d.failure(ralph.FailureCrash, ExitText(exit)+" without a final result", words)
}

// finishedWell judges a turn whose final result is no error.
func (d *common) finishedWell(exit int, words string) *ralph.Failure {
	switch {
	case exit != 0:
		return d.failure(ralph.FailureCrash, ExitText(exit)+" after its final result", words)
	case !d.said && d.turn.Tools == 0:
		return d.failure(ralph.FailureEmpty, "ended without a text and without a tool call", "")
	}
	return nil
}

// hints are what a user may have got wrong.
type hints struct {
	key   string // the variable a refused key came from
	unset bool   // nothing is in it: a login of the CLI's own was refused
	model string // the model that was asked for
}

// hintsOf are those for the options of an agent whose key is in a variable.
func hintsOf(o Options, key string) hints {
	return hints{key: key, unset: lookup(o.Env, key) == "", model: o.Model}
}

// login says what to look at when a login was refused.
func (h hints) login() string {
	switch {
	case h.key == "":
		return ""
	case strings.HasSuffix(h.key, "_CREDENTIALS"):
		return "; is the login right in " + h.key + ", and may it use the model?"
	case h.unset:
		return "; there is no key in " + h.key + " (input api-key), so what the CLI found elsewhere was refused"
	}
	return "; is the key right in " + h.key + " (input api-key), and may it use the model?"
}

// lose gives the turn up, unless that has been done.
func (d *common) lose(f *ralph.Failure) {
	if d.lost != nil {
		return
	}
	d.lost = f
	if d.giveUp != nil {
		d.giveUp()
	}
}

// refused gives the turn up where the network walls refused what it needs; what
// is what the CLI said about it.
func (d *common) refused(what string) {
	if d.denied != nil && d.denied() {
		d.lose(d.failure(ralph.FailureAPI, "found no way to its API", what))
	}
}

// hinted adds to a fatal failure what to look at. The words of the CLI give way
// to it.
func (d *common) hinted(f *ralph.Failure) *ralph.Failure {
	var hint string
	switch {
	case f.Kind == ralph.FailureAuth:
		hint = d.hints.login()
	case f.Kind == ralph.FailureModel && d.hints.model != "":
		hint = fmt.Sprintf("; is the input model right? it is %q", clip(d.hints.model, maxName))
	case f.Kind == ralph.FailureModel:
		hint = "; name another one in the input model: this is the CLI's default"
	}
	if hint != "" && !strings.HasSuffix(f.Message, hint) {
		f.Message = clip(f.Message, maxMessage-len(hint)) + hint
	}
	return f
}

// failure says what the CLI did, and its last words.
func (d *common) failure(kind ralph.FailureKind, what, words string) *ralph.Failure {
	return &ralph.Failure{Kind: kind, Message: clip(said(d.name+" "+what, words), maxMessage)}
}
