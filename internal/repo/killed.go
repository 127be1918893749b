package repo

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/killed"
	"github.com/org/ralph-action/internal/repo/store"
)

// takeOver finds out what a killed run of this branch has left uncommitted: that is
// published like this run's own work. It also clears away the locks of the git
// commands that were killed with it.
func (r *Repo) takeOver(ctx context.Context, k *killed.Run) error {
	k.RemoveLocks(r.tree.GitDir, r.tree.Common)
	if r.clean {
		return nil
	}
	tree, _, err := r.tree.Stage(ctx)
	if err != nil {
		return err
	}
	c, err := r.store.Commit(r.base)
	if err != nil || tree == c.TreeHash {
		return err
	}
	if err := r.branch.ImportNew(ctx, []plumbing.Hash{tree}, c.TreeHash); err != nil {
		return err
	}
	changes, err := r.store.Diff(c.TreeHash, tree, nil)
	if err != nil {
		return err
	}
	top, err := os.OpenRoot(r.tree.Top)
	if err != nil {
		return err
	}
	defer top.Close()
	for _, ch := range changes {
		if k.Made(top, ch) {
			r.own[ch.Path] = ch
		}
	}
	if len(r.own) > 0 {
		done := map[bool]string{true: "published", false: "committed"}[r.opt.Push]
		r.branch.Note("a run of this branch was killed: what it left uncommitted is its work, and is %s with this run's: %s", done, ralph.Listed(slices.Sorted(maps.Keys(r.own))))
	}
	return nil
}

// makeRoom prepares the checkout of tip for what a killed run left uncommitted: git
// refuses to overwrite it, also with the same content. What tip holds as well is put
// into the index, where git finds it. Where tip has something else, as when somebody
// pushed meanwhile, tip's version is taken and the other one kept.
func (r *Repo) makeRoom(ctx context.Context, tip plumbing.Hash) error {
	c, err := r.store.Commit(tip)
	if err != nil {
		return err
	}
	var there, other strings.Builder
	kept := map[string]store.Entry{}
	for _, ch := range r.own {
		target, err := r.store.Lookup(c.TreeHash, ch.Path)
		switch {
		case err != nil:
			return err
		case target == ch.Old:
			continue // it stays as it is
		case target != ch.New:
			kept[ch.Path] = ch.New
			other.WriteString(ch.Path + "\x00")
		}
		there.WriteString(ch.Path + "\x00")
	}
	if there.Len() == 0 {
		return nil
	}
	if err := r.tree.CopyIndex(); err != nil {
		return err
	}
	paths := []string{"--pathspec-from-file=-", "--pathspec-file-nul"}
	if err := r.tree.GitEnv(ctx, r.tree.IndexEnv(), strings.NewReader(there.String()), nil, append([]string{"--literal-pathspecs", "add", "-A"}, paths...)...); err != nil {
		return err
	}
	if len(kept) > 0 {
		if err := r.keepAside(ctx, kept); err != nil {
			return err
		}
		args := append([]string{"--literal-pathspecs", "restore", "--staged", "--worktree", "--source=" + tip.String()}, paths...)
		if err := r.tree.GitEnv(ctx, r.tree.IndexEnv(), strings.NewReader(other.String()), nil, args...); err != nil {
			return err
		}
	}
	return r.tree.ReturnIndex()
}

// keepAside keeps files as a commit that a reference of ours names.
func (r *Repo) keepAside(ctx context.Context, files map[string]store.Entry) error {
	at, err := r.store.Commit(r.base)
	if err != nil {
		return err
	}
	tree, err := r.store.Edit(at.TreeHash, files)
	if err != nil {
		return err
	}
	kept, err := r.store.NewCommit(r.opt.Committer, r.opt.Clock(), "ralph: what a killed run left uncommitted\n", tree, r.base)
	if err != nil {
		return err
	}
	if err := r.branch.ExportCommit(ctx, kept, r.base); err != nil {
		return err
	}
	ref, err := r.tree.Keep(ctx, kept)
	r.branch.Note("a killed run left uncommitted what is different on the branch %s by now: the branch's version is taken, and the other one kept as %s: %s", r.opt.Branch, ref, ralph.Listed(slices.Sorted(maps.Keys(files))))
	return err
}
