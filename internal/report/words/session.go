package words

import "github.com/org/ralph-action/internal/ralph"

// ModeSession is the mode in which one session of the agent is kept going.
const ModeSession = "session"

// SessionStatus names how a kept-going session ended, as its first description
// did; empty in every other mode and for endings that have no such name. 004-05
func SessionStatus(r ralph.Report) string {
	if r.Mode != ModeSession {
		return ""
	}
	switch r.Outcome {
	case ralph.Completed:
		return "PROMISE_ACCEPTED"
	case ralph.MaxIterations:
		return "MAX_ITERATIONS_REACHED"
	}
	return ""
}
