package price_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/price"
	"github.com/org/ralph-action/internal/ralph"
)

const own = `{"models": {
	"m": {"input": 1250000, "output": 10000000, "cacheRead": 125000, "cacheWrite": 1562500, "aliases": ["other-m"]},
	"plain": {"input": 3000000, "output": 15000000},
	"tiered": {"input": 2000000, "output": 12000000, "cacheRead": 200000, "cacheWrite": 200000, "above": 200000},
	"free": {"input": 0, "output": 0},
	"changing": {"input": 2000000, "output": 10000000, "cacheRead": 100000, "then": {"from": "2026-12-01", "input": 4000000, "output": 20000000}},
	"dearest": {"input": 1000000000000, "output": 1000000000000, "cacheRead": 1000000000000, "cacheWrite": 1000000000000}
}}`

func parse(t *testing.T, text string) price.Table {
	t.Helper()
	table, err := price.Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse() = %v", err)
	}
	return table
}

func TestCost(t *testing.T) {
	t.Parallel()
	table := parse(t, own)
	for _, c := range []struct {
		name  string
		model string
		t     ralph.Tokens
		want  ralph.Cost
	}{
		{"every kind of token", "m", ralph.Tokens{Input: 1_000_000, Output: 100_000, CacheRead: 2_000_000, CacheWrite: 400_000}, ralph.Cost{Amount: 1_250_000 + 1_000_000 + 250_000 + 625_000, Estimated: true}},
		{"by another name", "other-m", ralph.Tokens{Input: 1_000_000}, ralph.Cost{Amount: 1_250_000, Estimated: true}},
		{"nothing used", "m", ralph.Tokens{}, ralph.Cost{Estimated: true}},
		{"below half a micro-dollar", "m", ralph.Tokens{CacheRead: 3}, ralph.Cost{Amount: 0, Estimated: true}},
		{"half a micro-dollar goes up", "m", ralph.Tokens{CacheRead: 4}, ralph.Cost{Amount: 1, Estimated: true}},
		{"rounded once, not by kind", "m", ralph.Tokens{CacheRead: 3, CacheWrite: 1}, ralph.Cost{Amount: 2, Estimated: true}},
		{"a model that costs nothing", "free", ralph.Tokens{Input: 1 << 40, Output: 1 << 40}, ralph.Cost{Estimated: true}},
		{"an unknown model", "n", ralph.Tokens{Input: 1_000_000}, ralph.Cost{Unknown: true}},
		{"a name that only looks like one", "M", ralph.Tokens{Input: 1_000_000}, ralph.Cost{Unknown: true}},
		{"no name", "", ralph.Tokens{Input: 1}, ralph.Cost{Unknown: true}},
		{"unknown counts", "m", ralph.Tokens{Input: 1_000_000, Unknown: true}, ralph.Cost{Unknown: true}},
		{"cache read without a price", "plain", ralph.Tokens{Input: 1_000_000, CacheRead: 1}, ralph.Cost{Amount: 3_000_000, Estimated: true, Unknown: true}},
		{"cache write without a price", "plain", ralph.Tokens{Input: 1_000_000, CacheWrite: 1}, ralph.Cost{Amount: 3_000_000, Estimated: true, Unknown: true}},
		{"cache without a price, not used", "plain", ralph.Tokens{Input: 1_000_000}, ralph.Cost{Amount: 3_000_000, Estimated: true}},
		{"no request can be above the size", "tiered", ralph.Tokens{Input: 100_000, CacheRead: 60_000, CacheWrite: 40_000}, ralph.Cost{Amount: 220_000, Estimated: true}},
		{"a request may be above the size", "tiered", ralph.Tokens{Input: 100_000, CacheRead: 60_000, CacheWrite: 40_001}, ralph.Cost{Amount: 220_000, Estimated: true, Unknown: true}},
		{"what was written does not count for the size", "tiered", ralph.Tokens{Output: 1_000_000}, ralph.Cost{Amount: 12_000_000, Estimated: true}},
		{"counts below zero", "m", ralph.Tokens{Input: -5, Output: math.MinInt64, CacheRead: 8}, ralph.Cost{Amount: 1, Estimated: true}},
		{"the largest counts", "dearest", ralph.Tokens{Input: math.MaxInt64, Output: math.MaxInt64, CacheRead: math.MaxInt64, CacheWrite: math.MaxInt64}, ralph.Cost{Amount: math.MaxInt64, Estimated: true}},
		{"the largest counts of a tier", "tiered", ralph.Tokens{Input: math.MaxInt64, CacheRead: math.MaxInt64, CacheWrite: math.MaxInt64}, ralph.Cost{Amount: math.MaxInt64, Estimated: true, Unknown: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := table.Cost(c.model, c.t); got != c.want {
				t.Errorf("Cost(%q, %+v) = %+v, want %+v", c.model, c.t, got, c.want)
			}
		})
	}
}

