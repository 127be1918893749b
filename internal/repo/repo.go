package repo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// Identity is the author or committer of a commit.
type Identity struct{ Name, Email string }

// Repo is the owner's view of a workspace and its branch. Its methods are
// called one at a time.
type Repo struct {
	opt     Options
	tree    *worktree.Tree
	objects *objects.Objects

	asked   string                  // the branch before its suffix
	killed  *Killed                 // the run of this branch that was killed here; nil: none
	own     map[string]store.Change // what it left uncommitted
	rec     recorder
	base    plumbing.Hash // HEAD when the repository was opened
	clean   bool          // nothing differed from base then
	start   Start
	baseTip plumbing.Hash // of the base branch, as known last; zero: not known

	onBase  plumbing.Hash        // commit of the base that the branch stands on; zero: not known
	gained  []gained             // what the base has of the branch, by the forge's word; the newest first
	askedAt plumbing.Hash        // the tip of the base when the forge was asked
	writes  remote.Advertisement // what the server offered to a push, as seen last; without caps: not known
	spans   map[string]span      // asked before

	line   line
	server server
	large  largeFiles

	signing signing
	insp    inspected
	over    overlay
	last    *snapshot // not yet checked out of; nil: none taken
	refused []LeftOut // by the server, since the last snapshot
	notes   []string
}

// line is the work branch in the workspace.
type line struct {
	startHead plumbing.Hash
	startTree plumbing.Hash          // of the work tree, dirt of others included
	begun     plumbing.Hash          // the same, with what a killed run left
	headTree  plumbing.Hash          // of the commit that is checked out
	tip       plumbing.Hash          // last checkpoint, or the start
	tipTree   plumbing.Hash          // what tip holds
	seenTree  plumbing.Hash          // last staged tree; the store holds it
	public    plumbing.Hash          // of the last snapshot; zero before the first
	held      map[string]store.Entry // dirty at the start and not to be published
	lastTree  plumbing.Hash          // of the last snapshot
	missing   []LeftOut              // of the last snapshot
	left      map[string]store.Entry // of the last snapshot, left out of public: as staged
	judged    map[string]store.Entry // new files that guardrails made and no turn of the agent's changed
	judging   bool                   // guardrails have run since the last snapshot
	touched   map[string]bool        // by the last turn
	rewritten map[string]int         // by guardrails, in how many iterations in which no turn had touched it
	made      map[string]bool        // by setup and guardrails before the first iteration; published once the agent changed it
	ours      map[plumbing.Hash]bool // commits that stood at or below tip since the start
	untold    bool                   // tip is the agent's own, and no commit of ours tells of it yet
	updated   bool                   // startHead is a commit that is to be published by itself
	local     bool                   // what is checked out has commits that the server lacks
	edge      plumbing.Hash          // what these commits stand on; zero: on more than one
	keys      bool                   // credentials of earlier steps were named
	remade    []plumbing.Hash        // objects of ours that the workspace lacks, of commits made anew
}

// server is what is known of the branch on the server.
type server struct {
	branch string        // usually Options.Branch; another one when that could not be continued
	tip    plumbing.Hash // zero: the branch does not exist
	// onto is set when somebody else's commits are on the branch: the tip our
	// commits since synced are replayed on.
	onto    plumbing.Hash
	synced  plumbing.Hash
	aside   bool                 // onto is the base, and what is checked out is another branch
	reads   remote.Advertisement // what it offers to readers, as Begin saw it
	pending bool                 // a push is still to be done
	join    plumbing.Hash        // a merge of the base into tip that is to be pushed on top; zero: none
	pushed  plumbing.Hash        // last tip that arrived; zero: none in this run
}

// objectsDir is the folder of the private store inside Options.Store.
const objectsDir = "objects.git"

