package publish

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
func (b *Branch) pushSigned(ctx context.Context, adv remote.Advertisement) error {
	old := adv.Branch(b.Name)
	if err := b.recognise(ctx, old); err != nil {
		return err
	}
	if err := b.buildOn(ctx, old); err != nil {
		return err
	}
	if err := b.withdrawUnsignable(); err != nil || !b.Pending {
		return err // nothing may be left
	}
	tip, chain, err := b.unsigned(adv)
	if err != nil {
		return err
	}
	var made []SignedCommit
	at, err := b.Store.Commit(tip)
	if err != nil {
		return err
	}
	tree := at.TreeHash
	for _, c := range slices.Backward(chain) {
		want, to, err := b.onTop(ctx, adv, c, tip, tree)
		if err != nil {
			return err
		}
		if want == nil {
			continue // brings nothing new
		}
		one, err := b.signOne(ctx, *want)
		if err != nil {
			return err
		}
		made = append(made, one)
		tip, tree = plumbing.NewHash(one.ID), to
	}
	if tip != old {
		b.signing.made[tip] = b.Tip
		moved, err := b.opt.Signer.MoveBranch(ctx, b.Name, tip.String(), old.IsZero())
		if err != nil {
			return err
		}
		if moved {
			return remote.ErrNotFastForward
		}
		b.countSigned(made)
	}
	if !b.Store.Has(tip) {
		if err := b.fetchForeign(ctx, tip); err != nil {
			return fmt.Errorf("fetch the commits the forge made: %w", err)
		}
	}
	b.ServerTip, b.Onto, b.Pushed, b.Synced = tip, tip, tip, b.Tip
	b.Published[tip] = true
	b.Join = plumbing.ZeroHash
	return nil
}

// recognise finds a branch that stands where this run brought it, though the
// answer got lost.
func (b *Branch) recognise(ctx context.Context, old plumbing.Hash) error {
	end, ours := b.signing.made[old]
	if !ours || old == b.ServerTip {
		return nil
	}
	for h := b.Tip; h != end; {
		c, err := b.Store.Commit(h)
		if err != nil || len(c.ParentHashes) == 0 || h == b.Synced {
			return nil // the line was made anew since
		}
		h = c.ParentHashes[0]
	}
	if !b.Store.Has(old) {
		if err := b.fetchForeign(ctx, old); err != nil {
			return fmt.Errorf("fetch the commits the forge made: %w", err)
		}
	}
	b.ServerTip, b.Onto, b.Synced = old, old, end
	b.Published[old] = true
	return nil
}

// unsigned lists the commits to make, newest first, and what they go on top of.
// Commits that were made here before the run are among them.
func (b *Branch) unsigned(adv remote.Advertisement) (onto plumbing.Hash, chain []*object.Commit, err error) {
	h := b.Tip
	for {
		if b.Onto.IsZero() && b.surelyOnServer(adv, h) {
			return h, chain, nil
		}
		if !b.Onto.IsZero() && h == b.Synced {
			if join, err := b.Store.Commit(b.Join); err == nil && join.ParentHashes[0] == b.Onto {
				chain = []*object.Commit{join}
			}
			return b.Onto, chain, nil
		}
		c, err := b.Store.Commit(h)
		if err != nil {
			return onto, nil, fmt.Errorf("no way from %s down to what the server has: %w", b.Tip, err)
		}
		if len(c.ParentHashes) == 0 {
			return onto, nil, fmt.Errorf("no way from %s down to what the server has", b.Tip)
		}
		chain = append(chain, c)
		h = c.ParentHashes[0]
	}
}

