package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// unpublished lists the commits of the line that are not on the server, newest
// first, by their first parents.
func (b *Branch) unpublished() ([]*store.Commit, error) {
	return b.aboveSynced(func(h plumbing.Hash) bool { return h == b.Start })
}

// aboveSynced lists the commits of the line since the last push, newest first, by their first
// parents. It is an error to come to a commit that stop reports before.
func (b *Branch) aboveSynced(stop func(plumbing.Hash) bool) ([]*store.Commit, error) {
	chain, at, err := b.Store.Chain(b.Tip, func(h plumbing.Hash) bool { return h == b.Synced || stop(h) })
	if err == nil && at != b.Synced {
		err = fmt.Errorf("%s is in the way", at)
	}
	if err != nil {
		return nil, fmt.Errorf("no way from %s down to %s: %w", b.Tip, b.Synced, err)
	}
	return chain, nil
}

// withdraw makes the unpublished commits anew without the changes that unwanted
// picks: same author, committer, message and order. A commit of which nothing is
// left disappears, but for the last one where others stay below it: its message
// tells of them. Of a merge only the parents stay that the server has, and what
// came from there is not taken out. It returns what was taken out; the work tree
// keeps it. The workspace's branch follows when the checkpoint is handed back.
func (b *Branch) withdraw(unwanted func(store.Change) bool) ([]store.Change, error) {
	chain, err := b.unpublished()
	if err != nil {
		return nil, err
	}
	base, err := b.Store.Commit(b.Synced)
	if err != nil {
		return nil, err
	}
	taken := map[store.Change]bool{}
	var made, merged []plumbing.Hash
	tip, tipTree := b.Synced, base.TreeHash
	for _, c := range slices.Backward(chain) {
		parent, err := b.Store.ParentTree(c)
		if err != nil {
			return nil, err
		}
		changes, err := b.Store.Diff(base.TreeHash, c.TreeHash, nil)
		if err != nil {
			return nil, err
		}
		parents := []plumbing.Hash{tip}
		for _, p := range c.ParentHashes[1:] {
			if m, err := b.Store.Commit(p); err == nil && b.Published[p] {
				parents, merged = append(parents, p), append(merged, m.TreeHash)
			}
		}
		back := map[string]store.Entry{}
		for _, ch := range changes {
			if unwanted(ch) && !b.HeldBy(merged, ch) {
				back[ch.Path], taken[ch] = ch.Old, true
			}
		}
		tree, err := b.Store.Edit(c.TreeHash, back)
		if err != nil {
			return nil, err
		}
		switch {
		case tree == c.TreeHash && tip == c.ParentHashes[0] && len(parents) == len(c.ParentHashes):
			tip, tipTree = c.Hash, tree
			continue
		case tree == tipTree && c.TreeHash != parent && len(parents) == 1 && (c.Hash != b.Tip || tip == b.Synced):
			continue
		}
		if tip, err = b.Store.Recommit(c, tree, parents...); err != nil {
			return nil, err
		}
		tipTree = tree
		b.Ours[tip] = true
		made = append(made, tip)
		if _, err := b.Store.Diff(c.TreeHash, tree, func(t plumbing.Hash) { made = append(made, t) }); err != nil {
			return nil, err
		}
	}
	b.Tip, b.TipTree = tip, tipTree
	b.Remade = append(b.Remade, made...)
	if tip == b.Synced {
		b.Pending = false
	}
	return slices.SortedFunc(maps.Keys(taken), func(a, b store.Change) int { return cmp.Compare(a.Path, b.Path) }), nil
}

// HeldBy reports whether a change is one of these trees' own.
func (b *Branch) HeldBy(trees []plumbing.Hash, ch store.Change) bool {
	return slices.ContainsFunc(trees, func(tree plumbing.Hash) bool {
		e, err := b.Store.Lookup(tree, ch.Path)
		return err == nil && e == ch.New
	})
}

// workflowsDir is where GitHub keeps workflow files. A push that changes one of
// them is refused as a whole to a token without the right to.
const workflowsDir = ".github/workflows"

// WorkflowsReason is why changes of workflow files are left out.
const WorkflowsReason = "the token may not change workflow files: GITHUB_TOKEN never can; pass a token with " + remote.PermWorkflows +
	" (GitHub App) or the workflow scope (personal access token) as github-token"

// IsWorkflow reports whether a path is below the directory of workflow files.
func IsWorkflow(path string) bool {
	return path == workflowsDir || strings.HasPrefix(path, workflowsDir+"/")
}

// withoutRefused takes out of what is to be pushed what the server refused a push
// for, and could do without. It reports whether another try makes sense.
func (b *Branch) withoutRefused(err error) bool {
	return b.withoutWorkflows(err) || b.withoutUnknown(err)
}

// withoutWorkflows is withoutRefused for workflow files.
func (b *Branch) withoutWorkflows(refused error) bool {
	var p *remote.PermissionError
	if !errors.As(refused, &p) || p.Permission != remote.PermWorkflows || b.NoWorkflows {
		return false
	}
	b.NoWorkflows = true
	taken, err := b.withdraw(func(ch store.Change) bool { return IsWorkflow(ch.Path) })
	if err != nil || len(taken) == 0 {
		return false // they stand in commits that were here before the run
	}
	b.withdrawn(inspection.Omission{Reason: WorkflowsReason, Changes: taken})
	return true
}

