package report

import "github.com/org/ralph-action/internal/ralph"

type cost struct {
	MicroUSD *int64   `json:"micro_usd"`
	USD      *float64 `json:"usd"`
	// AtLeast is what is known of a cost that is not known as a whole.
	AtLeast   *int64 `json:"at_least_micro_usd"`
	Estimated bool   `json:"estimated"`
}

type tokens struct {
	Known      bool   `json:"known"`
	Input      *int64 `json:"input"`
	CacheRead  *int64 `json:"cache_read"`
	CacheWrite *int64 `json:"cache_write"`
	Output     *int64 `json:"output"`
}

type modelUsage struct {
	Model  string `json:"model"`
	Cost   cost   `json:"cost"`
	Tokens tokens `json:"tokens"`
}

func newModels(list []ralph.ModelUsage) []modelUsage {
	models := make([]modelUsage, 0, len(list))
	for _, u := range list {
		models = append(models, modelUsage{Model: bounded(u.Model), Cost: newCost(u.Usage.Cost), Tokens: newTokens(u.Usage.Tokens)})
	}
	return models
}

func newCost(c ralph.Cost) cost {
	amount := int64(c.Amount)
	if c.Unknown {
		return cost{AtLeast: &amount, Estimated: c.Estimated}
	}
	usd := c.Amount.Dollars()
	return cost{MicroUSD: &amount, USD: &usd, Estimated: c.Estimated}
}

func newTokens(t ralph.Tokens) tokens {
	if t.Unknown && t.Total() == 0 {
		return tokens{}
	}
	return tokens{Known: !t.Unknown, Input: &t.Input, CacheRead: &t.CacheRead, CacheWrite: &t.CacheWrite, Output: &t.Output}
}
