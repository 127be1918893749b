package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/run/stepdir"
	"github.com/org/ralph-action/internal/tasks"
)

// MainWait is for a main part that is ending, or that the runner lost.
const MainWait = 30 * time.Second

const (
	// A runner ends everything five minutes after the cancel. Beside MainWait, it takes four of them.
	postLimit = 210 * time.Second
	maxNote   = 8 << 20 // bytes of a record without its iterations
)

// Left is what a step of a job notes down, in case that it is killed. It lies in the
// record of killed.Find, where the agent has another user, else in the step's own folder.
type Left struct {
	Step string // of which run, attempt and job
	// Files are those that the configuration was read from, as the step found them; nil:
	// there was none of that name. By now they are the agent's.
	Files map[string][]byte
	// Report is masked, and has what is settled: the repository, the task, iterations that
	// are over, and the outcome of a loop that is.
	Report ralph.Report

	note []byte
}

// json is the note for the record.
func (l *Left) json() []byte {
	if l.note == nil {
		l.note, _ = json.Marshal(l) // texts, numbers and times
		if len(l.note) > maxNote {
			short := *l
			short.Report.Iterations = nil
			l.note, _ = json.Marshal(&short)
		}
	}
	return l.note
}

// ended adds an iteration.
func (l *Left) ended(it ralph.Iteration, mask func(string) string) {
	if l != nil {
		masked := report.Redacted(ralph.Report{Iterations: []ralph.Iteration{it}}, mask)
		l.Report.Iterations, l.note = append(l.Report.Iterations, masked.Iterations...), nil
	}
}

// judged notes how the loop ended, before anything of that is published.
func (w *work) judged() {
	if w.left != nil {
		w.left.Report, w.left.note = w.rec.noted(), nil
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

// step names the step of the job that this process is; empty outside of a runner.
func step(getenv func(string) string) string {
	if job := job(getenv); job != "" {
		return job + " " + getenv("GITHUB_ACTION")
	}
	return ""
}

// job names the job, likewise.
func job(getenv func(string) string) string {
	if getenv("GITHUB_RUN_ID") == "" {
		return ""
	}
	var words []string
	for _, name := range []string{"GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB"} {
		words = append(words, getenv(name))
	}
	return strings.Join(words, " ")
}

// beginStep notes that the step's folder is this run's, puts back what earlier steps of the
// job hid that were killed, and clears away what lost jobs left beside it.
func (w *workspace) beginStep() error {
	step, job := w.Before.Step, job(w.getenv)
	if step == nil || w.Before.Left != nil || job == "" {
		return nil
	}
	if err := step.Begin(job); err != nil {
		return err
	}
	same, lost := step.Others(w.getenv("RUNNER_TEMP"), job)
	for _, other := range same {
		if err := restoreOfStep(other, w.rec.tell); err != nil {
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

// restoreOfStep puts back what a step hid that was killed.
func restoreOfStep(d *stepdir.Dir, say func(string)) error {
	if !d.Hides() {
		return nil
	}
	notes, err := putBack(d.Hidden())
	for _, n := range notes {
		say(n)
	}
	return err
}

// supersede forgets the records of earlier steps of the job that were killed while they
// worked on this run's branch, which it goes on with.
func (b *branch) supersede() {
	if b.Before.Step == nil || b.repo == nil {
		return
	}
	same, lost := b.Before.Step.Others(b.getenv("RUNNER_TEMP"), job(b.getenv))
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
	return step(p.getenv)
}

// FindLeft finds what this step of the job has left if it did not end by itself; nil if it
// did. It waits for a step that is still ending, and puts the git settings back that it hid.
// The configuration that names dir, where the agent worked, need not be the step's own.
func FindLeft(ctx context.Context, workspace, dir string, getenv func(string) string, own *stepdir.Dir, say func(string)) (*Left, error) {
	if err := awaitEnd(ctx, workspace, MainWait); err != nil {
		return nil, err
	}
	if own != nil {
		if err := restoreOfStep(own, say); err != nil {
			return nil, err
		}
	}
	found, _, err := findLeft(dir, own)
	if err != nil {
		return &Left{}, nil //nolint:nilerr // Post says so
	}
	if left := leftBy(found, step(getenv)); left != nil {
		return left, nil
	}
	_, marked := os.Lstat(handoverMarker(workspace))
	if store := hiddenStore(workspace); marked == nil || store != "" && oursAlone(store) {
		return &Left{}, nil
	}
	return nil, nil //nolint:nilnil // there is nothing
}

// findLeft finds the record of a killed run, first in its step's own folder: sealed.
func findLeft(dir string, own *stepdir.Dir) (run *killed.Run, sealed bool, err error) {
	if own != nil {
		if run, err = killed.FindIn(own.Root); run != nil || err != nil {
			return run, true, err
		}
	}
	run, err = killed.Find(dir)
	return run, false, err
}

// awaitEnd waits until no run holds the workspace: a docker client that was killed leaves
// its container running.
func awaitEnd(ctx context.Context, workspace string, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if held, _, err := rundir.Held(workspace); err != nil || !held {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("the step before is still at work in the workspace, in a container that the runner did not end: nothing is published in its place")
		case <-tick.C:
		}
	}
}

// leftBy is what a step noted in the record of a run; nil if the record is not its.
func leftBy(found *killed.Run, step string) *Left {
	var left Left
	if found == nil || step == "" || json.Unmarshal(found.Note, &left) != nil || left.Step != step {
		return nil
	}
	return &left
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
	case leftBy(w.killed, w.step()) == nil, w.Before.Left.Step == "": // or not where FindLeft looked
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
	left, r := w.Before.Left.Report, &w.rec.report
	r.Task, r.Duration, r.Baseline, r.Budget, r.Completion, r.Tasks = left.Task, time.Since(left.Started), left.Baseline, left.Budget, left.Completion, left.Tasks
	r.Publication.Checks = left.Publication.Checks
	r.Outcome, r.Reason = ralph.Interrupted, "the run was killed; the job's post step took up what it had left"
	if r.Iterations = left.Iterations; len(r.Iterations) > 0 {
		w.history.Runs = slices.DeleteFunc(w.history.Runs, func(p ralph.Past) bool { return p.Run == w.runID() })
		r.History = w.history
	}
	ctx, cancel := w.publishing(ctx)
	defer cancel()
	it := ralph.Iteration{Number: len(left.Iterations) + 1, Turns: []ralph.Turn{{
		Agent: w.cfg.Agent.Name, ExitCode: -1, Usage: ralph.Usage{Cost: ralph.Cost{Unknown: true}, Tokens: ralph.Tokens{Unknown: true}},
		Failure: &ralph.Failure{Kind: ralph.FailureCancelled, Message: "the run was killed"},
	}}}
	err := w.commitLeft(ctx, &it)
	if err != nil {
		w.failed(ctx, err)
	}
	switch {
	case left.Outcome != "" && err == nil && it.Commit.SHA == "" && ralph.Blocking(r.Findings) == "":
		r.Outcome, r.Reason = left.Outcome, left.Reason+"; the job's post step finished publishing"
		return
	case it.Commit.SHA != "" || w.killed.Working:
		r.Iterations = append(r.Iterations, it)
	}
	if len(w.checks) > 0 {
		w.rec.note("No guardrail has judged what the agent did after the last finished iteration.")
	}
}
