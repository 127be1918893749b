package driver

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	MaxText    = 64 << 10 // of one text event; longer texts come as several
	maxOutput  = 16 << 10 // of a tool's output in an event; a live log shows less
	MaxName    = 128      // of ids and names
	MaxMessage = 500      // of a failure's message and of progress
	MaxOpen    = 4096     // tool calls, background tasks and todos kept at a time
	maxBlocks  = 1024     // content blocks of one line; today's CLIs print one or a few
)

// Stream is what the decoders of JSON lines share. Nothing it keeps grows with
// the stream.
type Stream struct {
	Name     string // of the CLI, in messages
	Emit     func(ralph.Event)
	Finished func() // called when the turn's result is there, perhaps more than once

	giveUp func()         // see [Decoder]; nil: nobody to tell
	denied func() bool    // see [Turn]
	Hints  Hints          // for messages
	Lost   *ralph.Failure // why the turn was given up; nil: it was not

	Out     Lines
	Errs    Tail
	Told    ralph.Turn
	Count   int // lines
	Said    bool
	Open    map[string]string // name of each running tool call by its id
	Noise   string            // a line that was no JSON
	scratch []byte
}

// NewStream is for a CLI of this name.
func NewStream(name string, emit func(ralph.Event), finished func()) Stream {
	return Stream{
		Name: name, Emit: emit, Finished: finished,
		Errs: Tail{Limit: 8 << 10},
		Told: ralph.Turn{
			CountsTools: true,
			Usage:       ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}},
		},
		Open: map[string]string{},
	}
}

// Stdout takes a piece of the stream.
func (d *Stream) Stdout(p []byte) { _, _ = d.Out.Write(p) }

// Stderr takes a piece of what the CLI says to people.
func (d *Stream) Stderr(p []byte) { _, _ = d.Errs.Write(p) }

// Close ends the stream.
func (d *Stream) Close() { d.Out.Close() }

// Next counts a line and takes a byte order mark off the first one; blank says
// that there is nothing in it.
func (d *Stream) Next(b []byte) (line []byte, blank bool) {
	d.Count++
	if d.Count == 1 {
		b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	}
	return b, jsonscan.Blank(b)
}

// ReadLines makes line read each line of the stream that is not blank: its kind, which is
// the member "type", and the members of the names, which are valid during the call. A
// partial line was cut or is malformed, and is counted: what stands before the break was
// read.
func (d *Stream) ReadLines(line func(v map[string][]byte, kind string, partial bool), names ...string) {
	v := make(map[string][]byte, len(names))
	d.Out = Lines{Limit: MaxLine, Line: func(b []byte, cut bool) {
		b, blank := d.Next(b)
		if blank {
			return
		}
		defer clear(v) // the line may be a giant
		kind := ""
		s := jsonscan.New(b)
		s.Object(func(key []byte) {
			value := s.Value()
			switch {
			case string(key) == "type":
				kind = NameOf(value)
			case slices.Contains(names, string(key)):
				v[string(key)] = value
			}
		})
		partial := cut || !s.Whole()
		if partial {
			d.Malformed(b, kind)
		}
		line(v, kind, partial)
	}}
}

// NameOf is the text of a string value that is an id or a name.
func NameOf(value []byte) string { return jsonscan.String(value, MaxName) }

// LineOf is the text of a string value on one line, bounded.
func LineOf(value []byte) string { return OneLine(jsonscan.String(value, 4*MaxMessage)) }

// Malformed counts a line that was cut or is no JSON. One of no known kind is
// kept: it may be the CLI's last words.
func (d *Stream) Malformed(b []byte, kind string) {
	d.Told.Malformed++
	if kind == "" {
		d.Noise = OneLine(jsonscan.Valid(b[:min(len(b), 4*MaxMessage)]))
	}
}

