package price

import (
	_ "embed"
	"maps"
	"math"
	"math/bits"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

//go:embed prices.json
var embedded []byte

// Table holds the prices of models. The zero Table knows none. Tables are not
// changed once they are made, so one may be used by several goroutines.
type Table struct {
	date  string
	names map[string]model // ids and aliases
}

// model is what one model's tokens cost.
type model struct {
	id    string
	rates rates
	above int64  // input tokens of one request beyond which it costs more; 0: never
	from  string // the day from which then holds, as 2006-01-02; empty: no change is known
	then  rates
}

// rates are micro-dollars per million tokens.
type rates struct{ input, output, cacheRead, cacheWrite int64 }

// unpriced is a rate that is not known.
const unpriced = -1

// Default is the table that ralph brings along, with its prices as they stood
// on its date.
func Default() Table {
	t, err := Parse(embedded)
	if err != nil {
		panic("prices.json: " + err.Error())
	}
	return t
}

// Date is the day whose prices the table holds, as 2006-01-02; empty when it
// was not given.
func (t Table) Date() string { return t.date }

// Known says that the table has prices of a model, by any of its names.
func (t Table) Known(name string) bool {
	_, ok := t.find(name)
	return ok
}

// Over is t below u: the prices of a model that stands in both are those of u,
// under every name that t knows it by. The date is that of t, unless only u has
// one.
func (t Table) Over(u Table) Table {
	sum := Table{date: t.date, names: maps.Clone(t.names)}
	if sum.date == "" {
		sum.date = u.date
	}
	if sum.names == nil {
		sum.names = map[string]model{}
	}
	for name, m := range t.names {
		if own, ok := u.names[m.id]; ok {
			sum.names[name] = own
		}
	}
	maps.Copy(sum.names, u.names)
	return sum
}

// On is the table as it holds on a day: announced changes that are in force by
// then are made.
func (t Table) On(day time.Time) Table {
	today := day.UTC().Format(time.DateOnly)
	names := make(map[string]model, len(t.names))
	for name, m := range t.names {
		if m.from != "" && m.from <= today {
			m.rates, m.from = m.then, ""
		}
		names[name] = m
	}
	return Table{date: t.date, names: names}
}

// Cost is what tokens of a model cost, estimated: to the nearest micro-dollar,
// half a one up. It is unknown, and nothing, when the model has no price or the
// counts are not known. It is a lower bound when a part of the tokens has no
// price, or when the model costs more in requests above a size that the total
// of the turn does not rule out.
func (t Table) Cost(name string, tk ralph.Tokens) ralph.Cost {
	m, ok := t.find(name)
	if !ok || tk.Unknown {
		return ralph.Cost{Unknown: true}
	}
	var sum wide
	cost := ralph.Cost{Estimated: true}
	for _, part := range [...]struct{ tokens, rate int64 }{
		{tk.Input, m.rates.input}, {tk.Output, m.rates.output}, {tk.CacheRead, m.rates.cacheRead}, {tk.CacheWrite, m.rates.cacheWrite},
	} {
		switch {
		case part.tokens <= 0:
		case part.rate == unpriced:
			cost.Unknown = true
		default:
			sum.add(uint64(part.tokens), uint64(part.rate))
		}
	}
	cost.Amount = ralph.MicroUSD(sum.millionth())
	if m.above > 0 && read(tk) > uint64(m.above) {
		cost.Unknown = true
	}
	return cost
}

// read is all that was read; three counts below 2^63 are a number below 2^65,
// which is cut to the largest.
func read(tk ralph.Tokens) uint64 {
	var sum uint64
	for _, n := range [...]int64{tk.Input, tk.CacheRead, tk.CacheWrite} {
		next, carry := bits.Add64(sum, uint64(max(0, n)), 0)
		if carry > 0 {
			return math.MaxUint64
		}
		sum = next
	}
	return sum
}

// wide is a sum of products. Four products of a count below 2^63 and a rate of
// at most maxAmount, which is below 2^40, cannot overflow it.
type wide struct{ high, low uint64 }

func (w *wide) add(a, b uint64) {
	high, low := bits.Mul64(a, b)
	var carry uint64
	w.low, carry = bits.Add64(w.low, low, 0)
	w.high, _ = bits.Add64(w.high, high, carry)
}

// millionth is the millionth part, half a one up, at most the largest int64.
func (w wide) millionth() int64 {
	const million = 1_000_000
	low, carry := bits.Add64(w.low, million/2, 0)
	high := w.high + carry
	if high >= million {
		return math.MaxInt64
	}
	part, _ := bits.Div64(high, low, million)
	return int64(min(part, math.MaxInt64))
}
