package agent

import (
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/ralph"
)

// What a subagent used is not in the stream; what the stream shows is a lower
// bound. A model the CLI knows no price of costs nothing there, so its cost is
// unknown, until the tokens are priced.
func TestOpencodeUsage(t *testing.T) {
	t.Parallel()
	price := func(model string, u ralph.Tokens) ralph.Cost {
		return ralph.Cost{Amount: ralph.MicroUSD(u.Total()), Estimated: true, Unknown: model != "p/m"}
	}
	for _, tt := range []struct {
		name, stream string
		want         ralph.Cost
	}{
		{"a price of the CLI's", agenttest.Recording(t, "opencode", "text_only"), ralph.Cost{Amount: 380}},
		{"no price", agenttest.Recording(t, "opencode", "long_output"), ralph.Cost{Amount: 2100, Estimated: true}},
		{"a subagent", agenttest.Recording(t, "opencode", "subagent"), ralph.Cost{Amount: 760, Unknown: true}},
	} {
		turn := turnsOf(t, Options{Name: "opencode", Provider: "p", Model: "m", Price: price}, tt.stream)[0]
		if turn.Usage.Cost != tt.want {
			t.Errorf("%s: cost = %+v, want %+v", tt.name, turn.Usage.Cost, tt.want)
		}
	}
}
