package weaken

import "github.com/org/ralph-action/internal/ralph"

// File is a file of a change, with its content before and after.
type File struct {
	Path string // after the change, or before it where Deleted; relative to the top, with slashes
	From string // where it was moved from; empty when it was not moved
	// Old is the content before, nil when Added; New the content after, nil when
	// Deleted. Neither is written to.
	Old, New       []byte
	Deleted, Added bool
}

// Options is what the files themselves do not tell.
type Options struct {
	// Guardrails are the command lines that judge the work, as the team wrote them.
	Guardrails []string
	// Base reads a file of the commit the change begins at, by its path from the
	// top; nil when there is none. It is asked for a few files through which a
	// guardrail leads to others, such as package.json. May be nil.
	Base func(path string) []byte
}

// Look lists what in a change makes tests and checks say less: findings of the
// kinds tests, checks, agent-config and not-looked-at, all of severity Flag, the
// gravest first, at most MaxFindings.
func Look(files []File, o Options) []ralph.Finding {
	return nil
}

// MaxFindings bounds what Look returns.
const MaxFindings = 200
