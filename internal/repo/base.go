package repo

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Update is what becomes of a branch whose base has moved.
type Update string

// Values of Update.
const (
	UpdateNone   Update = ""       // it stays where it is
	UpdateMerge  Update = "merge"  // the base is merged into it
	UpdateRebase Update = "rebase" // its commits, all of them ours, are put on top of the base
)

// restartTrailer names, in a merge commit of ours, the parent whose tree it
// holds: from there on the branch starts again, and what its other parent held
// is the base's already.
const restartTrailer = "Ralph-Restart"

// ralphRun is the trailer that names the run a commit was made by.
var ralphRun = regexp.MustCompile(`(?m)^Ralph-Run: \S`)

// restarts says that a commit starts the branch again from its second parent.
func restarts(c *object.Commit) bool {
	if len(c.ParentHashes) != 2 {
		return false
	}
	lines := strings.Split(strings.TrimRight(c.Message, "\n"), "\n")
	return lines[len(lines)-1] == restartTrailer+": "+c.ParentHashes[1].String()
}

// restart makes the commit at which a branch starts again whose changes the
// base has: it stands on the branch, so that a push only ever adds, and on the
// commit to start from, whose tree it holds. It is published with the first
// new work and not before.
func (r *Repo) restart(tip, from plumbing.Hash) (plumbing.Hash, error) {
	c, err := r.objects.Store.Commit(from)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	now := r.opt.Clock()
	return r.objects.Store.WriteCommit(&object.Commit{
		Author: signature(r.opt.Committer, now), Committer: signature(r.opt.Committer, now),
		Message: fmt.Sprintf("ralph: start again from %s\n\nAll changes of this branch were in %s already.\n\n%s: %s\n",
			r.start.Base, r.start.Base, restartTrailer, from),
		TreeHash: c.TreeHash, ParentHashes: []plumbing.Hash{tip, from},
	})
}
