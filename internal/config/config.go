package config

import (
	"time"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/secret"
)

// Config is everything a run was told, validated. Zero durations, MaxCost,
// MaxTokens, MaxIterations and StallLimit mean no limit.
type Config struct {
	Mode string // "run"

	Prompt     string // the task, never blank; read from PromptFile when that is set
	PromptFile string // as given; empty when the prompt was given as text

	Agent        string   // "claude" or "text"
	AgentCommand []string // the program and its first arguments; empty: the agent's own default
	AgentArgs    []string // appended to the agent's arguments
	Model        string   // empty: the agent's default

	Completion    ralph.Completion
	MinToolCalls  int
	MaxIterations int
	StallLimit    int
	MaxRetries    int
	OnAgentError  ralph.OnAgentError
	MaxCost       ralph.MicroUSD
	MaxTokens     int64
	IncompleteOK  bool // on-incomplete: succeed

	Guardrails []Guardrail
	Setup      []string // shell command lines, in order
	PassEnv    []string // names, sorted, each once

	GuardrailTimeout time.Duration
	IterationTimeout time.Duration
	IdleTimeout      time.Duration
	ResultGrace      time.Duration
	MaxDuration      time.Duration

	WorkingDirectory string // relative to the workspace, slash-separated, clean; "." is the workspace
	Isolation        Isolation
	IncludeDirty     bool
	DryRun           bool

	Branch        string // empty: derived from the prompt
	Base          string // empty: the checked-out or the default branch
	CommitMessage string // empty: one per iteration
	Committer     Person
	Author        Person // zero: the actor of the run, else the committer
	Push          Push
	PullRequest   bool
	Title         string // empty: derived from the prompt
	Body          string // stands on top of the generated body
	Labels        []string
	Draft         Draft
	Token         secret.String
	Summary       bool

	// Sources says for each input where its value came from, in words:
	// "input max-iterations", "flag --max-iterations",
	// ".github/ralph.yml:12: max-iterations" or "default".
	Sources map[string]string

	shown []setting // for Redacted, in the order of the table
}

// Guardrail is a command that judges the workspace.
type Guardrail struct {
	Command    string // a shell command line; may span lines
	FailAction ralph.FailAction
	Hint       string
	Timeout    time.Duration // 0: no limit; already falls back to GuardrailTimeout
	When       When
}

// When says when a guardrail runs.
type When string

// The values of when.
const (
	// Always runs the guardrail after every iteration.
	Always When = "always"
	// OnChanges runs it only when the tree or HEAD differs from the one it
	// last judged; otherwise its last verdict stands.
	OnChanges When = "changes"
)

// Push says whether the branch leaves the machine.
type Push string

// The values of push.
const (
	PushAuto   Push = "auto" // when there is a forge and a token
	PushAlways Push = "true" // and it is an error when it cannot be done
	PushNever  Push = "false"
)

// Draft says when the pull request is a draft.
type Draft string

// The values of draft.
const (
	DraftAuto   Draft = "auto"        // until the run completed and every guardrail passed
	DraftNew    Draft = "true"        // when it is created; an existing one keeps its state
	DraftAlways Draft = "always-true" // put back to draft on every update
	DraftNever  Draft = "false"
)

// Isolation says how much the walls around the agent are insisted upon.
type Isolation string

// The values of isolation.
const (
	IsolationAuto   Isolation = "auto"   // what the machine can do
	IsolationStrict Isolation = "strict" // all of it, or the run is refused
	IsolationOff    Isolation = "off"
)

// Person is a commit's author or committer.
type Person struct{ Name, Email string }

// IsZero says that nobody is named.
func (p Person) IsZero() bool { return p == Person{} }

// String is the form git prints and committer and author are given in.
func (p Person) String() string {
	if p.IsZero() {
		return ""
	}
	return p.Name + " <" + p.Email + ">"
}
