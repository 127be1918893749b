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

// String formats the amount as people read it: two decimals from one cent up,
// four below.
func (m MicroUSD) String() string {
	if abs := max(m, -m); abs != 0 && abs < USD/100 {
		return fmt.Sprintf("$%.4f", m.Dollars())
	}
	return fmt.Sprintf("$%.2f", m.Dollars())
}

// Cost is money spent. The zero value is a known cost of nothing; Unknown says
// that at least one part of it was never reported, so Amount is a lower bound.
type Cost struct {
	Amount  MicroUSD
	Unknown bool
}

// Add sums two costs; a sum with an unknown part is unknown.
func (c Cost) Add(d Cost) Cost {
	return Cost{Amount: c.Amount + d.Amount, Unknown: c.Unknown || d.Unknown}
}

// String never shows an unknown cost as nothing: "$1.20", "unknown" or
// "at least $1.20".
func (c Cost) String() string {
	switch {
	case !c.Unknown:
		return c.Amount.String()
	case c.Amount == 0:
		return "unknown"
	default:
		return "at least " + c.Amount.String()
	}
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

// Add sums two counts; a sum with an unknown part is unknown.
func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{
		Input:      t.Input + u.Input,
		CacheRead:  t.CacheRead + u.CacheRead,
		CacheWrite: t.CacheWrite + u.CacheWrite,
		Output:     t.Output + u.Output,
		Unknown:    t.Unknown || u.Unknown,
	}
}

// In is everything the model read, cached or not.
func (t Tokens) In() int64 { return t.Input + t.CacheRead + t.CacheWrite }

// Total is everything the model read and wrote.
func (t Tokens) Total() int64 { return t.In() + t.Output }

// Usage is what a turn, an iteration or a run consumed.
type Usage struct {
	Cost   Cost
	Tokens Tokens
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{Cost: u.Cost.Add(v.Cost), Tokens: u.Tokens.Add(v.Tokens)}
}
