package config

import (
	"time"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// Config is everything a run was told, validated, by subject. Limits, counts and
// durations of 0 mean no limit. Nobody writes to it after Load.
type Config struct {
	Mode   string // "run", "plan", "build", "prompt", "supervise", "tasks" or "session"
	DryRun bool

	Prompt      Prompt
	Agent       Agent
	Provider    Provider
	Output      Output
	Loop        Loop
	Checks      Checks
	Limits      Limits
	Sandbox     Sandbox
	Content     Content
	Git         Git
	PullRequest PullRequest
	Tasks       Tasks
	Trigger     Trigger

	// Loaded lists the files that were read, in rising priority, as people would
	// name them.
	Loaded []string
	// Warnings says what was accepted although it is not right.
	Warnings []string
	// Sources says for each input where its value came from, in words:
	// "input max-iterations", "flag --max-iterations",
	// ".github/ralph.yml:12: max-iterations" or "default".
	Sources map[string]string

	shown []setting // for Redacted, in the order of the table
}

// Prompt is the task, and the templates it may come from.
type Prompt struct {
	// Text is the task, blank in no modes but supervise and tasks, where it
	// replaces the folder's prompt.md; read from File when that is set.
	Text    string
	File    string // as given, or the template below Home; empty when the prompt was given as text
	Builtin bool   // Text is one of LoadOptions.Prompts
	// Invalid says why the prompt of mode prompt can never end the loop: the run
	// is prompt-invalid. Empty: it can.
	Invalid string

	// Home is where the files of the modes plan, build and prompt lie, relative
	// to the workspace, slash-separated.
	Home string
	// Variables are what a template may name: the shell-style file's, SPECS_DIR,
	// MODE and PLAN_FILE. nil in the modes run and supervise, whose prompts
	// stay as they are.
	Variables map[string]string
	PlanFile  string // Home/implementation_plan.md; empty in the modes run and supervise
	SpecsDir  string // exists in the modes plan and build; empty in run and supervise
}

// Agent is which CLI does the work, and how it is started.
type Agent struct {
	Name    string   // one of the catalogue's
	Command []string // the program and its first arguments; empty: the agent's own default
	// CommandFromFile reports whether Command came from a file of the repository,
	// which is allowed where nothing is sandboxed only.
	CommandFromFile bool
	// FromFile are those of agent-args, agent-exact-args, agent-settings, mcp-config and
	// provider that came from a file of the repository.
	FromFile      []string
	Args          []string // appended to the agent's arguments
	Exact         bool     // ExactArgs are all arguments of the agent, even when there are none
	ExactArgs     []string
	Model         string            // empty: the agent's default
	Effort        string            // empty: the agent's default
	Fallback      string            // empty: none, unless FallbackModel is set: then Name
	FallbackModel string            // empty: the fallback agent's default
	Version       string            // of the CLI; "latest"; empty: any
	Install       bool              // a CLI that is missing is installed
	Resume        bool              // iterations go on in one session of the agent
	System        string            // added to the system prompt
	MCP           string            // a JSON object with mcpServers; empty: none
	Settings      string            // a JSON object; empty: none
	Prompt        string            // "stdin", "argument" or "file", of agent custom
	Filters       map[string]string // jq expressions by name, of agent custom
}

// Provider is who answers the agent's questions, and for how much.
type Provider struct {
	Name     string // empty: the agent's own
	BaseURL  string // of its API; empty: its own
	APIKey   secret.String
	KeyProxy bool   // the key stays out of the sandbox, where that is possible
	Pricing  string // a JSON table of prices that takes precedence over ours; empty: none; in mode integrate those of all lanes
}

// Output is how the agent's output is read, and how progress is printed.
type Output struct {
	Format         string // "json" or "text"; empty: the agent's own
	ResponseFilter string // jq expression that picks the agent's own words; empty: the agent's own
	DisplayFilter  string // shell command that gets the raw output and prints what people see; empty: none
	Stream         bool   // the agent's output is shown
	TextScanFull   bool   // text mode: a copy of the prompt in the output counts as the agent's words
	Display        Display
}

// Loop says when an iteration follows another, and when the work is done.
type Loop struct {
	Completion      ralph.Completion
	CompletionRule  bool // the prompt says how to end
	IterationCount  bool // the prompt says which iteration it is
	MinToolCalls    int
	AcceptNoWork    bool // a completion without evidence counts
	Ultrawork       bool
	UltraworkPrompt string // empty: ours
	MaxIterations   int    // mode supervise: max-restarts
	StallLimit      int
	MaxRetries      int
	RetryDelay      time.Duration // 0: none
	Delay           time.Duration // between iterations; 0: none
	OnAgentError    ralph.OnAgentError
	IncompleteOK    bool // on-incomplete: succeed
}

// Checks is what runs beside the agent: its preparation, and the judges of its work.
type Checks struct {
	Setup         []string // shell command lines, in order
	Guardrails    []Guardrail
	Jobs          int  // guardrails that run side by side, of those that may; 0: what run thinks right
	Baseline      bool // the guardrails run before the first iteration
	TruncateChars int  // of a guardrail's output, in the feedback
}

// Limits is what a run may cost, of money, time and machine.
type Limits struct {
	Cost      ralph.MicroUSD
	TotalCost ralph.MicroUSD // of all runs on the branch
	Tokens    int64

	Duration    time.Duration // of the run
	Iteration   time.Duration
	Guardrail   time.Duration
	Idle        time.Duration // of an agent that prints nothing
	ResultGrace time.Duration // of an agent that gave its result and does not end
	ChildWait   time.Duration // 0: no limit
	QuotaWait   time.Duration // 0: none

	Memory    int64 // bytes; 0: no limit
	Processes int   // 0: what proc thinks right
	FreeDisk  int64 // bytes; 0: not watched
}

// Sandbox is what the agent and the commands of the repository can reach.
type Sandbox struct {
	Isolation    Isolation
	AllowedHosts hosts.List // besides those that are allowed anyway
	Services     []hosts.Service
	DefaultHosts bool     // registries and the forge may be reached
	PassEnv      []string // names, sorted, each once
	CacheDirs    []string // names of caches, CachesAuto or CachesNone alone; nil: as the place decides
}

// Content is what of a change may be published.
type Content struct {
	ProtectedPaths  []string // patterns of a .gitignore; "default" is expanded
	ProtectedPolicy ContentPolicy
	SecretScan      ContentPolicy // of what looks like a token
	SecretScanAllow []string      // patterns of a .gitignore
	MaxFiles        int           // 0: no limit
	MaxBytes        int64         // 0: no limit
}

// Git is which work becomes which commits, and where they are pushed.
type Git struct {
	WorkingDirectory string // relative to the workspace, slash-separated, clean; "." is the workspace
	IncludeDirty     bool
	Commit           Commit
	SCM              SCM
	Branch           string // empty: derived from the prompt
	BranchSuffix     BranchSuffix
	Base             string   // empty: the checked-out or the default branch
	AddPaths         []string // git pathspecs, relative to WorkingDirectory; empty: everything
	Message          string   // empty: one per iteration
	AskMessage       bool     // of the agent
	Committer        Person
	Author           Person     // zero: the actor of the run, else the committer
	Squash           bool       // one commit, at the end
	Signoff          bool       // of the committer, in our commits
	SignCommits      bool       // the forge makes the commits, and signs them
	UpdateBase       UpdateBase // empty: none
	Push             Push
	PushToFork       string // owner/name; empty: the repository itself
	Token            secret.String
	CIToken          secret.String // pushes instead of Token, so that workflows start
}

// PullRequest is what is proposed to people, and how far it goes by itself.
type PullRequest struct {
	Wanted               bool
	Title                string // empty: derived from the prompt
	Body                 string // stands on top of the generated body
	Labels               []string
	Draft                Draft
	DeleteBranch         bool // on the forge, when it has nothing that the base has not
	Assignees, Reviewers []string
	TeamReviewers        []string // without their organization
	Milestone            int      // its number; 0: none
	MaintainersCanModify bool     // of a fork's branch
	WaitForCI            bool
	CITimeout            time.Duration
	CIStart              time.Duration // how long checks have to appear; 0: no time
	AutoMerge            bool          // the forge is asked to merge once its requirements are met
	MergeMethod          MergeMethod   // empty: the forge's default
}

// Tasks is where the task lies that a folder holds, and how its list is worked on.
type Tasks struct {
	Dir         string   // with completion done-file; clean; relative to the workspace unless absolute, which it is locally only
	RalphDir    string   // of mode tasks: slash-separated, relative to the workspace, clean
	Stories     []string // ids; empty: all
	Parallel    int      // lanes at a time, locally; 0, 1: the run works on one story after the other itself
	Lane        Lane
	SkipReview  bool
	ReviewCap   int    // 0: none
	AcceptAtCap bool   // approvals at the cap are as good as others
	ReviewAgent string // empty: Agent.Name
	ReviewModel string // empty: Agent.Model when the agent is the same, else its own
	Resolve     bool   // the agent resolves conflicts; else the story goes back
}

// Lane is a job that works on some stories of a list, and hands them over for another to
// integrate.
type Lane struct {
	Bundle bool           // the run is one: it pushes nothing, and asks no forge
	Key    fanout.LaneKey // zero: none was given, which is allowed locally only
	Dir    string         // with what earlier attempts handed over; empty: none
}

// Guardrail is a command that judges the workspace.
type Guardrail struct {
	Command    string // a shell command line; may span lines
	FailAction ralph.FailAction
	Hint       string
	Timeout    time.Duration // 0: no limit; already falls back to GuardrailTimeout
	When       When
	Parallel   bool // it may run beside others
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
	// OnChanges lets a pass stand while tree and HEAD are those that it judged.
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

// Isolation says how strictly the agent has to be sandboxed.
type Isolation string

// The values of isolation.
const (
	IsolationAuto   Isolation = "auto"   // what the machine can do
	IsolationStrict Isolation = "strict" // all of it, or the run is refused
	IsolationOff    Isolation = "off"
	// IsolationDocker runs the agent in a Docker Sandbox. Locally only.
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
