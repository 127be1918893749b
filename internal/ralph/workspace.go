package ralph

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Workspace is the repository the agent works in, seen from the owner's side.
type Workspace interface {
	// Snapshot looks at the tree as it is now. It is also what Checkpoint
	// commits.
	Snapshot(ctx context.Context) (Change, error)
	// Checkpoint commits the last snapshot on the run's branch. Nothing to
	// commit gives the zero Commit.
	Checkpoint(ctx context.Context, it Iteration) (Commit, error)
	// PushCheckpoint pushes a commit that is Pushing, the last one of Checkpoint,
	// and returns it with what became of it: the zero Commit when the server
	// refused all that was in it. A push that failed is not an error: the Commit
	// says so, and the next push or the publication tries again. It may run beside
	// the agent's turn: neither Snapshot nor Checkpoint is called before it
	// returns.
	PushCheckpoint(ctx context.Context, c Commit) Commit
}

// Change is what a snapshot found.
type Change struct {
	Head string // commit id of the workspace's HEAD
	Tree string // tree id of the work tree, staged as git add -A would
	// Work is the id of that tree without what is no work of an agent: caches, and
	// files that guardrails make or keep rewriting. Empty: the same as Tree.
	Work string
	// Files, Insertions and Deletions count against the last checkpoint, or
	// the start of the run before the first one: the tree Before. After is the tree
	// whose files they count; both may be empty.
	Before, After string
	Files         int
	Insertions    int
	Deletions     int
	Uncounted     int // files whose lines are in neither: not text, too large, or too many
	// SinceStart says that HEAD or the work differs from the start of the run.
	SinceStart bool
	Notes      []string // what a reviewer should know, e.g. a file that could not be published; see Renews
	// Findings are about all that the run would publish, not about this iteration alone.
	Findings []Finding
}

// File is a file that the work changes.
type File struct {
	Path      string // foreign text
	From      string // where the same content was before; empty: it was not moved
	New, Gone bool   // it was not there before, is not any more
	// Insertions and Deletions are lines; Uncounted says that they were not counted.
	Insertions, Deletions int
	Uncounted             bool
}

// NotPublished begins a note of a Change that names, in quotes, all that is not
// published for one reason.
const NotPublished = "not published: "

// Renews reports whether a note says again, of other files, what an earlier one
// said, which is out of date then.
func Renews(later, earlier string) bool {
	return strings.HasPrefix(later, NotPublished) && quoted().ReplaceAllString(later, "") == quoted().ReplaceAllString(earlier, "")
}

// quoted are the names in such a note.
var quoted = lazily(`"(\\.|[^"\\])*"(, )?|and \d+ more`)

// Commit is a checkpoint on the run's branch.
type Commit struct {
	SHA     string // empty: nothing was committed
	Subject string
	Files   int
	Pushing bool // it is still to be pushed
	// Lane says that what is pushed is no branch: the work of a story, for another job.
	Lane   bool
	Pushed bool
	// PushError says why Pushed is false although a push was wanted; one line.
	PushError string
	// Own counts commits of the agent's own that stand below this one and are new.
	Own int
	// Ours says that the commit's message is the checkpoint's; without it the
	// commit is one of the agent's.
	Ours bool
}

// FailAction says where a failed guardrail's message goes in the next prompt.
type FailAction string

// The fail actions.
const (
	Append  FailAction = "APPEND"
	Prepend FailAction = "PREPEND"
	Replace FailAction = "REPLACE"
)

// Verdict is the result of one guardrail.
type Verdict struct {
	Command  string
	Passed   bool
	PassedIn int    // the earlier iteration in which it passed on this tree, so that it did not run; 0: it ran
	ExitCode int    // -1 when a signal ended it or it never started
	Reason   string // why it failed without an exit code of its own: "timed out after 5m0s"; empty otherwise
	Own      bool   // of what ralph itself looks at, no guardrail of the settings
	Broken   bool   // it could not be started: a failed configuration, not a judgement
	// Unfinished reports whether the end of the run ended it: no judgement either.
	Unfinished bool
	Action     FailAction
	Duration   time.Duration
	LogFile    string // relative to the workspace; empty when it could not be written
	Message    string // the feedback for the agent, truncated; empty when passed
	Output     string // tail of the output for people, bounded; foreign text
	// Digest identifies the failure, so that the same one twice can be told;
	// empty when passed.
	Digest string
}

// lazily compiles an expression when it is first needed. The domain does without
// lazyregexp, as without all that is not of the standard library.
func lazily(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
