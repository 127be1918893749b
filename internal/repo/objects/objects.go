// Package objects brings git objects into a private store, from the work tree or from a
// server, and gives the work tree those that were made here. It merges trees.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// ErrNoContent is a content that cannot be had: a repository in the tree, or an
// old version that the workspace has lost and the server does not send.
var ErrNoContent = errors.New("no content")

const (
	maxLackingBytes = 256 << 20 // packed, of the files that are imported because one of them was asked for
	maxOldBytes     = 64 << 20  // packed, of the old versions of changed files
)

// blobLimit omits blobs over store.MaxBlobBytes from a pack (rev-list --filter omits
// those of at least the given size).
var blobLimit = "--filter=blob:limit=" + strconv.Itoa(store.MaxBlobBytes+1)

// Objects are the objects of a branch, wherever they are.
type Objects struct {
	Store *store.Store
	Tree  *worktree.Tree
	Dir   string        // for temporary stores
	Head  plumbing.Hash // the commit that was checked out at first

	Remote     *remote.Server         // of the branch; nil: everything is here
	BaseRemote *remote.Server         // of the base; nil: it is at Remote
	BaseOffer  remote.Advertisement   // of the server of the base
	Published  map[plumbing.Hash]bool // commits the server of the branch has, trees included
	Upstream   map[plumbing.Hash]bool // commits the server of the base has; nil when it is the same server
	Apart      map[plumbing.Hash]bool // commits of the store that the workspace may lack

	merged  map[plumbing.Hash]bool // files of ours in which the lines of two sides were merged
	lacking []string               // ids of blobs that are imported together
}

// New returns the objects of a work tree and a store. The servers are nil.
func New(s *store.Store, tree *worktree.Tree, dir string, head plumbing.Hash) *Objects {
	return &Objects{Store: s, Tree: tree, Dir: dir, Head: head, Apart: map[plumbing.Hash]bool{}, merged: map[plumbing.Hash]bool{}}
}

// ImportCommit imports a commit and its trees from the workspace, without its blobs and
// its parents.
func (o *Objects) ImportCommit(ctx context.Context, h plumbing.Hash) error {
	if o.Store.ImportLooseTrees(o.Tree.Loose, h) {
		return nil
	}
	filter := []string{"--revs", "--filter=blob:none"}
	if !o.Store.Has(h) {
		// A commit that is called shallow is packed without its parents.
		if err := o.Import(ctx, []string{"--shallow " + h.String(), h.String()}, filter...); err != nil {
			return err
		}
	}
	c, err := o.Store.Commit(h)
	if err != nil || o.Store.Has(c.TreeHash) && o.Store.Whole(c.TreeHash) {
		return err
	}
	return o.Import(ctx, []string{c.TreeHash.String()}, filter...)
}

// ImportNew imports trees and commits, without what some others hold and without blobs
// that are too large to be published.
func (o *Objects) ImportNew(ctx context.Context, wanted []plumbing.Hash, known ...plumbing.Hash) error {
	if o.Store.ImportLoose(o.Tree.LooseDeep, wanted, known...) {
		return nil
	}
	var revs []string
	for _, h := range wanted {
		revs = append(revs, h.String())
	}
	for _, h := range known {
		revs = append(revs, "^"+h.String())
	}
	return o.Import(ctx, revs, "--revs", blobLimit)
}

// Import imports what pack-objects makes of the given revisions.
func (o *Objects) Import(ctx context.Context, revs []string, options ...string) error {
	return o.importLimited(ctx, store.MaxPackBytes, revs, options...)
}

func (o *Objects) importLimited(ctx context.Context, limit int64, revs []string, options ...string) error {
	f, err := o.Store.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(f)
	if err := o.Tree.Pack(ctx, f, limit, revs, options...); err != nil {
		return err
	}
	if _, err := o.Store.ImportPack(f, true); err != nil {
		return fmt.Errorf("what the workspace handed over: %w", err)
	}
	return nil
}

// ImportBlobs imports those of some blobs that the store lacks, at most limit packed
// bytes. What does not come is imported when it is asked for.
func (o *Objects) ImportBlobs(ctx context.Context, limit int64, entries ...store.Entry) {
	var ids []string
	for _, e := range entries {
		if e.IsBlob() && !o.Store.Has(e.Hash) {
			ids = append(ids, e.Hash.String())
		}
	}
	o.importBlobs(ctx, limit, ids)
}

