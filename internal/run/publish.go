package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/inspect"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
)

// publish pushes what the checkpoints have not, and makes the pull request. A
// failure in a later step never undoes an earlier one; each is recorded.
func (j *work) publish(run context.Context) {
	ctx, cancel := j.publishing(run)
	defer cancel()
	j.budgetKept()
	j.rec.report.Network = j.network.refused()
	if j.repo == nil {
		j.rec.report.Duration = time.Since(j.rec.started())
		j.tellEnd(ctx)
		return
	}
	p := &j.rec.report.Publication
	if j.cfg.Commit == config.CommitAgent {
		j.commitRest(ctx)
	}
	if j.pushes() {
		var blocked *repo.BlockedError
		if err := j.repo.Push(ctx); errors.As(err, &blocked) {
			j.couldNot("push", err) // State names what
		} else if err != nil {
			j.couldNot("push", err)
			j.failed(run, err)
		} else if err := j.repo.Follow(ctx, !j.onTheirs()); err != nil {
			j.rec.note("What became of the branch's pull request while the run went on could not be followed: " + err.Error())
		}
	}
	j.rec.report.Duration = time.Since(j.rec.started())
	state := j.repo.State()
	if len(state.Blocked) > 0 {
		j.rec.report.Findings = inspect.Sorted(append(j.rec.report.Findings, state.Blocked...))
		j.withhold(ralph.Blocking(state.Blocked))
	}
	j.rec.report.Findings = inspect.Sorted(append(j.rec.report.Findings, j.inspect.LeftOut(state.LeftOut)...))
	j.nothingLeft(state)
	j.keepUnpublished(ctx, state)
	if run.Err() == nil { // it may take seconds, which a run that was cancelled does not have
		j.lookAtTests(ctx)
	}
	j.rec.report.Findings = inspect.Sorted(append(j.rec.report.Findings, j.earlierLeftOut()...))
	for _, n := range state.Notes {
		j.rec.note(n)
	}
	p.HeadSHA, p.Pushed, p.Fork = state.HeadSHA, state.Pushed, j.cfg.PushToFork
	if p.Branch = ""; p.HeadSHA != "" || state.Tip != "" {
		p.Branch = state.Branch
	}
	p.Signed, p.Verified, p.Tip = state.Signed, state.Verified, state.Tip
	if tip := p.Tip; j.cfg.WaitForCI && j.rec.report.Outcome == ralph.Completed && tip != "" && p.Checks.SHA != tip {
		j.rec.report.Outcome = ralph.Blocked
		j.rec.report.Reason += fmt.Sprintf(", but %s was pushed and its checks were not looked at", tip[:7])
	}
	if p.Pushed {
		j.did("push", p.Branch)
	}
	if n := len(j.rec.report.Iterations); n > 0 && j.pushes() && p.HeadSHA == "" && j.rec.report.Iterations[n-1].Commit.SHA != "" {
		j.rec.note("The commits of this run change no file: nothing of them is published.")
	}
	j.rec.report.ExitCode = j.rec.report.Outcome.ExitCode(j.cfg.IncompleteOK)
	if p.HeadSHA != "" && !j.pushes() {
		j.rec.note(j.stayed(p))
	}
	if j.pushes() && p.Branch != "" && (p.HeadSHA == "" || p.Pushed) {
		if deleted := j.cleanUp(ctx, state); !deleted && j.remote.forge != nil {
			if err := j.pullRequest(ctx, p, state); err != nil {
				j.couldNot("pull request", err)
				j.failed(run, err)
			}
		}
	}
	if j.pushes() && p.HeadSHA == "" && p.Tip == "" {
		p.Branch = "" // it is nowhere but here
	}
	j.tellEnd(ctx)
}

// rememberLeftOut finds what the last run on the branch left out, where nobody has
// decided about it since.
func (j *branch) rememberLeftOut(ctx context.Context) {
	runs := j.history.Runs
	if !j.start.Resumed || len(runs) == 0 {
		return
	}
	for _, m := range runs[len(runs)-1].LeftOut {
		if j.repo.Unchanged(ctx, m.Path, m.ID) {
			j.missing = append(j.missing, m)
		}
	}
}

// earlierLeftOut are the findings about it, but for what this run left out again.
func (j *work) earlierLeftOut() []ralph.Finding {
	var found []ralph.Finding
	for _, m := range j.missing {
		again := func(f ralph.Finding) bool { return f.Severity == ralph.LeftOut && f.Path == m.Path }
		if slices.ContainsFunc(j.rec.report.Findings, again) {
			continue
		}
		f := ralph.Finding{
			Kind: ralph.FindingUnfit, Severity: ralph.LeftOut, Path: m.Path, Where: "by an earlier run on this branch",
			Text: "left out then, and not changed on the branch or in the base since",
		}
		if j.inspect.Protects(m.Path) {
			f.Kind = ralph.FindingProtected
		}
		found = append(found, f)
	}
	return found
}

// nothingLeft takes the success from a run of which nothing could be published.
func (j *work) nothingLeft(state repo.State) {
	if state.HeadSHA != "" || !j.rec.report.Outcome.Row().Yields || len(ralph.OfSeverity(j.rec.report.Findings, ralph.LeftOut)) == 0 {
		return
	}
	j.rec.report.Outcome = ralph.Blocked
	j.rec.report.Reason += "; all that the run changed is left out of what is published"
}

