// Package history answers questions about commits: what a branch has that its base lacks,
// where it left the base, and whether one commit stands on another. The private store and
// the workspace are asked first, then the server.
package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	MaxMessages     = 1000    // commits whose messages are kept
	maxMessageBytes = 4096    // of one of them
	maxWalk         = 200_000 // commits of one walk
)

// Range is what some commits have that others lack.
type Range struct {
	Commits []Commit               // at most MaxMessages, newest first
	Own     map[plumbing.Hash]bool // all of them
	Edges   []plumbing.Hash        // what they stand on and the others have
	Cut     bool                   // there are more than Commits holds
}

// Commit is a commit as it is remembered.
type Commit struct {
	Hash      plumbing.Hash
	Message   string // at most 4 KiB
	Committer store.Identity
	at        time.Time
}

// History is the history of a branch and its base.
type History struct {
	*objects.Objects
	BaseTip plumbing.Hash // of the base branch, as known last; zero: not known
	// Merged are commits that the base has by the forge's word, the newest first.
	Merged []Merged

	ranges map[string]Range // asked before
}

var errLongHistory = fmt.Errorf("more than %d commits", maxWalk)

// Walk follows the commits of a store down from some, to those stop reports and those the
// store lacks: the edges. Below a commit that restarted the branch it follows the base
// alone.
func Walk(s *store.Store, from []plumbing.Hash, stop func(plumbing.Hash) bool) (Range, error) {
	sp := Range{Own: map[plumbing.Hash]bool{}}
	edge := map[plumbing.Hash]bool{}
	queue := slices.Clone(from)
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		if sp.Own[h] || edge[h] {
			continue
		}
		var c *store.Commit
		if !stop(h) && s.Has(h) {
			var err error
			if c, err = s.Commit(h); err != nil {
				return sp, err
			}
		}
		if c == nil {
			edge[h] = true
			sp.Edges = append(sp.Edges, h)
			continue
		}
		if len(sp.Own) == maxWalk {
			return sp, errLongHistory
		}
		sp.Own[h] = true
		sp.Commits = append(sp.Commits, Commit{
			Hash: h, Message: c.Message[:min(len(c.Message), maxMessageBytes)],
			Committer: store.Identity{Name: c.Committer.Name, Email: c.Committer.Email}, at: c.Committer.When,
		})
		if Restarts(c) {
			queue = append(queue, c.ParentHashes[1])
			continue
		}
		queue = append(queue, c.ParentHashes...)
	}
	slices.SortStableFunc(sp.Commits, func(a, b Commit) int { return b.at.Compare(a.at) })
	if len(sp.Commits) > MaxMessages {
		sp.Commits, sp.Cut = sp.Commits[:MaxMessages], true
	}
	return sp, nil
}

// Between returns what tip has and the bases lack. Where the workspace and the store cannot
// tell, the server is asked.
func (hist *History) Between(ctx context.Context, tip plumbing.Hash, bases ...plumbing.Hash) (Range, error) {
	if slices.Contains(bases, tip) {
		return Range{Edges: []plumbing.Hash{tip}}, nil
	}
	if sp, ok := hist.ranges[fmt.Sprint(tip, bases)]; ok {
		return sp, nil
	}
	sp, err := hist.find(ctx, tip, bases)
	if err == nil {
		hist.Remember(sp, tip, bases...)
	}
	return sp, err
}

// Remember keeps an answer of Between.
func (hist *History) Remember(sp Range, tip plumbing.Hash, bases ...plumbing.Hash) {
	if hist.ranges == nil {
		hist.ranges = map[string]Range{}
	}
	hist.ranges[fmt.Sprint(tip, bases)] = sp
}

