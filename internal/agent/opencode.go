package agent

// opencode is OpenCode, opencode-ai 1.18.
type opencode struct{ text }
