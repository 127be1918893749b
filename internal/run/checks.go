package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/publish"
)

const checksName = "checks of the forge"

// accept waits for the checks of what was pushed. They are a guardrail of the
// forge's: what fails goes back to the agent. What has not finished in time is no
// success, and nothing an agent could mend.
func (w *work) accept(ctx context.Context, it ralph.Iteration) ([]ralph.Verdict, *ralph.Refusal) {
	if w.cfg.Git.Commit == config.CommitAgent {
		if err := w.commitLeft(ctx, &it); err != nil {
			return nil, &ralph.Refusal{Outcome: ralph.GitFailed, Err: err}
		}
	}
	if err := w.repo.Push(ctx); err != nil {
		return nil, &ralph.Refusal{Outcome: ralph.GitFailed, Err: err}
	}
	if err := w.repo.Follow(ctx, !w.onTheirs()); err != nil {
		return nil, &ralph.Refusal{Outcome: ralph.GitFailed, Err: err}
	}
	state := w.repo.State()
	sha := state.Tip
	if sha == "" {
		return nil, nil // nothing was ever published: there is nothing to check
	}
	w.proposeForChecks(ctx, state)
	client, err := w.client()
	if err != nil {
		return nil, &ralph.Refusal{Outcome: ralph.GitFailed, Err: err}
	}
	started := time.Now()
	w.emit(ralph.Event{Kind: ralph.EventGuardrailStart, At: started, Text: checksName, Iteration: it.Number})
	waiting, cancel := context.WithTimeout(ctx, w.cfg.PullRequest.CITimeout)
	defer cancel()
	checks, err := client.WaitChecks(waiting, sha, forge.CheckOptions{RunID: w.runNumber(), Workflow: w.site.Workflow, Grace: w.cfg.PullRequest.CIStart, Poll: poll(w.cfg.PullRequest.CIStart), Progress: w.rec.out.Say})
	w.rec.report.Publication.Checks = checks.Checks
	for _, n := range checks.Notes {
		w.rec.note(n)
	}
	verdict := ralph.Verdict{Command: checksName, Passed: true, Duration: time.Since(started), Action: ralph.Append}
	refusal := w.judgeChecks(ctx, client, checks, err, &verdict)
	verdict.Duration = time.Since(started)
	w.emit(ralph.Event{Kind: ralph.EventGuardrailEnd, At: time.Now(), Verdict: &verdict, Iteration: it.Number})
	return []ralph.Verdict{verdict}, refusal
}

// judgeChecks makes a verdict of what the checks say.
func (w *work) judgeChecks(ctx context.Context, client *forge.Client, checks forge.Checks, err error, v *ralph.Verdict) *ralph.Refusal {
	short := checks.SHA[:min(len(checks.SHA), 7)]
	refuse := func(outcome ralph.Outcome, err error) *ralph.Refusal {
		v.Passed, v.ExitCode, v.Reason, v.Digest = false, -1, err.Error(), "checks: "+string(outcome)
		return &ralph.Refusal{Outcome: outcome, Err: err}
	}
	switch {
	case ctx.Err() != nil && w.interruptedNow():
		return refuse(ralph.Interrupted, errors.New("the run was cancelled while the checks were waited for"))
	case err != nil:
		return refuse(ralph.GitFailed, err)
	case checks.State == ralph.ChecksNone:
		n := fmt.Sprintf("No check was started for %s within %s: only the guardrails have verified the work.", short, w.cfg.PullRequest.CIStart)
		w.rec.warn(n)
		return nil
	case checks.State == ralph.ChecksPassed:
		return nil
	case checks.State == ralph.ChecksPending:
		return refuse(ralph.Deadline, fmt.Errorf("the checks of %s have not finished within %s: %s", short, w.cfg.PullRequest.CITimeout, ralph.Listed(checks.Left)))
	}
	fixable := false
	for _, f := range checks.Failures {
		fixable = fixable || f.Fixable()
	}
	if !fixable {
		return refuse(ralph.Blocked, fmt.Errorf("the checks of %s did not pass, and no change to the work can fix that: %s", short, ralph.Listed(checks.Failed)))
	}
	logs := client.FailedLogs(ctx, checks)
	v.Passed, v.ExitCode = false, 1
	v.Message, v.Output = w.checkFeedback(short, checks, logs)
	sum := sha256.Sum256([]byte(strings.Join(checks.Failed, "\n")))
	v.Digest = "checks " + hex.EncodeToString(sum[:8])
	return nil
}

// checkFeedback is what the agent is told of failed checks, and what people see.
// Logs are the words of programs that anybody may have written: they stand in
// fences longer than any row of backticks in them.
func (w *work) checkFeedback(short string, checks forge.Checks, logs []forge.Log) (message, output string) {
	var b, out strings.Builder
	fmt.Fprintf(&b, "The checks of the pushed commit %s failed: %s.\n", short, ralph.Listed(checks.Failed))
	for _, l := range logs {
		if l.Missing != "" {
			fmt.Fprintf(&b, "\nNo log of %q: %s\n", l.Name, l.Missing)
			fmt.Fprintf(&out, "%s: %s\n%s\n", l.Name, l.URL, l.Missing)
			continue
		}
		tail := w.rec.redact.Text(l.Tail)
		if len(tail) > w.cfg.Checks.TruncateChars {
			tail = strings.ToValidUTF8("…"+tail[len(tail)-w.cfg.Checks.TruncateChars:], "")
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

// interruptedNow says that somebody asked the run to stop, as against its time
// being over.
func (p *plan) interruptedNow() bool { return !p.Stop.asked().IsZero() }

// proposeForChecks makes the pull request before the run is over, because many
// workflows run for pull requests only. What fails here is tried again at the end.
func (w *work) proposeForChecks(ctx context.Context, at publish.State) {
	files, _ := w.repo.Files(ctx) // they are asked for again at the end
	if _, err := w.live.Propose(ctx, at, files); err != nil {
		w.rec.out.Say("The pull request is tried again at the end: " + err.Error())
	}
}

// poll is the time between the first two looks at the checks: who expects them
// soon looks soon.
func poll(start time.Duration) time.Duration {
	return min(max(start/10, time.Second), 10*time.Second)
}
