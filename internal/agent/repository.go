package agent

// ConfigPath is a place in a repository that agents read.
type ConfigPath struct {
	// Pattern is relative to the repository's top, with slashes: ** stands for any
	// folders, none included, and * for anything within a name. A pattern that ends
	// with /** is everything below a folder.
	Pattern string
	Agent   string // one of Known, or the name of an editor whose files several of them read
	Kind    ConfigKind
}

// ConfigKind says what a place in a repository can do.
type ConfigKind string

// The kinds of places.
const (
	// ConfigRuns can start programs (hooks, MCP servers, plugins, commands), send
	// the key elsewhere, or grant rights.
	ConfigRuns ConfigKind = "runs programs or grants rights"
	// ConfigProse is text for the model.
	ConfigProse ConfigKind = "prose"
)

// ConfigPaths are the places in a repository that the agents read, or would read
// with other arguments than ours, sorted by agent and pattern. They read them at
// the repository's top and in folders below it.
func ConfigPaths() []ConfigPath {
	const runs, prose = ConfigRuns, ConfigProse
	return []ConfigPath{
		{"**/.amp/**", "amp", runs},
		{"**/AGENT.md", "amp", prose},
		{"**/.claude/**", "claude", runs},
		{"**/.mcp.json", "claude", runs},
		{"**/CLAUDE.local.md", "claude", prose},
		{"**/CLAUDE.md", "claude", prose},
		{"**/.cline/**", "cline", runs},
		{"**/.clinerules", "cline", prose},
		{"**/.clinerules/**", "cline", runs},
		{"**/.agents/**", "codex", runs},
		{"**/.codex/**", "codex", runs},
		{"**/AGENTS.md", "codex", prose},
		{"**/AGENTS.override.md", "codex", prose},
		{"**/.copilot/**", "copilot", runs},
		{"**/.github/agents/**", "copilot", runs},
		{"**/.github/copilot-instructions.md", "copilot", prose},
		{"**/.github/copilot/**", "copilot", runs},
		{"**/.github/hooks/**", "copilot", runs},
		{"**/.github/instructions/**", "copilot", prose},
		{"**/.github/mcp.json", "copilot", runs},
		{"**/.github/prompts/**", "copilot", prose},
		{"**/.github/skills/**", "copilot", runs},
		{"**/.cursor/**", "cursor", runs},
		{"**/.cursorrules", "cursor", prose},
		{"**/.env", "gemini", runs},
		{"**/.gemini/**", "gemini", runs},
		{"**/.geminiignore", "gemini", prose},
		{"**/GEMINI.md", "gemini", prose},
		{"**/.opencode/**", "opencode", runs},
		{"**/opencode.json", "opencode", runs},
		{"**/opencode.jsonc", "opencode", runs},
		{"**/.vscode/mcp.json", "vscode", runs},
		{"**/.windsurfrules", "windsurf", prose},
	}
}
