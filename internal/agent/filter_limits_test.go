package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/filter"
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
			var got agenttest.Decoded
			d := c.newDecoder(ralph.Prompt{}, func(e ralph.Event) { got.Events = append(got.Events, e) }, func() {}).(*filter.Decoder)
			d.Program.Guard.Time, d.Program.Guard.Memory = time.Minute, 8<<30
			switch tt.limit {
			case outputs:
				d.Program.Outputs, d.Program.Bytes = 1000, 1<<20
			case endless:
				d.Program.Guard.Time = 100 * time.Millisecond
			case memory:
				d.Program.Guard.Memory = 32 << 20
			}
			agenttest.Feed(d, `{"v":"abc"}`, 0)
			if n := got.Count(ralph.EventWarning); n != 1 {
				t.Fatalf("%d warnings, want 1", n)
			}
			for _, e := range got.Events {
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
	var got agenttest.Decoded
	d := c.newDecoder(ralph.Prompt{}, func(e ralph.Event) { got.Events = append(got.Events, e) }, func() {}).(*filter.Decoder)
	d.Program.Guard.Time = 50 * time.Millisecond
	agenttest.Feed(d, strings.Repeat("{\"v\":\"a\"}\n{\"v\":\"loop\"}\n", 5), 0)
	if strings.Join(got.Searchable(), "") != "a\na\na\n" || got.Count(ralph.EventWarning) != 2 {
		t.Errorf("words %q and %d warnings, want three a and two warnings", strings.Join(got.Searchable(), ""), got.Count(ralph.EventWarning))
	}
}

// A line that is stopped does not spoil the next.
func TestFilterGoesOn(t *testing.T) {
	t.Parallel()
	j := filter.NewProgram(mustCompile(t, `if .=="loop" then last(repeat(1)) else . end`))
	j.Guard.Time = 50 * time.Millisecond
	for range 3 {
		if _, err := j.Run(nil, "loop"); err != filter.ErrTime {
			t.Errorf("run(loop) = %v, want %v", err, filter.ErrTime)
		}
		if out, err := j.Run(nil, "a"); string(out) != "a\n" || err != nil {
			t.Errorf("run(a) = %q, %v", out, err)
		}
	}
}
