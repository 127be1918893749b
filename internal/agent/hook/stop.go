package hook

import (
	"fmt"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/printable"
)

const (
	maxProblems = 20   // shown to the agent at once
	maxProblem  = 4000 // runes of each
	maxPaths    = 20   // uncommitted paths shown
)

// StopFacts is what a stop is judged by, besides the CLI's input. Every func
// may be nil, which means that there is nothing to check.
type StopFacts struct {
	// Active says that .ralph-active exists: a task loop runs here.
	Active bool
	// Checks returns what is wrong with the task list, ready for the agent to
	// read: schema, invariants, transitions; and what could not be checked, for
	// standard error.
	Checks func() (problems, warnings []string)
	// Uncommitted returns the paths with uncommitted changes, as git status
	// --porcelain prints them.
	Uncommitted func() ([]string, error)
	// Session is the loop that keeps this session going; nil: none. A stop
	// changes it, and the caller saves it.
	Session *Session
	// Changed says that the tree differs from what it was when the session
	// loop began. It is asked only where tool calls cannot be counted.
	Changed func() (bool, error)
	// Now is the time of the stop; zero: unknown.
	Now time.Time
	// Log receives one entry for each stop of a session loop.
	Log func(Entry)
}

// decide runs every check, so that one failure never hides another, and then
// lets the session loop have its say. A stop that neither concerns is approved.
func (f StopFacts) decide(in Input) Answer {
	var warnings []string
	var problems []string
	if f.Active {
		problems, warnings = f.check(in.StopHookActive)
	}
	if f.Session != nil && !f.Session.Over() {
		answer := f.session(in, problems)
		answer.Warnings = append(warnings, answer.Warnings...)
		return answer
	}
	if len(problems) == 0 {
		return Answer{Warnings: warnings}
	}
	return Answer{Refused: true, Reason: strings.Join(problems, "\n\n"), Warnings: warnings}
}

// check makes every check; again means that this stop follows one that was refused.
func (f StopFacts) check(again bool) (problems, warnings []string) {
	if f.Checks != nil {
		found, unchecked := f.Checks()
		for _, w := range unchecked {
			warnings = append(warnings, printable.Clean(w, 500))
		}
		for _, p := range found[:min(len(found), maxProblems)] {
			problems = append(problems, shorten(p, maxProblem))
		}
		if more := len(found) - maxProblems; more > 0 {
			problems = append(problems, fmt.Sprintf("… and %d more.", more))
		}
	}
	if f.Uncommitted != nil {
		paths, err := f.Uncommitted()
		switch {
		case err != nil:
			warnings = append(warnings, printable.Clean("uncommitted changes were not checked: "+err.Error(), 500))
		case len(paths) > 0:
			problems = append(problems, uncommitted(paths, again))
		}
	}
	return problems, warnings
}

// uncommitted is the text about uncommitted changes. An agent that was refused already, and left
// something again, is told how to get rid of it instead.
func uncommitted(paths []string, again bool) string {
	var b strings.Builder
	if again {
		b.WriteString("There are still uncommitted changes:\n")
	} else {
		b.WriteString("There are uncommitted changes:\n")
	}
	for _, p := range paths[:min(len(paths), maxPaths)] {
		b.WriteString("    " + printable.Clean(p, 200) + "\n")
	}
	if more := len(paths) - maxPaths; more > 0 {
		fmt.Fprintf(&b, "    … and %d more\n", more)
	}
	if again {
		b.WriteString("Commit ALL changes including progress.txt and tasks.json updates: git add -A && git commit.\n" +
			"What does not belong in the repository, such as caches and build results: delete it, or name it in .gitignore and commit that.\n" +
			"Then stop again.")
		return b.String()
	}
	b.WriteString("Before you stop:\n" +
		"1. Update `ralph/progress.txt` with what was accomplished + learnings\n" +
		"2. Consider if any lasting patterns belong in CLAUDE.md or `.claude/rules/`\n" +
		"3. Commit ALL changes including progress.txt and tasks.json updates\n" +
		"Then stop again.")
	return b.String()
}

// shorten keeps at most n runes.
func shorten(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
