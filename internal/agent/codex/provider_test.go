package codex

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/agent/driver"
)

// Whose API is asked, and with which key.
func TestCodexProviders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		o         driver.Options
		env       string // joined by blanks
		has, not  string
		ready     bool
		key       string
		overrides string
	}{
		{o: driver.Options{Name: "codex", BaseURL: "https://u/v1"}, env: "OPENAI_API_KEY=k", has: "CODEX_API_KEY=k", ready: true, key: "OPENAI_API_KEY", overrides: `openai_base_url="https://u/v1"`},
		{o: driver.Options{Name: "codex", Provider: "responses", BaseURL: "https://u/v1/"}, env: "CODEX_API_KEY=k", ready: true, key: "CODEX_API_KEY",
			overrides: `model_provider="ralph" model_providers.ralph={base_url="https://u/v1",env_key="CODEX_API_KEY",name="ralph",wire_api="responses"}`},
		{o: driver.Options{Name: "codex", Provider: "responses", BaseURL: "https://u/v1"}, ready: true, key: "CODEX_API_KEY",
			overrides: `model_provider="ralph" model_providers.ralph={base_url="https://u/v1",name="ralph",wire_api="responses"}`},
		{o: driver.Options{Name: "codex", Provider: "azure", BaseURL: "https://x.openai.azure.com"}, env: "AZURE_OPENAI_API_KEY=k", ready: true, key: "AZURE_OPENAI_API_KEY",
			overrides: `model_provider="ralph" model_providers.ralph={base_url="https://x.openai.azure.com/openai/v1",env_key="AZURE_OPENAI_API_KEY",name="Azure",wire_api="responses"}`},
		{o: driver.Options{Name: "codex", Provider: "azure", BaseURL: "https://x"}, key: "AZURE_OPENAI_API_KEY", overrides: `model_provider="ralph" model_providers.ralph={base_url="https://x/openai/v1",name="Azure",wire_api="responses"}`},
		{o: driver.Options{Name: "codex"}, env: "AZURE_OPENAI_API_KEY=k", key: "CODEX_API_KEY"},
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
		overrides, err := providerOverrides(o)
		if got := strings.Join(overrides, " "); err != nil || got != tt.overrides {
			t.Errorf("%+v: overrides = %s, %v", tt, got, err)
		}
	}
}
