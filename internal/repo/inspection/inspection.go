// Package inspection describes what is about to be published, for those who judge it, and
// judges symbolic links.
package inspection

import (
	"context"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/store"
)

// Request is what has to be inspected before it may leave the machine.
// All names and texts in it are foreign.
type Request struct {
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
	// Last reports whether this is the last inspection before a push: Since and Messages hold what no
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
type Mode = filemode.FileMode

// The modes that a tree can hold under the name of something changed.
const (
	ModeNone       = filemode.Empty
	ModeFile       = filemode.Regular
	ModeExecutable = filemode.Executable
	ModeLink       = filemode.Symlink   // the content is where it leads
	ModeRepository = filemode.Submodule // a commit of another repository; it has no content
)

// Changed is a path, never a directory, at which two trees differ.
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

	o        *objects.Objects
	old, new store.Entry
}

// Old is what stood there before; nil when nothing did. The content has at most
// 100 MB and is the one OldID names, whatever the agent did to the workspace.
// Not to be called after the inspection has returned.
func (c Changed) Old(ctx context.Context) ([]byte, error) {
	return c.o.Content(ctx, c.old)
}

// New is what stands there now, as Old says. Of a file that Git LFS keeps it is
// the pointer.
func (c Changed) New(ctx context.Context) ([]byte, error) {
	return c.o.Content(ctx, c.new)
}

// Large is the file behind a pointer of Git LFS, which is published with it. ok is
// false for all else, and for objects that are not here: they are not sent. The
// reader ends with an error when the content is not the one that the pointer
// names.
func (c Changed) Large() (content io.ReadCloser, size int64, ok bool) {
	if c.NewMode != ModeFile && c.NewMode != ModeExecutable {
		return nil, 0, false
	}
	p, _, isPointer := lfs.ReadPointer(c.o.Store, c.new.Hash)
	if !isPointer {
		return nil, 0, false
	}
	f, err := lfs.OpenObject(c.o.Tree.Common, p)
	if err != nil {
		return nil, 0, false
	}
	return struct {
		io.Reader
		io.Closer
	}{lfs.NewVerified(f, p), f}, p.Size, true
}

// Entries returns what changes have replaced and what they bring.
func Entries(lists ...[]Changed) (entries []store.Entry) {
	for _, c := range slices.Concat(lists...) {
		entries = append(entries, c.old, c.new)
	}
	return entries
}

// changed describes a change for an inspection.
func describe(o *objects.Objects, ch store.Change, commit plumbing.Hash) Changed {
	c := Changed{
		Path: ch.Path, OldMode: ch.Old.Mode, NewMode: ch.New.Mode,
		OldSize: sizeOf(o.Store, ch.Old), NewSize: sizeOf(o.Store, ch.New),
		o: o, old: ch.Old, new: ch.New,
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

func sizeOf(s *store.Store, e store.Entry) int64 {
	if !e.IsBlob() {
		return 0
	}
	n, err := s.Size(e.Hash)
	if err != nil {
		return -1
	}
	return n
}

// Describe describes changes, and finds files that were only moved: each is one change, of
// the place where it is now. commit is the agent's own that holds them, or zero.
func Describe(o *objects.Objects, changes []store.Change, commit plumbing.Hash) []Changed {
	gone := map[plumbing.Hash][]store.Change{}
	for _, ch := range changes {
		if ch.New == (store.Entry{}) && ch.Old.IsBlob() {
			gone[ch.Old.Hash] = append(gone[ch.Old.Hash], ch)
		}
	}
	list := make([]Changed, 0, len(changes))
	moved := map[string]bool{}
	for _, ch := range changes {
		c := describe(o, ch, commit)
		if from := gone[ch.New.Hash]; ch.Old == (store.Entry{}) && len(from) > 0 {
			gone[ch.New.Hash] = from[1:]
			c = describe(o, store.Change{Path: ch.Path, Old: from[0].Old, New: ch.New}, commit)
			c.From = from[0].Path
			moved[c.From] = true
		}
		list = append(list, c)
	}
	return slices.DeleteFunc(list, func(c Changed) bool { return c.NewMode == ModeNone && moved[c.Path] })
}
