package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// ErrCrossed is a branch and a base that have more than one merge base.
var ErrCrossed = errors.New("the two have been merged into each other more than once")

// mergeBase returns the commit at which tip left base, by what tip has and base lacks;
// zero when they have no history in common. The error is ErrCrossed when there are several.
func (hist *History) mergeBase(ctx context.Context, sp Range, tip, base plumbing.Hash) (plumbing.Hash, error) {
	switch {
	case len(sp.Edges) == 0:
		return plumbing.ZeroHash, nil
	case len(sp.Edges) == 1:
		return sp.Edges[0], nil
	case slices.Contains(sp.Edges, base):
		return base, nil
	case hist.Remote == nil:
		s, err := hist.Tree.Line(ctx, "merge-base", "--all", tip.String(), base.String())
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if strings.Contains(s, "\n") {
			return plumbing.ZeroHash, ErrCrossed
		}
		return worktree.ParseHash(s)
	}
	return hist.newest(ctx, sp.Edges)
}

// newest returns the one of several commits that contains all others.
func (hist *History) newest(ctx context.Context, list []plumbing.Hash) (plumbing.Hash, error) {
	from, adv, err := hist.BaseServer(ctx)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	var best plumbing.Hash
	var at time.Time
	err = hist.FetchApart(ctx, from, adv, remote.Wanted{Tips: list, Depth: 1}, func(s *store.Store) error {
		for _, h := range list {
			c, err := s.Commit(h)
			if err != nil {
				return err
			}
			if best.IsZero() || c.Committer.When.After(at) {
				best, at = h, c.Committer.When
			}
		}
		return nil
	})
	if err != nil {
		return plumbing.ZeroHash, err
	}
	others := slices.DeleteFunc(slices.Clone(list), func(h plumbing.Hash) bool { return h == best })
	sp, err := hist.ask(ctx, others, best)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if len(sp.Own) > 0 {
		return plumbing.ZeroHash, ErrCrossed
	}
	return best, nil
}

// IsAncestor reports whether old, which the branch's server has, is tip or an ancestor of
// it, so that pushing tip only adds. The workspace is not asked, where an earlier run's
// agent may have written objects under false names: the server shows the part of the
// history that the store lacks. adv is what the server offers to readers.
func (hist *History) IsAncestor(ctx context.Context, adv remote.Advertisement, old, tip plumbing.Hash) (bool, error) {
	met, edges, err := reaches(hist.Store, []plumbing.Hash{tip}, old, hist.Published)
	if met || err != nil {
		return met, err
	}
	err = hist.FetchApart(ctx, hist.Remote, adv, remote.Wanted{Tips: edges, Have: []plumbing.Hash{old}}, func(s *store.Store) error {
		met, _, err = reaches(s, edges, old, nil)
		return err
	})
	if err == nil {
		return met, nil
	}
	if ctx.Err() != nil {
		return false, err
	}
	// A server that does not show single commits: only the workspace is left to ask.
	for _, h := range edges {
		if in, err := hist.Tree.Contains(ctx, h, old); in || err != nil {
			return in, err
		}
	}
	return false, nil
}

// reaches looks for a commit among some and their ancestors, down to those that stop holds
// and those the store lacks: the edges.
func reaches(s *store.Store, from []plumbing.Hash, goal plumbing.Hash, stop map[plumbing.Hash]bool) (met bool, edges []plumbing.Hash, err error) {
	edge := map[plumbing.Hash]bool{}
	n := 0
	for _, err := range s.Since(from, func(h plumbing.Hash) bool {
		switch {
		case h == goal:
			met = true
		case !stop[h] && s.Has(h):
			return met
		default:
			edge[h] = true
		}
		return true
	}) {
		if n++; err == nil && n > maxWalk {
			err = errLongHistory
		}
		if err != nil {
			return false, nil, err
		}
	}
	return met, slices.Collect(maps.Keys(edge)), nil
}

// Merged is a commit that is in the base with everything below it, although git does not
// show it.
type Merged struct {
	Head        plumbing.Hash
	PullRequest int // 0: Head was the base's own
}

// How describes how the base came to have it.
func (g Merged) How(base string) string {
	if g.PullRequest == 0 {
		return fmt.Sprintf("%s was rewritten, and %s is not in it any more", base, g.Head.String()[:7])
	}
	return fmt.Sprintf("pull request #%d was merged into %s", g.PullRequest, base)
}

// Work is what a branch has that is not in the base, in whatever way the base got it.
type Work struct {
	Range
	Fork plumbing.Hash // the newest commit of the branch that the base has; zero: no history in common
	By   Merged        // what the forge said that Fork follows from; zero: it follows from git
}

// Work returns what tip has and the base lacks. The error is ErrCrossed where there is no
// single fork.
func (hist *History) Work(ctx context.Context, tip plumbing.Hash) (Work, error) {
	sp, err := hist.Between(ctx, tip, hist.BaseTip)
	if err != nil {
		return Work{}, err
	}
	var by Merged // the newest
	bases := []plumbing.Hash{hist.BaseTip}
	for _, g := range hist.Merged {
		if !sp.Own[g.Head] {
			continue
		}
		if bases = append(bases, g.Head); by == (Merged{}) {
			by = g
		}
	}
	if by == (Merged{}) {
		fork, err := hist.mergeBase(ctx, sp, tip, hist.BaseTip)
		return Work{Range: sp, Fork: fork}, err
	}
	if sp, err = hist.Between(ctx, tip, bases...); err != nil {
		return Work{}, err
	}
	// What the base itself brought later is newer.
	rest := sp
	rest.Edges = slices.DeleteFunc(slices.Clone(sp.Edges), func(h plumbing.Hash) bool { return h != hist.BaseTip && slices.Contains(bases, h) })
	if len(rest.Edges) == 0 {
		return Work{sp, by.Head, by}, nil
	}
	fork, err := hist.mergeBase(ctx, rest, tip, hist.BaseTip)
	return Work{Range: sp, Fork: fork}, err
}

// Differs reports whether tip has changes that the base lacks. Changes that the base got
// in another way, as by a squash merge, do not count. When the two cannot be compared it
// returns true.
func (hist *History) Differs(ctx context.Context, tip plumbing.Hash) (bool, error) {
	w, err := hist.Work(ctx, tip)
	switch {
	case errors.Is(err, ErrCrossed):
		return true, nil
	case err != nil:
		return true, err
	case len(w.Own) == 0:
		return false, nil
	}
	trees, err := hist.Trees(ctx, w.Fork, tip, hist.BaseTip)
	if err != nil {
		return true, err
	}
	return hist.Adds(ctx, trees[0], trees[1], trees[2])
}
