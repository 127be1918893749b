package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
)

// Start is what the run begins with.
type Start struct {
	Base    string // branch the pull request goes to
	BaseSHA string // commit that was checked out
	Branch  string
	HeadSHA string // commit the work starts from; differs from BaseSHA when Resumed
	Resumed bool   // the branch existed with commits of its own and is continued
	// Messages are those of the commits that are on the branch and not in what
	// was checked out, newest first, bounded: an earlier run's trailers. Foreign
	// text.
	Messages []string
	Dirty    []string // files changed before the run, sorted, at most 100
	Notes    []string
}

const (
	maxListed   = 100
	maxLocal    = 1000 // commits of the checkout that the server may lack
	maxMessages = 200
)

// Begin attaches the work branch and notes the state of the tree. The branch
// on the server, if it has commits that are not in what is checked out, is
// fetched and checked out; a branch that is contained in it (merged) starts
// again from what is checked out, which is a fast-forward for it.
func (r *Repo) Begin(ctx context.Context) (Start, error) {
	r.start = Start{Branch: r.opt.Branch, BaseSHA: r.base.String()}
	r.server = server{branch: r.opt.Branch, known: map[plumbing.Hash]bool{r.base: true}}
	r.line = line{held: map[string]entry{}, ours: map[plumbing.Hash]bool{}}

	adv, err := r.advertised(ctx)
	if err != nil {
		return Start{}, err
	}
	checkedOut, err := r.findBase(ctx, adv)
	if err != nil {
		return Start{}, err
	}
	if r.remote != nil {
		if err := r.findKnown(ctx, adv); err != nil {
			return Start{}, err
		}
	}
	head := r.base
	if existing, err := r.existing(ctx, adv, checkedOut); err != nil {
		return Start{}, err
	} else if !existing.IsZero() {
		if err := r.resume(ctx, existing); err != nil {
			return Start{}, err
		}
		head = existing
		r.start.Resumed = true
	} else if err := r.attachFirst(ctx); err != nil {
		return Start{}, fmt.Errorf("attach the branch %s: %w", r.opt.Branch, err)
	}
	r.start.HeadSHA = head.String()
	if err := r.noteDirt(ctx, head); err != nil {
		return Start{}, err
	}
	r.start.Notes = slices.Clone(r.notes)
	return r.start, nil
}

func (r *Repo) advertised(ctx context.Context) (advertisement, error) {
	if r.remote == nil {
		return advertisement{}, nil
	}
	adv, err := r.remote.refs(ctx, uploadPack)
	if err != nil {
		return adv, fmt.Errorf("read the branches of %s: %w", r.remote.url.Redacted(), err)
	}
	return adv, nil
}

// findBase settles the base branch and returns the branch that is checked out,
// "" when HEAD is detached.
func (r *Repo) findBase(ctx context.Context, adv advertisement) (string, error) {
	checkedOut, err := r.checkedOut(ctx)
	if err != nil {
		return "", err
	}
	base := r.opt.Base
	if base == "" && checkedOut != r.opt.Branch {
		base = checkedOut
	}
	if base == "" {
		base = r.opt.DefaultBranch
	}
	switch {
	case base == "" && r.remote == nil:
		return checkedOut, nil // a desk that goes on with its work branch needs none
	case base == "":
		return "", errors.New("no branch is checked out and the repository's default branch is not known: name the base branch (input base)")
	case base == r.opt.Branch:
		return "", fmt.Errorf("the branch to publish and the base branch are both %q: choose another branch", base)
	}
	if err := ralph.CheckRef(base); err != nil {
		return "", fmt.Errorf("base %q: %w", base, err)
	}
	r.start.Base = base
	if r.remote != nil {
		if adv.branch(base).IsZero() {
			return "", fmt.Errorf("the base branch %q does not exist on %s", base, r.remote.url.Redacted())
		}
		return checkedOut, nil
	}
	if r.opt.Base == "" {
		return checkedOut, nil
	}
	for _, ref := range []string{"refs/heads/", "refs/remotes/origin/"} {
		if h, err := r.ref(ctx, ref+base); err != nil || !h.IsZero() {
			return checkedOut, err
		}
	}
	return "", fmt.Errorf("the base branch %q does not exist here", base)
}

