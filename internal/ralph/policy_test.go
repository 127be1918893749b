package ralph_test

import (
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	used := ralph.Usage{Cost: ralph.Cost{Amount: 3 * ralph.USD}}
	used.Tokens.Input = 100
	for _, tt := range []struct {
		budget ralph.Budget
		want   string
	}{
		{ralph.Budget{}, ""},
		{ralph.Budget{Cost: 3 * ralph.USD, Tokens: 101}, "max-cost-usd"},
		{ralph.Budget{Cost: 9 * ralph.USD, Tokens: 100}, "max-tokens"},
		{ralph.Budget{Total: 8 * ralph.USD, Before: 5 * ralph.USD}, "max-total-cost-usd"},
		{ralph.Budget{Cost: 4 * ralph.USD, Total: 8 * ralph.USD, Before: 5 * ralph.USD}, "max-total-cost-usd"},
		{ralph.Budget{Cost: 3 * ralph.USD, Total: 9 * ralph.USD, Before: 5 * ralph.USD}, "max-cost-usd"},
	} {
		if got := tt.budget.Limit(used); got != tt.want {
			t.Errorf("%+v.Limit() = %q, want %q", tt.budget, got, tt.want)
		}
	}
}
