package inspection

import (
	"fmt"
	"slices"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/printable"
)

// BlockedError means that something may not be published. Nothing was committed or
// pushed.
type BlockedError struct {
	Findings []ralph.Finding // those of the severity Block, at least one
}

// Error names the first of the findings.
func (e *BlockedError) Error() string {
	first := e.Findings[0]
	at := first.Where
	if first.Path != "" {
		at = fmt.Sprintf("%q", printable.Line(first.Path, 200))
	}
	if len(e.Findings) == 1 {
		return fmt.Sprintf("nothing is published: %s: %s", at, printable.Line(first.Text, 400))
	}
	return fmt.Sprintf("nothing is published: %s: %s; and %d more", at, printable.Line(first.Text, 400), len(e.Findings)-1)
}

// Blocked returns a *BlockedError if a finding has the severity Block.
func Blocked(findings []ralph.Finding) error {
	var grave []ralph.Finding
	for _, f := range findings {
		if f.Severity == ralph.Block {
			grave = append(grave, f)
		}
	}
	if len(grave) == 0 {
		return nil
	}
	return &BlockedError{Findings: slices.Clip(grave)}
}