// onServer says that the server has a commit for certain.
func (b *Branch) surelyOnServer(adv remote.Advertisement, h plumbing.Hash) bool {
	if b.Published[h] {
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
func (b *Branch) onTop(ctx context.Context, adv remote.Advertisement, c *object.Commit, tip, base plumbing.Hash) (*SignCommit, plumbing.Hash, error) {
	parent, err := b.Store.ParentTree(c)
	if err != nil {
		return nil, base, err
	}
	tree := c.TreeHash
	if parent != base {
		var conflict string
		if tree, conflict, err = b.Merge(ctx, parent, c.TreeHash, base); err != nil {
			return nil, base, err
		}
		if conflict != "" {
			return nil, base, &ConflictError{Path: conflict}
		}
	}
	want := &SignCommit{Message: c.Message, Parents: []string{tip.String()}, Base: base.String(), Tree: tree.String()}
	for _, p := range c.ParentHashes[1:] {
		if c.Hash == b.Start || b.surelyOnServer(adv, p) {
			want.Parents = append(want.Parents, p.String())
		}
	}
	if tree == base && len(want.Parents) == 1 && c.TreeHash != parent {
		return nil, base, nil
	}
	changes, err := b.Store.Diff(base, tree, nil)
	if err != nil {
		return nil, base, err
	}
	unseen := slices.DeleteFunc(slices.Clone(changes), func(ch store.Change) bool {
		return b.there(c, ch, func(h plumbing.Hash) bool { return b.surelyOnServer(adv, h) })
	})
	if err := b.judge(ctx, unseen, nil); err != nil {
		return nil, base, err
	}
	before := map[plumbing.Hash]bool{}
	for _, ch := range changes {
		before[ch.Old.Hash] = true
	}
	for _, ch := range changes {
		f, err := b.signFile(ch, before)
		if err != nil {
			return nil, base, err
		}
		want.Files = append(want.Files, f)
	}
	return want, tree, nil
}

// signFile describes a change. A blob that is not in the store, stood in the
// tree before, or was sent before, is on the server.
func (b *Branch) signFile(ch store.Change, before map[plumbing.Hash]bool) (SignFile, error) {
	if ch.New == (store.Entry{}) {
		return SignFile{Path: ch.Path, Mode: fmt.Sprintf("%06o", uint32(ch.Old.Mode))}, nil
	}
	f := SignFile{Path: ch.Path, Mode: fmt.Sprintf("%06o", uint32(ch.New.Mode)), ID: ch.New.Hash.String()}
	if h := ch.New.Hash; ch.New.IsBlob() && b.Store.Has(h) && !before[h] && !b.signing.sent[h] {
		size, err := b.Store.Size(h)
		if err != nil {
			return f, fmt.Errorf("object %s: %w", h, err)
		}
		f.Size, f.Open = size, func() (io.ReadCloser, error) { return b.openBlob(h) }
	}
	return f, nil
}

// signOne has one commit made and takes it into the store.
func (b *Branch) signOne(ctx context.Context, want SignCommit) (SignedCommit, error) {
	one, err := b.opt.Signer.SignCommit(ctx, want)
	if err != nil {
		return one, b.signError(err)
	}
	for _, f := range want.Files {
		if f.Open != nil {
			b.signing.sent[plumbing.NewHash(f.ID)] = true
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
	_, err = b.Store.Write(plumbing.CommitObject, one.Object)
	return one, err
}

// signError makes a refusal for want of the right to change workflow files what
// a push would have made of it.
func (b *Branch) signError(err error) error {
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
func (b *Branch) countSigned(made []SignedCommit) {
	for _, one := range made {
		b.signing.commits++
		if one.Verified {
			continue
		}
		b.signing.unsure++
		if !b.signing.noted {
			b.signing.noted = true
			b.Note("the forge made the commit %s and does not call it verified (%s): it signs for bots alone, GITHUB_TOKEN or the token of a GitHub App; a personal token's commits stay unsigned", one.ID[:7], printable.Line(one.Reason, 100))
		}
	}
}

// verified says that there are commits the forge made, and that it calls each
// of them verified.
func (s *signing) verified() bool { return s.commits > 0 && s.unsure == 0 }
