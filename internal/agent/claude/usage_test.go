package claude

import (
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

// A result without modelUsage, as older CLIs print it: its usage counts, of
// several results together, and the cost is the last one's. // 001-39, 001-41
func TestClaudeUsageWithoutModels(t *testing.T) {
	t.Parallel()
	const says = `{"type": "assistant", "message": {"content": [{"type": "text", "text": "hello"}]}}` + "\n"
	const result = `{"type": "result", "result": "hello", "total_cost_usd": 0.05, "usage": {"input_tokens": 1000, "output_tokens": 500, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 3}}` + "\n"
	want := ralph.Usage{Cost: ralph.Cost{Amount: 50_000}, Tokens: ralph.Tokens{Input: 1000, Output: 500, CacheRead: 800, CacheWrite: 3}}
	got := decodeStream(says+result, 0, 0)
	if got.Turn.Usage != want || got.Failure != nil || got.Count(ralph.EventText) != 1 {
		t.Errorf("Usage = %+v, failure %+v, %d texts, want %+v, none, 1", got.Turn.Usage, got.Failure, got.Count(ralph.EventText), want)
	}
	want.Tokens = want.Tokens.Add(want.Tokens)
	if got := decodeStream(says+result+says+result, 0, 0).Turn.Usage; got != want {
		t.Errorf("Usage of two results = %+v, want %+v", got, want)
	}
	if got := decodeStream(says, 0, 1).Turn.Usage; !got.Cost.Unknown || !got.Tokens.Unknown {
		t.Errorf("Usage without a result = %+v, want unknown", got)
	}
}
