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
	"github.com/org/ralph-action/internal/repo/inspection"
	"github.com/org/ralph-action/internal/repo/publish"
)

// publish pushes what the checkpoints have not, and makes the pull request. A
// failure in a later step never undoes an earlier one; each is recorded.
func (w *work) publish(run context.Context) {
	ctx, cancel := w.publishing(run)
	defer cancel()
	w.budgetKept()
	w.rec.report.Network = w.network.Refused()
	if w.repo == nil {
		w.endLive(ctx)
		w.rec.ended()
		if w.watcher != nil {
			looking, done := forDiffs(run)
			files, err := w.watcher.Files(looking)
			done()
			if err != nil {
				w.rec.note("The changed files could not be listed: " + w.rec.masked(err.Error()))
			}
			w.rec.report.Publication.Files = files
		}
		w.nameLost(ctx)
		if w.local() && w.cfg.Mode != config.ModeSupervise {
			w.rec.note(w.leftHere())
		}
		w.tellEnd(ctx)
		return
	}
	p := &w.rec.report.Publication
	if w.cfg.Git.Commit == config.CommitAgent && w.Before.Left == nil {
		w.commitRest(ctx)
	}
	if w.pushes() {
		var blocked *inspection.BlockedError
		if err := w.repo.Push(ctx); errors.As(err, &blocked) {
			w.couldNot("push", err) // State names what
		} else if err != nil {
			w.couldNot("push", err)
			w.failed(run, err)
		} else if err := w.repo.Follow(ctx, !w.onTheirs()); err != nil {
			w.rec.note("The branch's pull request could not be checked again before publishing: " + err.Error())
		}
	}
	w.endLive(ctx)
	if early, _ := w.live.PullRequest(); early.Operation == ralph.OperationCreated {
		p.PullRequest = early
	}
	w.rec.ended()
	state := w.repo.State()
	if len(state.Blocked) > 0 {
		w.rec.report.Findings = inspect.Sorted(append(w.rec.report.Findings, state.Blocked...))
		w.withhold(ralph.Blocking(state.Blocked))
	}
	w.rec.report.Findings = inspect.Sorted(append(w.rec.report.Findings, w.inspect.LeftOut(state.LeftOut)...))
	w.nothingLeft(state)
	w.nameLost(ctx)
	w.keepUnpublished(ctx, state)
	if run.Err() == nil { // it may take seconds, which a run that was cancelled does not have
		w.lookAtTests(ctx)
	}
	w.rec.report.Findings = inspect.Sorted(append(w.rec.report.Findings, w.earlierLeftOut()...))
	for _, n := range state.Notes {
		w.rec.note(n)
	}
	p.HeadSHA, p.Pushed, p.Fork = state.HeadSHA, state.Pushed, w.cfg.Git.PushToFork
	files, err := w.changedFiles(run, ctx)
	if p.Files = files; err != nil {
		w.rec.note(err.Error())
	}
	if p.Branch = ""; p.HeadSHA != "" || state.Tip != "" {
		p.Branch = state.Branch
	}
	p.Signed, p.Verified, p.Tip = state.Signed, state.Verified, state.Tip
	if tip := p.Tip; w.cfg.PullRequest.WaitForCI && w.rec.report.Outcome == ralph.Completed && tip != "" && p.Checks.SHA != tip {
		w.rec.report.Outcome = ralph.Blocked
		w.rec.report.Reason += fmt.Sprintf(", but %s was pushed and its checks were not looked at", tip[:7])
	}
	if p.Pushed {
		w.did("push", p.Branch)
	}
	if n := len(w.rec.report.Iterations); n > 0 && w.pushes() && p.HeadSHA == "" && w.rec.report.Iterations[n-1].Commit.SHA != "" {
		w.rec.note("The commits of this run change no files: none of them is published.")
	}
	w.rec.report.ExitCode = w.rec.report.Outcome.ExitCode(w.cfg.Loop.IncompleteOK)
	if w.lane != nil {
		w.handOver(ctx)
	} else if p.HeadSHA != "" && !w.pushes() {
		w.rec.note(w.stayed(p))
	}
	if w.pushes() && p.Branch != "" && (p.HeadSHA == "" || p.Pushed) {
		if deleted := w.cleanUp(ctx, state); !deleted && w.remote.forge != nil {
			if err := w.pullRequest(ctx, p, state); err != nil {
				w.couldNot("pull request", err)
				w.failed(run, err)
			}
		}
	}
	w.endEarly(ctx, state)
	if w.rec.report.Outcome == ralph.Interrupted && len(p.Errors) > 0 && w.left != nil {
		w.repo.KeepRecord(true) // Post has more time
	}
	if w.pushes() && p.HeadSHA == "" && p.Tip == "" {
		p.Branch = "" // it is nowhere but here
	}
	w.tellEnd(ctx)
}

