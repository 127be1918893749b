package content

// Patterns are paths as a .gitignore names them.
type Patterns struct{}

// Parse reads patterns; see Patterns. An error names the one that is wrong.
func Parse(patterns []string) (Patterns, error) { return Patterns{}, nil }

// Match is the pattern that names a path; empty when none does.
func (p Patterns) Match(path string) string { return "" }

// Protected is the list of paths that only people may change unless they say otherwise.
func Protected() []string { return nil }

// AgentConfig are the files that agents read as configuration or instructions.
func AgentConfig() []string { return nil }
