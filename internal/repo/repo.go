package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/gitconfig"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/repo/index"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// Identity is the author or committer of a commit.
type Identity struct{ Name, Email string }

// Repo is the owner's view of a workspace and its branch. Its methods are
// called one at a time.
type Repo struct {
	opt    Options
	top    string // of the work tree, as the guest names it
	prefix string // of Dir below top, with a trailing slash; empty at the top
	gitDir *os.Root
	common *os.Root
	temp   *os.Root
	store  *store.Store
	remote *remote.Server
	// baseRemote is where the base is; nil: it is at remote.
	baseRemote *remote.Server
	runFiles   []string // from the top
	paths      []string // pathspecs from the top; none: everything

	asked   string                  // the branch before its suffix
	killed  *Killed                 // the run of this branch that was killed here; nil: none
	own     map[string]store.Change // what it left uncommitted
	rec     recorder
	base    plumbing.Hash // HEAD when the repository was opened
	clean   bool          // nothing differed from base then
	start   Start
	baseTip plumbing.Hash // of the base branch, as known last; zero: not known

	onBase   plumbing.Hash          // commit of the base that the branch stands on; zero: not known
	gained   []gained               // what the base has of the branch, by the forge's word; the newest first
	askedAt  plumbing.Hash          // the tip of the base when the forge was asked
	offer    remote.Advertisement   // of the server the base is read from
	writes   remote.Advertisement   // what the server offered to a push, as seen last; without caps: not known
	spans    map[string]span        // asked before
	apart    map[plumbing.Hash]bool // commits of the store that the workspace may lack
	blended  map[plumbing.Hash]bool // files of ours in which the lines of two sides were merged
	upstream map[plumbing.Hash]bool // commits the base's server has; nil when there is but one server

	line   line
	server server
	large  largeFiles

	signing signing
	insp    inspected
	over    overlay
	last    *snapshot // not yet checked out of; nil: none taken
	refused []LeftOut // by the server, since the last snapshot
	notes   []string

	removals removals
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
	aside   bool                   // onto is the base, and what is checked out is another branch
	reads   remote.Advertisement   // what it offers to readers, as Begin saw it
	known   map[plumbing.Hash]bool // commits the server has, trees included
	pending bool                   // a push is still to be done
	join    plumbing.Hash          // a merge of the base into tip that is to be pushed on top; zero: none
	pushed  plumbing.Hash          // last tip that arrived; zero: none in this run
}

// objectsDir is the folder of the private store inside Options.Store.
const objectsDir = "objects.git"