// Text emits the text of a string value, a message of its own or a block of
// one, in pieces of bounded size.
func (d *Stream) Text(value []byte, message string, echo bool) {
	raw, _ := jsonscan.Inner(value)
	for goesOn := false; len(raw) > 0; goesOn = true {
		d.scratch, raw = jsonscan.Unescape(d.scratch[:0], raw, MaxText)
		d.Words(jsonscan.Valid(d.scratch), message, echo, goesOn)
	}
}

// Words emits a text, or more of one that goes on.
func (d *Stream) Words(s, message string, echo, goesOn bool) {
	d.Emit(ralph.Event{Kind: ralph.EventText, At: time.Now(), Text: s, Message: message, Echo: echo})
	if echo {
		return
	}
	d.Said = true
	if !goesOn {
		d.Told.FinalText = ""
	}
	d.Told.FinalText = Last(d.Told.FinalText+s, MaxText)
}

// Progress shows what the CLI itself has to say.
func (d *Stream) Progress(text string) {
	if text != "" {
		d.Emit(ralph.Event{Kind: ralph.EventProgress, At: time.Now(), Text: text})
	}
}

// Usage reports what the turn has used so far, by model: at least that much. A
// model's cost is unknown unless the CLI told it.
func (d *Stream) Usage(models ...ralph.ModelUsage) {
	d.Emit(ralph.Event{Kind: ralph.EventUsage, At: time.Now(), Models: models})
}

// ToolStarted reports a tool call, unless the one with this id runs already.
func (d *Stream) ToolStarted(id, name, summary string, echo bool) bool {
	if _, running := d.Open[id]; running && id != "" {
		return false
	}
	if len(d.Open) < MaxOpen {
		d.Open[id] = name
	}
	d.Told.Tools++
	d.Emit(ralph.Event{Kind: ralph.EventToolStart, At: time.Now(), Tool: name, ToolID: id, Text: summary, Echo: echo})
	return true
}

// ToolEnded reports the end of a tool call with what it put out, and returns its
// name.
func (d *Stream) ToolEnded(id string, o Output, failed, echo bool) (name string) {
	name = d.Open[id]
	delete(d.Open, id)
	if failed {
		d.Told.ToolErrors++
	}
	text, lines, chars := o.result()
	d.scratch = o.kept
	d.Emit(ralph.Event{Kind: ralph.EventToolEnd, At: time.Now(), Tool: name, ToolID: id, Text: text, Lines: lines, Chars: chars, IsError: failed, Echo: echo})
	return name
}

// Output gathers what a tool put out, in a buffer of the decoder's.
func (d *Stream) Output() Output { return Output{kept: d.scratch[:0]} }

// Output is the beginning of a tool's output and the size of the rest.
type Output struct {
	kept           []byte
	lineEnds, left int // of what was left out
}

// Add appends the text behind raw, the inside of a JSON string.
func (o *Output) Add(raw []byte) {
	var rest []byte
	o.kept, rest = jsonscan.Unescape(o.kept, raw, maxOutput)
	lineEnds, left := jsonscan.Measure(rest)
	o.lineEnds, o.left = o.lineEnds+lineEnds, o.left+left
}

// AddString appends the text of a string value and says whether it is one.
func (o *Output) AddString(value []byte) bool {
	raw, ok := jsonscan.Inner(value)
	if ok {
		o.Add(raw)
	}
	return ok
}

// AddLine begins a new line, unless there is nothing before it.
func (o *Output) AddLine() {
	if len(o.kept) > 0 {
		o.Add([]byte(`\n`))
	}
}

// result is the text kept. When something was left out, lines and chars are
// how much there was, else 0.
func (o *Output) result() (text string, lines, chars int) {
	text = jsonscan.Valid(o.kept)
	if o.left == 0 {
		return text, 0, 0
	}
	return text, strings.Count(text, "\n") + o.lineEnds + 1, utf8.RuneCountInString(text) + o.left
}

// Turn is the turn as the stream told it.
func (d *Stream) Turn() ralph.Turn { return d.Told }

