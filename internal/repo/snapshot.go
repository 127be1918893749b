package repo

import (
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/watch"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// snapshot is the tree as it was staged, and what of it may be published.
type snapshot struct {
	head     plumbing.Hash // of the workspace
	tree     plumbing.Hash // as staged
	parent   plumbing.Hash // of our commit: the last checkpoint or the agent's last commit
	public   plumbing.Hash // the tree to publish
	own      int           // commits of the agent's own between the last checkpoint and parent
	notes    []string
	large    []lfs.File      // what Git LFS keeps of it, that is new
	pinned   []plumbing.Hash // blobs of ours in public that the workspace may lack
	commits  []plumbing.Hash // the agent's own that are published as they are
	left     []inspection.LeftOut
	findings []ralph.Finding
}

// Snapshot stages and imports the work tree as it is now. *worktree.UnfinishedError
// says that the agent left a merge or a conflict: such a tree is never
// committed, and stays where it is.
//
// What may not be published is left out, with a note that names it: new
// repositories inside the work tree, files over 100 MB, files whose attributes
// ask for a filter that is not configured (git would store the raw content in
// silence), names with control characters, credentials of earlier steps, what
// Options.AddPaths does not name, and ralph's own state.
//
// A new repository inside the work tree is left out and not refused: people make
// them without meaning to (a tool that is cloned, a test's fixture), the files stay where
// they are, and the rest of the work is published.
func (r *Repo) Snapshot(ctx context.Context) (ralph.Change, error) {
	if err := r.tree.Unfinished(ctx); err != nil {
		return ralph.Change{}, err
	}
	r.leaveReplaced(ctx)
	tree, notes, err := r.tree.StageCopy(ctx)
	if err != nil {
		return ralph.Change{}, err
	}
	head, err := r.tree.Head(ctx)
	if err != nil {
		return ralph.Change{}, err
	}
	s := &snapshot{head: head, tree: tree, parent: r.branch.Tip, notes: notes}
	r.noteCredentials(s)
	if err := r.importSnapshot(ctx, s); err != nil {
		return ralph.Change{}, err
	}
	if err := r.adopt(ctx, s); err != nil {
		return ralph.Change{}, err
	}
	if err := r.claim(tree); err != nil {
		return ralph.Change{}, err
	}
	if err := r.choose(ctx, s); err != nil {
		return ralph.Change{}, err
	}
	work, err := r.work(tree)
	if err != nil {
		return ralph.Change{}, err
	}
	changes, err := r.store.Diff(r.branch.TipTree, s.public, nil)
	if err != nil {
		return ralph.Change{}, err
	}
	lines := r.branch.CountLines(ctx, changes) // it fetches what an inspection may ask for
	if s.findings, err = r.inspect(ctx, s, changes); err != nil {
		return ralph.Change{}, fmt.Errorf("look at what would be published: %w", err)
	}
	r.last, r.state.lastTree, r.state.public = s, tree, s.public
	if c, err := r.store.Commit(head); err == nil {
		r.state.headTree = c.TreeHash
	}
	r.keepRecord(r.recorder.Working())
	change := ralph.Change{
		Head:       head.String(),
		Tree:       tree.String(),
		Work:       work.ID(),
		Before:     r.branch.TipTree.String(),
		After:      s.public.String(),
		Files:      len(changes),
		SinceStart: head != r.branch.Start || !work.Empty(),
		Notes:      s.notes,
		Findings:   s.findings,
	}
	for _, l := range lines {
		change.Insertions, change.Deletions = change.Insertions+l.Insertions, change.Deletions+l.Deletions
		if l.Uncounted {
			change.Uncounted++
		}
	}
	return change, nil
}

// importSnapshot takes over what the store does not have yet: the staged tree
// and the agent's own commits.
func (r *Repo) importSnapshot(ctx context.Context, s *snapshot) error {
	var wanted []plumbing.Hash
	known := []plumbing.Hash{r.branch.TipTree, r.state.seenTree}
	if s.tree != r.state.seenTree && s.tree != r.branch.TipTree {
		wanted = append(wanted, s.tree)
	}
	if s.head != r.branch.Tip && !s.head.IsZero() && !r.opt.Squash && !r.store.Has(s.head) {
		wanted, known = append(wanted, s.head), append(known, r.branch.Tip)
	}
	if len(wanted) == 0 {
		return nil
	}
	err := r.branch.ImportNew(ctx, wanted, known...)
	if _, ok := worktree.ExitCode(err); ok {
		// The agent may have thrown away objects we count on: take the tree alone.
		err = r.branch.ImportNew(ctx, []plumbing.Hash{s.tree})
	}
	if err == nil {
		r.state.seenTree = s.tree
	}
	return err
}

// choose makes the tree to publish: the staged one, with every path that may
// not be published as it is in the parent.
func (r *Repo) choose(ctx context.Context, s *snapshot) error {
	parent, err := r.store.Commit(s.parent)
	if err != nil {
		return err
	}
	changes, err := r.store.Diff(parent.TreeHash, s.tree, nil)
	if err != nil {
		return err
	}
	back := map[string]store.Entry{}
	changes, aside, err := r.tree.Within(ctx, changes)
	if err != nil {
		return err
	}
	outside := inspection.Omission{Reason: "add-paths does not name it; it stays in the work tree as it is"}
	for _, ch := range aside {
		back[ch.Path] = ch.Old
		if held, ok := r.state.held[ch.Path]; !r.state.made[ch.Path] && (!ok || held != ch.New) {
			outside.Changes = append(outside.Changes, ch)
		}
	}
	if len(outside.Changes) > 0 {
		s.notes = append(s.notes, outside.String())
	}
	out, err := r.leftOut(ctx, s, changes)
	if err != nil {
		return err
	}
	for _, ch := range changes {
		if held, ok := r.state.held[ch.Path]; r.state.made[ch.Path] || ok && held == ch.New {
			back[ch.Path] = ch.Old
		}
	}
	r.branch.Refused, r.state.left = nil, map[string]store.Entry{}
	for _, o := range out {
		if !o.Found {
			s.notes = append(s.notes, o.String())
		}
		for _, ch := range o.Changes {
			back[ch.Path] = ch.Old
			if !o.Aside && (!ch.New.IsBlob() || r.store.Has(ch.New.Hash)) {
				r.state.left[ch.Path] = ch.New
			}
		}
	}
	s.left = inspection.Missing(r.branch.Objects, out...)
	r.state.missing = s.left
	if err := r.pin(s, back); err != nil {
		return err
	}
	s.public, err = r.store.Edit(s.tree, back)
	return err
}

// pin puts the caller's own content among what replaces the agent's.
func (r *Repo) pin(s *snapshot, set map[string]store.Entry) error {
	if r.opt.Pinned == nil {
		return nil
	}
	for path, content := range r.opt.Pinned() {
		path = r.tree.Prefix + path
		was, err := r.store.Lookup(r.branch.TipTree, path)
		if err != nil {
			return err
		}
		now, err := r.store.Lookup(s.tree, path)
		if err != nil {
			return err
		}
		if was == (store.Entry{}) && now == (store.Entry{}) {
			continue
		}
		hash, err := r.store.Write(plumbing.BlobObject, content)
		if err != nil {
			return err
		}
		e := store.Entry{Mode: filemode.Regular, Hash: hash}
		if now.Mode == filemode.Executable {
			e.Mode = now.Mode
		}
		if e != now {
			set[path] = e
			s.pinned = append(s.pinned, hash)
		} else {
			delete(set, path)
		}
	}
	return nil
}

// rewrites is how many times guardrails have to rewrite a file that no turn touched
// before it counts as one that they always rewrite, like a report with the time in it.
const rewrites = 2

// work returns what was changed up to tree, without caches, and for what guardrails made
// or keep rewriting.
func (r *Repo) work(tree plumbing.Hash) (watch.Work, error) {
	var w watch.Work
	changes, err := r.store.Diff(r.state.startTree, tree, nil)
	for _, ch := range changes {
		if r.untrackedCache(ch.Path) == "" && !r.leftByGuardrail(ch) && r.state.rewritten[ch.Path] < rewrites {
			w.Add(ch.Path, ch.New.String())
		}
	}
	return w, err
}
