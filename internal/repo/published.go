package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
)

// maxHaves bounds the branches of a fork that are named to the base's server.
const maxHaves = 2000

// connect returns the servers of the branch and of the base, as Dial does.
func connect(opt Options) (branch, base *remote.Server, err error) {
	switch opt.UpdateBase {
	case UpdateNone, UpdateMerge, UpdateRebase:
	default:
		return nil, nil, fmt.Errorf("update-base %q: it is merge, rebase, or none", printable.Line(string(opt.UpdateBase), 40))
	}
	if opt.Signer != nil && opt.UpdateBase == UpdateRebase {
		return nil, nil, errors.New("update-base: rebase needs a push, and with sign-commits the forge's API moves the branch, only ever forward: use merge")
	}
	if opt.Contact.reaches(opt) {
		return opt.Contact.remote, opt.Contact.base, nil
	}
	return remotes(opt)
}

// findPublished finds what the server has of the checked-out history: commits made
// here before the run (a step that committed) have to be published too. What
// the remote-tracking branches and the server's own branches reach is known; a
// history that meets none of them was cloned without any and is taken as known.
//
// In a fork this is said of the base's repository, and findFork of the fork.
func (r *Repo) findPublished(ctx context.Context, adv remote.Advertisement) error {
	if err := r.findLocal(ctx, r.branch.BaseOffer); err != nil || r.branch.BaseRemote == nil {
		return err
	}
	return r.findFork(ctx, adv)
}

func (r *Repo) findLocal(ctx context.Context, adv remote.Advertisement) error {
	if slices.Contains(slices.Collect(maps.Values(adv.Refs)), r.base) {
		return nil // a branch of the server's
	}
	var in strings.Builder
	for _, h := range adv.Refs {
		fmt.Fprintf(&in, "^%s\n", h)
	}
	fmt.Fprintln(&in, r.base)
	s, err := r.tree.Output(ctx, strings.NewReader(in.String()), "rev-list", "--boundary", "--ignore-missing", fmt.Sprintf("--max-count=%d", maxLocal+1), "--stdin", "--not", "--remotes")
	if err != nil {
		return err
	}
	var local int
	var edge []plumbing.Hash
	for l := range strings.Lines(s) {
		l = strings.TrimSpace(l)
		if b, ok := strings.CutPrefix(l, "-"); ok {
			edge = append(edge, plumbing.NewHash(b))
		} else {
			local++
		}
	}
	if local == 0 || local > maxLocal || len(edge) == 0 {
		return nil
	}
	r.branch.Note("%d commit(s) made here before the run are not on the server and are published with it", local)
	if r.state.local = true; len(edge) == 1 {
		r.branch.Edge = edge[0]
	}
	r.branch.Published = map[plumbing.Hash]bool{}
	for _, h := range edge {
		if err := r.branch.ImportCommit(ctx, h); err != nil {
			return err
		}
		r.branch.Published[h] = true
	}
	return r.branch.ImportNew(ctx, []plumbing.Hash{r.base}, edge...)
}

// unpublishedLocal reports whether the run starts from commits that only this clone has and
// that change something: they are published even when the agent adds nothing. In doubt it is true.
func (r *Repo) unpublishedLocal(ctx context.Context, head plumbing.Hash) bool {
	if !r.state.local || head != r.base && !r.start.Updated {
		return false
	}
	if r.branch.Aside { // the branch they stand on is not proposed
		trees, err := r.branch.Trees(ctx, r.branch.Synced, head)
		return err != nil || trees[0] != trees[1]
	}
	if r.branch.BaseTip.IsZero() {
		return true
	}
	differs, err := r.branch.Differs(ctx, head)
	return differs || err != nil
}

// findFork finds what a fork lacks of the history that its branch will stand
// on, and takes it from the base's server: the push has to bring it along.
func (r *Repo) findFork(ctx context.Context, adv remote.Advertisement) error {
	r.branch.Upstream = r.branch.Published
	r.branch.Published = map[plumbing.Hash]bool{}
	there := map[plumbing.Hash]bool{}
	var have []plumbing.Hash
	for _, h := range adv.Refs {
		there[h] = true
		have = append(have, h)
	}
	if have = remote.SortedHashes(have); len(have) > maxHaves {
		have = have[:maxHaves]
	}
	if h := adv.Branch(r.start.Base); !h.IsZero() {
		have = append(have, h)
	}
	var want []plumbing.Hash
	for h := range r.branch.Upstream {
		if there[h] {
			r.branch.Published[h] = true
		} else {
			want = append(want, h)
		}
	}
	if len(want) == 0 {
		return nil
	}
	if err := r.branch.Fetch(ctx, r.branch.BaseRemote, r.branch.BaseOffer, remote.Wanted{Tips: want, Have: have}); err != nil {
		return fmt.Errorf("fetch what the fork lacks from %s: %w", r.branch.BaseRemote.URL.Redacted(), err)
	}
	sp, err := history.Walk(r.store, want, func(h plumbing.Hash) bool { return there[h] })
	if err != nil {
		return err
	}
	for h := range sp.Own {
		r.branch.Upstream[h], r.branch.Apart[h] = true, true
	}
	for _, h := range sp.Edges {
		// The push compares with its directories.
		if _, err := r.branch.Commit(ctx, h); err != nil {
			return err
		}
		r.branch.Published[h], r.branch.Upstream[h] = true, true
	}
	return nil
}
