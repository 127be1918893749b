package agent

import (
	"github.com/org/ralph-action/internal/ralph"
)

// meter follows what a turn uses while it runs, and prices what the CLI does not.
type meter struct {
	o    Options
	last *ralph.Usage // what the stream showed so far; nil: nothing
}

// watch passes events on, those about usage with their sum and its price.
func (m *meter) watch(emit func(ralph.Event)) func(ralph.Event) {
	return func(e ralph.Event) {
		if e.Kind == ralph.EventUsage {
			u := m.sum(e.Models)
			m.last, e.Usage = &u, &u
		}
		emit(e)
	}
}

// sum adds what the models used. What has no price makes the cost unknown.
func (m *meter) sum(models []ralph.ModelUsage) ralph.Usage {
	var sum ralph.Usage
	for _, u := range models {
		if u.Usage.Cost.Unknown {
			u.Usage.Cost = m.price(u.Model, u.Usage)
		}
		sum = sum.Add(sane(u.Usage))
	}
	return sum
}

// settle completes the usage of a turn that is over: a turn that was cut off
// used at least what its stream showed, and tokens without a cost are priced.
func (m *meter) settle(t *ralph.Turn) {
	t.Usage = sane(t.Usage)
	if u := &t.Usage; u.Tokens.Unknown && u.Cost.Unknown && m.last != nil {
		*u = *m.last
		u.Cost.Unknown, u.Tokens.Unknown = true, true
		return
	}
	if t.Usage.Tokens.Unknown && t.Usage.Cost.Unknown && turnedAway(t) {
		t.Usage = ralph.Usage{}
		return
	}
	if !t.Usage.Cost.Unknown || t.Usage.Tokens.Unknown {
		return
	}
	if len(t.Models) == 0 {
		model := t.Model
		if model == "" {
			model = m.o.Model
		}
		t.Usage.Cost = m.price(model, t.Usage)
		return
	}
	for i, u := range t.Models {
		if u.Usage.Cost.Unknown {
			t.Models[i].Usage.Cost = m.price(u.Model, u.Usage)
		}
	}
	cost := ralph.Cost{}
	for _, u := range t.Models {
		cost = cost.Add(u.Usage.Cost)
	}
	t.Usage.Cost = cost
}

// sane is a usage without numbers below zero, which would give a budget back what
// was spent: what they stand for is not known.
func sane(u ralph.Usage) ralph.Usage {
	if u.Cost.Amount < 0 {
		u.Cost.Amount, u.Cost.Unknown = 0, true
	}
	for _, n := range []*int64{&u.Tokens.Input, &u.Tokens.CacheRead, &u.Tokens.CacheWrite, &u.Tokens.Output} {
		if *n < 0 {
			*n, u.Tokens.Unknown = 0, true
		}
	}
	return u
}

// price is what a model's tokens cost, or what is known of it.
func (m *meter) price(model string, u ralph.Usage) ralph.Cost {
	if m.o.Price == nil || model == "" {
		return u.Cost
	}
	return m.o.Price(model, u.Tokens)
}

// turnedAway reports whether the provider turned the turn away before it did anything: no
// model read or wrote, so it used nothing.
func turnedAway(t *ralph.Turn) bool {
	if t.Failure == nil || t.Tools > 0 || t.FinalText != "" {
		return false
	}
	switch t.Failure.Kind {
	case ralph.FailureQuota, ralph.FailureAuth, ralph.FailureModel:
		return true
	}
	return false
}
