package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// Inspection is what somebody has to look at before it may leave the machine.
// All names and texts in it are foreign.
type Inspection struct {
	// Since is what would be published for the first time: where the tree to
	// publish differs from the last checkpoint, and where each commit of the
	// agent's own differs from its first parent, so that what is committed and
	// removed again is seen. Sorted by path; the snapshot's own before those of commits.
	Since []Changed
	// Run is the whole of the run: where the tree to publish differs from the commit
	// the run began with. Sorted by path.
	Run []Changed
	// Total is what a pull request would show: where the tree to publish differs from
	// the commit at which the branch left its base, earlier runs and other people's
	// commits on the branch included. It is Run when that commit is not known.
	Total []Changed
	// Messages are those of commits that would be published for the first time.
	Messages []Message
	// LeftOut is what the work tree holds and would not be published. Sorted by path
	// within each reason.
	LeftOut []LeftOut
	Branch  string // that is published to
	// Last says that this is the gate before a push: Since and Messages hold what no
	// snapshot has shown (commits made here before the run, our own messages, files whose
	// lines were merged with somebody else's); Run and Total are empty.
	Last bool
}

// LeftOut is a change that is not published although the run made it.
type LeftOut struct {
	Changed
	// Reason says in a sentence why, and what would be right; empty: Options.LeaveOut
	// picked it.
	Reason string
}

// Message is what a commit says besides its tree and its parents.
type Message struct {
	Commit string // id
	// Text is author, committer, every other header and the message, as git stores them;
	// at most 1 MB.
	Text string
}

// Mode is what kind of thing a tree holds under a name, as git writes it. The
// zero Mode is nothing.
type Mode uint32

// The modes that a tree can hold under the name of something changed.
const (
	ModeNone       Mode = 0
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeLink       Mode = 0o120000 // the content is where it leads
	ModeRepository Mode = 0o160000 // a commit of another repository; it has no content
)

// Changed is a path, never a folder, at which two trees differ.
type Changed struct {
	Path string // from the top, slash-separated
	// From is where the same content was before: the file was moved and is unchanged. Old
	// is then what was there, and that From is empty now is no other change. Empty for
	// all else.
	From             string
	OldMode, NewMode Mode
	// Commit is the agent's own commit that holds it; empty: the tree to publish.
	Commit string
	// OldID and NewID are object ids; the same id is the same content. Empty: there is
	// nothing.
	OldID, NewID string
	// OldSize and NewSize are bytes; -1 when they are not known without asking for the
	// content, as of other people's files. Of what a snapshot would publish, NewSize is known.
	OldSize, NewSize int64

	r        *Repo
	old, new plumbing.Hash
}

// ErrNoContent is a content that cannot be had: a repository in the tree, or an
// old version that the workspace has lost and the server does not send.
var ErrNoContent = errors.New("no content")

// Old is what stood there before; nil when nothing did. The content has at most
// 100 MB and is the one OldID names, whatever the agent did to the workspace.
// Not to be called after the inspection has returned.
func (c Changed) Old(ctx context.Context) ([]byte, error) {
	return c.r.contentOf(ctx, c.OldMode, c.old)
}

// New is what stands there now, as Old says. Of a file that Git LFS keeps it is
// the pointer.
func (c Changed) New(ctx context.Context) ([]byte, error) {
	return c.r.contentOf(ctx, c.NewMode, c.new)
}

// Large is the file behind a pointer of Git LFS, which is published with it. ok is
// false for all else, and for objects that are not here: they are not sent. The
// reader ends with an error when the content is not the one that the pointer
// names.
func (c Changed) Large() (content io.ReadCloser, size int64, ok bool) {
	if c.NewMode != ModeFile && c.NewMode != ModeExecutable {
		return nil, 0, false
	}
	p, _, isPointer := c.r.pointerOf(c.new)
	if !isPointer {
		return nil, 0, false
	}
	f, err := lfs.OpenObject(c.r.tree.Common, p)
	if err != nil {
		return nil, 0, false
	}
	return struct {
		io.Reader
		io.Closer
	}{lfs.NewVerified(f, p), f}, p.Size, true
}

