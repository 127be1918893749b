package config

// BranchSuffix says what is appended to the name of the branch.
type BranchSuffix string

// The values of branch-suffix.
const (
	SuffixRandom    BranchSuffix = "random"
	SuffixTimestamp BranchSuffix = "timestamp"
	SuffixCommit    BranchSuffix = "short-commit-hash"
)

// UpdateBase says how a branch is brought up to a base that has moved.
type UpdateBase string

// The values of update-base.
const (
	UpdateMerge  UpdateBase = "merge"
	UpdateRebase UpdateBase = "rebase"
)

// MergeMethod says how the forge merges by itself.
type MergeMethod string

// The values of merge-method.
const (
	MergeCommit MergeMethod = "merge"
	MergeSquash MergeMethod = "squash"
	MergeRebase MergeMethod = "rebase"
)

// Trigger says what becomes of the event that started the run.
type Trigger struct {
	Command   string   // begins a line of a comment that starts a run
	Label     string   // starts a run on an issue or a pull request
	AllowBots []string // logins of bots whose texts and commands count
	Use       UseEvent
	Comment   bool // tell of the run in a comment, where it came from an issue or a pull request
}

// UseEvent says whether the event's text becomes part of the prompt.
type UseEvent string

// The values of use-event.
const (
	EventAuto   UseEvent = "auto" // when there is no other prompt
	EventAlways UseEvent = "always"
	EventNever  UseEvent = "never"
)
