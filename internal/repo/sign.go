package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// Signer makes commits through the forge's API, which signs them. The types of
// its methods are plain structs by other names, so that a package that may not
// import this one can be a Signer.
type Signer interface {
	// SignCommit makes a commit, to which nothing points yet.
	SignCommit(ctx context.Context, c SignCommit) (SignedCommit, error)
	// MoveBranch brings a branch to a commit by a fast-forward, or creates it.
	// moved says that somebody else moved, created or deleted it meanwhile.
	MoveBranch(ctx context.Context, branch, commit string, create bool) (moved bool, err error)
}

// SignFile is a path at which a commit differs from the tree it builds on.
type SignFile = struct {
	Path string // from the top, valid UTF-8
	Mode string // 100644, 100755, 120000 or 160000; of a removed file what it had
	ID   string // object id in hex; empty: the path is removed
	// Open reads the content of a blob the server may lack, Size bytes long; nil:
	// the server has it. It may be called by several goroutines at a time.
	Open func() (io.ReadCloser, error)
	Size int64
}

// SignCommit is a commit to make. It has no author, committer or date: the
// forge puts its own there, and only then signs.
type SignCommit = struct {
	Message string
	Parents []string // ids of commits the server has
	Base    string   // id of the tree of the first parent
	Tree    string   // id of the tree to come out
	Files   []SignFile
}

// SignedCommit is a commit the forge made.
type SignedCommit = struct {
	ID       string
	Verified bool   // the forge signed it and says so
	Reason   string // why it is not verified
	Object   []byte // the commit as git stores it; nil: it has to be fetched
}

// signing is what a run knows of the commits the forge made for it.
type signing struct {
	made    map[plumbing.Hash]plumbing.Hash // tips, each with the commit of the line it brought to the server
	sent    map[plumbing.Hash]bool          // blobs the server was given
	commits int                             // that arrived on a branch
	unsure  int                             // of these not verified
	noted   bool

	reading sync.Mutex // of the store, which is for one goroutine at a time
}

// pushSigned is pushOnce by the API: each commit of the line that the server
// lacks is made anew there, on top of what the branch holds, and the branch
// moves once, at the end. The server's commits are others than the line's from
// then on, as if somebody else had pushed them.
func (r *Repo) pushSigned(ctx context.Context, adv remote.Advertisement) error {
	old := adv.Branch(r.server.branch)
	if err := r.recognise(ctx, old); err != nil {
		return err
	}
	if err := r.buildOn(ctx, old); err != nil {
		return err
	}
	if err := r.withdrawUnsignable(); err != nil || !r.server.pending {
		return err // nothing may be left
	}
	tip, chain, err := r.unsigned(adv)
	if err != nil {
		return err
	}
	var made []SignedCommit
	at, err := r.objects.Store.Commit(tip)
	if err != nil {
		return err
	}
	tree := at.TreeHash
	for _, c := range slices.Backward(chain) {
		want, to, err := r.onTop(ctx, adv, c, tip, tree)
		if err != nil {
			return err
		}
		if want == nil {
			continue // brings nothing new
		}
		one, err := r.signOne(ctx, *want)
		if err != nil {
			return err
		}
		made = append(made, one)
		tip, tree = plumbing.NewHash(one.ID), to
	}
	if tip != old {
		r.signing.made[tip] = r.line.tip
		moved, err := r.opt.Signer.MoveBranch(ctx, r.server.branch, tip.String(), old.IsZero())
		if err != nil {
			return err
		}
		if moved {
			return remote.ErrNotFastForward
		}
		r.countSigned(made)
	}
	if !r.objects.Store.Has(tip) {
		if err := r.fetchForeign(ctx, tip); err != nil {
			return fmt.Errorf("fetch the commits the forge made: %w", err)
		}
	}
	r.server.tip, r.server.onto, r.server.pushed, r.server.synced = tip, tip, tip, r.line.tip
	r.objects.Known[tip] = true
	r.server.join = plumbing.ZeroHash
	return nil
}

// recognise finds a branch that stands where this run brought it, though the
// answer got lost.
func (r *Repo) recognise(ctx context.Context, old plumbing.Hash) error {
	end, ours := r.signing.made[old]
	if !ours || old == r.server.tip {
		return nil
	}
	for h := r.line.tip; h != end; {
		c, err := r.objects.Store.Commit(h)
		if err != nil || len(c.ParentHashes) == 0 || h == r.server.synced {
			return nil // the line was made anew since
		}
		h = c.ParentHashes[0]
	}
	if !r.objects.Store.Has(old) {
		if err := r.fetchForeign(ctx, old); err != nil {
			return fmt.Errorf("fetch the commits the forge made: %w", err)
		}
	}
	r.server.tip, r.server.onto, r.server.synced = old, old, end
	r.objects.Known[old] = true
	return nil
}

// unsigned lists the commits to make, newest first, and what they go on top of.
// Commits that were made here before the run are among them.
func (r *Repo) unsigned(adv remote.Advertisement) (onto plumbing.Hash, chain []*object.Commit, err error) {
	h := r.line.tip
	for {
		if r.server.onto.IsZero() && r.onServer(adv, h) {
			return h, chain, nil
		}
		if !r.server.onto.IsZero() && h == r.server.synced {
			if join, err := r.objects.Store.Commit(r.server.join); err == nil && join.ParentHashes[0] == r.server.onto {
				chain = []*object.Commit{join}
			}
			return r.server.onto, chain, nil
		}
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return onto, nil, fmt.Errorf("no way from %s down to what the server has: %w", r.line.tip, err)
		}
		if len(c.ParentHashes) == 0 {
			return onto, nil, fmt.Errorf("no way from %s down to what the server has", r.line.tip)
		}
		chain = append(chain, c)
		h = c.ParentHashes[0]
	}
}

