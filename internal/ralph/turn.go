package ralph

import (
	"context"
	"time"
)

// Prompt is what one turn of an agent is asked.
type Prompt struct {
	Text      string
	Iteration int // 1-based
	Attempt   int // 1-based; more than 1 when the same iteration is tried again
	// CostLeft is what the run may still spend, for CLIs that take a budget;
	// 0 means no limit.
	CostLeft MicroUSD
	// Resume is the session of the CLI to go on in; empty: a new one.
	Resume string
}

// Agent runs a coding-agent CLI once, with a fresh context.
type Agent interface {
	// Run asks the agent and reports what it does through emit, which is called
	// from one goroutine at a time and not after Run returned. An error means that no
	// turn happened and none ever will (missing CLI, not executable); a turn
	// that went wrong is a Turn with a Failure. When ctx ends, the agent is
	// ended and the turn so far is returned.
	Run(ctx context.Context, p Prompt, emit func(Event)) (Turn, error)
}

// Ended is why the loop ended a turn: the cause of the context of [Agent].Run.
type Ended struct{ Failure Failure }

func (e *Ended) Error() string { return failureText(&e.Failure) }

// Turn is one run of an agent CLI.
type Turn struct {
	Started  time.Time
	Duration time.Duration
	Usage    Usage
	// Models is Usage by model, sorted by name, where the CLI tells them apart;
	// else nil.
	Models     []ModelUsage
	Agent      string // the name of the agent that was asked
	Model      string // as the CLI reports it, else as asked for; empty when nobody says
	Session    string // the CLI's session id; empty when it has none
	Tools      int    // tool calls begun
	ToolErrors int    // tool calls that failed
	// CountsTools says that this agent reports its tool calls, so that Tools ==
	// 0 means none were made.
	CountsTools bool
	Messages    int    // requests to the model, as the CLI reports them; 0 when it does not
	FinalText   string // the last assistant text, at most 64 KiB
	Todos       []Todo // the agent's own task list as it stood last
	ExitCode    int    // of the CLI; 128+N when signal N ended it, -1 when it is not known
	OutputBytes int64
	// Outlived says that children of the CLI were waited for, were still there when
	// that time was over, and were ended.
	Outlived bool
	// Kept counts how often the agent meant to be done and its own stop hook kept
	// it going.
	Kept      int
	Unknown   int      // events of kinds the decoder does not know
	Malformed int      // lines that were cut or no JSON
	Failure   *Failure // nil: the turn went well
}

// FailureKind tells why a turn went wrong.
type FailureKind int

// The kinds of failures.
const (
	FailureCrash     FailureKind = iota + 1 // the CLI ended with an error of its own
	FailureTimeout                          // iteration-timeout
	FailureIdle                             // idle-timeout: no output
	FailureFlood                            // output-limit
	FailureMalformed                        // no final result in the stream, or no parsable output
	FailureEmpty                            // exit 0 and no text
	FailureAPI                              // the provider answered with an error that may pass (429, 5xx, 529, cut stream)
	FailureQuota                            // the provider's usage limit
	FailureAuth                             // 401, 403: the key is wrong
	FailureModel                            // the model does not exist or is not allowed
	FailureRequest                          // the request can never succeed (prompt too long, refusal)
	FailureBudget                           // the CLI stopped at the budget it was given
	FailureCancelled                        // the context ended
	FailureMemory                           // it used more memory than it may
	FailureDisk                             // the disk is nearly full
	FailureDenied                           // the sandbox refuses the provider's own address
)

// String names the kind as reports print it.
func (k FailureKind) String() string {
	names := [...]string{"", "crash", "timeout", "idle", "output-limit", "malformed", "empty-answer", "api-error", "quota", "authentication", "model", "request", "budget", "cancelled", "out-of-memory", "disk-full", "network-refused"}
	if k < 1 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Failure says why a turn went wrong.
type Failure struct {
	Kind    FailureKind
	Message string    // one line, foreign text possible: redact before showing
	RetryAt time.Time // FailureQuota: when the limit resets; zero when unknown
}

// Fatal says that no retry can help.
func (f *Failure) Fatal() bool {
	return f.Kind == FailureAuth || f.Kind == FailureModel || f.Kind == FailureDenied
}
