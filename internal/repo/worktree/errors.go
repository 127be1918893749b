package worktree

import "errors"

// ErrEmpty is a repository without a commit.
var ErrEmpty = errors.New("the repository has no commit yet: make a first commit, so that there is something to build on")

// UnsupportedError is a repository whose format go-git cannot carry.
type UnsupportedError struct{ What string }

func (e *UnsupportedError) Error() string {
	return e.What + " repositories are not supported: convert it, or clone it in the default format (sha1, files)"
}

// UnfinishedError is a merge, rebase or conflict in the workspace. Nothing is
// committed from such a tree: half of it would be conflict markers. The work
// tree stays as it is, and the next snapshot looks again.
type UnfinishedError struct{ What string }

func (e *UnfinishedError) Error() string {
	return "the workspace holds " + e.What + ": it is not committed until that is finished or aborted"
}