// onServer says that the server has a commit for certain.
func (r *Repo) onServer(adv remote.Advertisement, h plumbing.Hash) bool {
	if r.objects.Known[h] {
		return true
	}
	for _, tip := range adv.Refs {
		if tip == h {
			return true
		}
	}
	return false
}

// onTop describes a commit of the line on top of another one, whose tree is
// base. A merge keeps its other parents when the server has them, and is one
// commit with what it brought when not. nil: it brings nothing.
func (r *Repo) onTop(ctx context.Context, adv remote.Advertisement, c *object.Commit, tip, base plumbing.Hash) (*SignCommit, plumbing.Hash, error) {
	parent, err := r.objects.Store.Commit(c.ParentHashes[0])
	if err != nil {
		return nil, base, err
	}
	tree := c.TreeHash
	if parent.TreeHash != base {
		var conflict string
		if tree, conflict, err = r.objects.Merge(ctx, parent.TreeHash, c.TreeHash, base); err != nil {
			return nil, base, err
		}
		if conflict != "" {
			return nil, base, &conflictError{path: conflict}
		}
	}
	want := &SignCommit{Message: c.Message, Parents: []string{tip.String()}, Base: base.String(), Tree: tree.String()}
	for _, p := range c.ParentHashes[1:] {
		if c.Hash == r.line.startHead || r.onServer(adv, p) {
			want.Parents = append(want.Parents, p.String())
		}
	}
	if tree == base && len(want.Parents) == 1 && c.TreeHash != parent.TreeHash {
		return nil, base, nil
	}
	changes, err := r.objects.Store.Diff(base, tree, nil)
	if err != nil {
		return nil, base, err
	}
	unseen := slices.DeleteFunc(slices.Clone(changes), func(ch store.Change) bool {
		return r.there(c, ch, func(h plumbing.Hash) bool { return r.onServer(adv, h) })
	})
	if err := r.judge(ctx, unseen, nil); err != nil {
		return nil, base, err
	}
	before := map[plumbing.Hash]bool{}
	for _, ch := range changes {
		before[ch.Old.Hash] = true
	}
	for _, ch := range changes {
		f, err := r.signFile(ch, before)
		if err != nil {
			return nil, base, err
		}
		want.Files = append(want.Files, f)
	}
	return want, tree, nil
}

// signFile describes a change. A blob that is not in the store, stood in the
// tree before, or was sent before, is on the server.
func (r *Repo) signFile(ch store.Change, before map[plumbing.Hash]bool) (SignFile, error) {
	if ch.New == (store.Entry{}) {
		return SignFile{Path: ch.Path, Mode: fmt.Sprintf("%06o", uint32(ch.Old.Mode))}, nil
	}
	f := SignFile{Path: ch.Path, Mode: fmt.Sprintf("%06o", uint32(ch.New.Mode)), ID: ch.New.Hash.String()}
	if h := ch.New.Hash; ch.New.IsBlob() && r.objects.Store.Has(h) && !before[h] && !r.signing.sent[h] {
		size, err := r.objects.Store.Size(h)
		if err != nil {
			return f, fmt.Errorf("object %s: %w", h, err)
		}
		f.Size, f.Open = size, func() (io.ReadCloser, error) { return r.openBlob(h) }
	}
	return f, nil
}

// signOne has one commit made and takes it into the store.
func (r *Repo) signOne(ctx context.Context, want SignCommit) (SignedCommit, error) {
	one, err := r.opt.Signer.SignCommit(ctx, want)
	if err != nil {
		return one, r.signError(err)
	}
	for _, f := range want.Files {
		if f.Open != nil {
			r.signing.sent[plumbing.NewHash(f.ID)] = true
		}
	}
	id, err := worktree.ParseHash(one.ID)
	if err != nil {
		return one, err
	}
	if one.Object == nil {
		return one, nil
	}
	if got := plumbing.ComputeHash(plumbing.CommitObject, one.Object); got != id {
		return one, fmt.Errorf("the forge made the commit %s and described %s", id, got)
	}
	_, err = r.objects.Store.Write(plumbing.CommitObject, one.Object)
	return one, err
}

// signError makes a refusal for want of the right to change workflow files what
// a push would have made of it.
func (r *Repo) signError(err error) error {
	var refused interface {
		error
		WorkflowFile() string
	}
	if errors.As(err, &refused) {
		return &remote.PermissionError{Permission: remote.PermWorkflows, Path: printable.Line(refused.WorkflowFile(), 200)}
	}
	return err
}

// countSigned takes note of commits that are on a branch now.
func (r *Repo) countSigned(made []SignedCommit) {
	for _, one := range made {
		r.signing.commits++
		if one.Verified {
			continue
		}
		r.signing.unsure++
		if !r.signing.noted {
			r.signing.noted = true
			r.note("the forge made the commit %s and does not call it verified (%s): it signs for bots alone, GITHUB_TOKEN or the token of a GitHub App; a personal token's commits stay unsigned", one.ID[:7], printable.Line(one.Reason, 100))
		}
	}
}

// verified says that there are commits the forge made, and that it calls each
// of them verified.
func (s *signing) verified() bool { return s.commits > 0 && s.unsure == 0 }
