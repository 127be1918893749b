package parallel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/ralph"
)

// What a lane prints is shown line by line, however it arrives, and within bounds.
func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*maxLine)
	text := "one\n\n  \ntwo\r\n" + long + "\nlast"
	want := []string{"one", "two\r", long[:maxLine] + "…", "last"}
	for _, size := range []int{1, 3, 100, len(text)} {
		var got []string
		w := &lines{show: func(line string) { got = append(got, line) }}
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			if written, err := w.Write(rest[:n]); written != n || err != nil {
				t.Fatalf("Write = %d, %v", written, err)
			}
			rest = rest[n:]
			if cap(w.rest) > 4*maxLine {
				t.Fatalf("it keeps %d bytes of a line", cap(w.rest))
			}
		}
		w.end()
		if !slices.Equal(got, want) {
			t.Errorf("by %d bytes: %.80q, want %.80q", size, got, want)
		}
	}
}

// What is left of the limits is shared out whole, and never more than that.
func TestShared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		fresh            bool
		estimates        []int
		cost, used, each ralph.MicroUSD // each: an iteration of this run
		iterations, done int
		wantMoney        []ralph.MicroUSD
		wantIterations   []int
	}{
		{"no limits", true, []int{6, 3}, 0, 0, 0, 0, 0, []ralph.MicroUSD{0, 0}, []int{0, 0}},
		{"iterations by estimate", true, []int{6, 3}, 0, 0, 0, 10, 1, []ralph.MicroUSD{0, 0}, []int{6, 3}},
		{"the rest one by one", true, []int{1, 1, 1}, 0, 0, 0, 8, 0, []ralph.MicroUSD{0, 0, 0}, []int{3, 3, 2}},
		{"too few", true, []int{1, 1, 1}, 0, 0, 0, 2, 0, []ralph.MicroUSD{0, 0}, []int{1, 1}},
		{"the plan's budgets", true, []int{6, 3}, 100, 0, 0, 0, 0, []ralph.MicroUSD{60, 30}, []int{0, 0}},
		{"what is left of an earlier wave", false, []int{6, 3}, 100, 10, 10, 0, 1, []ralph.MicroUSD{48, 24}, []int{0, 0}},
		{"less than an iteration each", false, []int{6, 3}, 100, 80, 10, 0, 8, []ralph.MicroUSD{16}, []int{0}},
	} {
		r := &waves{options: options{Limits: limits{Cost: tt.cost, Iterations: tt.iterations}}}
		r.used = totals{tt.done, ralph.Cost{Amount: tt.used}}
		var lanes []*lane
		for i, n := range tt.estimates {
			lanes = append(lanes, &lane{Lane: &fanout.Lane{Name: fmt.Sprintf("L%03d", i+1), Estimate: n, Budget: ralph.MicroUSD(10 * n)}})
		}
		var money []ralph.MicroUSD
		var iterations []int
		for _, l := range r.shared(&wave{fresh: tt.fresh}, lanes) {
			money, iterations = append(money, l.budget), append(iterations, l.iterations)
		}
		if !slices.Equal(money, tt.wantMoney) || !slices.Equal(iterations, tt.wantIterations) {
			t.Errorf("%s: shared = %d, %d, want %d, %d", tt.name, money, iterations, tt.wantMoney, tt.wantIterations)
		}
	}
}

// A lane is over when all is handed over, or when it would end the same way again.
func TestOpen(t *testing.T) {
	t.Parallel()
	done := fanout.Done{ID: "A", Commit: "1"}
	for _, tt := range []struct {
		result *fanout.Result
		open   bool
	}{
		{nil, true},
		{&fanout.Result{Stories: []fanout.Done{done, {ID: "B"}}}, true}, // it was killed
		{&fanout.Result{Outcome: string(ralph.Interrupted), Stories: []fanout.Done{done, {ID: "B"}}}, true},
		{&fanout.Result{Outcome: string(ralph.OverBudget), Stories: []fanout.Done{done}}, true},
		{&fanout.Result{Outcome: string(ralph.Stalled), Stories: []fanout.Done{done}}, false},
		{&fanout.Result{Outcome: string(ralph.Blocked), Stories: []fanout.Done{done, {ID: "B", Withheld: "a secret"}}}, false},
		{&fanout.Result{Stories: []fanout.Done{done, {ID: "B", Commit: "2"}}}, false},
	} {
		l := &lane{Lane: &fanout.Lane{Stories: []string{"A", "B"}}, result: tt.result}
		if l.open() != tt.open {
			t.Errorf("open(%+v) = %v", tt.result, l.open())
		}
	}
}

// Flags reach the lanes as they were given, but for what is shared out.
func TestArgs(t *testing.T) {
	t.Parallel()
	flags := shared(map[string]string{
		"parallel": "3", "maximum-iterations": "7", "max-cost-usd": "5", "stories": "A", "on-incomplete": "succeed", "on-conflict": "return",
		"config": "my.json", "guardrails": "make\ntrue", "model": "-x", "skip-review": "true",
	}, "/p")
	got := args(flags, true)
	want := []string{"--config=/p/my.json", "--guardrails=make", "--guardrails=true", "--model=-x", "--skip-review=true", "--verbose"}
	if !slices.Equal(got, want) {
		t.Errorf("args = %q, want %q", got, want)
	}
}
