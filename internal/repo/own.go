package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// adopt decides whether the agent's own commits are published as they are: they
// stand on the last checkpoint, and hold nothing that may not be published.
// If not, or when one commit is wanted (Options.Squash), the parent stays the
// last checkpoint, and their content becomes part of our commit.
func (r *Repo) adopt(ctx context.Context, s *snapshot) error {
	if s.head == r.branch.Tip {
		return nil
	}
	if r.opt.Squash {
		r.insp.merged = true // nobody looks at the commits by themselves
		return nil
	}
	commits, reason := r.ownCommits(s.head)
	if reason == "" {
		err := r.findTheirs(ctx, commits)
		if err != nil {
			return err
		}
		if reason, err = r.faults(ctx, s, commits); err != nil {
			return err
		}
	}
	if reason != "" {
		r.insp.merged = true
		s.notes = append(s.notes, "the agent's own commits are published as one: "+reason)
		s.large = nil
		return nil
	}
	s.parent, s.own, s.commits = s.head, len(commits), commits
	return nil
}

const maxOwnCommits = 1000

// ownCommits walks from head down to the last checkpoint. reason says why that
// cannot be published as it is.
func (r *Repo) ownCommits(head plumbing.Hash) (list []plumbing.Hash, reason string) {
	const rewritten = "the history was rewritten, or left the work branch"
	if head.IsZero() {
		return nil, rewritten
	}
	met := false
	for c, err := range r.store.Since([]plumbing.Hash{head}, func(h plumbing.Hash) bool {
		met = met || h == r.branch.Tip
		return h == r.branch.Tip || r.branch.Ours[h] || r.branch.Published[h]
	}) {
		switch {
		case errors.Is(err, plumbing.ErrObjectNotFound):
			return nil, "they are based on a commit that is not known here"
		case len(list) == maxOwnCommits:
			return nil, fmt.Sprintf("they are more than %d", maxOwnCommits)
		case err != nil || !r.store.Sound(c.Hash):
			return nil, "one of them is damaged"
		}
		if text, err := r.store.MessageText(c.Hash); err != nil || len(text) > store.MaxMessageText {
			return nil, "the message of one of them is too long"
		}
		list = append(list, c.Hash)
	}
	if !met {
		return nil, rewritten
	}
	return list, ""
}

// faults says what in the agent's own commits may not be published.
func (r *Repo) faults(ctx context.Context, s *snapshot, commits []plumbing.Hash) (string, error) {
	var all []store.Change
	for _, h := range commits {
		if r.branch.Theirs[h] {
			continue
		}
		c, err := r.store.Commit(h)
		if err != nil {
			return "", err
		}
		if history.Restarts(c) || r.opt.Forged != nil && r.opt.Forged(c.Message) {
			return "their messages tell of a run as only checkpoints may", nil
		}
		parent, err := r.store.ParentTree(c)
		if err != nil {
			return "one of them is damaged", nil //nolint:nilerr // it is the reason
		}
		empty := false
		changes, err := r.store.Diff(parent, c.TreeHash, func(h plumbing.Hash) { empty = empty || h == store.EmptyTree && h != c.TreeHash })
		if empty {
			return "one of them holds an empty directory, which git never makes", nil
		}
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return "one of them is not whole", nil
		}
		if err != nil {
			return printable.Line(err.Error(), 200), nil
		}
		for _, ch := range changes {
			held, dirty := r.state.held[ch.Path]
			staged := !r.opt.IncludeDirty && r.state.staged[ch.Path] == ch.New.String()
			if (dirty && held == ch.New || staged) && ch.New != ch.Old {
				return fmt.Sprintf("they hold %q, which was changed before the run", printable.Line(ch.Path, 200)), nil
			}
		}
		merged := r.branch.MergedTrees(c)
		all = append(all, slices.DeleteFunc(changes, func(ch store.Change) bool { return r.branch.HeldBy(merged, ch) })...)
		if len(all) > store.MaxChanges {
			return fmt.Sprintf("they change more than %d files", store.MaxChanges), nil
		}
	}
	_, aside, err := r.tree.Within(ctx, all)
	if err != nil {
		return "", err
	}
	if len(aside) > 0 {
		return fmt.Sprintf("they change %q, which add-paths does not name", printable.Line(aside[0].Path, 200)), nil
	}
	out, err := r.leftOut(ctx, s, all)
	if err != nil {
		return "", err
	}
	if len(out) > 0 {
		return out[0].String(), nil
	}
	return "", nil
}
