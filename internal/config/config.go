package config

import (
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// Config is everything a run was told, validated. Zero durations, MaxCost,
// MaxTokens, MaxIterations and StallLimit mean no limit.
type Config struct {
	Mode string // "run", "plan", "build", "prompt", "supervise", "tasks" or "session"

	// Prompt is the task, blank in no modes but supervise and tasks, where it
	// replaces the folder's prompt.md; read from PromptFile when that is set.
	Prompt        string
	PromptFile    string // as given, or the template below Home; empty when the prompt was given as text
	BuiltinPrompt bool   // Prompt is one of LoadOptions.Prompts
	// PromptInvalid says why the prompt of mode prompt can never end the loop:
	// the run is prompt-invalid. Empty: it can. 000-42
	PromptInvalid string

	// Home is where the files of the modes plan, build and prompt lie, relative
	// to the workspace, slash-separated.
	Home string
	// Variables are what a template may name: the shell-style file's, SPECS_DIR,
	// MODE and PLAN_FILE. nil in the modes run and supervise, whose prompts
	// stay as they are. 000-12
	Variables map[string]string
	PlanFile  string // Home/implementation_plan.md; empty in the modes run and supervise
	SpecsDir  string // exists in the modes plan and build; empty in run and supervise

	Agent        string   // one of the table's
	AgentCommand []string // the program and its first arguments; empty: the agent's own default
	// CommandFromFile says that AgentCommand came from a file of the repository,
	// where there are walls unless somebody decides otherwise.
	CommandFromFile bool
	// FromFile are those of agent-args, agent-exact-args, agent-settings, mcp-config and
	// provider that came from a file of the repository.
	FromFile       []string
	AgentArgs      []string // appended to the agent's arguments
	AgentExact     bool     // AgentExactArgs are all arguments of the agent, even when there are none
	AgentExactArgs []string
	Model          string // empty: the agent's default
	Effort         string // empty: the agent's default
	FallbackAgent  string // empty: none, unless FallbackModel is set: then Agent
	FallbackModel  string // empty: the fallback agent's default
	AgentVersion   string // of the CLI; "latest"; empty: any
	AgentInstall   bool   // a CLI that is missing is installed
	Provider       string // empty: the agent's own
	BaseURL        string // of the provider's API; empty: its own
	APIKey         secret.String
	System         string            // added to the system prompt
	MCP            string            // a JSON object with mcpServers; empty: none
	AgentSettings  string            // a JSON object; empty: none
	AgentPrompt    string            // "stdin", "argument" or "file", of agent custom
	AgentFilters   map[string]string // jq expressions by name, of agent custom
	OutputFormat   string            // "json" or "text"; empty: the agent's own
	ResponseFilter string            // jq expression that picks the agent's own words; empty: the agent's own
	DisplayFilter  string            // shell command that gets the raw output and prints what people see; empty: none
	Stream         bool              // the agent's output is shown
	TextScanFull   bool              // text mode: a copy of the prompt in the output counts as the agent's words

	Completion      ralph.Completion
	CompletionRule  bool // the prompt says how to end
	IterationCount  bool // the prompt says which iteration it is
	MinToolCalls    int
	AcceptNoWork    bool // a completion without evidence counts
	Resume          bool // iterations go on in one session of the agent
	Ultrawork       bool
	UltraworkPrompt string // empty: ours
	MaxIterations   int    // mode supervise: max-restarts
	StallLimit      int
	MaxRetries      int
	RetryDelay      time.Duration // 0: none
	Delay           time.Duration // between iterations; 0: none
	OnAgentError    ralph.OnAgentError
	TruncateChars   int // of a guardrail's output, in the feedback
	MaxCost         ralph.MicroUSD
	Pricing         string        // a JSON table of prices that goes above ours; empty: none
	QuotaWait       time.Duration // 0: none
	MaxTokens       int64
	IncompleteOK    bool // on-incomplete: succeed

	Guardrails []Guardrail
	Baseline   bool     // the guardrails run before the first iteration
	Setup      []string // shell command lines, in order
	PassEnv    []string // names, sorted, each once

	SCM SCM

	TaskDir          string        // with completion done-file; clean; relative to the workspace unless absolute, which it is at a desk only
	ChildWaitTimeout time.Duration // 0: no limit

	RalphDir    string // of mode tasks: slash-separated, relative to the workspace, clean
	Story       string // empty: all
	SkipReview  bool
	ReviewCap   int    // 0: none
	AcceptAtCap bool   // approvals at the cap are as good as others
	ReviewAgent string // empty: Agent
	ReviewModel string // empty: Model when the agent is the same, else its own

	GuardrailTimeout time.Duration
	IterationTimeout time.Duration
	IdleTimeout      time.Duration
	ResultGrace      time.Duration
	MaxDuration      time.Duration

	AllowedHosts hosts.List // besides those that are allowed anyway
	DefaultHosts bool       // registries and the forge may be reached
	KeyProxy     bool       // the provider's key stays with the owner, where that can be
	MaxMemory    int64      // bytes; 0: no limit
	MaxProcesses int        // 0: what proc thinks right
	MinFreeDisk  int64      // bytes; 0: not watched

	ProtectedPaths  []string // patterns of a .gitignore; "default" is expanded
	ProtectedPolicy ContentPolicy
	SecretScan      ContentPolicy // of what looks like a token
	SecretScanAllow []string      // patterns of a .gitignore
	MaxChangedFiles int           // 0: no limit
	MaxChangedBytes int64         // 0: no limit

	WorkingDirectory string // relative to the workspace, slash-separated, clean; "." is the workspace
	Isolation        Isolation
	IncludeDirty     bool
	DryRun           bool

	Commit        Commit
	Branch        string // empty: derived from the prompt
	Base          string // empty: the checked-out or the default branch
	CommitMessage string // empty: one per iteration
	AskMessage    bool   // of the agent
	Committer     Person
	Author        Person // zero: the actor of the run, else the committer
	Push          Push
	PullRequest   bool
	Title         string // empty: derived from the prompt
	Body          string // stands on top of the generated body
	Labels        []string
	Draft         Draft
	Token         secret.String

	AddPaths     []string      // git pathspecs, relative to WorkingDirectory; empty: everything
	Squash       bool          // one commit, at the end
	Signoff      bool          // of the committer, in our commits
	SignCommits  bool          // the forge makes the commits, and signs them
	BranchSuffix BranchSuffix  // empty: none
	UpdateBase   UpdateBase    // empty: none
	DeleteBranch bool          // on the forge, when it has nothing that the base has not
	PushToFork   string        // owner/name; empty: the repository itself
	CIToken      secret.String // pushes instead of Token, so that workflows start

	Assignees, Reviewers []string
	TeamReviewers        []string // without their organization
	Milestone            int      // its number; 0: none
	MaintainersCanModify bool     // of a fork's branch
	WaitForCI            bool
	CITimeout            time.Duration
	CIStart              time.Duration // how long checks have to appear; 0: no time
	AutoMerge            bool          // the forge is asked to merge once its requirements are met
	MergeMethod          MergeMethod   // empty: the forge's default
	MaxTotalCost         ralph.MicroUSD

	Trigger Trigger

	Display Display

	// Loaded are the files that were read, in rising priority, as people would
	// name them.
	Loaded []string
	// Warnings are what was accepted although it is not right.
	Warnings []string

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

// SCM is how a team commits by its own commands. Zero: it does not.
type SCM struct {
	Command []string   // the program and its first arguments
	Tasks   [][]string // the words of each task, never empty
}

// Display says how progress is printed.
type Display struct {
	Emoji              bool
	Color              string // "auto", "always" or "never"
	Timestamps         bool
	MaxLines, MaxChars int // of what a tool printed; 0: all
}

// Commit says who commits.
type Commit string

// The values of commit.
const (
	CommitEach  Commit = "each-iteration" // we do, after every iteration that changed something
	CommitAtEnd Commit = "at-end"         // we do, once
	CommitAgent Commit = "agent"          // the agent or its SCM tasks; in the action we commit what is left at the end
	CommitOff   Commit = "off"            // nobody
)

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
	// IsolationDocker runs the agent in a Docker Sandbox. At a desk only.
	IsolationDocker Isolation = "docker-sandbox"
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