// importBlobs imports blobs, of which those that lie in files of their own take no process.
func (o *Objects) importBlobs(ctx context.Context, limit int64, ids []string) {
	blobs := make([]plumbing.Hash, len(ids))
	for i, id := range ids {
		blobs[i] = plumbing.NewHash(id)
	}
	var left []string
	for _, h := range o.Store.ImportLooseBlobs(o.Tree.Loose, blobs) {
		left = append(left, h.String())
	}
	if len(left) > 0 {
		_ = o.importLimited(ctx, limit, left)
	}
}

// ImportOld imports the old versions of changed files: the store holds only the trees of
// what was there before.
func (o *Objects) ImportOld(ctx context.Context, changes []store.Change) {
	var old []store.Entry
	for _, ch := range changes {
		if ch.Old.Hash != ch.New.Hash {
			old = append(old, ch.Old)
		}
	}
	o.ImportBlobs(ctx, maxOldBytes, old...)
}

// Export gives the workspace objects of the store.
func (o *Objects) Export(ctx context.Context, hashes []plumbing.Hash) error {
	if len(hashes) == 0 {
		return nil
	}
	pr, pw := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pw.CloseWithError(o.Store.WritePack(pw, hashes))
	}()
	err := o.Tree.Git(ctx, pr, nil, "unpack-objects", "-q")
	pr.CloseWithError(io.ErrClosedPipe)
	<-done
	return err
}

// ExportCommit gives the workspace, which has the commit old, a commit of ours and the
// directories it may lack.
func (o *Objects) ExportCommit(ctx context.Context, h, old plumbing.Hash) error {
	c, err := o.Store.Commit(h)
	if err != nil {
		return err
	}
	was, err := o.Store.Commit(old)
	if err != nil {
		return err
	}
	hashes := []plumbing.Hash{h}
	changes, err := o.Store.Diff(was.TreeHash, c.TreeHash, func(t plumbing.Hash) { hashes = append(hashes, t) })
	if err != nil {
		return err
	}
	for _, ch := range changes {
		if o.merged[ch.New.Hash] {
			hashes = append(hashes, ch.New.Hash)
		}
	}
	return o.Export(ctx, hashes)
}

// Commit returns a commit of which the store holds the whole tree, without the files. It
// is taken from the workspace, else from the server of the base.
func (o *Objects) Commit(ctx context.Context, h plumbing.Hash) (*store.Commit, error) {
	if c, err := o.Store.Commit(h); err == nil && o.Store.Has(c.TreeHash) && o.Store.Whole(c.TreeHash) {
		return c, nil
	}
	// A partial clone has no files to merge.
	if o.Remote == nil || !o.Tree.Partial() && o.Tree.HasTree(ctx, h) {
		if err := o.ImportCommit(ctx, h); err == nil {
			return o.Store.Commit(h)
		} else if o.Remote == nil {
			return nil, err
		}
	}
	from, adv, err := o.BaseServer(ctx)
	if err != nil {
		return nil, err
	}
	want := remote.Wanted{Tips: []plumbing.Hash{h}, Depth: 1}
	if o.Published[o.Head] { // what the checkout does not hold of it
		want.Have, want.Shallow = []plumbing.Hash{o.Head}, []plumbing.Hash{o.Head}
	} else {
		want.Filter = packp.FilterBlobNone()
	}
	if err := o.Fetch(ctx, from, adv, want); err != nil {
		return nil, fmt.Errorf("fetch the commit %s: %w", h, err)
	}
	o.Apart[h] = true
	c, err := o.Store.Commit(h)
	if err != nil {
		return nil, err
	}
	if !o.Store.Whole(c.TreeHash) {
		return nil, fmt.Errorf("the server did not send all of %s", h)
	}
	return c, nil
}

// Trees returns the trees of some commits; the zero commit has the zero tree.
func (o *Objects) Trees(ctx context.Context, commits ...plumbing.Hash) ([]plumbing.Hash, error) {
	list := make([]plumbing.Hash, len(commits))
	for i, h := range commits {
		if h.IsZero() {
			continue
		}
		c, err := o.Commit(ctx, h)
		if err != nil {
			return nil, err
		}
		list[i] = c.TreeHash
	}
	return list, nil
}