// rememberLeftOut finds what the last run on the branch left out, where nobody has
// decided about it since.
func (b *branch) rememberLeftOut(ctx context.Context) {
	runs := b.history.Runs
	if !b.start.Resumed || len(runs) == 0 {
		return
	}
	for _, m := range runs[len(runs)-1].LeftOut {
		if b.repo.Unchanged(ctx, m.Path, m.ID) {
			b.missing = append(b.missing, m)
		}
	}
}

// earlierLeftOut are the findings about it, but for what this run left out again.
func (w *work) earlierLeftOut() []ralph.Finding {
	var found []ralph.Finding
	for _, m := range w.missing {
		again := func(f ralph.Finding) bool { return f.Severity == ralph.LeftOut && f.Path == m.Path }
		if slices.ContainsFunc(w.rec.report.Findings, again) {
			continue
		}
		f := ralph.Finding{
			Kind: ralph.FindingUnfit, Severity: ralph.LeftOut, Path: m.Path, Where: "by an earlier run on this branch",
			Text: "left out then, and not changed on the branch or in the base since",
		}
		if w.inspect.Protects(m.Path) {
			f.Kind = ralph.FindingProtected
		}
		found = append(found, f)
	}
	return found
}

// nothingLeft takes the success from a run of which nothing could be published.
func (w *work) nothingLeft(state publish.State) {
	if state.HeadSHA != "" || !w.rec.report.Outcome.Row().Yields || len(ralph.OfSeverity(w.rec.report.Findings, ralph.LeftOut)) == 0 {
		return
	}
	w.rec.report.Outcome = ralph.Blocked
	w.rec.report.Reason += "; every change of the run was left out"
}

// budgetKept says so when a budget could not be kept.
func (w *work) budgetKept() {
	if !w.rec.report.Usage().Cost.Unknown || w.cfg.Limits.Cost == 0 && w.cfg.Limits.TotalCost == 0 {
		return
	}
	w.rec.warn("Part of the cost is unknown, so max-cost-usd and max-total-cost-usd could not be enforced.")
}

// did and couldNot record a step of publishing.
func (w *work) did(name, detail string) {
	w.step(ralph.PublishStep{Name: name, Done: true, Detail: detail})
}

func (w *work) couldNot(name string, err error) {
	w.step(ralph.PublishStep{Name: name, Detail: err.Error()})
}

func (w *work) step(s ralph.PublishStep) {
	w.rec.report.Publication.Steps = append(w.rec.report.Publication.Steps, s)
}

// commitRest commits what the agent left uncommitted: it must not be lost. Where
// it left nothing, the commit is empty: its trailers are what later runs on the
// branch know of this one.
func (w *work) commitRest(ctx context.Context) {
	if n := len(w.rec.report.Iterations); n > 0 {
		if err := w.commitLeft(ctx, &w.rec.report.Iterations[n-1]); err != nil {
			w.failed(ctx, err)
		}
	}
}

func (w *work) commitLeft(ctx context.Context, it *ralph.Iteration) error {
	change, err := w.repo.Snapshot(ctx)
	w.rec.report.Findings = change.Findings
	if why := ralph.Blocking(change.Findings); err == nil && why != "" {
		w.withhold(why)
		return nil
	}
	if err == nil {
		var c ralph.Commit
		if c, err = w.repo.Checkpoint(ctx, *it); c.SHA != "" {
			if it.Commit.SHA != "" {
				c.Own += it.Commit.Own + 1
			}
			if c.Pushing {
				c = w.repo.PushCheckpoint(ctx, c)
			}
			it.Commit = c
			w.emit(ralph.Event{Kind: ralph.EventCheckpoint, At: time.Now(), Commit: &c, Iteration: it.Number})
		}
	}
	if err != nil {
		return fmt.Errorf("what the agent left uncommitted could not be committed: %w", err)
	}
	return nil
}

// withhold ends a run whose last work may not be published.
func (w *work) withhold(why string) {
	if text := "; what is in the workspace may not be published: " + why; !strings.Contains(w.rec.report.Reason, text) {
		w.rec.report.Reason += text
	}
	if w.rec.report.Outcome.Row().Yields {
		w.rec.report.Outcome = ralph.Blocked
	}
}

// stayed says where work is that was not to leave the machine, and what would
// have become of it.
func (w *work) stayed(p *ralph.Publication) string {
	where := fmt.Sprintf("The work is on the branch %s, which is checked out here and was not pushed", p.Branch)
	switch {
	case w.cfg.DryRun && w.site.Repository != "":
		where = fmt.Sprintf("Dry run: nothing was pushed. Without dry-run the branch %s would be pushed to %s", p.Branch, w.site.Repository)
		if w.cfg.PullRequest.Wanted {
			state := "ready for review"
			if w.draft() {
				state = "a draft"
			}
			where += fmt.Sprintf(", with a pull request into %s, %s, titled: %s", p.Base, state, w.title(w.rec.public()))
		}
	case w.cfg.DryRun:
		where += " (dry run)"
	case w.cfg.Git.Push == config.PushNever:
		where += " (push: false)"
	case w.site.Repository != "":
		where += " (no token is given: GITHUB_TOKEN)"
	}
	if len(w.start.BaseSHA) >= 7 {
		where += fmt.Sprintf(". To see it: git log -p %s..%s", w.start.BaseSHA[:7], p.Branch)
	}
	if w.local() {
		where += ". " + w.recordAt()
	}
	return where + "."
}

