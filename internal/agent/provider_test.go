package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/ralph"
)

// A key reaches the agents it is for.
func TestKeysApart(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
		if slices.Contains(Credentials("codex"), name) == slices.Contains(Credentials("claude"), name) {
			t.Errorf("%s reaches codex and claude, or neither", name)
		}
	}
}

// What is said about a login that was refused.
func TestLoginHint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Name: "claude", Env: []string{"ANTHROPIC_AUTH_TOKEN=k"}}, "is the key right in ANTHROPIC_AUTH_TOKEN (input api-key), and"},
		{Options{Name: "claude"}, "there is no key in ANTHROPIC_API_KEY (input api-key), so what the CLI found elsewhere was refused"},
		{Options{Name: "claude", Provider: "vertex"}, "is the login right in GOOGLE_APPLICATION_CREDENTIALS, and"},
	} {
		o := tt.o
		o.Process = &printer{Streams: []string{agenttest.Transcript(t, "v329_api_403")}}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		turn, err := c.Run(t.Context(), ralph.Prompt{Text: "p"}, func(ralph.Event) {})
		if err != nil || agenttest.FailureKind(turn.Failure) != "authentication" || !strings.Contains(turn.Failure.Message, tt.want) {
			t.Errorf("%+v: failure = %+v, %v, want it to say %q", tt.o, turn.Failure, err, tt.want)
		}
	}
}
