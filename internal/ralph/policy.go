package ralph

import (
	"fmt"
	"time"
)

// CompletionKind names a completion detector.
type CompletionKind string

// The completion kinds.
const (
	CompletionPromise  CompletionKind = "promise"  // <promise>TOKEN</promise>, exact
	CompletionResponse CompletionKind = "response" // first <response>…</response>, case-insensitive
	// CompletionDoneFile asks the Mailbox instead of the agent's words, before
	// the first run and after each, whatever the exit code.
	CompletionDoneFile CompletionKind = "done-file"
	// CompletionTasks asks the Backlog; the marker is that of a promise, and
	// neither needed nor enough.
	CompletionTasks CompletionKind = "tasks"
)

// Completion is how an agent says that it is done.
type Completion struct {
	Kind  CompletionKind
	Token string
	// Either is set where no one chose a marker: <promise>COMPLETE</promise> and
	// <response>DONE</response> both count, and Kind and Token are the one that the
	// agent is told.
	Either bool
}

// The usual tokens.
const (
	UsualPromise  = "COMPLETE"
	UsualResponse = "DONE"
)

// OnAgentError is what follows a turn that went wrong.
type OnAgentError string

// The policies for failed turns.
const (
	RetryOnError    OnAgentError = "retry"    // the same iteration again, at most MaxRetries times, then agent-failed
	ContinueOnError OnAgentError = "continue" // the next iteration
	FailOnError     OnAgentError = "fail"     // agent-failed at once
	RestartOnError  OnAgentError = "restart"  // the next iteration whatever went wrong, a wrong key included
)

// Policy is what makes one dialect of the loop differ from another.
type Policy struct {
	Completion    Completion
	MaxIterations int // 0: no limit
	// MinToolCalls is the evidence a completion marker needs: so many tool
	// calls in the run, or a changed tree or HEAD. 0 asks for none.
	MinToolCalls int
	// CallsOnly lets a changed tree or HEAD be evidence only from agents that do
	// not report their tool calls.
	CallsOnly bool
	// Resume goes on in the agent's session of the turn before; otherwise each
	// turn has a fresh context.
	Resume       bool
	OnAgentError OnAgentError
	MaxRetries   int // additional attempts per iteration
	// RetryDelay is the wait before the first retry; it doubles up to a
	// minute. 0 means no wait.
	RetryDelay time.Duration
	// QuotaWait bounds the wait for a usage limit that says when it resets. 0: the
	// run ends instead.
	QuotaWait time.Duration
	// Delay is the pause between two iterations.
	Delay time.Duration
	// StallLimit ends the run after so many iterations in a row that changed
	// nothing, or that failed the same guardrails the same way. 0: never.
	StallLimit int
	Checkpoint bool // commit and push after each changed iteration
	// CheckpointAtEnd commits once, after the last iteration. Only without
	// Checkpoint.
	CheckpointAtEnd bool
	// Salvage bounds the last snapshot and checkpoint of a cancelled run.
	Salvage time.Duration
	// Grace is how long a push that goes on beside a turn may go on in a cancelled
	// run: what it had to push is pushed with the last checkpoint.
	Grace time.Duration
}

// Budget bounds what a run may spend. Zero values mean no bound.
type Budget struct {
	Cost   MicroUSD
	Tokens int64
	// Total bounds what all runs on the branch may spend together, of which
	// earlier ones have spent Before.
	Total, Before MicroUSD
	// Until is when the loop must have ended; what comes after it (publishing)
	// is not the loop's.
	Until time.Time
}

// left is what may still be spent after spent, for CLIs that take a budget: 0
// when there is no bound, and never 0 or less when there is one.
func (b Budget) left(spent MicroUSD) MicroUSD {
	var left MicroUSD
	if b.Cost > 0 {
		left = max(b.Cost-spent, 1)
	}
	if total := max(b.Total-b.Before-spent, 1); b.Total > 0 && (left == 0 || total < left) {
		left = total
	}
	return left
}

// spent says in words which bound a usage has reached; empty: none.
func (b Budget) spent(u Usage) string {
	switch {
	case b.Cost > 0 && u.Cost.Amount >= b.Cost:
		return fmt.Sprintf("%s spent; max-cost-usd is %s", u.Cost, b.Cost)
	case b.Total > 0 && b.Before+u.Cost.Amount >= b.Total && b.Before > 0:
		return fmt.Sprintf("%s spent on this branch, %s of it before this run; max-total-cost-usd is %s", b.Before+u.Cost.Amount, b.Before, b.Total)
	case b.Total > 0 && u.Cost.Amount >= b.Total:
		return fmt.Sprintf("%s spent on this branch; max-total-cost-usd is %s", u.Cost, b.Total)
	case b.Tokens > 0 && u.Tokens.Total() >= b.Tokens:
		return fmt.Sprintf("%d tokens used; max-tokens is %d", u.Tokens.Total(), b.Tokens)
	}
	return ""
}

// Limit names the limit that a usage has reached, or that made the agent's own program
// end; empty: none of these.
func (b Budget) Limit(u Usage) string {
	switch {
	case b.Tokens > 0 && u.Tokens.Total() >= b.Tokens:
		return "max-tokens"
	case b.Total > 0 && (b.Cost == 0 || b.Total-b.Before < b.Cost):
		return "max-total-cost-usd"
	case b.Cost > 0:
		return "max-cost-usd"
	}
	return ""
}

// passed says in words which bound a usage is beyond; empty: none.
func (b Budget) passed(u Usage) string {
	switch {
	case b.Cost > 0 && u.Cost.Amount > b.Cost:
		return fmt.Sprintf("max-cost-usd %s was passed (%s)", b.Cost, u.Cost)
	case b.Total > 0 && b.Before+u.Cost.Amount > b.Total:
		return fmt.Sprintf("max-total-cost-usd %s was passed (%s on this branch)", b.Total, b.Before+u.Cost.Amount)
	case b.Tokens > 0 && u.Tokens.Total() > b.Tokens:
		return fmt.Sprintf("max-tokens %d was passed (%d)", b.Tokens, u.Tokens.Total())
	}
	return ""
}