func (w *workspace) recordAt() string {
	return "The record of the run is " + w.files.Path("report.html")
}

// leftHere says where the work of a run is that publishes nothing.
func (w *work) leftHere() string {
	branch, head, changed, ours := "", "", 0, 0
	entries := strings.Split(w.gitText(maxStatus, "status", "--porcelain=v2", "--branch", "--untracked-files=all", "--no-renames", "-z"), "\x00")
	for _, entry := range entries {
		kind, rest, _ := strings.Cut(entry, " ")
		switch kind {
		case "#":
			if name, ok := strings.CutPrefix(rest, "branch.head "); ok && name != "(detached)" {
				branch = name
			}
			if id, ok := strings.CutPrefix(rest, "branch.oid "); ok && id != "(initial)" {
				head = id
			}
		case "1", "u", "?":
			changed++
			fields := strings.SplitN(rest, " ", map[string]int{"1": 8, "u": 10, "?": 1}[kind]) // the last is the path
			if slices.ContainsFunc(w.rec.report.Publication.Files, func(f ralph.File) bool { return f.Path == fields[len(fields)-1] }) {
				ours++
			}
		}
	}
	var parts []string
	if w.watcher != nil && len(head) >= 7 && w.watcher.Start() != head {
		if n := strings.TrimSpace(w.gitText(maxAnswer, "rev-list", "--count", w.watcher.Start()+".."+head)); n != "" && n != "0" {
			parts = append(parts, fmt.Sprintf("New commits: %s (git log -p %s..%s).", n, w.watcher.Start()[:7], head[:7]))
		}
	}
	if changed > 0 {
		what, none, by := "1 uncommitted file", ", none of it from this run", ""
		if changed > 1 {
			what, none = fmt.Sprintf("%d uncommitted files", changed), ", none of them from this run"
		}
		switch {
		case w.watcher == nil || ours == changed:
		case ours == 0:
			by = none
		default:
			by = fmt.Sprintf(", %d of them from this run", ours)
		}
		parts = append(parts, fmt.Sprintf("%s%s (git status, git diff).", what, by))
	}
	switch {
	case len(parts) == 0:
		return w.recordAt() + "."
	case branch != "":
		branch = ", on the branch " + branch
	}
	return fmt.Sprintf("The work is here%s. %s %s.", branch, strings.Join(parts, " "), w.recordAt())
}

// maxStatus bounds what is read of the state of a work tree, in bytes.
const maxStatus = 4 << 20

// failed records a step of publishing that failed for good. Work that could
// not be published is no success, whatever the loop came to; nor is it a failure
// of git when somebody stopped the run meanwhile.
func (w *work) failed(run context.Context, err error) {
	w.rec.report.Publication.Errors = append(w.rec.report.Publication.Errors, err.Error())
	w.rec.out.Warn(err.Error())
	switch {
	case w.rec.report.Outcome == ralph.Interrupted:
	case run.Err() != nil:
		w.rec.report.Reason = fmt.Sprintf("%s, but the run was cancelled while it was being published", w.rec.report.Reason)
		w.rec.report.Outcome = ralph.Interrupted
	default:
		w.rec.report.Reason = fmt.Sprintf("%s, but publishing failed: %v", w.rec.report.Reason, err)
		w.rec.report.Outcome = ralph.GitFailed
	}
}

// publishing bounds the steps after the loop: by what max-duration leaves, and
// by the last call once the run was asked to stop.
func (p *plan) publishing(ctx context.Context) (context.Context, context.CancelFunc) {
	until := time.Now().Add(publishLimit)
	if p.cfg.Limits.Duration > 0 {
		until = p.rec.started().Add(p.cfg.Limits.Duration)
	}
	bounded, cancel := context.WithDeadline(context.WithoutCancel(ctx), until)
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(time.Until(p.Stop.asked().Add(lastCall)))
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-bounded.Done():
		}
	})
	return bounded, func() { stop(); cancel() }
}

// changedFiles are those of the branch. A run that was cancelled has no time to count
// their lines.
func (w *work) changedFiles(run, ctx context.Context) ([]ralph.File, error) {
	if run.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, diffTimeCancelled)
		defer cancel()
	}
	return w.repo.Files(ctx)
}

// lookAtTests adds to the record what people should know of tests and checks
// before they merge.
func (w *work) lookAtTests(ctx context.Context) {
	if w.repo == nil {
		return
	}
	found, tests := w.inspect.Weakened(func(path string) []byte {
		data, err := w.repo.BaseFile(ctx, path)
		if err != nil {
			return nil // it leads nowhere then
		}
		return data
	})
	w.rec.report.Findings = inspect.Sorted(append(w.rec.report.Findings, found...))
	if text := tests.String(); text != "" {
		w.rec.note(text)
	}
}