// contentOf reads a blob: the store keeps new ones, the others are the
// workspace's and checked by their id.
func (r *Repo) contentOf(ctx context.Context, mode Mode, h plumbing.Hash) ([]byte, error) {
	switch mode {
	case ModeNone:
		return nil, nil
	case ModeRepository:
		return nil, fmt.Errorf("%w: %s is a commit of another repository", ErrNoContent, h)
	}
	if err := r.blob(ctx, h); err != nil {
		return nil, err
	}
	o, err := r.store.Blob(h)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", h, err)
	}
	return store.ReadObject(o, store.MaxBlobBytes)
}

// maxLacking bounds what is taken over at once because somebody asked for a part
// of it, in packed bytes.
const maxLacking = 256 << 20

// lack notes what the store does not hold of changes: whoever asks for the content of
// one will ask for the others.
func (r *Repo) lack(lists ...[]Changed) {
	seen := map[plumbing.Hash]bool{}
	r.insp.lacking = nil
	for _, list := range lists {
		for _, c := range list {
			for _, side := range []struct {
				mode Mode
				hash plumbing.Hash
			}{{c.OldMode, c.old}, {c.NewMode, c.new}} {
				if side.mode == ModeNone || side.mode == ModeRepository || seen[side.hash] {
					continue
				}
				if seen[side.hash] = true; !r.store.Has(side.hash) {
					r.insp.lacking = append(r.insp.lacking, side.hash.String())
				}
			}
		}
	}
}

// blob makes sure that the store holds a blob.
func (r *Repo) blob(ctx context.Context, h plumbing.Hash) error {
	if r.store.Has(h) {
		return nil
	}
	if ids := r.insp.lacking; slices.Contains(ids, h.String()) {
		r.insp.lacking = nil // all at once, or each by itself
		if err := r.importLimited(ctx, maxLacking, ids); err == nil && r.store.Has(h) {
			return nil
		}
		if r.fetchBlobs(ctx, ids) && r.store.Has(h) {
			return nil
		}
	}
	if err := r.importObjects(ctx, []string{h.String()}); err == nil && r.store.Has(h) {
		return nil
	}
	if r.fetchBlobs(ctx, []string{h.String()}) && r.store.Has(h) {
		return nil
	}
	return fmt.Errorf("%w: neither the workspace nor the server has %s", ErrNoContent, h)
}

// fetchBlobs takes blobs that the store lacks from the server, in one request. It
// says whether they came: a server that lacks one of them sends none.
func (r *Repo) fetchBlobs(ctx context.Context, ids []string) bool {
	if r.remote == nil {
		return false
	}
	var tips []plumbing.Hash
	for _, id := range ids {
		if h := plumbing.NewHash(id); !r.store.Has(h) {
			tips = append(tips, h)
		}
	}
	from, adv, err := r.source(ctx)
	return err == nil && len(tips) > 0 && r.take(ctx, from, adv, remote.Wanted{Tips: tips}) == nil
}

// changed describes a change for an inspection.
func (r *Repo) changed(ch store.Change, commit plumbing.Hash) Changed {
	c := Changed{
		Path: ch.Path, OldMode: modeOf(ch.Old), NewMode: modeOf(ch.New),
		OldSize: r.sizeOf(ch.Old), NewSize: r.sizeOf(ch.New),
		r: r, old: ch.Old.Hash, new: ch.New.Hash,
	}
	if c.OldMode != ModeNone {
		c.OldID = ch.Old.Hash.String()
	}
	if c.NewMode != ModeNone {
		c.NewID = ch.New.Hash.String()
	}
	if !commit.IsZero() {
		c.Commit = commit.String()
	}
	return c
}

func modeOf(e store.Entry) Mode {
	switch e.Mode {
	case filemode.Regular:
		return ModeFile
	case filemode.Executable:
		return ModeExecutable
	case filemode.Symlink:
		return ModeLink
	case filemode.Submodule:
		return ModeRepository
	}
	return ModeNone
}

func (r *Repo) sizeOf(e store.Entry) int64 {
	if !e.IsBlob() {
		return 0
	}
	n, err := r.store.Size(e.Hash)
	if err != nil {
		return -1
	}
	return n
}