// uploadLarge brings what Git LFS keeps outside of the commits to the server,
// before a branch points to it. It may use half of the time there is. Files
// whose object does not arrive are taken out of the commits, and the rest is
// pushed: one that may arrive later is published with a later checkpoint.
func (b *Branch) uploadLarge(ctx context.Context) error {
	if err := b.earlier(); err != nil {
		return err
	}
	files := b.Large.Needed()
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		if b.opt.Inspect != nil && !b.blobs[f.Blob] {
			return fmt.Errorf("%q: its large file was not inspected", printable.Line(f.Path, 200))
		}
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		limited, cancel = context.WithTimeoutCause(ctx, time.Until(end)/2, errors.New("no time left for large files"))
	}
	defer cancel()
	failed := b.Large.Send(limited, b.LFSServer(), files)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(failed) == 0 {
		return nil
	}
	blobs := map[plumbing.Hash]bool{}
	for _, f := range files {
		if failed[f.OID] != nil {
			blobs[f.Blob] = true
		}
	}
	taken, err := b.withdraw(func(ch store.Change) bool { return blobs[ch.New.Hash] })
	if err != nil {
		return errors.Join(append(slices.Collect(maps.Values(failed)), err)...)
	}
	byReason := map[string]*inspection.Omission{}
	for _, ch := range taken {
		delete(blobs, ch.New.Hash)
		p, _, _ := lfs.ReadPointer(b.Store, ch.New.Hash)
		reason := lfs.NotTaken(failed[p.OID])
		if byReason[reason] == nil {
			byReason[reason] = &inspection.Omission{Reason: reason}
		}
		byReason[reason].Changes = append(byReason[reason].Changes, ch)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		b.withdrawn(*byReason[reason])
	}
	if len(blobs) > 0 {
		// They stand in commits that were made here before the run.
		return errors.Join(slices.Collect(maps.Values(failed))...)
	}
	for oid, err := range failed {
		b.Large.Drop(oid, err)
	}
	return nil
}

// objectIDs finds LFS objects as GitHub names them in its refusal of a push.
var objectIDs = lazyregexp.New(`\b[0-9a-f]{64}\b`)

// withoutUnknown is withoutRefused for pointers whose objects the server lacks
// (GitHub: GH008), whatever the attributes say of the files.
func (b *Branch) withoutUnknown(refused error) bool {
	var e *remote.RejectedError
	if !errors.As(refused, &e) || !strings.Contains(e.Remote+e.Reason, "unknown Git LFS object") {
		return false
	}
	named := map[string]bool{}
	for _, id := range objectIDs.FindAllString(e.Remote+" "+e.Reason, -1) {
		named[id] = true
	}
	all := strings.Contains(e.Remote, "...") // it names the first three
	taken, err := b.withdraw(func(ch store.Change) bool {
		if !ch.New.IsBlob() {
			return false
		}
		p, _, ok := lfs.ReadPointer(b.Store, ch.New.Hash)
		return ok && (named[p.OID] || all && !b.Large.OnServer(p))
	})
	if err != nil || len(taken) == 0 {
		return false
	}
	for _, ch := range taken {
		p, _, _ := lfs.ReadPointer(b.Store, ch.New.Hash)
		b.Large.Refused[p.OID] = lfs.Unknown
	}
	b.withdrawn(inspection.Omission{Reason: lfs.Unknown, Changes: taken})
	return true
}

// withdrawn notes what a server refused and was taken out of what is pushed.
func (b *Branch) withdrawn(o inspection.Omission) {
	if text := o.String(); !slices.Contains(b.Notes, text) {
		b.Notes = append(b.Notes, text)
	}
	b.Refused = append(b.Refused, inspection.Missing(b.Objects, o)...)
}

// earlier finds the LFS objects of commits that were made here before the run
// and are not on the server.
func (b *Branch) earlier() error {
	if b.largeEarly || b.Published[b.Head] {
		return nil
	}
	b.largeEarly = true
	base, err := b.Store.Commit(b.Head)
	if err != nil {
		return err
	}
	for h := range b.Published {
		c, err := b.Store.Commit(h)
		if err != nil {
			continue
		}
		changes, err := b.Store.Diff(c.TreeHash, base.TreeHash, nil)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, ch := range changes {
			if p, _, ok := lfs.ReadPointer(b.Store, ch.New.Hash); ok && ch.New.IsBlob() {
				b.Large.Need([]lfs.File{{Pointer: p, Path: ch.Path, Blob: ch.New.Hash}})
			}
		}
	}
	return nil
}

// LFSServer returns the server of the branch's LFS files, or nil when nothing is pushed.
func (b *Branch) LFSServer() *lfs.Server {
	if b.Remote == nil || !b.opt.Push {
		return nil
	}
	return lfs.NewServer(b.Remote, b.Name)
}
