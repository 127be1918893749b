package run

import (
	"context"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/run/checks"
)

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
	w.emit(ralph.Event{Kind: ralph.EventGuardrailStart, At: time.Now(), Text: checks.Name, Iteration: it.Number})
	verdict, found, refusal := checks.Await(ctx, sha, checks.Options{
		Client: client, RunID: w.runNumber(), Workflow: w.site.Workflow, Start: w.cfg.PullRequest.CIStart, Timeout: w.cfg.PullRequest.CITimeout,
		Truncate: w.cfg.Checks.TruncateChars, Interrupted: w.interruptedNow, Redact: w.rec.redact.Text, Say: w.rec.out.Say, Note: w.rec.note, Warn: w.rec.warn,
	})
	w.rec.report.Publication.Checks = found
	w.emit(ralph.Event{Kind: ralph.EventGuardrailEnd, At: time.Now(), Verdict: &verdict, Iteration: it.Number})
	return []ralph.Verdict{verdict}, refusal
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
