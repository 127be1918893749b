// Package signing has the forge make commits through its API, which signs them.
package signing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// Signer makes commits through the forge's API, which signs them. The types of
// its methods are plain structs by other names, so that a package that may not
// import this one can be a Signer.
type Signer interface {
	// SignCommit makes a commit, to which nothing points yet.
	SignCommit(ctx context.Context, c Commit) (Signed, error)
	// MoveBranch brings a branch to a commit by a fast-forward, or creates it.
	// moved reports whether somebody else moved, created or deleted it meanwhile.
	MoveBranch(ctx context.Context, branch, commit string, create bool) (moved bool, err error)
}

// File is a path at which a commit differs from the tree it builds on.
type File = struct {
	Path string // from the top, valid UTF-8
	Mode string // 100644, 100755, 120000 or 160000; of a removed file what it had
	ID   string // object id in hex; empty: the path is removed
	// Open reads the content of a blob the server may lack, Size bytes long; nil:
	// the server has it. It may be called by several goroutines at a time.
	Open func() (io.ReadCloser, error)
	Size int64
}

// Commit is a commit to make. It has no author, committer or date: the
// forge puts its own there, and only then signs.
type Commit = struct {
	Message string
	Parents []string // ids of commits the server has
	Base    string   // id of the tree of the first parent
	Tree    string   // id of the tree to come out
	Files   []File
}

// Signed is a commit the forge made.
type Signed = struct {
	ID       string
	Verified bool   // the forge signed it and says so
	Reason   string // why it is not verified
	Object   []byte // the commit as git stores it; nil: it has to be fetched
}

// Session has commits of one run made.
type Session struct {
	signer  Signer
	store   *store.Store
	sent    map[plumbing.Hash]bool // blobs the server was given
	reading sync.Mutex             // of the store, which is for one goroutine at a time
}

// New returns a session; commits are put into the store, too.
func New(signer Signer, s *store.Store) *Session {
	return &Session{signer: signer, store: s, sent: map[plumbing.Hash]bool{}}
}

// MoveBranch is the Signer's.
func (s *Session) MoveBranch(ctx context.Context, branch, commit string, create bool) (moved bool, err error) {
	return s.signer.MoveBranch(ctx, branch, commit, create)
}

// Files describes changes. A blob that is not in the store, stood in the tree before, or
// was sent before, is on the server.
func (s *Session) Files(changes []store.Change) ([]File, error) {
	before := map[plumbing.Hash]bool{}
	for _, ch := range changes {
		before[ch.Old.Hash] = true
	}
	var list []File
	for _, ch := range changes {
		if ch.New == (store.Entry{}) {
			list = append(list, File{Path: ch.Path, Mode: fmt.Sprintf("%06o", uint32(ch.Old.Mode))})
			continue
		}
		f := File{Path: ch.Path, Mode: fmt.Sprintf("%06o", uint32(ch.New.Mode)), ID: ch.New.Hash.String()}
		if h := ch.New.Hash; ch.New.IsBlob() && s.store.Has(h) && !before[h] && !s.sent[h] {
			size, err := s.store.Size(h)
			if err != nil {
				return nil, fmt.Errorf("object %s: %w", h, err)
			}
			f.Size, f.Open = size, func() (io.ReadCloser, error) { return s.open(h) }
		}
		list = append(list, f)
	}
	return list, nil
}

// Make has one commit made and takes it into the store.
func (s *Session) Make(ctx context.Context, want Commit) (Signed, error) {
	one, err := s.signer.SignCommit(ctx, want)
	if err != nil {
		return one, permission(err)
	}
	for _, f := range want.Files {
		if f.Open != nil {
			s.sent[plumbing.NewHash(f.ID)] = true
		}
	}
	id := plumbing.NewHash(one.ID)
	if id.IsZero() || id.String() != one.ID {
		return one, fmt.Errorf("the forge answered %q instead of a commit's id", printable.Line(one.ID, 80))
	}
	if one.Object == nil {
		return one, nil
	}
	if got := plumbing.ComputeHash(plumbing.CommitObject, one.Object); got != id {
		return one, fmt.Errorf("the forge made the commit %s and described %s", id, got)
	}
	_, err = s.store.Write(plumbing.CommitObject, one.Object)
	return one, err
}

// permission returns what a push would have returned for a refusal for want of the right
// to change workflow files, else err.
func permission(err error) error {
	var refused interface {
		error
		WorkflowFile() string
	}
	if errors.As(err, &refused) {
		return &remote.PermissionError{Permission: remote.PermWorkflows, Path: printable.Line(refused.WorkflowFile(), 200)}
	}
	return err
}
