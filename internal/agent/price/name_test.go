package price_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/price"
	"github.com/org/ralph-action/internal/ralph"
)

func TestNames(t *testing.T) {
	t.Parallel()
	table := price.Default()
	for _, c := range []struct{ name, same string }{
		{"claude-sonnet-4-5-20250929", "claude-sonnet-4-5"},
		{"anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"},
		{"claude-sonnet-4-5[1m]", "claude-sonnet-4-5"},
		{"claude-sonnet-4-5-20250929[1m]", "claude-sonnet-4-5"},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0[1m]", "claude-sonnet-4-5"},
		{"global.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"},
		{"anthropic.claude-opus-4-6-v1", "claude-opus-4-6"},
		{"anthropic.claude-haiku-5-5", "claude-haiku-5-5"},
		{"amazon-bedrock/eu.anthropic.claude-sonnet-4-20250514-v1:0", "claude-sonnet-4"},
		{"claude-haiku-4-5@20251001", "claude-haiku-4-5"},
		{"google-vertex-anthropic/claude-haiku-4-5@20251001", "claude-haiku-4-5"},
		{"claude-opus-4-0", "claude-opus-4"},
		{"claude-opus-4-20250514", "claude-opus-4"},
		{"github-copilot/claude-sonnet-4.5", "claude-sonnet-4-5"},
		{"openrouter/anthropic/claude-opus-4.8", "claude-opus-4-8"},
		{"openai/gpt-5.5", "gpt-5.5"},
		{"azure/gpt-5.1-codex", "gpt-5.1-codex"},
		{"gpt-5-2025-08-07", "gpt-5"},
		{"gpt-6.1-sol-2026-09-29", "gpt-6.1-sol"},
		{"gpt-5.6", "gpt-5.6-sol"},
		{"google/gemini-2.5-flash", "gemini-2.5-flash"},
		{"models/gemini-2.5-pro", "gemini-2.5-pro"},
		{"openrouter/x-ai/grok-4.7", "grok-4.7"},
	} {
		used := ralph.Tokens{Input: 54_321, Output: 6_789, CacheRead: 1_234}
		got, want := table.Cost(c.name, used), table.Cost(c.same, used)
		if want.Amount == 0 || got != want {
			t.Errorf("Cost(%q) = %+v, want that of %q, %+v", c.name, got, c.same, want)
		}
	}
}

// Nothing is guessed from a name that only looks like another.
func TestNamesThatAreNotKnown(t *testing.T) {
	t.Parallel()
	table := price.Default()
	for _, name := range []string{
		"", " ", "claude", "sonnet", "opus", "claude-sonnet", "claude-sonnet-9", "Claude-Sonnet-4-5", "claude-sonnet-4-5 ", "claude-sonnet-4-5-fast",
		"claude-sonnet-4-5-latest", "gpt-5.5-20260", "gpt-5.5-preview", "gpt-5.5:free", "gpt-5.5[1m]", "gpt-5.5@20260101", "gpt-99", "gpt", "anthropic/", "[1m]",
		"someone/gpt-5.5", "us.amazon.nova-pro-v1:0", "us.anthropic.gpt-5.5", "moon.anthropic.claude-opus-5-v1:0", "openai/openai/openai/gpt-5.5",
		"arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-5-v1:0", strings.Repeat("openai/", 5000) + "gpt-5.5", "<synthetic>",
	} {
		if table.Known(name) {
			t.Errorf("Known(%.80q) = true", name)
		}
	}
}

// The exact name comes before what it is without its date.
func TestExactNameComesFirst(t *testing.T) {
	t.Parallel()
	mine := parse(t, `{"models": {"gpt-5.5-2026-04-23": {"input": 1000000, "output": 1000000}, "eu.anthropic.claude-opus-5-v1:0": {"input": 5500000, "output": 27500000}}}`)
	table := price.Default().Over(mine)
	used := ralph.Tokens{Input: 1_000_000}
	for name, want := range map[string]ralph.MicroUSD{
		"gpt-5.5-2026-04-23": 1_000_000, "openai/gpt-5.5-2026-04-23": 1_000_000, "gpt-5.5-2026-04-24": 5_000_000,
		"eu.anthropic.claude-opus-5-v1:0": 5_500_000, "us.anthropic.claude-opus-5-v1:0": 5_000_000,
	} {
		if got := table.Cost(name, used).Amount; got != want {
			t.Errorf("Cost(%q) = %d, want %d", name, got, want)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"gpt-5.5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-haiku-4-5@20251001", "openrouter/anthropic/claude-opus-4.8[1m]", "\x00", strings.Repeat("a-", 300)} {
		f.Add(name, int64(1_000_000))
	}
	table := price.Default()
	f.Fuzz(func(t *testing.T, name string, n int64) {
		got := table.Cost(name, ralph.Tokens{Input: n, Output: n, CacheRead: n, CacheWrite: n})
		switch {
		case got.Amount < 0:
			t.Errorf("Cost(%q, %d) = %+v", name, n, got)
		case !table.Known(name) && got != ralph.Cost{Unknown: true}:
			t.Errorf("Cost(%q, %d) = %+v of an unknown model", name, n, got)
		case table.Known(name) && !got.Estimated:
			t.Errorf("Cost(%q, %d) = %+v, not estimated", name, n, got)
		}
	})
}
