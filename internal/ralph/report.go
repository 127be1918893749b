package ralph

import "time"

// Iteration is the record of one iteration.
type Iteration struct {
	Number   int // 1-based
	Started  time.Time
	Duration time.Duration
	Turns    []Turn // more than one when the iteration was tried again
	Verdicts []Verdict
	Change   Change
	Commit   Commit
	Delivery Delivery
	Said     Said  // what the agent says of it
	Asked    *Turn // that was asked for what the turn left unsaid, see [Backlog]; nil: none
	Marker   bool  // the completion marker was found
	// Stray is a tag of a marker's form that the agent printed and that does not
	// count; empty when there was none. Foreign text.
	Stray     string
	Rejection Rejection
	Step      Step       // zero without a backlog
	Settled   Settlement // zero without one
	// Kept counts the iterations that the agent's own stop hook began within this
	// one, where the session goes on; elsewhere a stop hook begins none.
	Kept int
}

// Rounds is how many iterations this one counts as: those that its stop hook
// began included. 0 when nobody was asked, or when all that came back was a usage
// limit.
func (it Iteration) Rounds() int {
	for _, t := range it.Turns {
		if t.Failure == nil || t.Failure.Kind != FailureQuota || t.Tools > 0 || t.FinalText != "" {
			return 1 + it.Kept
		}
	}
	return 0
}

// Usage sums the turns, failed ones and those that answered a question of ours
// included.
func (it Iteration) Usage() Usage {
	var u Usage
	for _, t := range it.Turns {
		u = u.Add(t.Usage)
	}
	if it.Asked != nil {
		u = u.Add(it.Asked.Usage)
	}
	if it.Delivery.Turn != nil {
		u = u.Add(it.Delivery.Turn.Usage)
	}
	return u
}

// Tools sums the tool calls of the turns, and those that failed.
func (it Iteration) Tools() (calls, failed int) {
	for _, t := range it.Turns {
		calls += t.Tools
		failed += t.ToolErrors
	}
	return calls, failed
}

// Passed says that every guardrail passed.
func (it Iteration) Passed() bool {
	for _, v := range it.Verdicts {
		if !v.Passed {
			return false
		}
	}
	return true
}

// Last is the iteration's last turn; the zero Turn when there is none.
func (it Iteration) Last() Turn {
	if len(it.Turns) == 0 {
		return Turn{}
	}
	return it.Turns[len(it.Turns)-1]
}

// Report is the single record of a run. The summary, the pull request, the
// outputs, the JSON report and the session log are rendered from it, so that
// they cannot disagree.
type Report struct {
	Version string // of ralph
	Mode    string
	Task    string // the prompt as the user gave it
	Agent   string
	Model   string // as asked for; the turns hold what the CLI reported
	Prices  string // date of the table of prices that estimated a part of the cost; empty: none

	Started  time.Time
	Duration time.Duration

	Now      Activity // in a run without an outcome
	Outcome  Outcome
	Reason   string // one sentence; may quote foreign text
	ExitCode int

	MaxIterations int           // 0: no limit
	MaxDuration   time.Duration // 0: no limit
	Budget        Budget
	Completion    Completion // what the agent had to print

	Guardrails []string  // their commands, whether or not they ran
	Baseline   []Verdict // guardrails before any change
	Iterations []Iteration
	Tasks      TaskList // zero without a backlog
	Wave       *Wave    // that the run integrated; nil: none
	Notes      []string // what a user should know: dirty tree at start, sandbox not in force, …
	Isolation  string   // what is in force, in one phrase
	// Findings are those of the last look at the work, the gravest first.
	Findings []Finding
	Network  []Refused // what the sandbox refused on the network, the most frequent first

	// History is that of the branch before this run; the zero History when it
	// begins here.
	History History

	Repository  string // owner/name; empty locally
	RunURL      string // of the workflow run; empty locally
	Actor       string
	Publication Publication

	Resumed   bool // it goes on with runs, and tells what was done since
	Before    Cost // of the runs that this one goes on with
	Resumable bool // ralph resume can go on with it
	Busy      bool // another run goes on there
}

