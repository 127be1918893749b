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
	"github.com/org/ralph-action/internal/ralph"
)

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
	case f.status != 0:
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
