package repo

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/store"
)

// Mark takes the tree as it is now for the start of the run. What setup
// commands and guardrails changed since Begin is no work of the agent: files
// they made or changed are published only when the agent changes them. What a
// guardrail writes anew every time stays unpublished.
func (r *Repo) Mark(ctx context.Context) error {
	l := &r.state
	modules, err := r.store.Lookup(l.headTree, ".gitmodules")
	if err != nil {
		return err
	}
	if l.begun == l.headTree && modules == (store.Entry{}) && r.tree.Unchanged(ctx, r.branch.Start) {
		return nil
	}
	tree, _, err := r.tree.Stage(ctx)
	if err != nil || tree == l.begun {
		return err
	}
	if err := r.branch.ImportNew(ctx, []plumbing.Hash{tree}, r.branch.TipTree, l.begun); err != nil {
		return err
	}
	changes, err := r.store.Diff(l.begun, tree, nil)
	if err != nil {
		return err
	}
	l.seenTree, l.lastTree = tree, tree
	back := map[string]store.Entry{}
	for path, ch := range r.own {
		back[path] = ch.Old
	}
	if l.startTree, err = r.store.Edit(tree, back); err != nil {
		return err
	}
	l.made = map[string]bool{}
	told := 0 // of caches, each snapshot tells
	for _, ch := range changes {
		if r.cacheOf(ch) == "" {
			told++
		}
		if _, ours := r.own[ch.Path]; ours {
			continue
		}
		if ch.Old == (store.Entry{}) {
			l.made[ch.Path] = true
		} else {
			l.held[ch.Path] = ch.New
		}
	}
	r.keepRecord(false)
	const made = "made or changed before the first iteration, by setup, guardrails or the agent's check; "
	switch told {
	case 0:
	case 1:
		r.branch.Note("1 file was " + made + "it is published only when the agent changes it")
	default:
		r.branch.Note("%d files were "+made+"they are published only when the agent changes them", told)
	}
	return nil
}

// Judging sets whether guardrails run now: new files that the next snapshot shows
// are theirs, and are published only when the agent changes them.
func (r *Repo) Judging(on bool) { r.state.judging = on }

// claim notes who changed what since the last snapshot. What the agent
// changed of the files that setup and guardrails had made is its work now; what is
// new while guardrails ran is theirs.
func (r *Repo) claim(tree plumbing.Hash) error {
	l := &r.state
	judging := l.judging
	l.judging = false
	if !judging {
		l.touched = map[string]bool{}
	}
	if tree == l.lastTree {
		return nil
	}
	before := l.lastTree
	if before.IsZero() {
		before = l.startTree
	}
	changes, err := r.store.Diff(before, tree, nil)
	if err != nil {
		return err
	}
	for _, ch := range changes {
		if !judging {
			l.touched[ch.Path] = true
			delete(l.made, ch.Path)
			delete(l.judged, ch.Path)
			continue
		}
		if !l.touched[ch.Path] {
			l.rewritten[ch.Path]++
		}
		tracked, err := r.store.Lookup(r.branch.TipTree, ch.Path)
		if err != nil {
			return err
		}
		if _, theirs := l.judged[ch.Path]; theirs || ch.Old == (store.Entry{}) && tracked == (store.Entry{}) {
			l.judged[ch.Path] = ch.New
		}
	}
	return nil
}

// leftByGuardrail reports whether a change is a new file that a guardrail made.
func (r *Repo) leftByGuardrail(ch store.Change) bool {
	e, ok := r.state.judged[ch.Path]
	return ok && e == ch.New && ch.New != (store.Entry{})
}

// cacheOf returns the cache that a new file lies in, unless the line holds something of
// it; else empty.
func (r *Repo) cacheOf(ch store.Change) string {
	if ch.New == (store.Entry{}) {
		return ""
	}
	return r.untrackedCache(ch.Path)
}

// untrackedCache returns the cache that a path lies in, unless the line holds something of
// it; else empty.
func (r *Repo) untrackedCache(path string) string {
	if r.opt.Cache == nil {
		return ""
	}
	cache := r.opt.Cache(path)
	if cache == "" {
		return ""
	}
	if e, err := r.store.Lookup(r.branch.TipTree, cache); err != nil || e != (store.Entry{}) {
		return ""
	}
	return cache
}