// ref is the commit of a reference of the workspace; zero when there is none.
func (r *Repo) ref(ctx context.Context, name string) (plumbing.Hash, error) {
	if strings.HasPrefix(name, "refs/") && r.noRef(name) {
		return plumbing.ZeroHash, nil
	}
	s, err := r.answer(ctx, "rev-parse", "-q", "--verify", name+"^{commit}")
	if err != nil {
		if code, ok := exitCode(err); ok && code == 1 {
			return plumbing.ZeroHash, nil
		}
		return plumbing.ZeroHash, err
	}
	return parseHash(s)
}

// findKnown finds what the server has of the checked-out history: commits made
// here before the run (a step that committed) have to be published too. What
// the remote-tracking branches and the server's own branches reach is known; a
// history that meets none of them was cloned without any and is taken as
// known.
func (r *Repo) findKnown(ctx context.Context, adv advertisement) error {
	var in strings.Builder
	for _, h := range adv.refs {
		fmt.Fprintf(&in, "^%s\n", h)
	}
	fmt.Fprintln(&in, r.base)
	s, err := r.out(ctx, strings.NewReader(in.String()), "rev-list", "--boundary", "--ignore-missing", fmt.Sprintf("--max-count=%d", maxLocal+1), "--stdin", "--not", "--remotes")
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
	r.note("%d commit(s) made here before the run are not on the server and are published with it", local)
	r.server.known = map[plumbing.Hash]bool{}
	revs := []string{r.base.String()}
	for _, h := range edge {
		if err := r.importCommit(ctx, h); err != nil {
			return err
		}
		r.server.known[h] = true
		revs = append(revs, "^"+h.String())
	}
	return r.importObjects(ctx, revs, "--revs", "--filter=blob:limit="+blobLimit)
}

// noteDirt stages the tree as it is before the agent starts and remembers what
// differs from the commit.
func (r *Repo) noteDirt(ctx context.Context, head plumbing.Hash) error {
	c, err := r.store.commit(head)
	if err != nil {
		return err
	}
	modules, err := r.store.lookup(c.TreeHash, ".gitmodules")
	if err != nil {
		return err
	}
	tree := c.TreeHash
	// A broken submodule, which status passes over, is refused now and not after
	// the agent has worked.
	if !r.clean || head != r.base || modules != (entry{}) {
		var notes []string
		if tree, notes, err = r.stage(ctx); err != nil {
			return err
		}
		r.notes = append(r.notes, notes...)
	}
	l := &r.line
	l.startHead, l.tip, l.tipTree = head, head, c.TreeHash
	l.startTree, l.seenTree = tree, c.TreeHash
	l.ours[head] = true
	r.server.synced = head
	if tree == c.TreeHash {
		return nil
	}
	if err := r.importObjects(ctx, []string{tree.String(), "^" + c.TreeHash.String()}, "--revs", "--filter=blob:limit="+blobLimit); err != nil {
		return err
	}
	l.seenTree = tree
	changes, err := r.store.diff(c.TreeHash, tree, nil)
	if err != nil {
		return err
	}
	for _, ch := range changes {
		if !r.opt.IncludeDirty {
			l.held[ch.path] = ch.new
		}
		if len(r.start.Dirty) < maxListed {
			r.start.Dirty = append(r.start.Dirty, ch.path)
		}
	}
	return nil
}

// CanPush asks the server, without writing anything, whether the token may
// push. A *PermissionError says what is missing.
func (r *Repo) CanPush(ctx context.Context) error {
	if r.remote == nil {
		return errors.New("no remote to push to")
	}
	_, err := r.remote.refs(ctx, receivePack)
	return err
}