func (hist *History) find(ctx context.Context, tip plumbing.Hash, bases []plumbing.Hash) (Range, error) {
	if hist.Remote == nil {
		return hist.local(ctx, tip, bases)
	}
	// What only we have, down to what the server has.
	there := hist.Published
	if hist.BaseRemote != nil {
		there = hist.Upstream
	}
	local, err := Walk(hist.Store, []plumbing.Hash{tip}, func(h plumbing.Hash) bool { return slices.Contains(bases, h) || there[h] })
	if err != nil {
		return Range{}, err
	}
	var ask, met []plumbing.Hash
	for _, h := range local.Edges {
		if slices.Contains(bases, h) {
			met = append(met, h)
		} else {
			ask = append(ask, h)
		}
	}
	if len(ask) == 0 {
		return local, nil
	}
	below, err := hist.ask(ctx, ask, bases...)
	if err != nil {
		return Range{}, err
	}
	return local.join(below, met), nil
}

// join adds what lies below the edges of a walk, except for those in met.
func (sp Range) join(below Range, met []plumbing.Hash) Range {
	if sp.Own == nil {
		sp.Own = map[plumbing.Hash]bool{}
	}
	for h := range below.Own {
		sp.Own[h] = true
	}
	sp.Commits = append(sp.Commits, below.Commits...)
	sp.Cut = sp.Cut || below.Cut
	if len(sp.Commits) > MaxMessages {
		sp.Commits, sp.Cut = sp.Commits[:MaxMessages], true
	}
	sp.Edges = slices.Clone(below.Edges)
	for _, h := range met {
		if !slices.Contains(sp.Edges, h) {
			sp.Edges = append(sp.Edges, h)
		}
	}
	return sp
}

// ask asks the server what some commits of its own have that the bases lack.
func (hist *History) ask(ctx context.Context, tips []plumbing.Hash, bases ...plumbing.Hash) (Range, error) {
	from, adv, err := hist.BaseServer(ctx)
	if err != nil {
		return Range{}, err
	}
	var sp Range
	err = hist.FetchApart(ctx, from, adv, remote.Wanted{Tips: tips, Have: bases}, func(s *store.Store) error {
		sp, err = Walk(s, tips, func(h plumbing.Hash) bool { return slices.Contains(bases, h) })
		return err
	})
	return sp, err
}

// local asks the workspace, which has everything when there is no server.
func (hist *History) local(ctx context.Context, tip plumbing.Hash, bases []plumbing.Hash) (Range, error) {
	args := []string{"rev-list", "--boundary", fmt.Sprintf("--max-count=%d", maxWalk), tip.String()}
	for _, base := range bases {
		if !base.IsZero() {
			args = append(args, "^"+base.String())
		}
	}
	s, err := hist.Tree.Output(ctx, nil, args...)
	if err != nil {
		return Range{}, err
	}
	all := Range{Own: map[plumbing.Hash]bool{}}
	var list []string
	for l := range strings.Lines(s) {
		l = strings.TrimSpace(l)
		if b, ok := strings.CutPrefix(l, "-"); ok {
			all.Edges = append(all.Edges, plumbing.NewHash(b))
			continue
		}
		all.Own[plumbing.NewHash(l)] = true
		if list = append(list, l); len(list) > MaxMessages {
			list, all.Cut = list[:MaxMessages], true
		}
	}
	if len(list) == 0 {
		return all, nil
	}
	// The commits alone, to read their messages.
	if err := hist.Import(ctx, list); err != nil {
		return all, err
	}
	sp, err := Walk(hist.Store, []plumbing.Hash{tip}, func(h plumbing.Hash) bool { return !all.Own[h] })
	if err != nil {
		return all, err
	}
	sp.Cut = sp.Cut || all.Cut
	if !sp.Cut {
		return sp, nil
	}
	sp.Own, sp.Edges = all.Own, all.Edges
	return sp, nil
}

// RestartTrailer names, in a merge commit of ours, the parent whose tree it holds: the
// branch starts again from there, and its other parent's changes are in the base.
const RestartTrailer = "Ralph-Restart"

// Restarts reports whether a commit starts the branch again from its second parent.
func Restarts(c *store.Commit) bool {
	if len(c.ParentHashes) != 2 {
		return false
	}
	lines := strings.Split(strings.TrimRight(c.Message, "\n"), "\n")
	return lines[len(lines)-1] == RestartTrailer+": "+c.ParentHashes[1].String()
}