func TestZeroTableKnowsNothing(t *testing.T) {
	t.Parallel()
	var zero price.Table
	if got, want := zero.Cost("m", ralph.Tokens{Input: 1}), (ralph.Cost{Unknown: true}); got != want {
		t.Errorf("Cost() = %+v, want %+v", got, want)
	}
	if got := zero.Over(parse(t, own)).Cost("m", ralph.Tokens{Input: 1_000_000}).Amount; got != 1_250_000 {
		t.Errorf("Over().Cost() = %d, want 1250000", got)
	}
}

// More tokens never cost less, and two parts cost what the whole does, but for
// the rounding of each.
func TestCostIsASum(t *testing.T) {
	t.Parallel()
	table := parse(t, own)
	random := rand.New(rand.NewPCG(1, 2))
	count := func() int64 { return random.Int64N(1 << random.IntN(40)) }
	tokens := func() ralph.Tokens {
		return ralph.Tokens{Input: count(), Output: count(), CacheRead: count(), CacheWrite: count()}
	}
	for range 20_000 {
		a, b := tokens(), tokens()
		whole, x, y := table.Cost("m", a.Add(b)).Amount, table.Cost("m", a).Amount, table.Cost("m", b).Amount
		if whole < x || whole < y {
			t.Fatalf("%+v and %+v cost %d, less than one of them: %d, %d", a, b, whole, x, y)
		}
		if d := whole - x - y; d < -1 || d > 1 {
			t.Fatalf("%+v and %+v cost %d, the sum of both is %d", a, b, whole, x+y)
		}
	}
}

func TestCostDoesNotOverflow(t *testing.T) {
	t.Parallel()
	table := price.Default().Over(parse(t, own))
	for _, name := range []string{"dearest", "m", "gpt-6.1-sol", "claude-opus-5-5"} {
		last := ralph.MicroUSD(0)
		for shift := range 63 {
			n := int64(1) << shift
			got := table.Cost(name, ralph.Tokens{Input: n, Output: n, CacheRead: n, CacheWrite: n}).Amount
			if got < last {
				t.Errorf("Cost(%q) of 2^%d tokens = %d, less than %d for half of them", name, shift, got, last)
			}
			last = got
		}
		if last < 1<<60 {
			t.Errorf("Cost(%q) of 2^62 tokens = %d", name, last)
		}
	}
}

func TestOver(t *testing.T) {
	t.Parallel()
	base := parse(t, `{"date": "2026-01-02", "models": {"a": {"input": 1000000, "output": 1000000, "aliases": ["a-old"]}, "b": {"input": 2000000, "output": 2000000, "aliases": ["b-old"]}}}`)
	mine := parse(t, `{"date": "2026-03-04", "models": {"a": {"input": 5000000, "output": 5000000}, "b-old": {"input": 6000000, "output": 6000000}, "c": {"input": 7000000, "output": 7000000}}}`)
	sum := base.Over(mine)
	for name, want := range map[string]ralph.MicroUSD{"a": 5_000_000, "a-old": 5_000_000, "b": 2_000_000, "b-old": 6_000_000, "c": 7_000_000} {
		if got := sum.Cost(name, ralph.Tokens{Input: 1_000_000}).Amount; got != want {
			t.Errorf("Cost(%q) = %d, want %d", name, got, want)
		}
	}
	if got := base.Cost("a", ralph.Tokens{Input: 1_000_000}).Amount; got != 1_000_000 {
		t.Errorf("Over() changed the table below: Cost(a) = %d", got)
	}
	if sum.Date() != "2026-01-02" || (price.Table{}).Over(mine).Date() != "2026-03-04" {
		t.Errorf("Date() = %q and %q, want that of the table below where it has one", sum.Date(), (price.Table{}).Over(mine).Date())
	}
}

