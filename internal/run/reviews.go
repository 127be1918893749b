package run

import (
	"fmt"

	"github.com/org/ralph-action/internal/config"
)

// checkReviews finds out whether an approval can be believed: whether the code under
// review could approve in the reviewer's place. In the action, where nobody watches,
// a run that depends on such approvals is refused; elsewhere they are marked.
func (s *sandboxed) checkReviews() error {
	if s.stories == nil || s.cfg.Tasks.SkipReview {
		return nil
	}
	why := s.children.Unprotected()
	if s.box != nil {
		why = "a Docker Sandbox holds the agent and what it starts together"
	}
	s.stories.Unprotected(why)
	if why == "" || s.local() {
		return nil
	}
	instead := "use a runner with Linux 5.19 or later that refuses neither Landlock nor seccomp"
	switch {
	case s.isolation == config.IsolationOff:
		instead = "leave isolation out"
	case s.cfg.Sandbox.AllowedHosts.Open():
		why += " (allowed-hosts is *)"
		instead = "name the hosts in allowed-hosts"
	}
	return invalid(fmt.Errorf("mode: tasks needs a sandbox that keeps the code under review from approving itself, which is missing here: %s; %s, or set skip-review: true to do without reviews", why, instead))
}
