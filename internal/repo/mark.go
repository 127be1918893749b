package repo

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"
)

// Mark takes the tree as it is now for the start of the run. What setup
// commands and guardrails changed since Begin is no work of the agent: files
// they made or changed are published only when the agent changes them. What a
// guardrail writes anew every time stays unpublished.
func (r *Repo) Mark(ctx context.Context) error {
	tree, _, err := r.stage(ctx)
	if err != nil || tree == r.line.begun {
		return err
	}
	l := &r.line
	if err := r.importObjects(ctx, []string{tree.String(), "^" + l.tipTree.String(), "^" + l.begun.String()}, "--revs", "--filter=blob:limit="+blobLimit); err != nil {
		return err
	}
	changes, err := r.store.diff(l.begun, tree, nil)
	if err != nil {
		return err
	}
	l.seenTree, l.lastTree = tree, tree
	back := map[string]entry{}
	for path, ch := range r.own {
		back[path] = ch.old
	}
	if l.startTree, err = r.store.edit(tree, back); err != nil {
		return err
	}
	l.made = map[string]bool{}
	for _, ch := range changes {
		if _, ours := r.own[ch.path]; ours {
			continue
		}
		if ch.old == (entry{}) {
			l.made[ch.path] = true
		} else {
			l.held[ch.path] = ch.new
		}
	}
	r.keepRecord(false)
	r.note("%d file(s) were made or changed before the first iteration, by setup, guardrails or the agent's check; they are published only when the agent changes them", len(changes))
	return nil
}

// claim takes note of what the agent changed of the files that setup and
// guardrails had made: they are its work now. Only the first snapshot after a
// checkpoint is of the agent's doing alone; guardrails ran before a second one.
func (r *Repo) claim(tree plumbing.Hash) error {
	l := &r.line
	if r.last != nil || len(l.made) == 0 || tree == l.lastTree {
		return nil
	}
	changes, err := r.store.diff(l.lastTree, tree, nil)
	if err != nil {
		return err
	}
	for _, ch := range changes {
		delete(l.made, ch.path)
	}
	return nil
}

// Tree is the id of the tree of the last snapshot; empty before the first.
func (r *Repo) Tree() string {
	if r.last == nil {
		return ""
	}
	return r.last.tree.String()
}
