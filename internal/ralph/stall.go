package ralph

import "strings"

// state is what a snapshot found, as far as progress is concerned.
type state struct {
	head, tree string
	ok         bool
	fresh      bool // differs from the start of the run
}

// stall counts iterations in a row without progress: the agent left HEAD and
// tree as they were, or the same guardrails failed in the same way.
type stall struct {
	head, tree, commit string // at the end of the last iteration
	known              bool
	still              int
	digest             string
	same               int
	why                string
}

// seen counts the iteration and says whether the limit is reached.
func (s *stall) seen(limit int, now state, it Iteration) bool {
	if now.ok && s.unchanged(now) {
		s.still++
	} else {
		s.still = 0
	}
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
		s.why = "no file and no commit changed"
	case s.same >= limit:
		s.why = "the same guardrails failed in the same way"
	default:
		return false
	}
	return true
}

func (s *stall) unchanged(now state) bool {
	if !s.known {
		return !now.fresh
	}
	return now.tree == s.tree && (now.head == s.head || now.head == s.commit)
}

// settle remembers where the iteration ended, checkpoint included.
func (s *stall) settle(it Iteration) {
	s.head, s.tree, s.commit = it.Change.Head, it.Change.Tree, it.Commit.SHA
	s.known = it.Change.Tree != ""
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
