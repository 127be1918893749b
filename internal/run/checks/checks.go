// Package checks waits for the forge's checks of what was pushed, and makes a verdict of them, as
// of a guardrail.
package checks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
)

// Name is what people read of the verdict in place of a command.
const Name = "checks of the forge"

// Options are how long checks are waited for, and what they must not tell.
type Options struct {
	Client      *forge.Client
	RunID       int64         // of our own workflow, which is not waited for
	Workflow    string        // likewise
	Start       time.Duration // in which the first one has to begin
	Timeout     time.Duration
	Truncate    int         // most bytes of a log that the agent is told
	Interrupted func() bool // whether somebody asked the run to stop, as against its time being over
	Redact      func(string) string

	Say, Note, Warn func(string)
}

// Await waits for the checks of a commit. What fails goes back to the agent. What has not finished
// in time is no success, and nothing an agent could mend: the refusal ends the run.
func Await(ctx context.Context, sha string, o Options) (ralph.Verdict, ralph.Checks, *ralph.Refusal) {
	started := time.Now()
	waiting, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	found, err := o.Client.WaitChecks(waiting, sha, forge.CheckOptions{RunID: o.RunID, Workflow: o.Workflow, Grace: o.Start, Poll: poll(o.Start), Progress: o.Say})
	for _, n := range found.Notes {
		o.Note(n)
	}
	verdict := ralph.Verdict{Command: Name, Passed: true, Action: ralph.Append}
	refusal := o.judge(ctx, found, err, &verdict)
	verdict.Duration = time.Since(started)
	return verdict, found.Checks, refusal
}

// judge makes a verdict of what the checks say.
func (o *Options) judge(ctx context.Context, checks forge.Checks, err error, v *ralph.Verdict) *ralph.Refusal {
	short := checks.SHA[:min(len(checks.SHA), 7)]
	refuse := func(outcome ralph.Outcome, err error) *ralph.Refusal {
		v.Passed, v.ExitCode, v.Reason, v.Digest = false, -1, err.Error(), "checks: "+string(outcome)
		return &ralph.Refusal{Outcome: outcome, Err: err}
	}
	switch {
	case ctx.Err() != nil && o.Interrupted():
		return refuse(ralph.Interrupted, errors.New("the run was cancelled while the checks were waited for"))
	case err != nil:
		return refuse(ralph.GitFailed, err)
	case checks.State == ralph.ChecksNone:
		n := fmt.Sprintf("No check was started for %s within %s: only the guardrails have verified the work.", short, o.Start)
		o.Warn(n)
		return nil
	case checks.State == ralph.ChecksPassed:
		return nil
	case checks.State == ralph.ChecksPending:
		return refuse(ralph.Deadline, fmt.Errorf("the checks of %s have not finished within %s: %s", short, o.Timeout, ralph.Listed(checks.Left)))
	}
	fixable := false
	for _, f := range checks.Failures {
		fixable = fixable || f.Fixable()
	}
	if !fixable {
		return refuse(ralph.Blocked, fmt.Errorf("the checks of %s did not pass, and no change to the work can fix that: %s", short, ralph.Listed(checks.Failed)))
	}
	logs := o.Client.FailedLogs(ctx, checks)
	v.Passed, v.ExitCode = false, 1
	v.Message, v.Output = o.feedback(short, checks, logs)
	sum := sha256.Sum256([]byte(strings.Join(checks.Failed, "\n")))
	v.Digest = "checks " + hex.EncodeToString(sum[:8])
	return nil
}

// feedback is what the agent is told of failed checks, and what people see.
// Logs are the words of programs that anybody may have written: they stand in
// fences longer than any row of backticks in them.
func (o *Options) feedback(short string, checks forge.Checks, logs []forge.Log) (message, output string) {
	var b, out strings.Builder
	fmt.Fprintf(&b, "The checks of the pushed commit %s failed: %s.\n", short, ralph.Listed(checks.Failed))
	for _, l := range logs {
		if l.Missing != "" {
			fmt.Fprintf(&b, "\nNo log of %q: %s\n", l.Name, l.Missing)
			fmt.Fprintf(&out, "%s: %s\n%s\n", l.Name, l.URL, l.Missing)
			continue
		}
		tail := o.Redact(l.Tail)
		if len(tail) > o.Truncate {
			tail = strings.ToValidUTF8("…"+tail[len(tail)-o.Truncate:], "")
		}
		fence := "```"
		for strings.Contains(tail, fence) {
			fence += "`"
		}
		fmt.Fprintf(&b, "\nThe end of the log of %q:\n%s\n%s\n%s\n", l.Name, fence, strings.TrimRight(tail, "\n"), fence)
		fmt.Fprintf(&out, "%s: %s\n%s\n", l.Name, l.URL, tail)
	}
	return b.String(), out.String()
}

// poll is the time between the first two looks at the checks: who expects them
// soon looks soon.
func poll(start time.Duration) time.Duration {
	return min(max(start/10, time.Second), 10*time.Second)
}