// Open looks at the workspace before anything is spent. It changes nothing in
// it. Errors are gitdir.ErrNotRepository, ErrEmpty, *UnsupportedError,
// *UnfinishedError, or say what is wrong with an option.
func Open(ctx context.Context, opt Options) (*Repo, error) {
	if err := ralph.CheckBranch(opt.Branch); err != nil {
		return nil, fmt.Errorf("branch %q: %w", opt.Branch, err)
	}
	r := &Repo{opt: opt, large: newLargeFiles(), apart: map[plumbing.Hash]bool{}, blended: map[plumbing.Hash]bool{}}
	r.insp = newInspected()
	r.signing = signing{made: map[plumbing.Hash]plumbing.Hash{}, sent: map[plumbing.Hash]bool{}}
	if err := r.connect(); err != nil {
		return nil, err
	}
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Repo) open(ctx context.Context) error {
	at, err := gitdir.Locate(r.opt.Dir)
	if err != nil {
		return err
	}
	if r.gitDir, err = os.OpenRoot(at.Git); err != nil {
		return err
	}
	if r.common, err = os.OpenRoot(at.Common); err != nil {
		return err
	}
	if r.temp, err = os.OpenRoot(r.opt.Temp); err != nil {
		return err
	}
	c, err := r.supported()
	if err != nil {
		return err
	}
	if err := r.findTop(ctx, c); err != nil {
		return err
	}
	if err := r.inTheMiddle(); err != nil {
		return err
	}
	if err := r.openPaths(ctx); err != nil {
		return err
	}
	if err := r.copyIndex(); err != nil {
		return err
	}
	if err := r.look(ctx); err != nil {
		return err
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
	dir := filepath.Join(r.opt.Store, objectsDir)
	if err := store.Clear(dir); err != nil {
		return err
	}
	if r.store, err = store.Open(dir); err != nil {
		return err
	}
	return r.importCommit(ctx, r.base)
}

// supported refuses what go-git cannot carry (gitrepository-layout,
// extensions). It returns the repository's configuration.
func (r *Repo) supported() (gitconfig.Config, error) {
	b, err := files.Read(r.common, "config", gitconfig.MaxBytes)
	if err != nil {
		return gitconfig.Config{}, fmt.Errorf("the repository's configuration: %w", err)
	}
	c, err := gitconfig.Parse(b)
	if err != nil {
		return gitconfig.Config{}, fmt.Errorf("the repository's configuration: %w", err)
	}
	if f := strings.ToLower(c.Value("extensions", "objectformat")); f != "" && f != "sha1" {
		return gitconfig.Config{}, &UnsupportedError{What: printable.Line(f, 20)}
	}
	if f := strings.ToLower(c.Value("extensions", "refstorage")); f != "" && f != "files" {
		return gitconfig.Config{}, &UnsupportedError{What: printable.Line(f, 20)}
	}
	return c, nil
}

func (r *Repo) findTop(ctx context.Context, c gitconfig.Config) error {
	if !r.topByFiles(c) {
		if err := r.askTop(ctx); err != nil {
			return err
		}
	}
	for _, p := range r.opt.RunFiles {
		if p = strings.TrimSuffix(p, "/"); filepath.IsAbs(p) {
			rel, err := filepath.Rel(r.top, filepath.FromSlash(p))
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			r.runFiles = append(r.runFiles, filepath.ToSlash(rel))
			continue
		}
		r.runFiles = append(r.runFiles, r.prefix+p)
	}
	return nil
}

func (r *Repo) askTop(ctx context.Context) error {
	s, err := r.out(ctx, nil, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return notRepository(err)
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) == 0 || !filepath.IsAbs(lines[0]) {
		return errors.New("the repository has no work tree")
	}
	if len(lines) > 2 {
		return errors.New("the path of the workspace holds a line end")
	}
	r.top = lines[0]
	if len(lines) == 2 {
		r.prefix = lines[1]
	}
	return nil
}

// inTheMiddle refuses a work tree in the middle of a merge or a rebase.
func (r *Repo) inTheMiddle() error {
	for _, s := range []struct{ file, what string }{
		{"MERGE_HEAD", "an unfinished merge (MERGE_HEAD)"},
		{"CHERRY_PICK_HEAD", "an unfinished cherry-pick (CHERRY_PICK_HEAD)"},
		{"REVERT_HEAD", "an unfinished revert (REVERT_HEAD)"},
		{"rebase-merge", "an unfinished rebase (rebase-merge)"},
		{"rebase-apply", "an unfinished rebase or am (rebase-apply)"},
	} {
		if _, err := r.gitDir.Lstat(s.file); err == nil {
			return &UnfinishedError{What: s.what}
		}
	}
	return nil
}

// unfinished copies the index and refuses a work tree in the middle of a merge,
// a rebase or a conflict.
func (r *Repo) unfinished(ctx context.Context) error {
	if err := r.inTheMiddle(); err != nil {
		return err
	}
	if err := r.copyIndex(); err != nil {
		return err
	}
	if b, err := files.Read(r.temp, indexName, store.MaxMetaBytes); err == nil && index.Resolved(b) {
		return nil
	}
	b := &bounded{left: guestOutputBytes}
	if err := r.gitEnv(ctx, r.indexEnv(), nil, b, "ls-files", "-u", "-z"); err != nil {
		return err
	}
	if b.Len() == 0 {
		return nil
	}
	first, _, _ := strings.Cut(b.String(), "\x00")
	_, name, _ := strings.Cut(first, "\t")
	return unresolved(name)
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
	if r.store != nil {
		errs = append(errs, r.store.Close())
	}
	for _, root := range []*os.Root{r.gitDir, r.common, r.temp} {
		if root != nil {
			errs = append(errs, root.Close())
		}
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
	s := State{Branch: r.server.branch, Notes: slices.Concat(r.notes, r.removals.list()), Blocked: r.insp.refused, LeftOut: r.refused}
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
