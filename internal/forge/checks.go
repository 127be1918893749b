package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	// maxPoll is the longest time between two looks at the checks, before jitter.
	maxPoll = time.Minute
	// maxOutages is how many looks in a row may fail, each with its own retries.
	maxOutages = 5
	// lastLook is the time a look needs when the context is about to end.
	lastLook = 5 * time.Second
)

// Checks is what check runs, commit statuses and workflow runs say of a commit.
// Names are in order, cleaned and bounded.
type Checks struct {
	ralph.Checks
	Failures []Failure // of the names in Failed, in the same order
	Notes    []string  // what could not be seen, and what the token needs for it
}

// Failure is a check that failed.
type Failure struct {
	Name string
	// Conclusion is GitHub's word: failure, timed_out, cancelled, action_required,
	// stale, startup_failure; error for a commit status.
	Conclusion string
	URL        string // for people; empty when it is no web address

	check, job  int64  // ids of the check run and of its job; 0: none
	text        string // what the check says itself: foreign
	annotations bool
}

// Fixable reports whether another commit may turn the failure into a success. A check
// that was cancelled, forgotten, or waits for a person says nothing of the work.
func (f Failure) Fixable() bool {
	switch f.Conclusion {
	case "cancelled", "action_required", "stale":
		return false
	}
	return true
}

// CheckOptions say which checks count, and how long to wait for them.
type CheckOptions struct {
	// RunID is the workflow run we are a part of: its checks are left out, because
	// they cannot finish before we do. 0: none.
	RunID int64
	// Workflow is the name of that run's workflow. Another run of it that a
	// concurrency group holds back is left out: it may be held by ours. Empty: none.
	Workflow string
	// Grace is how long checks have to appear: before it is over, neither "none"
	// nor "passed" is an answer, because more of them may start. 0: no time.
	Grace time.Duration
	// Poll is the time between the first two looks; it grows to a minute. 0 means
	// 10 s.
	Poll time.Duration
	// Progress is told in one line what the checks say, whenever that changes.
	// nil: nobody is.
	Progress func(string)
}

var shaPattern = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)

// Checks looks once. Its state is that of all check runs and statuses of the
// commit, the newest of each; it is pending while one of them, or a workflow run
// on the commit, has not finished, even if another one failed.
func (c *Client) Checks(ctx context.Context, sha string, o CheckOptions) (Checks, error) {
	if !shaPattern.MatchString(sha) {
		return Checks{}, fmt.Errorf("look at the checks of %q in %s: want the full id of a commit", c.api.Clean(sha), c.api.Where())
	}
	return c.newLook(sha, o).take(ctx)
}

// WaitChecks looks until every check has finished. When the context's deadline
// comes first, that is no error: the state is pending, or failed when a check
// has failed already, and Left names what had not finished. A look that finds
// nothing new costs no rate limit on GitHub.
func (c *Client) WaitChecks(ctx context.Context, sha string, o CheckOptions) (Checks, error) {
	if !shaPattern.MatchString(sha) {
		return Checks{}, fmt.Errorf("wait for the checks of %q in %s: want the full id of a commit", c.api.Clean(sha), c.api.Where())
	}
	look := c.newLook(sha, o)
	last := Checks{Checks: ralph.Checks{SHA: sha, State: ralph.ChecksPending}}
	started, outages, told := time.Now(), 0, ""
	for interval := cmp.Or(o.Poll, 10*time.Second); ; interval = min(interval+interval/2, maxPoll) {
		now, err := look.take(ctx)
		var outage *outageError
		switch {
		case ctx.Err() != nil:
			return last.unfinished(), late(ctx)
		case errors.As(err, &outage) && outages < maxOutages:
			outages++
			now = last
		case err != nil:
			return last.unfinished(), err
		default:
			outages, last = 0, now
			if now.State != ralph.ChecksPending && (now.State == ralph.ChecksFailed || time.Since(started) >= o.Grace) {
				return now, nil
			}
		}
		if line := now.line(); line != told && o.Progress != nil {
			o.Progress(line)
			told = line
		}
		wait := api.Jitter(min(interval, maxPoll))
		if now.State != ralph.ChecksPending {
			wait = min(wait, max(o.Grace-time.Since(started), time.Second))
		}
		if until, ok := ctx.Deadline(); ok {
			wait = min(wait, max(time.Until(until)-lastLook, lastLook))
		}
		if err := api.Sleep(ctx, wait); err != nil {
			return last.unfinished(), late(ctx)
		}
	}
}

// late is nil for a deadline that has passed: an expected end.
func late(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return ctx.Err()
}

// unfinished is what is known when nobody looks any more.
func (k Checks) unfinished() Checks {
	k.State = ralph.ChecksPending
	if len(k.Failed) > 0 {
		k.State = ralph.ChecksFailed
	}
	return k
}

// line sums up the checks for people.
func (k Checks) line() string {
	all := k.Passed + len(k.Failed) + len(k.Left)
	switch {
	case all == 0:
		return "no check has started yet"
	case k.State != ralph.ChecksPending:
		return fmt.Sprintf("%d of %d checks have finished; waiting whether more start", all-len(k.Left), all)
	}
	text := fmt.Sprintf("%d of %d checks have finished", all-len(k.Left), all)
	if len(k.Failed) > 0 {
		text += ", failed: " + someNames(k.Failed)
	}
	return text + "; waiting for " + someNames(k.Left)
}

func someNames(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// standing is what one check says.
type standing int

const (
	isPending standing = iota // the safe answer to words nobody knows
	hasPassed
	hasFailed
)

// stands reads status and conclusion of a check run or workflow run. A
// conclusion that is not known has not passed.
func stands(status, conclusion string) standing {
	if status != "completed" {
		return isPending
	}
	switch conclusion {
	case "success", "neutral", "skipped":
		return hasPassed
	}
	return hasFailed
}

// statusStands reads the state of a commit status: GitHub's four, and Gitea's
// warning and skipped.
func statusStands(state string) standing {
	switch state {
	case "success", "warning", "skipped":
		return hasPassed
	case "failure", "error":
		return hasFailed
	}
	return isPending
}

// finding is a check of any kind.
type finding struct {
	Failure
	standing standing
	origin   checkOrigin
}

// checkOrigin is what a check run belongs to.
type checkOrigin struct{ run, suite int64 } // ids; 0: none that is known

// is reports whether a check run is of this workflow run.
func (o checkOrigin) is(run *github.WorkflowRun) bool {
	if o.run != 0 {
		return o.run == run.GetID()
	}
	return o.suite != 0 && o.suite == run.GetCheckSuiteID()
}

// sumChecks makes the answer of all checks.
func sumChecks(sha string, all []finding, notes []string) Checks {
	slices.SortStableFunc(all, func(a, b finding) int { return strings.Compare(a.Name, b.Name) })
	k := Checks{Checks: ralph.Checks{SHA: sha, State: ralph.ChecksPassed}, Notes: notes}
	for _, check := range all {
		switch check.standing {
		case hasPassed:
			k.Passed++
		case hasFailed:
			k.Failed = append(k.Failed, check.Name)
			k.Failures = append(k.Failures, check.Failure)
		default:
			k.Left = append(k.Left, check.Name)
		}
	}
	switch {
	case len(all) == 0:
		k.State = ralph.ChecksNone
	case len(k.Left) > 0:
		k.State = ralph.ChecksPending
	case len(k.Failed) > 0:
		k.State = ralph.ChecksFailed
	}
	return k
}
