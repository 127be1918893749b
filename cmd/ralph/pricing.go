package main

import (
	"errors"
	"strings"

	"github.com/org/ralph-action/internal/agent/price"
	"github.com/org/ralph-action/internal/ralph"
)

// prices are those the user gave over ours, which are read when they are needed.
type prices struct {
	own   price.Table
	table *price.Table
}

// readPrices reads the prices the user gave.
func (j *job) readPrices() (err error) {
	if j.cfg.Pricing == "" {
		return nil
	}
	if j.prices.own, err = price.Parse([]byte(j.cfg.Pricing)); err != nil {
		const where = "pricing: "
		return errors.New(where + strings.ReplaceAll(err.Error(), "\n", "\n"+where))
	}
	return nil
}

// price is what tokens of a model cost. It is asked from one goroutine at a time.
func (j *job) price(model string, t ralph.Tokens) ralph.Cost {
	if j.prices.table == nil {
		table := price.Default().Over(j.prices.own).On(j.started)
		j.prices.table = &table
	}
	cost := j.prices.table.Cost(model, t)
	if cost.Estimated {
		j.report.Prices = j.prices.table.Date()
	}
	return cost
}
