package agent

import (
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	unknown := ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}}
	tokens := func(in, out int64) ralph.Tokens { return ralph.Tokens{Input: in, Output: out} }
	unpriced := func(in, out int64) ralph.Usage {
		return ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: tokens(in, out)}
	}
	// a dollar for each token of known, nothing known of others
	price := func(model string, tk ralph.Tokens) ralph.Cost {
		if model != "known" {
			return ralph.Cost{Unknown: true}
		}
		return ralph.Cost{Amount: ralph.MicroUSD(tk.Total()) * ralph.USD, Estimated: true}
	}
	seen := []ralph.ModelUsage{{Model: "known", Usage: unpriced(5, 1)}}
	quota := &ralph.Failure{Kind: ralph.FailureQuota}
	for _, tt := range []struct {
		name  string
		model string // asked for
		seen  []ralph.ModelUsage
		turn  ralph.Turn
		want  ralph.Usage
	}{
		{"priced by the model the CLI names", "other", nil, ralph.Turn{Model: "known", Usage: unpriced(3, 2)}, ralph.Usage{Cost: ralph.Cost{Amount: 5 * ralph.USD, Estimated: true}, Tokens: tokens(3, 2)}},
		{"priced by the model asked for", "known", nil, ralph.Turn{Usage: unpriced(3, 2)}, ralph.Usage{Cost: ralph.Cost{Amount: 5 * ralph.USD, Estimated: true}, Tokens: tokens(3, 2)}},
		{"of no model", "", nil, ralph.Turn{Usage: unpriced(3, 2)}, unpriced(3, 2)},
		{"what the CLI says stands", "known", nil, ralph.Turn{Usage: ralph.Usage{Cost: ralph.Cost{Amount: 7}, Tokens: tokens(3, 2)}}, ralph.Usage{Cost: ralph.Cost{Amount: 7}, Tokens: tokens(3, 2)}},
		{"each model by itself", "", nil, ralph.Turn{Usage: unpriced(4, 0), Models: []ralph.ModelUsage{{Model: "known", Usage: unpriced(3, 0)}, {Model: "strange", Usage: unpriced(1, 0)}}},
			ralph.Usage{Cost: ralph.Cost{Amount: 3 * ralph.USD, Unknown: true, Estimated: true}, Tokens: tokens(4, 0)}},
		{"cut off: at least what was seen", "", seen, ralph.Turn{Usage: unknown, Failure: &ralph.Failure{Kind: ralph.FailureTimeout}},
			ralph.Usage{Cost: ralph.Cost{Amount: 6 * ralph.USD, Unknown: true, Estimated: true}, Tokens: ralph.Tokens{Input: 5, Output: 1, Unknown: true}}},
		{"cut off: nothing was seen", "known", nil, ralph.Turn{Usage: unknown, Failure: &ralph.Failure{Kind: ralph.FailureTimeout}}, unknown},
		{"turned away at once", "known", nil, ralph.Turn{Usage: unknown, Failure: quota}, ralph.Usage{}},
		{"turned away in the middle", "known", nil, ralph.Turn{Usage: unknown, Tools: 1, Failure: quota}, unknown},
	} {
		m := &meter{o: Options{Model: tt.model, Price: price}}
		emit := m.watch(func(e ralph.Event) {
			if e.Usage == nil || e.Usage.Tokens.Total() == 0 {
				t.Errorf("%s: an event without its sum: %+v", tt.name, e)
			}
		})
		if tt.seen != nil {
			emit(ralph.Event{Kind: ralph.EventUsage, Models: tt.seen})
		}
		turn := tt.turn
		m.settle(&turn)
		if turn.Usage != tt.want {
			t.Errorf("%s: usage %+v, want %+v", tt.name, turn.Usage, tt.want)
		}
	}
}
