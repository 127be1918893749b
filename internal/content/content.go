// Package content says what of a change may be published: paths that only people
// may change, limits on files and bytes. It is pure: plain data goes in, findings
// come out.
package content

import "github.com/org/ralph-action/internal/ralph"

// Policy is what a run may change.
type Policy struct {
	// Protected are patterns of paths that only people may change, as in a
	// .gitignore (see Patterns). None: nothing is protected.
	Protected []string
	// OnProtected is the severity of a change of one: Block, Draft or Flag; empty:
	// they may be changed, and nothing is said.
	OnProtected ralph.Severity
	MaxFiles    int   // changed paths of a run; 0: no limit
	MaxBytes    int64 // of their new contents together; 0: no limit
}

// File is a path at which two trees differ.
type File struct {
	Path string // from the top, slash-separated. Foreign text
	From string // where the same content was before; empty: it was not moved
	// OldMode and NewMode are git's modes, 0o100644 for a file; 0: nothing was or is there.
	OldMode, NewMode uint32
	Size             int64  // of the new content in bytes; below 0: not known
	Where            string // what holds it, when that is not the work as a whole: "commit 1a2b3c4"
}

// Judge says what the policy finds. run is the work of the whole run, as against
// what was there when it began: it is what counts against the limits. since holds what is
// to be published now, commits by themselves included: a protected path is found
// in either, so that one that is changed and changed back is seen.
func (p Policy) Judge(run, since []File) []ralph.Finding { return nil }
