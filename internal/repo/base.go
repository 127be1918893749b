package repo

import (
	"fmt"
	"regexp"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/repo/history"
)

// Update is what becomes of a branch whose base has moved.
type Update string

// Values of Update.
const (
	UpdateNone   Update = ""       // it stays where it is
	UpdateMerge  Update = "merge"  // the base is merged into it
	UpdateRebase Update = "rebase" // its commits, all of them ours, are put on top of the base
)

// ralphRun is the trailer that names the run a commit was made by.
var ralphRun = regexp.MustCompile(`(?m)^Ralph-Run: \S`)

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
		Author: r.opt.Committer.Signature(now), Committer: r.opt.Committer.Signature(now),
		Message: fmt.Sprintf("ralph: start again from %s\n\nAll changes of this branch were in %s already.\n\n%s: %s\n",
			r.start.Base, r.start.Base, history.RestartTrailer, from),
		TreeHash: c.TreeHash, ParentHashes: []plumbing.Hash{tip, from},
	})
}
