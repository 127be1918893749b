package driver

import (
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/jsonscan"
	"github.com/org/ralph-action/internal/ralph"
)

// MaxModels bounds the models of a turn that are told apart; others are left out.
const MaxModels = 64

// TokensWithCache counts tokens as CLIs do whose input includes what was read from the
// cache and written to it.
func TokensWithCache(input, read, written, output []byte) ralph.Tokens {
	t := ralph.Tokens{Output: jsonscan.Count(output), CacheRead: jsonscan.Count(read), CacheWrite: jsonscan.Count(written)}
	t.Input = max(0, jsonscan.Count(input)-t.CacheRead-t.CacheWrite)
	return t
}

// Unpriced is what a model used, as far as a CLI reports it that knows no price.
func Unpriced(model string, t ralph.Tokens) ralph.ModelUsage {
	return ralph.ModelUsage{Model: model, Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: t}}
}

// AddModel adds to the usage of a model, in the order of their names.
func AddModel(models []ralph.ModelUsage, u ralph.ModelUsage) []ralph.ModelUsage {
	i, found := slices.BinarySearchFunc(models, u.Model, func(m ralph.ModelUsage, name string) int { return strings.Compare(m.Model, name) })
	switch {
	case found:
		models[i].Usage = models[i].Usage.Add(u.Usage)
	case len(models) < MaxModels:
		models = slices.Insert(models, i, u)
	}
	return models
}

// SumModels is what the models used together.
func SumModels(models []ralph.ModelUsage) (all ralph.Usage) {
	for _, m := range models {
		all = all.Add(m.Usage)
	}
	return all
}

// Less is a without b, never less than nothing.
func Less(a, b ralph.Tokens) ralph.Tokens {
	a.Input, a.Output = max(0, a.Input-b.Input), max(0, a.Output-b.Output)
	a.CacheRead, a.CacheWrite = max(0, a.CacheRead-b.CacheRead), max(0, a.CacheWrite-b.CacheWrite)
	return a
}
