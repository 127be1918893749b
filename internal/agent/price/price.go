// Package price estimates what tokens cost, from a dated table of list prices
// and from the user's own prices above it. It alone knows how models are named
// by those who sell them. An estimate says that it is one; what cannot be told
// from a turn's totals is a lower bound, and an unknown model stays unknown.
package price

import (
	_ "embed"
	"maps"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
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

const million = 1_000_000

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

// Known reports whether the table has prices of a model, by any of its names.
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
	cost := ralph.Cost{Estimated: true}
	sum, read := big.NewInt(million/2), new(big.Int) // half a micro-dollar is rounded up
	for _, part := range [...]struct{ tokens, rate int64 }{
		{tk.Input, m.rates.input}, {tk.Output, m.rates.output}, {tk.CacheRead, m.rates.cacheRead}, {tk.CacheWrite, m.rates.cacheWrite},
	} {
		switch {
		case part.tokens <= 0:
		case part.rate == unpriced:
			cost.Unknown = true
		default:
			sum.Add(sum, new(big.Int).Mul(big.NewInt(part.tokens), big.NewInt(part.rate)))
		}
	}
	cost.Amount = math.MaxInt64
	if sum.Div(sum, big.NewInt(million)); sum.IsInt64() {
		cost.Amount = ralph.MicroUSD(sum.Int64())
	}
	for _, n := range [...]int64{tk.Input, tk.CacheRead, tk.CacheWrite} {
		read.Add(read, big.NewInt(max(0, n)))
	}
	if m.above > 0 && read.Cmp(big.NewInt(m.above)) > 0 {
		cost.Unknown = true
	}
	return cost
}

var (
	// Bedrock: us.anthropic.claude-sonnet-4-5-20250929-v1:0, anthropic.claude-opus-4-6-v1
	bedrock = lazyregexp.New(`^(?:(?:us|eu|apac|jp|au|ca|us-gov|global)\.)?anthropic\.(claude-[a-z0-9-]+?)(?:-v[0-9]+(?::[0-9]+)?)?$`)
	// Vertex: claude-haiku-4-5@20251001
	vertex = lazyregexp.New(`^(claude-[a-z0-9-]+)@[0-9]{8}$`)
	// A snapshot: claude-sonnet-4-5-20250929, gpt-5-2025-08-07
	snapshot = lazyregexp.New(`^(.+)-20[0-9]{2}(?:[01][0-9][0-3][0-9]|-[01][0-9]-[0-3][0-9])$`)
	// How claude is asked for its long context: claude-sonnet-4-5[1m]
	long = lazyregexp.New(`^(.*claude-.+)\[1m\]$`)
)

// maxName bounds the name of a model, in bytes.
const maxName = 200

// find looks for a model under its exact name, then without what those who
// pass it on put around the name. Nothing is guessed.
func (t Table) find(name string) (model, bool) {
	if len(name) > maxName {
		return model{}, false
	}
	m, ok := t.names[name]
	for _, strip := range [...]func(string) string{longContext, seller, seller, cloud, undated} {
		if ok {
			break
		}
		name = strip(name)
		m, ok = t.names[name]
	}
	return m, ok
}

func longContext(name string) string { return long.ReplaceAllString(name, "$1") }

// seller takes away who sells the model, as opencode, OpenRouter and LiteLLM
// put it before the name; OpenRouter stands before another one.
func seller(name string) string {
	for _, prefix := range [...]string{
		"openrouter/", "github-copilot/", "anthropic/", "openai/", "azure/", "google/", "gemini/", "models/", "google-vertex/", "google-vertex-anthropic/",
		"vertex_ai/", "amazon-bedrock/", "bedrock/", "xai/", "x-ai/", "moonshotai/", "zai/", "z-ai/", "alibaba/", "qwen/",
	} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}

func cloud(name string) string {
	return vertex.ReplaceAllString(bedrock.ReplaceAllString(name, "$1"), "$1")
}

func undated(name string) string { return snapshot.ReplaceAllString(name, "$1") }
