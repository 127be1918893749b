package main

import "github.com/org/ralph-action/internal/ralph"

// price is what tokens of a model cost.
func (j *job) price(model string, t ralph.Tokens) ralph.Cost {
	return ralph.Cost{Unknown: true}
}
