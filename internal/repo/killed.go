package repo

import (
	"context"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/store"
)

// takeOver finds out what a killed run of this branch has left uncommitted: that is
// published like this run's own work. It also clears away the locks of the git
// commands that were killed with it.
func (r *Repo) takeOver(ctx context.Context, k *Killed) error {
	r.unlock(k)
	if r.clean {
		return nil
	}
	tree, _, err := r.tree.Stage(ctx)
	if err != nil {
		return err
	}
	c, err := r.objects.Store.Commit(r.base)
	if err != nil || tree == c.TreeHash {
		return err
	}
	if err := r.objects.ImportNew(ctx, []plumbing.Hash{tree}, c.TreeHash); err != nil {
		return err
	}
	changes, err := r.objects.Store.Diff(c.TreeHash, tree, nil)
	if err != nil {
		return err
	}
	top, err := os.OpenRoot(r.tree.Top)
	if err != nil {
		return err
	}
	defer top.Close()
	for _, ch := range changes {
		if k.made(top, ch) {
			r.own[ch.Path] = ch
		}
	}
	if len(r.own) > 0 {
		r.note("a run of this branch was killed: the %d file(s) it left uncommitted are its work, and are published with this run's", len(r.own))
	}
	return nil
}

// unlock removes the locks that git commands leave which are killed. None is in the
// way of anybody else's: the run they belonged to is over.
func (r *Repo) unlock(k *Killed) {
	for _, name := range []string{"index.lock", "HEAD.lock"} {
		if info, err := r.tree.GitDir.Lstat(name); err == nil && info.Mode().IsRegular() && !files.ChangeTime(info).After(k.last) {
			_ = r.tree.GitDir.Remove(name) // git says what is wrong
		}
	}
	for _, name := range []string{"refs/heads/" + k.Name + ".lock", "packed-refs.lock", "shallow.lock"} {
		if info, err := r.tree.Common.Lstat(name); err == nil && info.Mode().IsRegular() && !files.ChangeTime(info).After(k.last) {
			_ = r.tree.Common.Remove(name)
		}
	}
}

// makeWay prepares the checkout of tip for what a killed run left uncommitted: git
// refuses to overwrite it, also with the same content. What tip holds as well is put
// into the index, where git finds it. Where tip has something else, as when somebody
// pushed meanwhile, tip's version is taken and the other one kept.
func (r *Repo) makeWay(ctx context.Context, tip plumbing.Hash) error {
	c, err := r.objects.Store.Commit(tip)
	if err != nil {
		return err
	}
	var there, other strings.Builder
	kept := map[string]store.Entry{}
	for _, ch := range r.own {
		target, err := r.objects.Store.Lookup(c.TreeHash, ch.Path)
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
	at, err := r.objects.Store.Commit(r.base)
	if err != nil {
		return err
	}
	tree, err := r.objects.Store.Edit(at.TreeHash, files)
	if err != nil {
		return err
	}
	now := r.now()
	kept, err := r.objects.Store.WriteCommit(&object.Commit{
		Author: signature(r.opt.Committer, now), Committer: signature(r.opt.Committer, now),
		Message: "ralph: what a killed run left uncommitted\n", TreeHash: tree, ParentHashes: []plumbing.Hash{r.base},
	})
	if err != nil {
		return err
	}
	if err := r.objects.ExportCommit(ctx, kept, r.base); err != nil {
		return err
	}
	ref := "refs/ralph/kept/" + kept.String()
	r.note("of what a killed run left uncommitted, %d file(s) are different on the branch %s by now: the branch's are taken, and the others kept as %s", len(files), r.opt.Branch, ref)
	return r.tree.Git(ctx, nil, nil, "update-ref", ref, kept.String())
}
