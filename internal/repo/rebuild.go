package repo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/repo/store"
)

// unpublished lists the commits of the line that are not on the server, newest
// first, by their first parents.
func (r *Repo) unpublished() ([]plumbing.Hash, error) {
	var list []plumbing.Hash
	for h := r.line.tip; h != r.server.synced; {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return nil, err
		}
		if len(c.ParentHashes) == 0 || h == r.line.startHead {
			return nil, fmt.Errorf("no way from %s down to %s", r.line.tip, r.server.synced)
		}
		list = append(list, h)
		h = c.ParentHashes[0]
	}
	return list, nil
}

// withdraw makes the unpublished commits anew without the changes that unwanted
// picks: same author, committer, message and order. A commit of which nothing is
// left disappears, but for the last one where others stay below it: its message
// tells of them. Of a merge only the parents stay that the server has, and what
// came from there is not taken out. It returns what was taken out; the work tree
// keeps it. The workspace's branch follows when the checkpoint is handed back.
func (r *Repo) withdraw(unwanted func(store.Change) bool) ([]store.Change, error) {
	chain, err := r.unpublished()
	if err != nil {
		return nil, err
	}
	base, err := r.objects.Store.Commit(r.server.synced)
	if err != nil {
		return nil, err
	}
	taken := map[store.Change]bool{}
	var made, merged []plumbing.Hash
	tip, tipTree := r.server.synced, base.TreeHash
	for _, h := range slices.Backward(chain) {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return nil, err
		}
		parent, err := r.objects.Store.Commit(c.ParentHashes[0])
		if err != nil {
			return nil, err
		}
		changes, err := r.objects.Store.Diff(base.TreeHash, c.TreeHash, nil)
		if err != nil {
			return nil, err
		}
		parents := []plumbing.Hash{tip}
		for _, p := range c.ParentHashes[1:] {
			if m, err := r.objects.Store.Commit(p); err == nil && r.objects.Known[p] {
				parents, merged = append(parents, p), append(merged, m.TreeHash)
			}
		}
		back := map[string]store.Entry{}
		for _, ch := range changes {
			if unwanted(ch) && !r.heldBy(merged, ch) {
				back[ch.Path], taken[ch] = ch.Old, true
			}
		}
		tree, err := r.objects.Store.Edit(c.TreeHash, back)
		if err != nil {
			return nil, err
		}
		switch {
		case tree == c.TreeHash && tip == c.ParentHashes[0] && len(parents) == len(c.ParentHashes):
			tip, tipTree = h, tree
			continue
		case tree == tipTree && c.TreeHash != parent.TreeHash && len(parents) == 1 && (h != r.line.tip || tip == r.server.synced):
			continue
		}
		if tip, err = r.objects.Store.WriteCommit(&object.Commit{
			Author: c.Author, Committer: c.Committer, Message: c.Message,
			TreeHash: tree, ParentHashes: parents,
		}); err != nil {
			return nil, err
		}
		tipTree = tree
		r.line.ours[tip] = true
		made = append(made, tip)
		if _, err := r.objects.Store.Diff(c.TreeHash, tree, func(t plumbing.Hash) { made = append(made, t) }); err != nil {
			return nil, err
		}
	}
	r.line.tip, r.line.tipTree = tip, tipTree
	r.line.remade = append(r.line.remade, made...)
	if tip == r.server.synced {
		r.server.pending = false
	}
	return slices.SortedFunc(maps.Keys(taken), func(a, b store.Change) int { return cmp.Compare(a.Path, b.Path) }), nil
}

// heldBy says that a change is one of these trees' own.
func (r *Repo) heldBy(trees []plumbing.Hash, ch store.Change) bool {
	return slices.ContainsFunc(trees, func(tree plumbing.Hash) bool {
		e, err := r.objects.Store.Lookup(tree, ch.Path)
		return err == nil && e == ch.New
	})
}
