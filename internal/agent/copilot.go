package agent

// copilot is the GitHub Copilot CLI, @github/copilot 1.0.
type copilot struct{ text }
