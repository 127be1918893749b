package repo

import (
	"context"
	"net/http"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/killed"
	"github.com/org/ralph-action/internal/repo/signing"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// Options say what to publish and how.
type Options struct {
	Dir     string // workspace; a directory inside the work tree will do
	Sandbox worktree.Sandbox
	// Temp is a private directory the sandbox may write, for its copy of the index.
	Temp string
	// Store is a directory only this process may read and write, outside of
	// everything the sandbox sees. Its subdirectory "objects.git" is emptied.
	Store string

	Remote string // where the branch is, as an http or https URL; empty: nothing leaves the machine
	Token  secret.String
	// PushToken is used for pushing alone; not set: Token.
	PushToken secret.String
	// BaseRemote is where the base is when the branch lives in a fork of it;
	// empty: Remote. BaseToken reads it, and goes nowhere else.
	BaseRemote    string
	BaseToken     secret.String
	Branch        string // to publish
	Base          string // of the pull request; empty: the checked-out branch
	DefaultBranch string // the base when no branch is checked out
	Here          bool   // the base is the commit that is checked out, and no branch
	Push          bool   // push each checkpoint; needs Remote
	// Contact is what Dial began with the same servers; nil: Open asks them.
	Contact *Contact
	// Signer has the forge make, and sign, the commits that are pushed; nil: they
	// are pushed as they are. The workspace keeps its own, unsigned.
	Signer signing.Signer
	// Ask asks the forge about a branch that is on the server, with its tip: once in
	// Begin, and again in Follow. nil: what files hold decides alone.
	Ask func(ctx context.Context, branch, tip string) (Word, error)
	// Continue goes on from the branch itself where what is checked out contains
	// it, as the merge does that is checked out for a pull request. The branch is
	// somebody else's: when it is deleted meanwhile it is not made again, and the work
	// goes to a branch of its own.
	Continue bool
	// Apart goes on from the branch itself, too: what is checked out is the work of another.
	Apart bool
	// Stay makes it an error when the work cannot be brought onto the branch, because
	// somebody changed the same there; else it goes to a branch of its own.
	Stay bool
	// UpdateBase says what becomes of a branch whose base has moved.
	UpdateBase Update
	// BranchSuffix, one of the kinds of branchname.Suffix, is put behind Branch; Start tells
	// the name that came of it.
	BranchSuffix string

	Committer, Author Identity
	// Message renders a checkpoint's message, trailers included. The files are those that
	// the commit itself changes, without their lines.
	Message func(ralph.Iteration, []ralph.File) string
	// Forged reports whether a message of the agent's own could be taken for one of
	// Message's: such commits become part of ours, their messages are dropped.
	// nil: none can.
	Forged func(message string) bool
	// IncludeDirty publishes what was already changed when the run began.
	IncludeDirty bool
	// RunFiles are paths of ralph's own state that are never committed, relative
	// to Dir or absolute, with the wildcards of path.Match. A directory covers everything below it. What lies outside of
	// the work tree is passed over.
	RunFiles []string

	// AddPaths are pathspecs, as `git add -- …` takes them in Dir, magic included.
	// Only changes below them are committed; everything else stays as it is in the
	// work tree. None: everything.
	AddPaths []string
	// Squash takes over none of the agent's own commits: their content becomes
	// part of ours. With one Checkpoint at the end there is one commit.
	Squash bool
	// NoWorkflows leaves changes below .github/workflows out: the token may not
	// make them, so that a server would refuse the whole push.
	NoWorkflows bool

	// LeaveOut picks paths whose changes are not published: the rest is, and they stay
	// in the work tree. What the base has there is no change. nil: none.
	LeaveOut func(path string) bool

	// Cache returns the directory or file above a path, or the path, that is a cache or
	// what else tools leave behind; empty when none is. A cache of which the line holds
	// nothing is left out. nil: nothing is a cache.
	Cache func(path string) string

	// Inspect looks at what may be published, at each snapshot, and before a push at
	// what no snapshot has shown. What it finds comes with Change.Findings; while a
	// finding of the severity Block is among them, nothing is committed or pushed
	// (*inspection.BlockedError). An error is one of our own machinery. With it, links that
	// leave the tree are found, too. The same content comes again, by the same id, until
	// it is published. nil: nothing is looked at.
	Inspect func(ctx context.Context, in inspection.Request) ([]ralph.Finding, error)

	// Pinned are files whose content is decided by the caller at each snapshot,
	// whatever the agent wrote: by path, relative to Dir and slash-separated. A
	// path that neither the last checkpoint nor the work tree holds stays out.
	// nil: none.
	Pinned func() map[string][]byte

	// Killed is what an earlier run recorded that was killed here (killed.Find): when
	// it was one of this branch, what it left uncommitted is published like this
	// run's own work, and not held back as changed before the run. nil: none.
	Killed  *killed.Run
	Salvage bool // go on from the commit that Killed had checked out: any since is the agent's
	// Record is the caller's part in the record of this run.
	Record killed.Keeping

	Clock func() time.Time
	// Transport carries the requests to Remote; nil: one that honours the
	// proxy variables and SSL_CERT_FILE.
	Transport http.RoundTripper
	// RetryDelay is the first wait before a request is tried again; it doubles.
	// 0 means half a second.
	RetryDelay time.Duration
}
