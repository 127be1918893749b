package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

// A filter that never ends, or wants the world's memory, costs its line, and
// when it does not stop doing so, the words of the turn. Not parallel: what
// others allocate would count.
func TestFilterEndless(t *testing.T) {
	const outputs, endless, memory = 1, 2, 3 // which limit is the small one
	for _, tt := range []struct {
		limit            int
		name, expr, want string
	}{
		{outputs, "repeat", `repeat(1)`, "too many outputs"},
		{outputs, "range", `range(infinite)`, "too many outputs"},
		{outputs, "long outputs", `.v as $x|range(1000)|$x*100000`, "too much output"},
		{outputs, "one long output", `"x"*2000000`, "too much output"},
		{outputs, "deep output", `reduce range(2000) as $i (0;[.])`, "more than 1000 deep"},
		{outputs, "wide output", `reduce range(40) as $i (0;[.,.])`, "too much output"},
		{endless, "never an output", `last(repeat(1))`, "it did not come to an end"},
		{endless, "recursion", `def f: 1+f; f`, "it did not come to an end"},
		{endless, "ever longer", `[limit(1000000000;repeat("x"))]`, "it did not come to an end"},
		{memory, "twice as long each time", `.v|last(recurse("x"+.+.;true))`, "it needs too much memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newFilter(t, "text", tt.expr)
			var got decoded
			d := c.decoder(ralph.Prompt{}, func(e ralph.Event) { got.events = append(got.events, e) }, func() {}).(*filtered)
			d.jq.guard.time, d.jq.guard.memory = time.Minute, 8<<30
			switch tt.limit {
			case outputs:
				d.jq.outputs, d.jq.bytes = 1000, 1<<20
			case endless:
				d.jq.guard.time = 100 * time.Millisecond
			case memory:
				d.jq.guard.memory = 32 << 20
			}
			feed(d, `{"v":"abc"}`, 0)
			if n := got.count(ralph.EventWarning); n != 1 {
				t.Fatalf("%d warnings, want 1", n)
			}
			for _, e := range got.events {
				if e.Kind == ralph.EventWarning && !strings.Contains(e.Text, tt.want) {
					t.Errorf("warning = %q, want it to hold %q", e.Text, tt.want)
				}
			}
		})
	}
}

func TestFilterGivenUp(t *testing.T) {
	t.Parallel()
	c := newFilter(t, "text", `if .v=="loop" then last(repeat(1)) else .v end`)
	var got decoded
	d := c.decoder(ralph.Prompt{}, func(e ralph.Event) { got.events = append(got.events, e) }, func() {}).(*filtered)
	d.jq.guard.time = 50 * time.Millisecond
	feed(d, strings.Repeat("{\"v\":\"a\"}\n{\"v\":\"loop\"}\n", 5), 0)
	if strings.Join(got.searchable(), "") != "a\na\na\n" || got.count(ralph.EventWarning) != 2 {
		t.Errorf("words %q and %d warnings, want three a and two warnings", strings.Join(got.searchable(), ""), got.count(ralph.EventWarning))
	}
}

// A line that is stopped does not spoil the next.
func TestFilterGoesOn(t *testing.T) {
	t.Parallel()
	j := newJQ(mustCompile(t, `if .=="loop" then last(repeat(1)) else . end`))
	j.guard.time = 50 * time.Millisecond
	for range 3 {
		if _, err := j.run(nil, "loop"); err != errFilterTime {
			t.Errorf("run(loop) = %v, want %v", err, errFilterTime)
		}
		if out, err := j.run(nil, "a"); string(out) != "a\n" || err != nil {
			t.Errorf("run(a) = %q, %v", out, err)
		}
	}
}
