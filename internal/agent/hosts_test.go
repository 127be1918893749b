package agent

import (
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	t.Parallel()
	const servers = `{"mcpServers":{"a":{"url":"https://mcp.example.com/x"},"b":{"httpUrl":"http://10.0.0.1:8080/"},"c":{"command":"npx","args":["https://not.example.com"]},"d":{"url":"${WHERE}"},"e":{"url":"http://localhost:3"}}}`
	for _, tt := range []struct {
		o    Options
		env  string
		want string
	}{
		{Options{Name: "claude"}, "ANTHROPIC_API_KEY=k", "api.anthropic.com"},
		{Options{Name: "claude"}, "", "api.anthropic.com platform.claude.com"},
		{Options{Name: "claude", BaseURL: "https://gw.example.com:8443/v1"}, "ANTHROPIC_API_KEY=k", "gw.example.com:8443"},
		{Options{Name: "claude", BaseURL: "http://gw.example.com/v1"}, "ANTHROPIC_API_KEY=k", "gw.example.com:80"},
		{Options{Name: "claude"}, "ANTHROPIC_API_KEY=k ANTHROPIC_BASE_URL=https://GW.example.com.", "gw.example.com"},
		{Options{Name: "claude", BaseURL: "http://127.0.0.1:4000"}, "ANTHROPIC_API_KEY=k", ""},
		{Options{Name: "claude", BaseURL: "http://[::1]:4000"}, "ANTHROPIC_API_KEY=k", ""},
		{Options{Name: "claude", Provider: "bedrock"}, "", "bedrock-runtime.us-east-1.amazonaws.com bedrock.us-east-1.amazonaws.com sts.us-east-1.amazonaws.com"},
		{Options{Name: "claude"}, "CLAUDE_CODE_USE_BEDROCK=1 AWS_REGION=eu-west-1", "bedrock-runtime.eu-west-1.amazonaws.com bedrock.eu-west-1.amazonaws.com sts.eu-west-1.amazonaws.com"},
		{Options{Name: "claude", Provider: "bedrock"}, "AWS_REGION=*.evil.example/", "bedrock-runtime.us-east-1.amazonaws.com bedrock.us-east-1.amazonaws.com sts.us-east-1.amazonaws.com"},
		{Options{Name: "claude", Provider: "vertex"}, "CLOUD_ML_REGION=global", "aiplatform.googleapis.com oauth2.googleapis.com"},
		{Options{Name: "claude", Provider: "vertex"}, "CLOUD_ML_REGION=europe-west1 GOOGLE_APPLICATION_CREDENTIALS=/c", "*.actions.githubusercontent.com aiplatform.googleapis.com europe-west1-aiplatform.googleapis.com iamcredentials.googleapis.com oauth2.googleapis.com sts.googleapis.com"},
		{Options{Name: "claude", Provider: "foundry"}, "ANTHROPIC_FOUNDRY_RESOURCE=res ANTHROPIC_FOUNDRY_API_KEY=k", "res.services.ai.azure.com"},
		{Options{Name: "claude", Provider: "foundry"}, "ANTHROPIC_FOUNDRY_RESOURCE=res", "login.microsoftonline.com res.services.ai.azure.com"},
		{Options{Name: "claude", MCP: servers}, "ANTHROPIC_API_KEY=k WHERE=https://w.example.com", "10.0.0.1:8080 api.anthropic.com mcp.example.com w.example.com"},
		{Options{Name: "codex"}, "CODEX_API_KEY=k", "api.openai.com"},
		{Options{Name: "codex"}, "CODEX_ACCESS_TOKEN=k", "api.openai.com auth.openai.com chatgpt.com"},
		{Options{Name: "codex", Provider: "azure", BaseURL: "https://n.openai.azure.com"}, "", "n.openai.azure.com"},
		{Options{Name: "codex", Settings: `{"mcp_servers":{"a":{"url":"https://mcp.example.com"}}}`}, "CODEX_API_KEY=k", "api.openai.com mcp.example.com"},
		{Options{Name: "gemini"}, "GEMINI_API_KEY=k", "generativelanguage.googleapis.com"},
		{Options{Name: "gemini", Provider: "vertex"}, "GOOGLE_CLOUD_LOCATION=us-central1", "aiplatform.googleapis.com oauth2.googleapis.com us-central1-aiplatform.googleapis.com"},
		{Options{Name: "gemini"}, "GOOGLE_GENAI_USE_GCA=true", "cloudcode-pa.googleapis.com oauth2.googleapis.com"},
		{Options{Name: "opencode", Model: "openrouter/x/y"}, "", "models.opencode.ai openrouter.ai"},
		{Options{Name: "opencode"}, "ANTHROPIC_API_KEY=k", "api.anthropic.com models.opencode.ai opencode.ai"},
		{Options{Name: "opencode", Model: "m", BaseURL: "https://gw.example.com/v1"}, "", "gw.example.com models.opencode.ai"},
		{Options{Name: "copilot"}, "COPILOT_GITHUB_TOKEN=k", "*.githubcopilot.com api.github.com"},
		{Options{Name: "copilot", Provider: "openai", Model: "m"}, "", "api.openai.com"},
		{Options{Name: "copilot"}, "COPILOT_GH_HOST=acme.ghe.com", "acme.ghe.com api.acme.ghe.com copilot-api.acme.ghe.com"},
		{Options{Name: "amp"}, "", "ampcode.com"},
		{Options{Name: "cline"}, "", "api.cline.bot"},
		{Options{Name: "cline", Provider: "openai-native"}, "", "api.openai.com"},
		{Options{Name: "custom", Command: []string{"x"}, BaseURL: "https://gw.example.com"}, "", "gw.example.com"},
		{Options{Name: "text", Command: []string{"x"}}, "ANTHROPIC_API_KEY=k", ""},
		{Options{Name: "nobody"}, "", ""},
	} {
		tt.o.Env = strings.Fields(tt.env)
		if got := strings.Join(Hosts(tt.o), " "); got != tt.want {
			t.Errorf("Hosts(%s, provider %q, base URL %q, %s) = %s, want %s", tt.o.Name, tt.o.Provider, tt.o.BaseURL, tt.env, got, tt.want)
		}
	}
}

// No address makes a pattern that is wider than one host.
func FuzzHosts(f *testing.F) {
	f.Add("https://gw.example.com/v1", `{"mcpServers":{"a":{"url":"https://*.example.com"}}}`)
	f.Add("http://[::1%25eth0]:80", `{"mcpServers":{"a":{"url":"https://a b"}}}`)
	f.Add("https://a:443,b", `{"url":"wss://X:1"}`)
	f.Fuzz(func(t *testing.T, address, servers string) {
		for _, host := range Hosts(Options{Name: "text", BaseURL: address, MCP: servers}) {
			if host == "" || strings.ContainsAny(host, "*/, \t\n\\") {
				t.Errorf("Hosts(%q, %q) has %q", address, servers, host)
			}
		}
	})
}