// Activity is what a run does that goes on.
type Activity struct {
	Iteration int           // 1-based; 0: none yet
	Took      time.Duration // since it began; 0: it is over
	Doing     string        // a tool of the agent's with its input, or a guardrail; foreign text; empty: not known
	For       time.Duration // how long it does that
}

// Usage sums the iterations.
func (r Report) Usage() Usage {
	var u Usage
	for _, it := range r.Iterations {
		u = u.Add(it.Usage())
	}
	return u
}

// Rounds is how often the agent meant to be done in the run: once in an
// iteration, and as often as its stop hook kept it going; not in one that met
// the usage limit only. Limits count these.
func (r Report) Rounds() int {
	n := 0
	for _, it := range r.Iterations {
		if len(it.Turns) == 0 {
			n++
		}
		n += it.Rounds()
	}
	return n
}

// Operation says what happened to the pull request.
type Operation string

// The operations, as create-pull-request names them.
const (
	OperationNone    Operation = "none"
	OperationCreated Operation = "created"
	OperationUpdated Operation = "updated"
	OperationClosed  Operation = "closed"
)

// Publication is what left the machine, step by step.
type Publication struct {
	Branch  string
	Base    string
	HeadSHA string // tip of the branch; empty when nothing was committed
	Pushed  bool
	// Tip is the branch's commit on the forge, whoever made it; empty when it is
	// not there, or not known.
	Tip string
	// Fork is the repository the branch lies in, owner/name, when it is not that
	// of the pull request.
	Fork string
	// Signed says that the forge made the commits and signed them, Verified that
	// it calls each of them verified.
	Signed, Verified bool
	// ServerURL is the forge's web address, for links; empty locally.
	ServerURL   string
	PullRequest PullRequest
	Issue       int    // number of the issue the run came from; 0: none
	Comment     string // address of the comment that tells of the run; empty: none
	Files       []File // that the branch changes against its base, or the run where it commits nothing; sorted by path
	Checks      Checks // of the pushed commit; zero when nobody waited for them
	// Patch is the file that holds what was not published, for people; empty when all
	// was. PatchText is what it holds, with secrets blotted out; empty when that is
	// long, or may not be shown.
	Patch, PatchText string
	Lane             Lane // zero: the run publishes a branch
	Steps            []PublishStep
	Errors           []string // what failed for good, each with what to do about it
}

// Lane is what a run handed over for another job to integrate.
type Lane struct {
	Key      string
	Done, Of int    // stories
	Artifact string // empty: none arrived
	Dir      string // with the same, relative to the workspace unless absolute
}

// PublishStep is one thing that publishing did or could not do, in order.
type PublishStep struct {
	Name   string // "push", "pull request", "labels", …
	Done   bool
	Detail string // what was done, or why it could not be; one line, may quote foreign text
}

// Checks is what the forge's checks say of a commit.
type Checks struct {
	SHA    string
	State  ChecksState // empty: nobody waited
	Passed int
	Failed []string // names, in order
	Left   []string // names of those that had not finished
}

// ChecksState sums up the checks of a commit.
type ChecksState string

// The states of checks.
const (
	ChecksPassed  ChecksState = "passed"
	ChecksFailed  ChecksState = "failed"
	ChecksPending ChecksState = "pending" // not finished in time
	ChecksNone    ChecksState = "none"    // none was started
)

// PullRequest is the pull request of the run's branch.
type PullRequest struct {
	Number    int
	URL       string
	Draft     bool
	Operation Operation
	// Foreign says that somebody else described it: its title, body and state are
	// left alone, and the record of the run is a comment below it.
	Foreign bool
	// AutoMerge says that the forge was asked to merge it once its requirements
	// are met.
	AutoMerge bool
}