// LastWords is what the CLI printed last on stderr, or a line that was no JSON.
func (d *Stream) LastWords() string {
	if s := OneLine(d.Errs.String()); s != "" {
		return s
	}
	return d.Noise
}

// Unfinished judges a turn that has no final result.
func (d *Stream) Unfinished(exit int, words string) *ralph.Failure {
	if exit == 0 {
		return d.NewFailure(ralph.FailureMalformed, "exited with code 0 without a final result", words)
	}
	return d.NewFailure(ralph.FailureCrash, ExitText(exit)+" without a final result", words)
}

// FinishedWell judges a turn whose final result is no error.
func (d *Stream) FinishedWell(exit int, words string) *ralph.Failure {
	switch {
	case exit != 0:
		return d.NewFailure(ralph.FailureCrash, ExitText(exit)+" after its final result", words)
	case !d.Said && d.Told.Tools == 0:
		return d.NewFailure(ralph.FailureEmpty, "ended without a text and without a tool call", "")
	}
	return nil
}

// Hints are what a user may have got wrong.
type Hints struct {
	Key   string // the variable a refused key came from
	Unset bool   // nothing is in it: a login of the CLI's own was refused
	Model string // the model that was asked for
}

// Attach connects the decoder with its turn: who ends the CLI when the turn is lost, and
// what a failure is explained by.
func (d *Stream) Attach(o Options, h Hints) {
	d.giveUp, d.denied, d.Hints = o.Turn.GiveUp, o.Turn.Denied, h
}

// HintsOf are those for the options of an agent whose key is in a variable.
func HintsOf(o Options, key string) Hints {
	return Hints{Key: key, Unset: Lookup(o.Env, key) == "", Model: o.Model}
}

// login says what to look at when a login was refused.
func (h Hints) login() string {
	switch {
	case h.Key == "":
		return ""
	case strings.HasSuffix(h.Key, "_CREDENTIALS"):
		return "; is the login right in " + h.Key + ", and may it use the model?"
	case h.Unset:
		return "; there is no key in " + h.Key + " (input api-key), so what the CLI found elsewhere was refused"
	}
	return "; is the key right in " + h.Key + " (input api-key), and may it use the model?"
}

// Lose gives the turn up, unless that has been done.
func (d *Stream) Lose(f *ralph.Failure) {
	if d.Lost != nil {
		return
	}
	d.Lost = f
	if d.giveUp != nil {
		d.giveUp()
	}
}

// Refused gives the turn up where the network walls refused what it needs; what
// is what the CLI said about it.
func (d *Stream) Refused(what string) {
	if d.denied != nil && d.denied() {
		d.Lose(d.NewFailure(ralph.FailureAPI, "found no way to its API", what))
	}
}

// WithHint adds to a fatal failure what to look at. The words of the CLI give way
// to it.
func (d *Stream) WithHint(f *ralph.Failure) *ralph.Failure {
	var hint string
	switch {
	case f.Kind == ralph.FailureAuth:
		hint = d.Hints.login()
	case f.Kind == ralph.FailureModel && d.Hints.Model != "":
		hint = fmt.Sprintf("; is the input model right? it is %q", Clip(d.Hints.Model, MaxName))
	case f.Kind == ralph.FailureModel:
		hint = "; name another one in the input model: this is the CLI's default"
	}
	if hint != "" && !strings.HasSuffix(f.Message, hint) {
		f.Message = Clip(f.Message, MaxMessage-len(hint)) + hint
	}
	return f
}

// NewFailure says what the CLI did, and its last words.
func (d *Stream) NewFailure(kind ralph.FailureKind, what, words string) *ralph.Failure {
	return &ralph.Failure{Kind: kind, Message: Clip(WithWords(d.Name+" "+what, words), MaxMessage)}
}

// NoSuchModel says that a message is OpenAI's whole sentence about a model it
// does not have, which it sends without a code of its own in some places.
func NoSuchModel(message string) bool {
	return strings.HasPrefix(message, "The model `") && strings.HasSuffix(message, "` does not exist or you do not have access to it.")
}
