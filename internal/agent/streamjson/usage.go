package streamjson

import (
	"hash/maphash"
	"slices"

	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// spending is what a turn has used so far: what its last result told, and behind
// it what messages told when they began. The latter is less than they used in the
// end, because their output was still to come.
type spending struct {
	told  []ralph.ModelUsage
	since []ralph.ModelUsage
	// seen holds hashes of the ids of the last messages: each block of a message
	// repeats its usage, and those of subagents at work together alternate.
	seen [64]uint64
	n    int
}

// spend counts a message once. Those of subagents count, too. amp's messages
// have no id, and come whole.
func (d *Decoder) spend(e envelope) {
	id, _ := jsonscan.Inner(e.id)
	if !jsonscan.IsSet(e.usage) || len(id) == 0 && d.Name != "amp" {
		return
	}
	if len(id) > 0 {
		hash := maphash.Bytes(d.seed, id)
		if slices.Contains(d.spent.seen[:], hash) {
			return
		}
		d.spent.seen[d.spent.n%len(d.spent.seen)] = hash
		d.spent.n++
	}
	tokens := resultUsage(e.usage)
	if tokens == (ralph.Tokens{}) {
		return
	}
	d.spent.since = driver.AddModel(d.spent.since, driver.Unpriced(driver.NameOf(e.model), tokens))
	d.Usage(slices.Concat(d.spent.told, d.spent.since)...)
}

// told takes over what a result said of the turn so far.
func (d *Decoder) told() {
	d.spent.told, d.spent.since = slices.Clone(d.Told.Models), nil
	if d.Told.Models == nil {
		d.spent.told = []ralph.ModelUsage{{Model: d.Told.Model, Usage: d.Told.Usage}}
	}
	d.Usage(d.spent.told...)
}

// modelUsage is what each model used; result.usage leaves out subagents.
func modelUsage(b []byte) (models []ralph.ModelUsage) {
	jsonscan.Members(b, func(name, model []byte) {
		v := jsonscan.Fields(model, "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "costUSD")
		models = driver.AddModel(models, ralph.ModelUsage{Model: jsonscan.Plain(name, driver.MaxName), Usage: ralph.Usage{
			Cost: ralph.Cost{Amount: max(0, ralph.FromUSD(jsonscan.Number(v["costUSD"]))), Unknown: v["costUSD"] == nil},
			Tokens: ralph.Tokens{
				Input:      jsonscan.Count(v["inputTokens"]),
				Output:     jsonscan.Count(v["outputTokens"]),
				CacheRead:  jsonscan.Count(v["cacheReadInputTokens"]),
				CacheWrite: jsonscan.Count(v["cacheCreationInputTokens"]),
			},
		}})
	})
	return models
}

// earlier is what a session had used before this turn, in all and by model. Of a
// session that is gone on in, newer CLIs (seen: 2.1.329, not 2.1.197) count cost
// and modelUsage from its very beginning; the same CLIs say what belongs to a
// result alone.
func earlier(all, now []byte, cost ralph.MicroUSD) (before ralph.Usage, models []ralph.ModelUsage) {
	total, this := modelUsage(all), modelUsage(now)
	before.Tokens = driver.Less(driver.SumModels(total).Tokens, driver.SumModels(this).Tokens)
	if before.Tokens == (ralph.Tokens{}) {
		return before, nil
	}
	before.Cost.Amount = max(0, cost-driver.SumModels(this).Cost.Amount)
	return before, lessModels(total, this)
}

// lessModels is a without b; what nothing is left of is left out.
func lessModels(a, b []ralph.ModelUsage) (left []ralph.ModelUsage) {
	for _, m := range a {
		for _, n := range b {
			if n.Model == m.Model {
				m.Usage.Tokens = driver.Less(m.Usage.Tokens, n.Usage.Tokens)
				m.Usage.Cost.Amount = max(0, m.Usage.Cost.Amount-n.Usage.Cost.Amount)
			}
		}
		if m.Usage.Tokens != (ralph.Tokens{}) || m.Usage.Cost.Amount != 0 {
			left = append(left, m)
		}
	}
	return left
}
