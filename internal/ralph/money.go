package ralph

import (
	"fmt"
	"math"
)

// MicroUSD is an amount of money in millionths of a US dollar.
type MicroUSD int64

// USD is one dollar.
const USD MicroUSD = 1_000_000

// FromUSD converts an amount in dollars, as agent CLIs report it, rounding to
// the nearest micro-dollar. NaN, infinities and amounts beyond ±9e12 dollars
// become 0.
func FromUSD(usd float64) MicroUSD {
	if math.IsNaN(usd) || math.Abs(usd) > 9e12 {
		return 0
	}
	return MicroUSD(math.Round(usd * 1e6))
}

// Dollars is the amount in dollars, for display and for JSON.
func (m MicroUSD) Dollars() float64 { return float64(m) / 1e6 }

// String formats the amount as people read it: two decimals, and four below ten cents
// where it is no whole number of cents, so that small amounts add up.
func (m MicroUSD) String() string {
	if max(m, -m) < USD/10 && m%(USD/100) != 0 {
		return fmt.Sprintf("$%.4f", m.Dollars())
	}
	return fmt.Sprintf("$%.2f", m.Dollars())
}

// Cost is money spent. The zero value is a known cost of nothing; Unknown says
// that at least one part of it was never reported, so Amount is a lower bound.
// Estimated says that at least one part was computed from tokens and a table of
// prices, not reported by the CLI.
type Cost struct {
	Amount    MicroUSD
	Unknown   bool
	Estimated bool
}

// Add sums two costs; a sum with an unknown part is unknown, one with an
// estimated part estimated.
func (c Cost) Add(d Cost) Cost {
	return Cost{Amount: MicroUSD(plus(int64(c.Amount), int64(d.Amount))), Unknown: c.Unknown || d.Unknown, Estimated: c.Estimated || d.Estimated}
}

// String never shows an unknown cost as nothing: "$1.20", "about $1.20",
// "unknown", "≥ $1.20" or "≥ ~$1.20".
func (c Cost) String() string {
	switch {
	case c.Unknown && c.Amount == 0:
		return "unknown"
	case c.Unknown && c.Estimated:
		return "≥ ~" + c.Amount.String()
	case c.Unknown:
		return "≥ " + c.Amount.String()
	case c.Estimated:
		return "about " + c.Amount.String()
	}
	return c.Amount.String()
}

// Tokens counts what a model read and wrote. Unknown says that at least one
// part was never reported, so the counts are lower bounds.
type Tokens struct {
	Input      int64 // read uncached
	CacheRead  int64 // read from the provider's prompt cache
	CacheWrite int64 // read and written to the provider's prompt cache
	Output     int64 // written, reasoning included
	Unknown    bool
}

// plus is a sum that stops at the largest number there is: what a stream claims
// to have cost may be anything.
func plus(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// Add sums two counts; a sum with an unknown part is unknown.
func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{
		Input:      plus(t.Input, u.Input),
		CacheRead:  plus(t.CacheRead, u.CacheRead),
		CacheWrite: plus(t.CacheWrite, u.CacheWrite),
		Output:     plus(t.Output, u.Output),
		Unknown:    t.Unknown || u.Unknown,
	}
}

// In is everything the model read, cached or not.
func (t Tokens) In() int64 { return plus(plus(t.Input, t.CacheRead), t.CacheWrite) }

// Total is everything the model read and wrote.
func (t Tokens) Total() int64 { return plus(t.In(), t.Output) }

// Usage is what a turn, an iteration or a run consumed.
type Usage struct {
	Cost   Cost
	Tokens Tokens
}

// ModelUsage is what one model of a turn consumed.
type ModelUsage struct {
	Model string // as the CLI calls it
	Usage Usage
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{Cost: u.Cost.Add(v.Cost), Tokens: u.Tokens.Add(v.Tokens)}
}
