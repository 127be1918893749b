// Package publish brings the work branch to its server: inspected, with what the server
// refuses taken out, on top of what others pushed meanwhile, and never by force.
package publish

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/signing"
	"github.com/org/ralph-action/internal/repo/store"
)

// Options say how a branch is published.
type Options struct {
	Branch        string // as it was asked for
	DefaultBranch string
	Push          bool
	Signer        signing.Signer // nil: commits are pushed as they are
	Continue      bool           // the branch is somebody else's: when it is deleted it is not made again
	Stay          bool           // what cannot be brought onto the branch is an error; else it gets a branch of its own
	Committer     store.Identity
	Inspect       func(ctx context.Context, in inspection.Request) ([]ralph.Finding, error)
}

// Branch is the work branch: its commits in the private store, and what its server has.
type Branch struct {
	*history.History
	opt Options

	Base        string // branch of the pull request
	Restarted   bool   // the branch starts again from the base
	Rebased     bool   // its commits were put on top of the base: the first push replaces those on the server
	NoWorkflows bool   // the token may not change workflow files
	Large       *lfs.Files

	// The line of commits here.
	Start   plumbing.Hash          // what the run began with
	Tip     plumbing.Hash          // last checkpoint, or Start
	TipTree plumbing.Hash          // what Tip holds
	Ours    map[plumbing.Hash]bool // commits that stood at or below Tip since the start
	Updated bool                   // Start is a commit that is to be published by itself
	Edge    plumbing.Hash          // what commits made here before the run stand on; zero: on more than one
	Remade  []plumbing.Hash        // objects of commits made anew, which the workspace lacks

	// The branch on the server.
	Name      string        // usually Options.Branch; another one when that could not be continued
	ServerTip plumbing.Hash // zero: the branch does not exist
	// Onto is set when somebody else's commits are on the branch: our commits since Synced
	// are replayed on it.
	Onto    plumbing.Hash
	Synced  plumbing.Hash
	Aside   bool                 // Onto is the base, and what is checked out is another branch
	Reads   remote.Advertisement // what it offers to readers, as seen at first
	Pending bool                 // a push is still to be done
	Join    plumbing.Hash        // a merge of the base into ServerTip that is to be pushed on top; zero: none
	Pushed  plumbing.Hash        // last tip that arrived; zero: none in this run
	OnBase  plumbing.Hash        // commit of the base that the branch stands on; zero: not known

	// What was inspected and may leave the machine.
	entries map[placed]bool
	blobs   map[plumbing.Hash]bool
	texts   map[[sha256.Size]byte]bool
	Theirs  map[plumbing.Hash]bool // commits of the base that the agent merged
	Kept    []ralph.Finding        // about commits that are published
	Blocked []ralph.Finding        // by the last inspection before a push

	Notes   []string
	Refused []inspection.LeftOut // by the server, since the last snapshot

	writes     remote.Advertisement // what the server offered to a push, as seen last; without Caps: not known
	signing    *signing.Session
	signed     signed
	largeEarly bool // LFS files of commits made here before the run were looked at
}

// New returns a branch of which nothing is known yet.
func New(h *history.History, large *lfs.Files, opt Options) *Branch {
	return &Branch{
		History: h, Large: large, opt: opt, Name: opt.Branch, Ours: map[plumbing.Hash]bool{},
		entries: map[placed]bool{}, blobs: map[plumbing.Hash]bool{}, texts: map[[sha256.Size]byte]bool{},
		signing: signing.New(opt.Signer, h.Store), signed: signed{made: map[plumbing.Hash]plumbing.Hash{}},
	}
}

// State is what has become of the branch so far.
type State struct {
	Branch  string // the one published to
	HeadSHA string // its tip; empty when this run committed nothing
	Pushed  bool   // the tip is on the server
	// Signed reports whether the forge made the commits of this run that are on the
	// server, Verified that it calls each of them verified.
	Signed, Verified bool
	// Tip is the branch's commit on the server as it is known, whoever made it;
	// empty when it is not there.
	Tip   string
	Notes []string
	// OnBase is the commit of the base that the branch stands on; empty: not known.
	OnBase string
	// Blocked is what the last inspection before a push objected to; nil when it did not. What a
	// snapshot found comes with the snapshot.
	Blocked []ralph.Finding
	// LeftOut is what the server refused since the last snapshot and was taken out of
	// what was pushed.
	LeftOut []inspection.LeftOut
}

// State describes what has become of the branch so far.
func (b *Branch) State() State {
	s := State{Branch: b.Name, Notes: slices.Concat(b.Notes, b.Tree.Notes()), Blocked: b.Blocked, LeftOut: b.Refused}
	s.Signed, s.Verified = b.signed.commits > 0, b.signed.verified()
	if !b.ServerTip.IsZero() {
		s.Tip = b.ServerTip.String()
	}
	if !b.OnBase.IsZero() {
		s.OnBase = b.OnBase.String()
	}
	switch {
	case b.Tip == b.Start && !b.Updated, b.changesNothing():
	case b.opt.Push && !b.Pending && !b.Pushed.IsZero():
		s.HeadSHA, s.Pushed = b.Pushed.String(), true
	default:
		s.HeadSHA = b.Tip.String()
	}
	return s
}

// Note adds a note for people.
func (b *Branch) Note(format string, args ...any) {
	b.Notes = append(b.Notes, fmt.Sprintf(format, args...))
}

// CanPush asks the server, without writing anything, whether the token may
// push. A *remote.PermissionError says what is missing.
func (b *Branch) CanPush(ctx context.Context) error {
	if b.Remote == nil {
		return errors.New("no remote to push to")
	}
	var err error
	b.writes, err = b.Remote.Refs(ctx, remote.ReceivePack)
	return err
}