// budgetKept says so when a budget could not be kept.
func (j *work) budgetKept() {
	if !j.rec.report.Usage().Cost.Unknown || j.cfg.MaxCost == 0 && j.cfg.MaxTotalCost == 0 {
		return
	}
	n := "A part of what this run cost is not known, so what it may cost (max-cost-usd, max-total-cost-usd) could not be watched over."
	j.rec.warn(n)
}

// did and couldNot record a step of publishing.
func (j *work) did(name, detail string) {
	j.step(ralph.PublishStep{Name: name, Done: true, Detail: detail})
}

func (j *work) couldNot(name string, err error) {
	j.step(ralph.PublishStep{Name: name, Detail: err.Error()})
}

func (j *work) step(s ralph.PublishStep) {
	j.rec.report.Publication.Steps = append(j.rec.report.Publication.Steps, s)
}

// commitRest commits what the agent left uncommitted: it must not be lost. Where
// it left nothing, the commit is empty: its trailers are what later runs on the
// branch know of this one.
func (j *work) commitRest(ctx context.Context) {
	if n := len(j.rec.report.Iterations); n > 0 {
		if err := j.commitLeft(ctx, &j.rec.report.Iterations[n-1]); err != nil {
			j.failed(ctx, err)
		}
	}
}

func (j *work) commitLeft(ctx context.Context, it *ralph.Iteration) error {
	change, err := j.repo.Snapshot(ctx)
	j.rec.report.Findings = change.Findings
	if why := ralph.Blocking(change.Findings); err == nil && why != "" {
		j.withhold(why)
		return nil
	}
	if err == nil {
		var c ralph.Commit
		if c, err = j.repo.Checkpoint(ctx, *it); c.SHA != "" {
			if it.Commit.SHA != "" {
				c.Own += it.Commit.Own + 1
			}
			it.Commit = c
			j.emit(ralph.Event{Kind: ralph.EventCheckpoint, At: time.Now(), Commit: &c, Iteration: it.Number})
		}
	}
	if err != nil {
		return fmt.Errorf("what the agent left uncommitted could not be committed: %w", err)
	}
	return nil
}

// withhold ends a run whose last work may not be published.
func (j *work) withhold(why string) {
	if text := "; what is in the workspace may not be published: " + why; !strings.Contains(j.rec.report.Reason, text) {
		j.rec.report.Reason += text
	}
	if j.rec.report.Outcome.Row().Yields {
		j.rec.report.Outcome = ralph.Blocked
	}
}

// stayed says where work is that was not to leave the machine, and what would
// have become of it.
func (j *work) stayed(p *ralph.Publication) string {
	where := fmt.Sprintf("The work is on the branch %s, which is checked out here and was not pushed", p.Branch)
	switch {
	case j.cfg.DryRun && j.site.Repository != "":
		where = fmt.Sprintf("Dry run: nothing was pushed. Without dry-run the branch %s would be pushed to %s", p.Branch, j.site.Repository)
		if j.cfg.PullRequest {
			state := "ready for review"
			if j.draft() {
				state = "a draft"
			}
			where += fmt.Sprintf(", with a pull request into %s, %s, titled: %s", p.Base, state, j.title())
		}
	case j.cfg.DryRun:
		where += " (dry run)"
	case j.cfg.Push == config.PushNever:
		where += " (push: false)"
	case j.site.Repository != "":
		where += " (no token is given: GITHUB_TOKEN)"
	}
	if len(j.start.BaseSHA) >= 7 {
		where += fmt.Sprintf(". To see it: git log -p %s..%s", j.start.BaseSHA[:7], p.Branch)
	}
	if j.local() {
		where += ". The record of the run is " + j.files.Path("report.html")
	}
	return where + "."
}

// failed records a step of publishing that failed for good. Work that could
// not be published is no success, whatever the loop came to; nor is it a failure
// of git when somebody stopped the run meanwhile.
func (j *work) failed(run context.Context, err error) {
	j.rec.report.Publication.Errors = append(j.rec.report.Publication.Errors, err.Error())
	j.rec.out.Warn(err.Error())
	switch {
	case j.rec.report.Outcome == ralph.Interrupted:
	case run.Err() != nil:
		j.rec.report.Reason = fmt.Sprintf("%s, but the run was cancelled while it was being published", j.rec.report.Reason)
		j.rec.report.Outcome = ralph.Interrupted
	default:
		j.rec.report.Reason = fmt.Sprintf("%s, but publishing failed: %v", j.rec.report.Reason, err)
		j.rec.report.Outcome = ralph.GitFailed
	}
}

// publishing bounds the steps after the loop: by what max-duration leaves, and
// by the last call once the run was asked to stop.
func (j *plan) publishing(ctx context.Context) (context.Context, context.CancelFunc) {
	until := time.Now().Add(publishLimit)
	if j.cfg.MaxDuration > 0 {
		until = j.rec.started().Add(j.cfg.MaxDuration)
	}
	bounded, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(time.Until(j.Stop.asked().Add(lastCall)))
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-bounded.Done():
		}
	})
	return bounded, func() { stop(); cancel() }
}

// lookAtTests adds to the record what people should know of tests and checks
// before they merge.
func (j *work) lookAtTests(ctx context.Context) {
	if j.repo == nil {
		return
	}
	j.rec.report.Findings = inspect.Sorted(append(j.rec.report.Findings, j.inspect.Weakened(func(path string) []byte {
		data, err := j.repo.BaseFile(ctx, path)
		if err != nil {
			return nil // it leads nowhere then
		}
		return data
	})...))
}
