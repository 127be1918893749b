package claude

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/driver"
)

// Whose API is asked, and with which key.
func TestClaudeProviders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o        driver.Options
		env      string // joined by blanks
		has, not string
		ready    bool
		key      string
	}{
		{o: driver.Options{Name: "claude", Provider: "anthropic", BaseURL: "https://u"}, env: "CLAUDE_CODE_USE_VERTEX=1 ANTHROPIC_AUTH_TOKEN=k", has: "ANTHROPIC_BASE_URL=https://u", not: "VERTEX", ready: true, key: "ANTHROPIC_AUTH_TOKEN"},
		{o: driver.Options{Name: "claude", BaseURL: "https://u"}, env: "CLAUDE_CODE_USE_VERTEX=1", has: "ANTHROPIC_VERTEX_BASE_URL=https://u", ready: true, key: "GOOGLE_APPLICATION_CREDENTIALS"},
		{o: driver.Options{Name: "claude", Provider: "bedrock"}, has: "CLAUDE_CODE_USE_BEDROCK=1", ready: true, key: "AWS_BEARER_TOKEN_BEDROCK"},
		{o: driver.Options{Name: "claude", Provider: "vertex"}, has: "CLAUDE_CODE_USE_VERTEX=1", ready: true, key: "GOOGLE_APPLICATION_CREDENTIALS"},
		{o: driver.Options{Name: "claude", Provider: "foundry"}, env: "ANTHROPIC_FOUNDRY_RESOURCE=r", has: "CLAUDE_CODE_USE_FOUNDRY=1", ready: true, key: "ANTHROPIC_FOUNDRY_API_KEY"},
		{o: driver.Options{Name: "claude", Provider: "foundry"}, key: "ANTHROPIC_FOUNDRY_API_KEY"},
		{o: driver.Options{Name: "claude"}, key: "ANTHROPIC_API_KEY"},
	} {
		o := tt.o
		o.Env = strings.Fields(tt.env)
		env := strings.Join(Driver{}.Environ(o), " ")
		if !strings.Contains(env, tt.has) || tt.not != "" && strings.Contains(env, tt.not) {
			t.Errorf("%+v: environment = %s, want %s and no %s", tt, env, tt.has, tt.not)
		}
		if err := (Driver{}).Ready(o); (err == nil) != tt.ready {
			t.Errorf("%+v: ready = %v", tt, err)
		}
		if key := keyVariable(o); key != tt.key {
			t.Errorf("%+v: key = %s", tt, key)
		}
	}
}
