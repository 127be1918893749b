package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
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
	} else if err := r.attach(ctx, head); err != nil {
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
	checkedOut, err := r.answer(ctx, "symbolic-ref", "-q", "--short", "HEAD")
	if err != nil {
		if code, ok := exitCode(err); !ok || code != 1 {
			return "", err
		}
		checkedOut = ""
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
	if err := ValidBranch(base); err != nil {
		return "", fmt.Errorf("base: %w", err)
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

// existing finds the branch where it already is: on the server, or on a desk in
// the workspace. It returns its tip when it has to be continued, zero when
// there is none or the checkout contains it.
func (r *Repo) existing(ctx context.Context, adv advertisement, checkedOut string) (plumbing.Hash, error) {
	local, err := r.ref(ctx, "refs/heads/"+r.opt.Branch)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if r.remote == nil {
		if local.IsZero() || checkedOut == r.opt.Branch {
			return plumbing.ZeroHash, nil
		}
		in, err := r.contains(ctx, r.base, local)
		if in || err != nil {
			return plumbing.ZeroHash, err
		}
		return local, r.collect(ctx, local)
	}
	tip := adv.branch(r.opt.Branch)
	r.server.tip, r.server.synced = tip, r.base
	if !tip.IsZero() {
		in, err := r.fetchBranch(ctx, adv, tip)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("fetch the branch %s: %w", r.opt.Branch, err)
		}
		r.server.known[tip] = r.server.known[tip] || r.store.has(tip)
		if in {
			tip = plumbing.ZeroHash
		}
	}
	return tip, r.keepLocal(ctx, local, tip)
}

// contains says that old is an ancestor of (or the same as) tip. Commits the
// workspace does not have are not.
func (r *Repo) contains(ctx context.Context, tip, old plumbing.Hash) (bool, error) {
	if tip == old {
		return true, nil
	}
	err := r.git(ctx, nil, nil, "merge-base", "--is-ancestor", old.String(), tip.String())
	if _, ok := exitCode(err); ok {
		return false, nil
	}
	return err == nil, err
}

// keepLocal gives a branch of the same name in the workspace, when the run
// would leave its commits without a name, a reference of its own.
func (r *Repo) keepLocal(ctx context.Context, local, tip plumbing.Hash) error {
	if local.IsZero() {
		return nil
	}
	next := tip
	if next.IsZero() {
		next = r.base
	}
	in, err := r.contains(ctx, next, local)
	if in || err != nil {
		return err
	}
	ref := "refs/ralph/kept/" + local.String()
	if err := r.git(ctx, nil, nil, "update-ref", ref, local.String()); err != nil {
		return err
	}
	r.note("the branch %s here had commits that the server's does not have: they are kept as %s", r.opt.Branch, ref)
	return nil
}

// fetchBranch brings the server's branch into the store and the workspace.
// contained says that the checkout has all of it already.
func (r *Repo) fetchBranch(ctx context.Context, adv advertisement, tip plumbing.Hash) (contained bool, err error) {
	if in, err := r.contains(ctx, r.base, tip); in || err != nil {
		return in, err
	}
	f, err := r.store.spool()
	if err != nil {
		return false, err
	}
	defer discard(f)
	have := make([]plumbing.Hash, 0, len(r.server.known))
	for h := range r.server.known {
		have = append(have, h)
	}
	if err := r.remote.fetch(ctx, adv, tip, have, 0, f); err != nil {
		return false, err
	}
	n, err := r.store.importPack(f, false)
	if err != nil {
		return false, err
	}
	_, shallowErr := r.common.Lstat("shallow")
	shallow := shallowErr == nil
	if n == 0 && !r.store.has(tip) {
		// Nothing was sent: the tip is below a commit we said we have.
		return true, nil
	}
	if err := r.collectFetched(tip); err != nil {
		return false, err
	}
	if shallow && !r.complete(tip) {
		// The branch began at a commit this shallow clone does not have.
		if err := r.remote.fetch(ctx, adv, tip, nil, 1, f); err != nil {
			return false, err
		}
		if _, err := r.store.importPack(f, false); err != nil {
			return false, err
		}
		if err := r.graft([]plumbing.Hash{tip}); err != nil {
			return false, err
		}
	} else if shallow {
		if err := r.graft(r.edges(tip)); err != nil {
			return false, err
		}
	}
	if err := r.handFile(ctx, f); err != nil {
		return false, err
	}
	return false, r.importCommit(ctx, tip)
}

// newCommits lists the commits of the store from tip down to known ones.
func (r *Repo) newCommits(tip plumbing.Hash, limit int) []plumbing.Hash {
	var list []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	queue := []plumbing.Hash{tip}
	for len(queue) > 0 && len(list) < limit {
		h := queue[0]
		queue = queue[1:]
		if seen[h] || h == r.base || r.server.known[h] {
			continue
		}
		seen[h] = true
		c, err := r.store.commit(h)
		if err != nil {
			continue
		}
		list = append(list, h)
		queue = append(queue, c.ParentHashes...)
	}
	return list
}

func (r *Repo) collectFetched(tip plumbing.Hash) error {
	for _, h := range r.newCommits(tip, maxMessages) {
		c, err := r.store.commit(h)
		if err != nil {
			return err
		}
		r.start.Messages = append(r.start.Messages, c.Message[:min(len(c.Message), 4096)])
	}
	return nil
}

// edges are the fetched commits with a parent this workspace does not have.
func (r *Repo) edges(tip plumbing.Hash) []plumbing.Hash {
	var list []plumbing.Hash
	for _, h := range r.newCommits(tip, maxLocal) {
		c, err := r.store.commit(h)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(c.ParentHashes, func(p plumbing.Hash) bool { return !r.store.has(p) }) {
			list = append(list, h)
		}
	}
	return list
}

// complete says that the store and the checkout together hold every file of a
// fetched commit.
func (r *Repo) complete(tip plumbing.Hash) bool {
	c, err := r.store.commit(tip)
	if err != nil {
		return false
	}
	b, err := r.store.commit(r.base)
	if err != nil {
		return false
	}
	changes, err := r.store.diff(b.TreeHash, c.TreeHash, nil)
	if err != nil {
		return false
	}
	for _, ch := range changes {
		if ch.new.isBlob() && !r.store.has(ch.new.hash) {
			return false
		}
	}
	return true
}

// collect imports a branch of the workspace that is to be continued.
func (r *Repo) collect(ctx context.Context, tip plumbing.Hash) error {
	s, err := r.out(ctx, nil, "rev-list", fmt.Sprintf("--max-count=%d", maxMessages), tip.String(), "^"+r.base.String())
	if err != nil {
		return err
	}
	for l := range strings.Lines(s) {
		raw, err := r.out(ctx, nil, "cat-file", "commit", strings.TrimSpace(l))
		if err != nil {
			return err
		}
		if _, err := r.store.write(plumbing.CommitObject, []byte(raw)); err != nil {
			return err
		}
	}
	if err := r.collectFetched(tip); err != nil {
		return err
	}
	return r.importCommit(ctx, tip)
}

// resume checks the branch out at tip, which the workspace has. Files that were
// changed before the run are kept, or git refuses.
func (r *Repo) resume(ctx context.Context, tip plumbing.Hash) error {
	err := r.git(ctx, nil, io.Discard, "-c", "advice.detachedHead=false", "checkout", "-q", "--no-track", "-B", r.opt.Branch, tip.String())
	var g *GuestError
	if errors.As(err, &g) && strings.Contains(g.Stderr, "would be overwritten") {
		return &OverwriteError{Branch: r.opt.Branch, Err: err}
	}
	if err != nil {
		return fmt.Errorf("check out the branch %s: %w", r.opt.Branch, err)
	}
	return nil
}

// noteDirt stages the tree as it is before the agent starts and remembers what
// differs from the commit.
func (r *Repo) noteDirt(ctx context.Context, head plumbing.Hash) error {
	tree, notes, err := r.stage(ctx)
	if err != nil {
		return err
	}
	r.notes = append(r.notes, notes...)
	c, err := r.store.commit(head)
	if err != nil {
		return err
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
	if !r.opt.IncludeDirty {
		r.note("%d file(s) were changed before the run; they stay as they are and are not published, unless the agent changes them", len(changes))
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