func TestAnnouncedChange(t *testing.T) {
	t.Parallel()
	table := parse(t, own)
	used := ralph.Tokens{Input: 1_000_000, CacheRead: 1_000_000}
	before, after := ralph.Cost{Amount: 2_100_000, Estimated: true}, ralph.Cost{Amount: 4_000_000, Estimated: true, Unknown: true}
	for _, c := range []struct {
		day  time.Time
		want ralph.Cost
	}{
		{time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC), before},
		{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), after},
		{time.Date(2026, 12, 1, 0, 30, 0, 0, time.FixedZone("", 3600)), before},
		{time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), after},
	} {
		if got := table.On(c.day).Cost("changing", used); got != c.want {
			t.Errorf("On(%v).Cost() = %+v, want %+v", c.day, got, c.want)
		}
	}
	if got := table.Cost("changing", used); got != before {
		t.Errorf("Cost() = %+v, want %+v: no day is asked for", got, before)
	}
}

// A slip in the file that ralph brings along is found here.
func TestDefault(t *testing.T) {
	t.Parallel()
	table := price.Default()
	day, err := time.Parse(time.DateOnly, table.Date())
	if err != nil || day.Year() < 2026 {
		t.Errorf("Date() = %q, want a day", table.Date())
	}
	text, err := os.ReadFile("prices.json")
	if err != nil {
		t.Fatal(err)
	}
	type rates struct{ Input, Output, CacheRead, CacheWrite *int64 }
	var file struct {
		Source []string
		Models map[string]struct {
			rates
			Then *struct {
				rates
				From string
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Models) < 60 || len(file.Source) == 0 {
		t.Errorf("the table has %d models from %d sources", len(file.Models), len(file.Source))
	}
	doc, err := os.ReadFile("../../../docs/pricing.md")
	if want := fmt.Sprintf("**%s**, the day of its newest price, with %d models", table.Date(), len(file.Models)); err != nil || !strings.Contains(string(doc), want) {
		t.Errorf("docs/pricing.md does not say %q (%v)", want, err)
	}
	for name, m := range file.Models {
		all := []rates{m.rates}
		if m.Then != nil {
			all = append(all, m.Then.rates)
			if m.Then.From <= table.Date() {
				t.Errorf("%s: what was announced for %s holds already on %s", name, m.Then.From, table.Date())
			}
		}
		for _, r := range all {
			if r.Input == nil || r.Output == nil || *r.Input <= 0 || *r.Output < *r.Input {
				t.Errorf("%s: input or output is missing, or output is the cheaper one", name)
				continue
			}
			if r.CacheRead != nil && (*r.CacheRead > *r.Input || *r.CacheRead*100 < *r.Input) {
				t.Errorf("%s: cacheRead is %d at an input of %d", name, *r.CacheRead, *r.Input)
			}
			if r.CacheWrite != nil && (*r.CacheWrite < *r.Input || *r.CacheWrite > 2**r.Input) {
				t.Errorf("%s: cacheWrite is %d at an input of %d", name, *r.CacheWrite, *r.Input)
			}
			if *r.Output > 20**r.Input {
				t.Errorf("%s: output is %d at an input of %d", name, *r.Output, *r.Input)
			}
		}
		if !table.Known(name) {
			t.Errorf("Known(%q) = false", name)
		}
	}
}