// Fetch fetches into the store, and only there.
func (o *Objects) Fetch(ctx context.Context, from *remote.Server, adv remote.Advertisement, w remote.Wanted) error {
	return fetch(ctx, o.Store, from, adv, w)
}

func fetch(ctx context.Context, s *store.Store, from *remote.Server, adv remote.Advertisement, w remote.Wanted) error {
	f, err := s.Spool()
	if err != nil {
		return err
	}
	defer store.Discard(f)
	if err := from.Fetch(ctx, adv, w, f); err != nil {
		return err
	}
	_, err = s.ImportPack(f, false)
	return err
}

// FetchApart fetches commits, without trees where the server can leave them out, into a
// store of their own, which is gone afterwards: only what the server sent is in it.
func (o *Objects) FetchApart(ctx context.Context, from *remote.Server, adv remote.Advertisement, want remote.Wanted, use func(*store.Store) error) error {
	dir := filepath.Join(o.Dir, "graph.git")
	if err := store.Clear(dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	want.Filter = packp.FilterTreeDepth(0)
	if err := fetch(ctx, s, from, adv, want); err != nil {
		return err
	}
	return use(s)
}

// BaseServer returns the server of the base, and what it offers.
func (o *Objects) BaseServer(ctx context.Context) (*remote.Server, remote.Advertisement, error) {
	from := o.Remote
	if o.BaseRemote != nil {
		from = o.BaseRemote
	}
	if o.BaseOffer.Caps != nil {
		return from, o.BaseOffer, nil
	}
	adv, err := from.Refs(ctx, remote.UploadPack)
	if err == nil {
		o.BaseOffer = adv
	}
	return from, adv, err
}

// Content returns the content of an entry, of at most 100 MB, or nil if the entry is
// zero: the store keeps new blobs, the others are the workspace's and checked by their id.
func (o *Objects) Content(ctx context.Context, e store.Entry) ([]byte, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case e == (store.Entry{}):
		return nil, nil
	case !e.IsBlob():
		return nil, fmt.Errorf("%w: %s is a commit of another repository", ErrNoContent, e.Hash)
	}
	return o.Blob(ctx, e.Hash, store.MaxBlobBytes)
}

// Blob reads a blob of at most limit bytes, and imports or fetches it when the store
// lacks it.
func (o *Objects) Blob(ctx context.Context, h plumbing.Hash, limit int64) ([]byte, error) {
	if err := o.need(ctx, h); err != nil {
		return nil, err
	}
	return o.Store.ReadBlob(h, limit)
}

// Lacking notes entries whose contents are likely to be asked for: when one is, those that
// the store lacks come together.
func (o *Objects) Lacking(entries []store.Entry) {
	seen := map[plumbing.Hash]bool{}
	o.lacking = nil
	for _, e := range entries {
		if !e.IsBlob() || seen[e.Hash] {
			continue
		}
		if seen[e.Hash] = true; !o.Store.Has(e.Hash) {
			o.lacking = append(o.lacking, e.Hash.String())
		}
	}
}

// need makes sure that the store holds a blob.
func (o *Objects) need(ctx context.Context, h plumbing.Hash) error {
	if o.Store.Has(h) {
		return nil
	}
	one := []string{h.String()}
	if all := o.lacking; slices.Contains(all, h.String()) {
		o.lacking = nil // all at once, or each by itself
		o.importBlobs(ctx, maxLackingBytes, all)
		if !o.Store.Has(h) {
			o.fetchBlobs(ctx, all)
		}
	}
	if !o.Store.Has(h) {
		o.importBlobs(ctx, store.MaxPackBytes, one)
	}
	if !o.Store.Has(h) {
		o.fetchBlobs(ctx, one)
	}
	if !o.Store.Has(h) {
		return fmt.Errorf("%w: neither the workspace nor the server has %s", ErrNoContent, h)
	}
	return nil
}

// fetchBlobs fetches those of some blobs that the store lacks, in one request: a server
// that lacks one of them sends none.
func (o *Objects) fetchBlobs(ctx context.Context, ids []string) {
	var tips []plumbing.Hash
	for _, id := range ids {
		if h := plumbing.NewHash(id); !o.Store.Has(h) {
			tips = append(tips, h)
		}
	}
	if o.Remote == nil || len(tips) == 0 {
		return
	}
	if from, adv, err := o.BaseServer(ctx); err == nil {
		_ = o.Fetch(ctx, from, adv, remote.Wanted{Tips: tips})
	}
}
