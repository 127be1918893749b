package run

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/killed"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/run/left"
	"github.com/org/ralph-action/internal/tasks"
)

const (
	// A runner ends everything five minutes after the cancel. Beside MainWait, it takes four of them.
	postLimit = 210 * time.Second
)

// judged notes how the loop ended, before anything of that is published.
func (w *work) judged() {
	if w.left != nil {
		w.left.Settle(w.rec.noted())
		w.repo.KeepRecord(false)
	}
}

// noted is the report for the note: the beginning of a long task will do, which is masked
// first, so that no part of a secret stands at its end.
func (r *Record) noted() ralph.Report {
	const most, longer = 64 << 10, 128 << 10
	one := r.report
	one.Task = one.Task[:min(len(one.Task), longer)]
	one = report.Redacted(one, r.masked)
	one.Task = strings.ToValidUTF8(one.Task[:min(len(one.Task), most)], "")
	return one
}

// beginStep notes that the step's folder is this run's, puts back what earlier steps of the
// job hid that were killed, and clears away what lost jobs left beside it.
func (w *workspace) beginStep() error {
	step, job := w.Before.Step, left.Job(w.getenv)
	if step == nil || w.Before.Left != nil || job == "" {
		return nil
	}
	if err := step.Begin(job); err != nil {
		return err
	}
	same, lost := step.Others(w.getenv("RUNNER_TEMP"), job)
	for _, other := range same {
		if err := left.Restore(other, w.rec.tell); err != nil {
			w.rec.warn(err.Error())
		}
		other.Close()
	}
	for _, other := range lost {
		if err := other.Clear(); err != nil {
			w.rec.out.Warn("What a job left here that the runner lost cannot be cleared away: " + err.Error())
		}
	}
	return nil
}

// supersede forgets the records of earlier steps of the job that were killed while they
// worked on this run's branch, which it goes on with.
func (b *branch) supersede() {
	if b.Before.Step == nil || b.repo == nil {
		return
	}
	same, lost := b.Before.Step.Others(b.getenv("RUNNER_TEMP"), left.Job(b.getenv))
	for _, other := range append(same, lost...) {
		if k, err := killed.FindIn(other.Root); err == nil && k != nil && (k.Branch == b.branch() || k.Name == b.branch()) {
			_ = killed.Forget(other.Root)
		}
		other.Close()
	}
}

// step is empty in a run that Post cannot follow.
func (p *plan) step() string {
	if p.local() {
		return ""
	}
	return left.Step(p.getenv)
}

// Post publishes what a step of the job has left that was killed, or had no time to
// publish it. Nothing of the agent's is started; what it left is inspected like all that a
// run publishes. It is false unless all is published.
func Post(ctx context.Context, in *Input) bool {
	undo := &cleanup{}
	defer undo.everything()
	rec := newRecord(in, undo)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	s := newStages(ctx, config.Limits{Duration: postLimit}, in.Stop, rec)
	defer s.cancel()
	plan, err := makePlan(s.before, in, rec, undo)
	if s.over("configuration and event", err) {
		return s.postRefused()
	}
	plan.cfg.Limits.Duration = postLimit
	branch, ok := s.open(plan, cancel)
	if !ok {
		return s.postRefused()
	}
	w := &work{branch: branch}
	w.tellsComment()
	if s.over("branch", branch.attachBranch(s.before)) || s.over("branch", branch.checkRules(s.before)) {
		return s.postRefused()
	}
	w.salvage(ctx)
	w.publish(ctx)
	rec.close()
	return len(rec.report.Publication.Errors) == 0 && ralph.Blocking(rec.report.Findings) == ""
}

// postRefused ends a Post that publishes nothing.
func (s *stages) postRefused() bool {
	if errors.Is(s.err, errNothingLeft) {
		s.rec.out.Say(s.err.Error())
		return true
	}
	r := &s.rec.report
	r.Outcome, r.Reason = ralph.Interrupted, fmt.Sprintf("the run was killed, and what it left was not published: %v. It is unchanged in the workspace", s.err)
	s.rec.ended()
	s.rec.out.Warn("What the killed run left is not published: " + s.err.Error())
	s.rec.refused(s.run, s.err)
	s.rec.close()
	return false
}

var errNothingLeft = errors.New("nothing is left to publish: the step before had begun no work, or its record is gone")

// checkLeft refuses to publish what the agent itself could have put into the record.
func (w *workspace) checkLeft() error {
	switch {
	case w.foreign != nil:
		return fmt.Errorf("the record of the killed run cannot be used: %w", w.foreign)
	case left.By(w.killed, w.step()) == nil, w.Before.Left.Step == "": // or not where left.Find looked
		return errNothingLeft
	case w.isolation == config.IsolationOff, w.identity.IsZero() && !w.sealed:
		return errors.New("without a user of its own (isolation), the agent could have written the record of the run itself")
	}
	return nil
}

// goOn has the repository go on for the killed run.
func (b *branch) goOn(o *repo.Options) {
	o.Branch, o.BranchSuffix, o.Base, o.Salvage = b.killed.Name, "", b.killed.Base, true
	leaves := o.LeaveOut
	o.LeaveOut = func(name string) bool { return b.unjudged(name) || leaves(name) }
}

// unjudged reports whether a file is the task list as the agent of a killed run left it,
// which no review has confirmed: the branch keeps the last one that was judged.
func (b *branch) unjudged(name string) bool {
	list := path.Join("/", filepath.ToSlash(b.cfg.Tasks.RalphDir), tasks.TasksName)
	return b.Before.Left != nil && b.cfg.Mode == config.ModeTasks && strings.HasSuffix("/"+name, list)
}

// salvage commits what the killed run left, as the iteration that it was in. Where it left
// nothing that its loop has not judged, the outcome of that stands.
func (w *work) salvage(ctx context.Context) {
	before, r := w.Before.Left.Report, &w.rec.report
	r.Task, r.Duration, r.Baseline, r.Budget, r.Completion, r.Tasks = before.Task, time.Since(before.Started), before.Baseline, before.Budget, before.Completion, before.Tasks
	r.Publication.Checks = before.Publication.Checks
	r.Outcome, r.Reason = ralph.Interrupted, "the run was killed; the job's post step took up what it had left"
	if r.Iterations = before.Iterations; len(r.Iterations) > 0 {
		w.history.Runs = slices.DeleteFunc(w.history.Runs, func(p ralph.Past) bool { return p.Run == w.runID() })
		r.History = w.history
	}
	ctx, cancel := w.publishing(ctx)
	defer cancel()
	it := ralph.Iteration{Number: len(before.Iterations) + 1, Turns: []ralph.Turn{{
		Agent: w.cfg.Agent.Name, ExitCode: -1, Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}},
		Failure: &ralph.Failure{Kind: ralph.FailureCancelled, Message: "the run was killed"},
	}}}
	err := w.commitLeft(ctx, &it)
	if err != nil {
		w.failed(ctx, err)
	}
	switch {
	case before.Outcome != "" && err == nil && it.Commit.SHA == "" && ralph.Blocking(r.Findings) == "":
		r.Outcome, r.Reason = before.Outcome, before.Reason+"; the job's post step finished publishing"
		return
	case it.Commit.SHA != "" || w.killed.Working:
		r.Iterations = append(r.Iterations, it)
	}
	if len(w.checks) > 0 {
		w.rec.note("No guardrail has judged what the agent did after the last finished iteration.")
	}
}
