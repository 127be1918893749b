package ralph

import (
	"cmp"
	"strings"
)

// state is what a snapshot found, as far as progress is concerned.
type state struct {
	head, tree, work string

	ok    bool
	fresh bool // differs from the start of the run
}

func (c Change) work() string { return cmp.Or(c.Work, c.Tree) }

// stall counts iterations in a row without progress: the agent left HEAD and the
// work as they were, or the same guardrails failed in the same way.
type stall struct {
	head, work, commit string // at the end of the last iteration
	known              bool
	turn               state // after the last turn, before guardrails
	still              int
	digest             string
	same               int
	why                string
}

// seen counts the iteration and says whether the limit is reached.
func (s *stall) seen(limit int, now state, it Iteration) bool {
	// The same again is no progress either: guardrails had changed it, and the agent
	// has changed it back.
	if now.ok && (s.unchanged(now) || s.turn.ok && now.work == s.turn.work && now.head == s.turn.head) {
		s.still++
	} else {
		s.still = 0
	}
	s.turn = now
	if digest := digest(it.Verdicts); digest != "" && digest == s.digest {
		s.same++
	} else {
		s.digest, s.same = digest, 1
		if digest == "" {
			s.same = 0
		}
	}
	switch {
	case limit == 0:
		return false
	case s.still >= limit:
		s.why = "no file or commit changed"
	case s.same >= limit:
		s.why = "the same guardrails failed in the same way"
	default:
		return false
	}
	return true
}

// unchanged reports whether the agent left the workspace as the last iteration did.
func (s *stall) unchanged(now state) bool {
	if !s.known {
		return !now.fresh
	}
	return now.work == s.work && !s.moved(now)
}

// moved reports whether HEAD is neither what the last iteration left nor its checkpoint.
func (s *stall) moved(now state) bool { return now.head != s.head && now.head != s.commit }

// settle remembers where the iteration ended, checkpoint included.
func (s *stall) settle(it Iteration) {
	s.head, s.work, s.commit = it.Change.Head, it.Change.work(), it.Commit.SHA
	s.known = s.work != ""
}

// digest identifies the set of failures; empty when every guardrail passed.
func digest(verdicts []Verdict) string {
	var b strings.Builder
	for _, v := range failed(verdicts) {
		b.WriteString(v.Digest)
		b.WriteByte('\n')
	}
	return b.String()
}
