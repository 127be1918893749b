package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/overlay"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	maxOverlaid      = 2000
	maxOverlaidBytes = 64 << 20
)

// Overlay puts the base's version of the paths that match picks into the work
// tree: files that the base lacks are removed, files that it has are written, as git
// stores them (no filter and no conversion of line ends is run), with the owner of the
// work tree. A link or file that stands where the base has a directory is taken away. The
// index and what is committed stay as they are, and git status shows the difference.
//
// A path that is still so at a snapshot is no change: the commit keeps the branch's
// version. A path that the agent changes is a change of the agent's, against the
// branch's version, as every other; commits of the agent's own that hold the base's
// version are published as one commit without it. Changed are the paths that differed,
// sorted; foreign text.
//
// RestoreOverlay puts back what was there; a run that is killed before leaves it to
// the next checkout. Call Overlay once, after Begin, before anything of the agent's
// runs. A local run that knows no base has nothing to overlay.
func (r *Repo) Overlay(ctx context.Context, match func(path string) bool) (changed []string, err error) {
	if r.overlay != nil {
		return nil, errors.New("overlaid already")
	}
	if r.branch.BaseTip.IsZero() {
		return nil, nil
	}
	base, err := r.branch.Commit(ctx, r.branch.BaseTip)
	if err != nil {
		return nil, err
	}
	changes, err := r.store.Diff(r.state.startTree, base.TreeHash, nil)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(ch store.Change) bool {
		return ch.Old.IsGitlink() || ch.New.IsGitlink() || r.tree.IsRunFile(ch.Path) || !match(ch.Path)
	})
	if len(changes) == 0 {
		return nil, nil
	}
	if len(changes) > maxOverlaid {
		return nil, fmt.Errorf("%d files that have to come from %s differ there, more than %d: update the branch first", len(changes), r.start.Base, maxOverlaid)
	}
	contents, err := r.baseContents(ctx, changes)
	if err != nil {
		return nil, err
	}
	top, err := os.OpenRoot(r.tree.Top)
	if err != nil {
		return nil, err
	}
	var touched []string
	if r.overlay, touched, err = overlay.Put(top, changes, contents); err == nil {
		err = r.hold(ctx, touched)
	}
	if err != nil {
		_, rerr := r.RestoreOverlay()
		return nil, errors.Join(fmt.Errorf("take the configuration of agents from %s: %w", r.start.Base, err), rerr)
	}
	return touched, nil
}

// RestoreOverlay puts back into the work tree what Overlay replaced, where it is
// still as Overlay left it; kept are the paths that the agent changed, which stay.
// Call it on every way out, when the agent is dead; a second call does nothing.
func (r *Repo) RestoreOverlay() (kept []string, err error) {
	if r.overlay == nil {
		return nil, nil
	}
	o := r.overlay
	r.overlay = nil
	return o.Restore()
}

// baseContents are the new contents of changes, by their id.
func (r *Repo) baseContents(ctx context.Context, changes []store.Change) (map[plumbing.Hash][]byte, error) {
	entries := make([]store.Entry, len(changes))
	for i, ch := range changes {
		entries[i] = ch.New
	}
	r.branch.ImportBlobs(ctx, 2*maxOverlaidBytes, entries...)
	contents := map[plumbing.Hash][]byte{}
	size := 0
	for _, ch := range changes {
		if !ch.New.IsBlob() {
			continue
		}
		b, err := r.branch.Content(ctx, ch.New)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", printable.Line(ch.Path, 200), err)
		}
		if size += len(b); size > maxOverlaidBytes {
			return nil, fmt.Errorf("the files that have to come from %s have more than %d bytes", r.start.Base, maxOverlaidBytes)
		}
		contents[ch.New.Hash] = b
	}
	return contents, nil
}

// hold takes the overlaid paths as they are staged now for what was there before
// the run.
func (r *Repo) hold(ctx context.Context, touched []string) error {
	tree, _, err := r.tree.Stage(ctx)
	if err != nil {
		return err
	}
	l := &r.state
	if err := r.branch.ImportNew(ctx, []plumbing.Hash{tree}, r.branch.TipTree, l.startTree); err != nil {
		return err
	}
	for _, name := range touched {
		e, err := r.store.Lookup(tree, name)
		if err != nil {
			return err
		}
		if e.IsTree() {
			e = store.Entry{}
		}
		l.held[name] = e
	}
	l.startTree, l.seenTree, l.lastTree = tree, tree, tree
	return nil
}