// Open looks at the workspace before anything is spent. It changes nothing in
// it. Errors are gitdir.ErrNotRepository, ErrEmpty, *UnsupportedError,
// *worktree.UnfinishedError, or say what is wrong with an option.
func Open(ctx context.Context, opt Options) (*Repo, error) {
	if err := ralph.CheckBranch(opt.Branch); err != nil {
		return nil, fmt.Errorf("branch %q: %w", opt.Branch, err)
	}
	r := &Repo{opt: opt, large: newLargeFiles()}
	r.insp = newInspected()
	r.signing = signing{made: map[plumbing.Hash]plumbing.Hash{}, sent: map[plumbing.Hash]bool{}}
	branch, base, err := connect(opt)
	if err != nil {
		return nil, err
	}
	if err := r.open(ctx, branch, base); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Repo) open(ctx context.Context, branch, base *remote.Server) (err error) {
	r.tree, err = worktree.Open(ctx, worktree.Options{Dir: r.opt.Dir, Sandbox: r.opt.Sandbox, Temp: r.opt.Temp, RunFiles: r.opt.RunFiles})
	if err != nil {
		return err
	}
	if err := r.tree.InTheMiddle(); err != nil {
		return err
	}
	if err := r.tree.OpenPaths(ctx, r.opt.AddPaths); err != nil {
		return err
	}
	if err := r.tree.CopyIndex(); err != nil {
		return err
	}
	if r.base, r.clean, err = r.tree.Look(ctx); err != nil {
		return r.filterTrouble(ctx, err)
	}
	r.asked = r.opt.Branch
	if r.opt.Killed != nil && r.opt.Killed.Branch == r.asked {
		r.killed = r.opt.Killed
	}
	if r.opt.Branch, err = Suffix(r.opt.Branch, r.opt.BranchSuffix, r.now(), r.base.String()); err != nil {
		return err
	}
	if err := ralph.CheckBranch(r.opt.Branch); err != nil { // it is longer now
		return fmt.Errorf("branch %q with its suffix: %w", r.opt.Branch, err)
	}
	r.tree.Branch = r.opt.Branch
	dir := filepath.Join(r.opt.Store, objectsDir)
	if err := store.Clear(dir); err != nil {
		return err
	}
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	r.objects = objects.New(s, r.tree, r.opt.Store, r.base)
	r.objects.Remote, r.objects.BaseRemote = branch, base
	return r.objects.ImportCommit(ctx, r.base)
}

// Close releases what Open took. The private store stays on disk, and no record in
// the workspace but of what a killed run left, where this one never came to it.
func (r *Repo) Close() error {
	var errs []error
	if r.rec.file != nil && (len(r.own) == 0 || !r.line.public.IsZero()) {
		r.dropRecord()
	}
	r.rest()
	if r.rec.file != nil {
		errs = append(errs, r.rec.file.Close())
		r.rec.file = nil
	}
	if r.objects != nil {
		errs = append(errs, r.objects.Store.Close())
	}
	if r.tree != nil {
		errs = append(errs, r.tree.Close())
	}
	return errors.Join(errs...)
}

// State is what has become of the branch so far.
type State struct {
	Branch  string // the one published to
	HeadSHA string // its tip; empty when this run committed nothing
	Pushed  bool   // the tip is on the server
	// Signed says that the forge made the commits of this run that are on the
	// server, Verified that it calls each of them verified.
	Signed, Verified bool
	// Tip is the branch's commit on the server as it is known, whoever made it;
	// empty when it is not there.
	Tip   string
	Notes []string
	// OnBase is the commit of the base that the branch stands on; empty: not known.
	OnBase string
	// Blocked is what the gate before a push objected to; nil when it did not. What a
	// snapshot found comes with the snapshot.
	Blocked []ralph.Finding
	// LeftOut is what the server refused since the last snapshot and was taken out of
	// what was pushed.
	LeftOut []LeftOut
}

// State says what has become of the branch so far.
func (r *Repo) State() State {
	s := State{Branch: r.server.branch, Notes: slices.Concat(r.notes, r.tree.Notes()), Blocked: r.insp.refused, LeftOut: r.refused}
	if s.Branch == "" {
		s.Branch = r.opt.Branch
	}
	s.Signed, s.Verified = r.signing.commits > 0, r.signing.verified()
	if !r.server.tip.IsZero() {
		s.Tip = r.server.tip.String()
	}
	if !r.onBase.IsZero() {
		s.OnBase = r.onBase.String()
	}
	switch {
	case r.line.tip == r.line.startHead && !r.line.updated, r.changesNothing():
	case r.opt.Push && !r.server.pending && !r.server.pushed.IsZero():
		s.HeadSHA, s.Pushed = r.server.pushed.String(), true
	default:
		s.HeadSHA = r.line.tip.String()
	}
	return s
}

func (r *Repo) now() time.Time {
	if r.opt.Clock == nil {
		return time.Now()
	}
	return r.opt.Clock()
}

func (r *Repo) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}
