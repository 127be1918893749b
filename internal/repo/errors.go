package repo

import (
	"errors"
	"fmt"
)

// ErrEmpty is a repository without a commit.
var ErrEmpty = errors.New("the repository has no commit yet: make a first commit, so that there is something to build on")

// OverwriteError says that continuing the existing branch would overwrite files
// that were changed before the run.
type OverwriteError struct {
	Branch string
	Err    error
}

func (e *OverwriteError) Error() string {
	return fmt.Sprintf("the branch %s exists and cannot be checked out over the uncommitted changes here: commit or remove them first: %v", e.Branch, e.Err)
}

func (e *OverwriteError) Unwrap() error { return e.Err }
