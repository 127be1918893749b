package repo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	maxMessages     = 1000    // commits whose messages are kept
	maxMessageBytes = 4096    // of one of them
	maxWalk         = 200_000 // commits of one walk
)

// span is what one commit has that another one lacks.
type span struct {
	commits []note                 // at most maxMessages, newest first
	own     map[plumbing.Hash]bool // all of them
	edges   []plumbing.Hash        // what they stand on and the other one has
	cut     bool                   // commits are more than are kept
}

// note is a commit as it is remembered.
type note struct {
	hash    plumbing.Hash
	message string // bounded
	at      time.Time
	by      Identity // the committer
}

var errLongHistory = fmt.Errorf("more than %d commits", maxWalk)

// walk follows the commits of a store down from some, to those stop knows and
// those the store does not have: the edges. Below a commit that started the
// branch again it goes on with the base alone: what was there before is history.
func walk(s *store.Store, from []plumbing.Hash, stop func(plumbing.Hash) bool) (span, error) {
	sp := span{own: map[plumbing.Hash]bool{}}
	edge := map[plumbing.Hash]bool{}
	queue := slices.Clone(from)
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		if sp.own[h] || edge[h] {
			continue
		}
		var c *object.Commit
		if !stop(h) && s.Has(h) {
			var err error
			if c, err = s.Commit(h); err != nil {
				return sp, err
			}
		}
		if c == nil {
			edge[h] = true
			sp.edges = append(sp.edges, h)
			continue
		}
		if len(sp.own) == maxWalk {
			return sp, errLongHistory
		}
		sp.own[h] = true
		sp.commits = append(sp.commits, note{
			hash: h, message: c.Message[:min(len(c.Message), maxMessageBytes)],
			at: c.Committer.When, by: Identity{Name: c.Committer.Name, Email: c.Committer.Email},
		})
		if restarts(c) {
			queue = append(queue, c.ParentHashes[1])
			continue
		}
		queue = append(queue, c.ParentHashes...)
	}
	slices.SortStableFunc(sp.commits, func(a, b note) int { return b.at.Compare(a.at) })
	if len(sp.commits) > maxMessages {
		sp.commits, sp.cut = sp.commits[:maxMessages], true
	}
	return sp, nil
}

// span is what tip has and the bases lack. Where the workspace and the
// store cannot tell, the server is asked.
func (r *Repo) span(ctx context.Context, tip plumbing.Hash, bases ...plumbing.Hash) (span, error) {
	if slices.Contains(bases, tip) {
		return span{edges: []plumbing.Hash{tip}}, nil
	}
	key := fmt.Sprint(tip, bases)
	if sp, ok := r.spans[key]; ok {
		return sp, nil
	}
	sp, err := r.askSpan(ctx, tip, bases)
	if err == nil {
		r.remember(key, sp)
	}
	return sp, err
}

func (r *Repo) remember(key string, sp span) {
	if r.spans == nil {
		r.spans = map[string]span{}
	}
	r.spans[key] = sp
}

func (r *Repo) askSpan(ctx context.Context, tip plumbing.Hash, bases []plumbing.Hash) (span, error) {
	if r.objects.Remote == nil {
		return r.guestSpan(ctx, tip, bases)
	}
	// What only we have, down to what the server has.
	there := r.objects.Known
	if r.objects.BaseRemote != nil {
		there = r.objects.Upstream
	}
	local, err := walk(r.objects.Store, []plumbing.Hash{tip}, func(h plumbing.Hash) bool { return slices.Contains(bases, h) || there[h] })
	if err != nil {
		return span{}, err
	}
	var ask, met []plumbing.Hash
	for _, h := range local.edges {
		if slices.Contains(bases, h) {
			met = append(met, h)
		} else {
			ask = append(ask, h)
		}
	}
	if len(ask) == 0 {
		return local, nil
	}
	below, err := r.between(ctx, ask, bases...)
	if err != nil {
		return span{}, err
	}
	return local.join(below, met), nil
}

// join adds what lies below a walk's edges, but for those it met.
func (sp span) join(below span, met []plumbing.Hash) span {
	if sp.own == nil {
		sp.own = map[plumbing.Hash]bool{}
	}
	for h := range below.own {
		sp.own[h] = true
	}
	sp.commits = append(sp.commits, below.commits...)
	sp.cut = sp.cut || below.cut
	if len(sp.commits) > maxMessages {
		sp.commits, sp.cut = sp.commits[:maxMessages], true
	}
	sp.edges = slices.Clone(below.edges)
	for _, h := range met {
		if !slices.Contains(sp.edges, h) {
			sp.edges = append(sp.edges, h)
		}
	}
	return sp
}

// between asks the server what some commits of its own have that the bases lack:
// the commits alone, where it can leave out the rest.
func (r *Repo) between(ctx context.Context, tips []plumbing.Hash, bases ...plumbing.Hash) (span, error) {
	from, adv, err := r.objects.BaseServer(ctx)
	if err != nil {
		return span{}, err
	}
	var sp span
	err = r.objects.FetchApart(ctx, from, adv, remote.Wanted{Tips: tips, Have: bases}, func(s *store.Store) error {
		sp, err = walk(s, tips, func(h plumbing.Hash) bool { return slices.Contains(bases, h) })
		return err
	})
	return sp, err
}

// guestSpan asks the workspace, which at a desk has all there is.
func (r *Repo) guestSpan(ctx context.Context, tip plumbing.Hash, bases []plumbing.Hash) (span, error) {
	args := []string{"rev-list", "--boundary", fmt.Sprintf("--max-count=%d", maxWalk), tip.String()}
	for _, base := range bases {
		if !base.IsZero() {
			args = append(args, "^"+base.String())
		}
	}
	s, err := r.tree.Output(ctx, nil, args...)
	if err != nil {
		return span{}, err
	}
	all := span{own: map[plumbing.Hash]bool{}}
	var list []string
	for l := range strings.Lines(s) {
		l = strings.TrimSpace(l)
		if b, ok := strings.CutPrefix(l, "-"); ok {
			all.edges = append(all.edges, plumbing.NewHash(b))
			continue
		}
		all.own[plumbing.NewHash(l)] = true
		if list = append(list, l); len(list) > maxMessages {
			list, all.cut = list[:maxMessages], true
		}
	}
	if len(list) == 0 {
		return all, nil
	}
	// The commits alone, to read their messages.
	if err := r.objects.Import(ctx, list); err != nil {
		return all, err
	}
	sp, err := walk(r.objects.Store, []plumbing.Hash{tip}, func(h plumbing.Hash) bool { return !all.own[h] })
	if err != nil {
		return all, err
	}
	sp.cut = sp.cut || all.cut
	if !sp.cut {
		return sp, nil
	}
	sp.own, sp.edges = all.own, all.edges
	return sp, nil
}
