package catalog

// All are the agents, the CLIs in the order in which they are looked for.
func All() []Agent {
	return []Agent{
		{
			Name: "claude", About: "Claude Code, the default",
			Package: "@anthropic-ai/claude-code", Program: "claude", Version: "2.1.329", InImage: "yes", Size: "360 MB",
			Variables: []Variables{
				{"", []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}, []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"}},
				{"by federation", []string{"ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_IDENTITY_TOKEN_FILE"}, []string{
					"ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID", "ANTHROPIC_SERVICE_ACCOUNT_ID", "ANTHROPIC_WORKSPACE_ID", "ANTHROPIC_SCOPE",
				}},
				{"on Bedrock", []string{"AWS_BEARER_TOKEN_BEDROCK"}, []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "AWS_REGION", "ANTHROPIC_BEDROCK_BASE_URL"}},
				{"on Vertex AI", nil, []string{"CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "ANTHROPIC_VERTEX_PROJECT_ID", "ANTHROPIC_VERTEX_BASE_URL", "CLOUD_ML_REGION"}},
				{"on Foundry", []string{"ANTHROPIC_FOUNDRY_API_KEY"}, []string{"CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", "ANTHROPIC_FOUNDRY_RESOURCE", "ANTHROPIC_FOUNDRY_BASE_URL"}},
			},
			Providers: []Provider{{Name: "anthropic", Key: "ANTHROPIC_API_KEY"}, {Name: "bedrock", Key: "AWS_BEARER_TOKEN_BEDROCK"}, {Name: "vertex"}, {Name: "foundry", Key: "ANTHROPIC_FOUNDRY_API_KEY"}},
			Address:   "https://api.anthropic.com", AddressVariable: "ANTHROPIC_BASE_URL",
			// Settings, hooks, and agents, commands and skills that name the tools they are
			// allowed; rules and memory are prose.
			Programs: []string{".claude/", "!**/.claude/rules/", "!**/.claude/CLAUDE.md", ".mcp.json"},
			Prose:    []string{"CLAUDE.md", "CLAUDE.local.md", "**/.claude/rules/"},
			Sessions: true, Hooks: true,
			Bypass:    []string{"--dangerously-skip-permissions"},
			Overrides: []string{"apiKeyHelper", "_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_"},
			Doc: Doc{
				Key: "`ANTHROPIC_API_KEY`, `CLAUDE_CODE_OAUTH_TOKEN`", Cost: "reported",
				Tried: "whole runs in the container", NotSeen: "Anthropic's service, Bedrock, Vertex, Foundry",
				Hosts: []Hosts{
					{"", "`api.anthropic.com`; `platform.claude.com` to renew a login"},
					{"on Bedrock", "`bedrock-runtime`, `bedrock` and `sts` of `AWS_REGION` at `amazonaws.com`"},
					{"on Vertex AI", "`aiplatform.googleapis.com`, that of the region, `oauth2.googleapis.com`; with `GOOGLE_APPLICATION_CREDENTIALS` also `sts` and `iamcredentials.googleapis.com`, `*.actions.githubusercontent.com`"},
					{"on Foundry", "`RESOURCE.services.ai.azure.com`; without a key `login.microsoftonline.com`"},
				},
				Takes: Takes{
					Model: "yes", Effort: "low, medium, high, xhigh, max", Provider: "anthropic, bedrock, vertex, foundry", BaseURL: "yes",
					System: "system prompt", MCP: "yes", Settings: "`settings.json`",
				},
				Holds: Holds{Budget: "yes", Limit: "yes, with reset", Session: "yes"},
			},
		},
		{
			Name: "codex", About: "OpenAI Codex",
			Package: "@openai/codex", Program: "codex", Version: "0.169.0", InImage: "full", Size: "400 MB",
			Variables: []Variables{
				{"", []string{"CODEX_API_KEY", "OPENAI_API_KEY", "CODEX_ACCESS_TOKEN", "AZURE_OPENAI_API_KEY"}, []string{"OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_CA_CERTIFICATE"}},
				{"by federation", []string{"OPENAI_IDENTITY_TOKEN_FILE"}, []string{"OPENAI_FEDERATION_RULE_ID", "OPENAI_WORKLOAD_IDENTITY_CONTEXT"}},
			},
			Providers: []Provider{{Name: "openai", Key: "CODEX_API_KEY"}, {Name: "azure", Key: "AZURE_OPENAI_API_KEY"}, {Name: "responses", Key: "CODEX_API_KEY"}},
			Address:   "https://api.openai.com/v1", AddressVariable: "OPENAI_BASE_URL",
			Programs: []string{".codex/", "!**/.codex/AGENTS.md", ".agents/"},
			Prose:    []string{"AGENTS.md", "AGENTS.override.md"},
			Sessions: true, LateUsage: true, UnnamedModel: true,
			Bypass:    []string{"--dangerously-bypass-approvals-and-sandbox", "--yolo"},
			Overrides: []string{"model_provider", "base_url", "profile", "--oss", "-p\n", "forced_login_method"},
			Doc: Doc{
				Key: "`OPENAI_API_KEY`, `CODEX_API_KEY`", Cost: "estimated",
				Tried: "whole runs in the container", NotSeen: "OpenAI's service, Azure",
				Hosts: []Hosts{{"", "`api.openai.com`; by federation or with a login `auth.openai.com`; with a login `chatgpt.com`"}},
				Takes: Takes{
					Model: "yes", Effort: "minimal, low, medium, high, xhigh", Provider: "openai, azure, responses", BaseURL: "yes",
					System: "developer message", MCP: "yes", Settings: "`config.toml`, as JSON",
				},
				Holds: Holds{Budget: "no", Limit: "yes, no reset", Session: "yes"},
			},
		},
		{
			Name: "gemini", About: "Gemini CLI",
			Package: "@google/gemini-cli", Program: "gemini", Version: "0.61.0", Size: "100 MB",
			Variables: []Variables{{"", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, []string{ // the latter of Vertex AI in express mode
				"GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_GENAI_USE_GCA",
				"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_GENAI_API_VERSION",
				"GEMINI_API_KEY_AUTH_MECHANISM", "GEMINI_CLI_CUSTOM_HEADERS", "GEMINI_MODEL",
			}}},
			Providers: []Provider{{Name: "gemini", Key: "GEMINI_API_KEY"}, {Name: "vertex", Key: "GOOGLE_API_KEY"}},
			Address:   "https://generativelanguage.googleapis.com", AddressVariable: "GOOGLE_GEMINI_BASE_URL",
			Programs: []string{".gemini/", "!**/.gemini/GEMINI.md", ".agents/"},
			Prose:    []string{"GEMINI.md", ".geminiignore"},
			Sessions: true, LateUsage: true,
			Bypass:    []string{"--yolo", "-y"},
			Overrides: []string{"selectedType"},
			Doc: Doc{
				Key: "`GEMINI_API_KEY`", Cost: "estimated",
				Tried: "whole runs in the container", NotSeen: "Google's service, Vertex, a login",
				Hosts: []Hosts{{"", "`generativelanguage.googleapis.com`; on Vertex AI as above; with a login `cloudcode-pa` and `oauth2.googleapis.com`"}},
				Takes: Takes{
					Model: "yes", Effort: "minimal, low, medium, high, or tokens", Provider: "gemini, vertex", BaseURL: "yes",
					System: "before the prompt", MCP: "yes", Settings: "`settings.json`",
				},
				Holds: Holds{Budget: "no", Limit: "yes, with reset", Session: "yes"},
			},
		},
		{
			Name: "opencode", About: "OpenCode, for models of any provider",
			Package: "opencode-ai", Program: "opencode", Version: "1.18.33", Size: "350 MB",
			// A key of a provider that is not listed takes a pass-env.
			Variables: []Variables{{"", []string{
				"OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY",
				"AZURE_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "DEEPSEEK_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY",
			}, []string{
				"OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR", "OPENCODE_AUTH_CONTENT",
				"AZURE_RESOURCE_NAME", "AWS_REGION", "GOOGLE_VERTEX_PROJECT", "GOOGLE_VERTEX_LOCATION",
			}}},
			Providers: []Provider{
				{"opencode", "OPENCODE_API_KEY", "https://opencode.ai/zen/v1"},
				{"anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1"},
				{"openai", "OPENAI_API_KEY", "https://api.openai.com/v1"},
				{"openai-compatible", "OPENAI_API_KEY", ""},
				{"openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"},
				{"google", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com"},
				{"gemini", "", "https://generativelanguage.googleapis.com"},
				{"azure", "AZURE_API_KEY", ""},
				{"amazon-bedrock", "AWS_BEARER_TOKEN_BEDROCK", ""},
				{"deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com"},
				{"groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1"},
				{"mistral", "MISTRAL_API_KEY", "https://api.mistral.ai/v1"},
				{"xai", "XAI_API_KEY", "https://api.x.ai/v1"},
			},
			AnyProvider: true,
			// The list of models; without it opencode knows those of the day it was built.
			SideHosts: []string{"models.opencode.ai"},
			Programs:  []string{".opencode/", "opencode.json", "opencode.jsonc", "!**/.opencode/AGENTS.md", ".agents/"},
			Prose:     []string{"AGENTS.md", "CLAUDE.md"},
			Sessions:  true,
			Bypass:    []string{"--auto"},
			Overrides: []string{"baseURL", "apiKey", "--model", "-m\n", "--attach"},
			Doc: Doc{
				Key: "that of the provider", Cost: "reported, else estimated",
				Tried: "whole runs, by Chat Completions", NotSeen: "its providers' services, subagents' usage",
				Hosts: []Hosts{{"", "the provider's, and `models.opencode.ai`"}},
				Takes: Takes{
					Model: "yes, `provider/model`", Effort: "a variant of the model", Provider: "any, openai-compatible", BaseURL: "yes, with `model`",
					System: "instructions", MCP: "yes", Settings: "`opencode.json`",
				},
				Holds: Holds{Budget: "yes", Limit: "yes, with reset", Session: "yes"},
			},
		},
		{
			Name: "copilot", About: "GitHub Copilot CLI",
			Package: "@github/copilot", Program: "copilot", Version: "1.0.102", Size: "190 MB",
			// It would take GH_TOKEN and GITHUB_TOKEN as well, but those are the forge's: what
			// can push or open pull requests is never handed to an agent because it happens to
			// be set. The token of COPILOT_GITHUB_TOKEN needs the permission Copilot Requests
			// and nothing else.
			Variables: []Variables{{"", []string{"COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"}, []string{
				"COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_API_KEY_COMMAND", "COPILOT_PROVIDER_WIRE_API",
				"COPILOT_PROVIDER_TRANSPORT", "COPILOT_PROVIDER_AZURE_API_VERSION", "COPILOT_PROVIDER_HEADERS",
				"COPILOT_PROVIDER_MODEL_ID", "COPILOT_PROVIDER_WIRE_MODEL", "COPILOT_PROVIDER_MAX_PROMPT_TOKENS", "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS",
				"COPILOT_MODEL", "COPILOT_OFFLINE", "COPILOT_GH_HOST",
			}}},
			Providers: []Provider{
				{"github", "COPILOT_GITHUB_TOKEN", ""},
				{"openai", "COPILOT_PROVIDER_API_KEY", "https://api.openai.com/v1"},
				{"azure", "COPILOT_PROVIDER_API_KEY", ""},
				{"anthropic", "COPILOT_PROVIDER_API_KEY", "https://api.anthropic.com"},
			},
			Address: "https://api.githubcopilot.com",
			Programs: []string{
				"**/.github/copilot/", "**/.github/mcp.json", "**/.github/hooks/", "**/.github/agents/", "**/.github/skills/", ".copilot/", ".agents/", ".mcp.json",
			},
			Prose:    []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md", "**/.claude/rules/", "**/.github/copilot-instructions.md", "**/.github/instructions/", "**/.github/prompts/"},
			Sessions: true, LateUsage: true,
			Bypass: []string{"--allow-all", "--yolo"},
			Doc: Doc{
				Key: "`COPILOT_GITHUB_TOKEN`", Cost: "reported, else estimated",
				Tried: "the CLI alone, with another provider", NotSeen: "**GitHub's own service**",
				Hosts: []Hosts{{"", "`api.github.com`, `*.githubcopilot.com`; or the provider's"}},
				Takes: Takes{
					Model: "yes", Effort: "none, minimal, low, medium, high, xhigh, max", Provider: "github, openai, azure, anthropic", BaseURL: "yes, not with github",
					System: "before the prompt", MCP: "yes", Settings: "no",
				},
				Holds: Holds{Budget: "output tokens only", Limit: "yes, with reset", Session: "yes"},
			},
		},
		{
			Name: "amp", About: "Amp",
			Package: "@sourcegraph/amp", Program: "amp", Version: "0.0.1790142911-g7618fb", Size: "not measured",
			Variables: []Variables{{"", []string{"AMP_API_KEY"}, []string{"AMP_URL", "AMP_SETTINGS_FILE"}}},
			Address:   "https://ampcode.com", AddressVariable: "AMP_URL",
			Programs: []string{".amp/"},
			Prose:    []string{"AGENT.md", "AGENTS.md"},
			Sessions: true,
			Bypass:   []string{"--dangerously-allow-all"},
			Doc: Doc{
				Key: "`AMP_API_KEY`", Cost: "estimated",
				Tried: "its arguments, and failing without a login", NotSeen: "**any whole turn**",
				Hosts: []Hosts{{"", "`ampcode.com`"}},
				Takes: Takes{
					Model: "no: `--mode`", Effort: "no: `--mode`", Provider: "no", BaseURL: "its server",
					System: "before the prompt", MCP: "yes", Settings: "`settings.json`",
				},
				Holds: Holds{Budget: "yes", Limit: "as claude", Session: "untried"},
			},
		},
		{
			Name: "cline", About: "Cline CLI",
			Package: "cline", Program: "cline", Version: "3.0.65", Size: "440 MB",
			// A key of a provider that is not listed takes a pass-env.
			Variables: []Variables{{"", []string{"CLINE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY"},
				[]string{"CLINE_PROVIDER", "CLINE_MODEL", "CLINE_DIR", "CLINE_DATA_DIR", "CLINE_API_BASE_URL"}}},
			Providers: []Provider{
				{"cline", "CLINE_API_KEY", "https://api.cline.bot"},
				{"anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1"},
				{"openai", "OPENAI_API_KEY", "https://api.openai.com/v1"},
				{"openai-native", "OPENAI_API_KEY", "https://api.openai.com/v1"},
				{"openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"},
				{"gemini", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com"},
				{"google", "", "https://generativelanguage.googleapis.com"},
				{"deepseek", "", "https://api.deepseek.com"},
				{"groq", "", "https://api.groq.com/openai/v1"},
				{"mistral", "", "https://api.mistral.ai/v1"},
				{"xai", "", "https://api.x.ai/v1"},
				{"opencode", "", "https://opencode.ai/zen/v1"},
			},
			AnyProvider: true,
			Programs:    []string{".cline/", "**/.clinerules/hooks/"},
			Prose:       []string{".clinerules"},
			Unasked:     true,
			Doc: Doc{
				Key: "`CLINE_API_KEY`, or that of the provider", Cost: "reported, else estimated",
				Tried: "the CLI alone", NotSeen: "its own provider",
				Hosts: []Hosts{{"", "`api.cline.bot`, or the provider's"}},
				Takes: Takes{
					Model: "yes", Effort: "none, low, medium, high, xhigh", Provider: "any", BaseURL: "of cline's provider",
					System: "before the prompt", MCP: "replaces yours", Settings: "no",
				},
				Holds: Holds{Budget: "yes", Limit: "no", Session: "no"},
			},
		},
		{
			Name: "custom", About: "any CLI that prints JSON, by jq expressions",
			Doc: Doc{
				Key: "in `pass-env`", Cost: "by a filter",
				Hosts: []Hosts{{"", "none: use `allowed-hosts`"}},
				Takes: Takes{
					Model: "no", Effort: "no", Provider: "no", BaseURL: "no", System: "before the prompt", MCP: "no", Settings: "no",
				},
				Holds: Holds{Budget: "with filters", Limit: "filter `quota-reset`", Session: "no"},
			},
		},
		{
			Name: "text", About: "any command that reads a prompt and prints its answer",
			LateUsage: true,
			Doc: Doc{
				Key: "in `pass-env`", Cost: "unknown",
				Hosts: []Hosts{{"", "none: use `allowed-hosts`"}},
				Takes: Takes{
					Model: "no", Effort: "no", Provider: "no", BaseURL: "no", System: "before the prompt", MCP: "no", Settings: "no",
				},
				Holds: Holds{Budget: "no", Limit: "no", Session: "no"},
			},
		},
	}
}
