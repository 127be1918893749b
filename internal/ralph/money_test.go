package ralph_test

import (
	"math"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// What a stream claims to have cost may be anything; a sum of it is never less.
func TestSumsDoNotOverflow(t *testing.T) {
	t.Parallel()
	most := ralph.Usage{Cost: ralph.Cost{Amount: math.MaxInt64}, Tokens: ralph.Tokens{Input: math.MaxInt64, CacheRead: math.MaxInt64, CacheWrite: math.MaxInt64, Output: math.MaxInt64}}
	if sum := most.Add(most); sum != most || sum.Tokens.In() != math.MaxInt64 || sum.Tokens.Total() != math.MaxInt64 {
		t.Errorf("the sum of the largest usages = %+v, want the largest", sum)
	}
	if sum := most.Add(ralph.Usage{}); sum != most {
		t.Errorf("the largest and nothing = %+v", sum)
	}
}

// Small amounts add up to their total, where a cent is much.
func TestSmallAmountsAddUp(t *testing.T) {
	t.Parallel()
	for amount, want := range map[ralph.MicroUSD]string{
		0: "$0.00", 3_100: "$0.0031", 15_500: "$0.0155", 31_000: "$0.0310", 100_400: "$0.10", 250_000: "$0.25", 999_900: "$1.00", 1_234_500: "$1.23", -15_500: "$-0.0155",
	} {
		if got := amount.String(); got != want {
			t.Errorf("%d = %s, want %s", amount, got, want)
		}
	}
}
