package ralph

// Outcome says how a run ended. The values are the contract of the status
// output and of the report.
type Outcome string

// The outcomes.
const (
	Completed     Outcome = "completed"      // completion was accepted
	MaxIterations Outcome = "max-iterations" // the limit was reached without completion
	OverBudget    Outcome = "budget"         // cost or token budget spent
	Deadline      Outcome = "deadline"       // max-duration reached
	Stalled       Outcome = "stalled"        // no progress for stall-limit iterations
	Waiting       Outcome = "waiting"        // the agent asked to wait for a person
	Blocked       Outcome = "blocked"        // work exists, and something that only a person can move stands in its way
	Quota         Outcome = "quota"          // the provider's usage limit
	Invalid       Outcome = "invalid"        // wrong configuration, missing agent CLI
	PlanMissing   Outcome = "plan-missing"   // build mode without a plan
	PromptInvalid Outcome = "prompt-invalid" // prompt file without the completion signal
	AgentFailed   Outcome = "agent-failed"   // retries used up
	GitFailed     Outcome = "git-failed"     // commit, push or pull request failed for good
	Interrupted   Outcome = "interrupted"    // SIGINT or SIGTERM
	Skipped       Outcome = "skipped"        // the event that started the run asks for nothing
)

// ExitCode is the process exit code of the outcome. incompleteOK is
// on-incomplete: succeed, which forgives having stopped at a limit, not having
// failed.
func (o Outcome) ExitCode(incompleteOK bool) int {
	switch o {
	case Completed, Waiting, Skipped:
		return 0
	case MaxIterations, OverBudget, Deadline, Stalled:
		if incompleteOK {
			return 0
		}
		return 1
	case Invalid, PlanMissing:
		return 2
	case AgentFailed:
		return 4
	case GitFailed:
		return 5
	case Interrupted:
		return 130
	case Blocked, Quota, PromptInvalid:
		return 1
	default:
		return 1
	}
}

// Rejection says why an iteration did not complete the run.
type Rejection string

// The rejections, in the order in which they are checked.
const (
	NotRejected         Rejection = ""
	RejectedTurn        Rejection = "agent-failed"       // the turn itself went wrong
	RejectedStopped     Rejection = "stopped"            // the run was asked to stop before every guardrail had its say
	RejectedGuardrails  Rejection = "guardrails-failed"  // the marker is not looked at
	RejectedSCM         Rejection = "scm-failed"         // the SCM tasks failed: the work is not committed
	RejectedTransition  Rejection = "illegal-transition" // the task list was changed as this iteration may not; it was put back
	RejectedStuck       Rejection = "stuck"              // a review that reviewed nothing
	RejectedStoriesLeft Rejection = "stories-left"       // stories are not done
	RejectedNoMarker    Rejection = "no-marker"          // the agent did not claim to be done
	RejectedChecks      Rejection = "checks-failed"      // the forge's checks of the pushed commit failed
	RejectedNoWork      Rejection = "no-work"            // marker without evidence of work
)

// Yields says that work which may not be published is the more important news:
// the run itself did not fail.
func (o Outcome) Yields() bool {
	switch o {
	case Completed, MaxIterations, OverBudget, Deadline, Stalled, Waiting, Blocked, Quota:
		return true
	}
	return false
}
