package run

import (
	"cmp"
	"fmt"

	"github.com/org/ralph-action/internal/config"
)

// checkReviews finds out whether an approval can be believed: whether the code under
// review could approve in the reviewer's place. In the action, where nobody watches,
// a run that depends on such approvals is refused; elsewhere they are marked.
func (s *sandboxed) checkReviews() error {
	if s.stories == nil || s.cfg.Tasks.SkipReview || s.integrates() {
		return nil
	}
	why, instead := s.unprotectedReviews(s.box != nil)
	s.stories.Unprotected(why)
	if why == "" || s.local() {
		return nil
	}
	return invalid(fmt.Errorf("mode: tasks needs a sandbox that keeps the code under review from approving itself, which is missing here: %s; %s, or set skip-review: true to do without reviews", why, instead))
}

// unprotectedReviews returns why the code under review could approve in the reviewer's
// place, and what to do about it; nothing if it could not.
func (s *sandboxed) unprotectedReviews(inDocker bool) (why, instead string) {
	why = s.children.Unprotected()
	switch {
	case inDocker:
		return "a Docker Sandbox holds the agent and what it starts together", "use isolation: auto on Linux"
	case s.isolation == config.IsolationOff:
		return why, "leave isolation out"
	case s.cfg.Sandbox.AllowedHosts.Open():
		return cmp.Or(why, "the network is open") + " (allowed-hosts is *)", "name the hosts in allowed-hosts"
	case why == "":
		return "", ""
	}
	return why, "use a runner with Linux 5.19 or later that refuses neither Landlock nor seccomp"
}
