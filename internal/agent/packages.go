package agent

// Package is where an agent's CLI comes from.
type Package struct {
	Name    string // at registry.npmjs.org
	Program string // what it puts on PATH
	Version string // the one that was tested, which is installed unless another is asked for
}

// PackageOf is the npm package of an agent; ok is false for agents that are
// whatever the user says (text, custom).
func PackageOf(name string) (p Package, ok bool) {
	p, ok = map[string]Package{
		"amp":      {"@sourcegraph/amp", "amp", "0.0.1790142911-g7618fb"},
		"claude":   {"@anthropic-ai/claude-code", "claude", "2.1.329"},
		"cline":    {"cline", "cline", "3.0.65"},
		"codex":    {"@openai/codex", "codex", "0.169.0"},
		"copilot":  {"@github/copilot", "copilot", "1.0.102"},
		"gemini":   {"@google/gemini-cli", "gemini", "0.61.0"},
		"opencode": {"opencode-ai", "opencode", "1.18.33"},
	}[name]
	return p, ok
}
