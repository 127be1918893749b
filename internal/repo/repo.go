package repo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/branchname"
	"github.com/org/ralph-action/internal/repo/history"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/killed"
	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/objects"
	"github.com/org/ralph-action/internal/repo/overlay"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// Identity is the author or committer of a commit.
type Identity = store.Identity

// Repo is a workspace and its branch. But for PushCheckpoint, one method is called at a time.
type Repo struct {
	opt    Options
	tree   *worktree.Tree
	branch *publish.Branch
	store  *store.Store // of branch

	asked        string                  // the branch before its suffix
	killed       *killed.Run             // the run of this branch that was killed here; nil: none
	own          map[string]store.Change // what it left uncommitted
	recorder     *killed.Recorder
	record       killed.Record // as it was written last
	recordFailed bool
	base         plumbing.Hash // HEAD when the repository was opened
	at           plumbing.Hash // what the run has checked out, as far as is known
	clean        bool          // nothing differed from base then
	start        Start
	origin       *worktree.Origin // nil: Begin was not called

	askedAt plumbing.Hash // the tip of the base when the forge was asked

	state    state
	insp     inspected
	overlay  *overlay.Overlay // nil: none was put
	last     *snapshot        // not yet checked out of; nil: none taken
	before   plumbing.Hash    // the branch's tip before the last checkpoint
	replaced plumbing.Hash    // a commit that is checked out and not the branch's any more; zero: none
}

// state is what is known of the files in the workspace.
type state struct {
	startTree plumbing.Hash          // of the work tree, dirt of others included
	begun     plumbing.Hash          // the same, with what a killed run left
	headTree  plumbing.Hash          // of the commit that is checked out
	seenTree  plumbing.Hash          // last staged tree; the store holds it
	public    plumbing.Hash          // of the last snapshot; zero before the first
	held      map[string]store.Entry // dirty at the start and not to be published
	staged    map[string]string      // in the index at the start and not committed: store.Entry.String by path
	lastTree  plumbing.Hash          // of the last snapshot
	missing   []inspection.LeftOut   // of the last snapshot
	left      map[string]store.Entry // of the last snapshot, left out of public: as staged
	judged    map[string]store.Entry // new files that guardrails made and no turn of the agent's changed
	judging   bool                   // guardrails have run since the last snapshot
	touched   map[string]bool        // by the last turn
	rewritten map[string]int         // by guardrails, in how many iterations in which no turn had touched it
	made      map[string]bool        // by setup and guardrails before the first iteration; published once the agent changed it
	untold    bool                   // tip is the agent's own, and no commit of ours tells of it yet
	local     bool                   // what is checked out has commits that the server lacks
	keys      bool                   // credentials of earlier steps were named
}

// objectsDir is the directory of the private store inside Options.Store.
const objectsDir = "objects.git"

// Open looks at the workspace before anything is spent. It changes nothing in
// it. Errors are gitdir.ErrNotRepository, worktree.ErrEmpty, *worktree.UnsupportedError,
// *worktree.UnfinishedError, or say what is wrong with an option.
func Open(ctx context.Context, opt Options) (*Repo, error) {
	if err := ralph.CheckBranch(opt.Branch); err != nil {
		return nil, fmt.Errorf("branch %q: %w", opt.Branch, err)
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	r := &Repo{opt: opt}
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
	r.recorder = killed.NewRecorder(r.tree.GitDir, r.opt.Record)
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
		return lfs.Check{Tree: r.tree}.Explain(ctx, err)
	}
	r.asked = r.opt.Branch
	if k := r.opt.Killed; k != nil && (k.Branch == r.asked || k.Name == r.asked) { // or it is gone on with by its whole name
		r.killed = k
		if at := plumbing.NewHash(k.At); r.opt.Salvage && at != r.base && r.tree.HasTree(ctx, at) {
			r.base, r.clean = at, false
		}
	}
	r.at = r.base
	if r.opt.Branch, err = branchname.Suffix(r.opt.Branch, r.opt.BranchSuffix, r.opt.Clock(), r.base.String()); err != nil {
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
	if r.store, err = store.Open(dir); err != nil {
		return err
	}
	o := objects.New(r.store, r.tree, r.opt.Store, r.base)
	o.Remote, o.BaseRemote = branch, base
	r.branch = publish.New(&history.History{Objects: o}, lfs.NewFiles(r.tree.Common), publish.Options{
		Branch: r.opt.Branch, DefaultBranch: r.opt.DefaultBranch, Push: r.opt.Push, Signer: r.opt.Signer, Continue: r.opt.Continue, Stay: r.opt.Stay,
		Committer: r.opt.Committer, Inspect: r.opt.Inspect,
	})
	r.branch.NoWorkflows = r.opt.NoWorkflows
	return r.branch.ImportCommit(ctx, r.base)
}

// Close releases what Open took. The private store stays on disk, and no record in
// the workspace but of what a killed run left, where this one never came to it.
func (r *Repo) Close() error {
	var errs []error
	if r.recorder != nil {
		if r.recorder.Written() && (len(r.own) == 0 || !r.state.public.IsZero()) {
			r.recorder.Remove()
		}
		errs = append(errs, r.recorder.Close())
	}
	if r.store != nil {
		errs = append(errs, r.store.Close())
	}
	if r.tree != nil {
		errs = append(errs, r.tree.Close())
	}
	return errors.Join(errs...)
}

// Branch is the work branch, for who hands it over in another way than by a push, or puts
// commits on it in the store, which Advance takes over.
func (r *Repo) Branch() *publish.Branch { return r.branch }

// CheckedOut is the commit that was checked out when the repository was opened.
func (r *Repo) CheckedOut() string { return r.base.String() }

// State describes what has become of the branch so far.
func (r *Repo) State() publish.State { return r.branch.State() }

// Push brings the branch on the server to the last checkpoint (publish.Branch.Push), and
// the workspace to what the server took of it.
func (r *Repo) Push(ctx context.Context) error {
	r.settle()
	err := r.push(ctx)
	r.leaveReplaced(ctx)
	return err
}

// CheckLFS refuses, before anything is spent, a run that could change files of Git LFS and
// not publish them. Call it when setup is done, before the agent starts. The error is an
// *lfs.Error, or says what git said.
func (r *Repo) CheckLFS(ctx context.Context) error {
	return lfs.Check{Tree: r.tree, Server: r.branch.LFSServer()}.Run(ctx)
}
