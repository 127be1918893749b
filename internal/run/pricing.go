package run

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
func (p *plan) readPrices() (err error) {
	if p.cfg.Provider.Pricing == "" {
		return nil
	}
	if p.prices.own, err = price.Parse([]byte(p.cfg.Provider.Pricing)); err != nil {
		const where = "pricing: "
		return errors.New(where + strings.ReplaceAll(err.Error(), "\n", "\n"+where))
	}
	return nil
}

// price is what tokens of a model cost. It is asked from one goroutine at a time.
func (p *plan) price(model string, t ralph.Tokens) ralph.Cost {
	if p.prices.table == nil {
		table := price.Default().Over(p.prices.own).On(p.rec.started())
		p.prices.table = &table
	}
	cost := p.prices.table.Cost(model, t)
	if cost.Estimated {
		p.rec.report.Prices = p.prices.table.Date()
	}
	return cost
}
