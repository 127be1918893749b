package custom

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/filter"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/agent/text"
	"github.com/org/ralph-action/internal/ralph"
)

// decoder is what the filters of a custom agent find besides its words, which
// [filter.Decoder] has.
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

// Stdout has the lines from [filter.Decoder] already.
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

// counts reports whether both kinds of tokens were told.
func (t *decoder) counts() bool {
	_, in := t.amounts["input-tokens"]
	_, out := t.amounts["output-tokens"]
	return in && out
}

// Done reports whether there was the end the filter done finds, or an error.
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

// fault is what error, status and quota-reset found.
type fault struct {
	set     bool
	message string
	status  int
	resets  time.Time
}

// failure sorts an error by its status; one that has none may be anything.
func (f fault) failure() *ralph.Failure {
	kind := ralph.FailureCrash
	switch {
	case !f.resets.IsZero():
		kind = ralph.FailureQuota
	case f.status >= 400:
		kind = driver.StatusKind(f.status)
	}
	message := f.message
	if message == "" && f.status != 0 {
		message = fmt.Sprintf("the agent reported an error with the status %d", f.status)
	}
	return &ralph.Failure{Kind: kind, Message: cmp.Or(message, "the agent reported a usage limit"), RetryAt: f.resets}
}

// finder is what becomes of what the filter of a name finds.
type finder struct {
	name  string
	found func(v any) error
}

// finders are those of all filters but message and text, in the order in which
// they read a line.
func (t *decoder) finders() []finder {
	all := []finder{
		{"session", func(v any) error { t.Told.Session = cmp.Or(scalar(v), t.Told.Session); return nil }},
		{"model", func(v any) error { t.Told.Model = cmp.Or(scalar(v), t.Told.Model); return nil }},
		{"tool", t.toolStart},
		{"tool-error", func(v any) error { t.toolEnd(v, true); return nil }},
		{"tool-end", func(v any) error { t.toolEnd(v, false); return nil }},
	}
	for _, name := range []string{"cost", "input-tokens", "output-tokens", "cache-read-tokens", "cache-write-tokens"} {
		all = append(all,
			finder{name, func(v any) error { return t.amount(name, v, false) }},
			finder{"add-" + name, func(v any) error { return t.amount(name, v, true) }})
	}
	return append(all,
		finder{"error", func(v any) error {
			t.fault.message = driver.OneLine(filter.Text(v, 4*driver.MaxMessage))
			t.lost()
			return nil
		}},
		finder{"status", t.status},
		finder{"quota-reset", t.quotaReset},
		finder{"done", func(v any) error {
			if v != true {
				return errors.New(`it must give true or false; compare, as in .type == "result"`)
			}
			t.done = true
			t.Finished()
			return nil
		}},
	)
}

// lost notes an error: the turn is over.
func (t *decoder) lost() {
	t.fault.set = true
	t.Finished()
}

func (t *decoder) status(v any) error {
	n, ok := amount(v)
	if !ok || n < 0 || n > 999 {
		return errors.New("it must give an HTTP status")
	}
	if n >= 400 {
		t.fault.status = int(n)
		t.lost()
	}
	return nil
}

// quotaReset takes Unix seconds and RFC 3339.
func (t *decoder) quotaReset(v any) error {
	at, err := time.Parse(time.RFC3339, scalar(v))
	if n, ok := amount(v); ok && n > 0 && n < 1e11 { // what is more is milliseconds
		at, err = time.Unix(int64(n), 0).UTC(), nil
	}
	if err != nil {
		return errors.New("it must give a time: Unix seconds or RFC 3339")
	}
	t.fault.resets = at
	t.lost()
	return nil
}

// amount takes a number that is the sum so far, or what a line adds to it.
func (t *decoder) amount(name string, v any, adds bool) error {
	n, ok := amount(v)
	if !ok || n < 0 {
		return errors.New("it must give a number that is not negative")
	}
	if adds {
		n += t.amounts[name]
	}
	t.amounts[name] = n
	return nil
}

// spend reports what was used, when it changed.
func (t *decoder) spend() {
	tokens := func(name string) int64 { return jsonscan.Bounded(t.amounts[name]) }
	used := ralph.Usage{
		Cost: ralph.Cost{Amount: ralph.FromUSD(t.amounts["cost"])},
		Tokens: ralph.Tokens{
			Input: tokens("input-tokens"), Output: tokens("output-tokens"), CacheRead: tokens("cache-read-tokens"), CacheWrite: tokens("cache-write-tokens"),
		},
	}
	if used == t.used {
		return
	}
	if t.used = used; !t.counts() {
		return
	}
	_, paid := t.amounts["cost"]
	used.Cost.Unknown = !paid
	t.Usage(ralph.ModelUsage{Model: t.Told.Model, Usage: used})
}

// toolStart takes a name, or an object with name, id and input.
func (t *decoder) toolStart(v any) error {
	name, id, input := scalar(v), "", any(nil)
	if m, ok := v.(map[string]any); ok {
		name, id, input = scalar(m["name"]), scalar(m["id"]), m["input"]
	}
	if name == "" {
		return errors.New("it must give a name, or an object with name, id and input")
	}
	if id == "" {
		id = "call " + strconv.Itoa(t.Told.Tools+1)
	}
	t.endText()
	if !t.ToolStarted(id, name, driver.OneLine(filter.Text(input, 4*driver.MaxMessage)), false) {
		return nil
	}
	if !t.ends {
		delete(t.Open, id)
	} else if len(t.calls) < driver.MaxOpen {
		t.calls = append(t.calls, call{id, name})
	}
	return nil
}

// toolEnd takes the id of a call, or its name, or an object with id and output;
// without either it is the call that began last. Of a call that ended already, or
// never began, there is nothing to tell.
func (t *decoder) toolEnd(v any, failed bool) {
	which, output := "", any(nil)
	switch v := v.(type) {
	case bool:
	case map[string]any:
		which, output = scalar(v["id"]), v["output"]
	default:
		which = scalar(v)
	}
	i := len(t.calls) - 1
	if which == "" {
		if t.anyone {
			return // the filters tool-end and tool-error may both mean it
		}
		t.anyone = true
	} else {
		i = slices.IndexFunc(t.calls, func(c call) bool { return c.id == which })
	}
	for k := len(t.calls) - 1; i < 0 && k >= 0; k-- {
		if t.calls[k].name == which {
			i = k
		}
	}
	if i < 0 {
		return
	}
	o := t.Output()
	if quoted, err := json.Marshal(filter.Text(output, driver.MaxLine)); err == nil {
		o.AddString(quoted)
	}
	t.flush()
	t.ToolEnded(t.calls[i].id, o, failed, false)
	t.calls = slices.Delete(t.calls, i, i+1)
}

// scalar is a string or a number as an id or a name; else empty.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return driver.Clip(strings.ToValidUTF8(v[:min(len(v), 4*driver.MaxName)], "\uFFFD"), driver.MaxName)
	case json.Number, int, float64, *big.Int:
		return driver.Clip(fmt.Sprint(v), driver.MaxName)
	}
	return ""
}

// amount is a number, or a string that is one.
func amount(v any) (n float64, ok bool) {
	s := scalar(v)
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil && n == n
}
