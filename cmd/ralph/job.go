package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/guard"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/prompt"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/rundir"
	"github.com/org/ralph-action/internal/runner"
	"github.com/org/ralph-action/internal/sandbox"
	"github.com/org/ralph-action/internal/secret"
	"github.com/org/ralph-action/internal/taskdir"
)

// job is one run of the pipeline, on a runner or on a desk.
type job struct {
	app       *app
	cfg       config.Config
	site      runner.Context // zero on a desk
	runner    *runner.Runner // nil on a desk
	out       printer
	redact    *secret.Redactor
	workspace string    // absolute
	wrong     error     // what is wrong with the configuration
	stop      lastOrder // when the run was asked to stop

	files    *rundir.Dir
	session  *sessionLog
	identity sandbox.Identity
	temp     temp
	children *proc.Supervisor
	display  *proc.Supervisor // runs the display filter; nil: there is none
	agent    cli
	forge    *forge.Client // nil: nothing to publish to
	repo     *repo.Repo    // nil: nothing is published
	watcher  *repo.Watcher // nil: nobody asks whether the workspace changes
	start    repo.Start
	tasks    *taskdir.Dir // nil: the agent speaks by its words only
	folder   string       // of the last run in it, by name
	outside  string       // the task folder, when the run's files lie there and not in the workspace
	// defaultBranch is the forge's word; empty when it was not asked.
	defaultBranch string
	attached      taskFile
	baseline      []ralph.Verdict
	verbose       *report.Verbose // nil: not asked for
	halt          <-chan struct{} // closed: what is running may finish, then the run ends; nil: never

	report  ralph.Report
	written bool     // report.json lies in the run directory
	ends    []func() // undone in reverse order on every way out, before the record is written
	after   []func() // the same, after the record is written
	started time.Time
}

// step is one line of the pipeline.
type step struct {
	name string
	do   func(context.Context) error
}

// stopped is an error that decides the outcome.
type stopped struct {
	outcome ralph.Outcome
	err     error
}

func (s *stopped) Error() string { return s.err.Error() }
func (s *stopped) Unwrap() error { return s.err }

func invalid(err error) error {
	if err == nil {
		return nil
	}
	return &stopped{ralph.Invalid, err}
}

// run is the pipeline, read from top to bottom. Everything before the loop
// costs no money; everything after it happens whatever the loop came to.
func (j *job) run(ctx context.Context) ralph.Report {
	j.started = time.Now()
	j.report = ralph.Report{
		Version: j.app.version(), Started: j.started, Mode: j.cfg.Mode, Task: j.cfg.Prompt, Agent: j.cfg.Agent, Model: j.cfg.Model,
		MaxIterations: j.cfg.MaxIterations, Repository: j.site.Repository, Actor: j.site.Actor, Isolation: string(j.cfg.Isolation),
		Publication: ralph.Publication{ServerURL: j.site.ServerURL, Base: j.cfg.Base, PullRequest: ralph.PullRequest{Operation: ralph.OperationNone}},
	}
	if j.runner != nil {
		j.report.RunURL = j.runner.RunURL()
	}
	defer undo(&j.after)
	defer undo(&j.ends) // when something panics; close has done it otherwise

	before := []step{
		{"configuration", func(context.Context) error { return j.checkConfiguration() }},
		{"workspace", j.openWorkspace},
		{"plan", func(context.Context) error { return j.checkPlanAtDesk() }},
		{"walls", j.buildWalls},
		{"forge", j.checkForge},
		{"repository", j.openRepository},
		{"agent", j.checkAgent},
		{"branch", j.attachBranch},
		{"task folder", func(context.Context) error { return j.openTaskDir() }},
		{"plan", func(context.Context) error { return j.checkPlan() }},
		{"setup", j.runSetup},
		{"guardrails on the untouched tree", j.runBaseline},
	}
	bounded, cancel := j.bounded(ctx)
	defer cancel()
	for _, s := range before {
		err := s.do(bounded)
		if err == nil && j.halted() {
			err = errHalted
		}
		if err != nil {
			j.refuse(ctx, bounded, s.name, err)
			return j.close(ctx)
		}
	}
	j.loop(ctx)
	j.publish(ctx)
	return j.close(ctx)
}

var errHalted = errors.New("the run was asked to stop before the first iteration")

// halted says that the run was asked to stop when what is running is over.
func (j *job) halted() bool {
	select {
	case <-j.halt:
		return true
	default:
		return false
	}
}

// refuse ends a run whose loop never started. ctx ends when somebody wants the
// run to stop, bounded also when its time is over.
func (j *job) refuse(ctx, bounded context.Context, name string, err error) {
	j.report.Outcome, j.report.Reason = ralph.Invalid, err.Error()
	var s *stopped
	switch {
	case ctx.Err() != nil, errors.Is(err, errHalted):
		j.report.Outcome, j.report.Reason = ralph.Interrupted, "the run was cancelled before the first iteration"
	case bounded.Err() != nil:
		j.report.Outcome, j.report.Reason = ralph.Deadline, "the time of the run (max-duration) was used up before the first iteration: "+name
	case errors.As(err, &s):
		j.report.Outcome = s.outcome
	}
	// A desk reads the reason at the end; only several at once need a list.
	if problems := lines(err); j.runner != nil || len(problems) > 1 {
		for _, line := range problems {
			j.out.warn(line)
		}
	}
}

// loop asks the agent until an outcome.
func (j *job) loop(ctx context.Context) {
	l := ralph.Loop{
		Agent:      lean{j.agent},
		Workspace:  j.loopWorkspace(),
		Guardrails: j.guardrails(),
		SCM:        j.scm(),
		Ready:      j.ready,
		Prompt: prompt.Builder{
			Task: j.task, Completion: j.cfg.Completion, Variables: j.cfg.Variables,
			Count: j.cfg.IterationCount && j.cfg.MaxIterations > 0, Bare: !j.cfg.CompletionRule,
		}.Build,
		Policy: ralph.Policy{
			Completion: j.cfg.Completion, MaxIterations: j.cfg.MaxIterations, MinToolCalls: j.cfg.MinToolCalls,
			OnAgentError: j.cfg.OnAgentError, MaxRetries: j.cfg.MaxRetries, RetryDelay: j.cfg.RetryDelay, Delay: j.cfg.Delay,
			StallLimit: j.cfg.StallLimit, Salvage: salvage,
			Checkpoint: j.cfg.Commit != config.CommitAtEnd, CheckpointAtEnd: j.cfg.Commit == config.CommitAtEnd,
		},
		Budget: ralph.Budget{Cost: j.cfg.MaxCost, Tokens: j.cfg.MaxTokens, Until: j.until()},
		Emit:   j.emit,
		Stop:   j.halt,
	}
	if j.tasks != nil {
		l.Mailbox = mailbox{j.tasks, j.redact.Text}
	}
	r := l.Run(ctx, j.baseline)
	j.report.Outcome, j.report.Reason = r.Outcome, r.Reason
	j.report.Iterations, j.report.Baseline, j.report.Budget = r.Iterations, r.Baseline, r.Budget
	for _, it := range r.Iterations {
		for _, note := range it.Change.Notes {
			j.note(note)
		}
	}
}

// checkConfiguration says what is wrong with what was asked for, and what is only
// unwise.
func (j *job) checkConfiguration() error {
	for _, w := range j.cfg.Warnings {
		j.note(w)
		j.out.warn(w)
	}
	switch {
	case j.wrong != nil:
		return invalid(j.wrong)
	case j.cfg.PromptInvalid != "":
		return &stopped{ralph.PromptInvalid, errors.New(j.cfg.PromptInvalid)}
	}
	return nil
}

// checkPlanAtDesk finds a missing plan before anything else is done, where no
// branch can bring it.
func (j *job) checkPlanAtDesk() error {
	if j.publishes() {
		return nil
	}
	return j.checkPlan()
}

// checkPlan wants a plan before the agent builds. 000-11
func (j *job) checkPlan() error {
	if j.cfg.Mode != "build" {
		return nil
	}
	if info, err := os.Stat(filepath.Join(j.workspace, filepath.FromSlash(j.cfg.PlanFile))); err != nil || info.IsDir() {
		return &stopped{ralph.PlanMissing, errors.New("Implementation plan not found. Run 'ralph plan' first.")} //nolint:revive,staticcheck // the text is a contract
	}
	return nil
}

// ready is asked before each iteration.
func (j *job) ready() error {
	var missing *stopped
	if err := j.checkPlan(); errors.As(err, &missing) {
		return &ralph.Refusal{Outcome: missing.outcome, Err: missing.err}
	}
	return nil
}

// note keeps what a user should know, once.
func (j *job) note(text string) {
	if !slices.Contains(j.report.Notes, text) {
		j.report.Notes = append(j.report.Notes, text)
	}
}

// emit shows an event and writes it into the session log.
func (j *job) emit(e ralph.Event) {
	if j.verbose != nil {
		for _, line := range j.verbose.Lines(e) {
			j.out.aside(line)
		}
	}
	j.out.event(e)
	j.post(e)
	if e.Kind == ralph.EventNotice {
		j.note(e.Text)
	}
	switch e.Kind {
	case ralph.EventIterationStart:
		j.log(report.SessionHeader(e.Iteration, j.cfg.Mode, e.At))
	case ralph.EventIterationEnd:
		if e.Record != nil {
			j.log(report.SessionFooter(*e.Record))
		}
	case ralph.EventRetry: // 000-38
		j.log(report.SessionRetry(e.Text))
	}
}

// log writes lines of ours, which begin on a line of their own. A full disk must
// not end the run.
func (j *job) log(text string) {
	if j.session == nil {
		return
	}
	if j.session.midLine() {
		text = "\n" + text
	}
	_, _ = io.WriteString(j.session, j.redact.Text(text))
}

// taskFile is what a prompt file held.
type taskFile struct {
	text string
	err  error
}

// task is asked for every iteration: a prompt file may be edited meanwhile. The
// branch of an earlier run may hold an older task, or none: what the file was
// when the branch was attached is no edit, and the task read before stands.
func (j *job) task() (string, error) {
	if j.cfg.PromptFile == "" {
		return j.cfg.Prompt, nil
	}
	text, err := j.cfg.Task(j.workspace)
	if text == j.attached.text && (err == nil) == (j.attached.err == nil) {
		return j.cfg.Prompt, nil
	}
	return text, err
}

func (j *job) guardrails() []ralph.Guardrail {
	specs := make([]guard.Spec, len(j.cfg.Guardrails))
	for i, g := range j.cfg.Guardrails {
		specs[i] = guard.Spec{Command: g.Command, Action: g.FailAction, Hint: g.Hint, Timeout: g.Timeout, OnChanges: g.When == config.OnChanges}
	}
	return guard.New(specs, guard.Setting{
		Process: j.children, Dir: j.dir(), Env: j.guestEnv(nil), Files: j.files, Redact: j.redact,
		OutputBytes: maxOutput, Show: j.out.guest, Tree: j.tree, ToWorkspace: j.toRunFiles(), Truncate: j.cfg.TruncateChars,
	})
}

func (j *job) runBaseline(ctx context.Context) error {
	if len(j.cfg.Guardrails) > 0 && j.cfg.Baseline {
		end := j.out.section("Guardrails on the untouched tree")
		j.baseline = (&ralph.Loop{Guardrails: j.guardrails(), Emit: j.emit, Stop: j.halt}).Baseline(ctx)
		end()
		j.report.Baseline = j.baseline
		if err := guard.Broken(j.baseline); err != nil {
			return invalid(err)
		}
	}
	if j.repo == nil || len(j.baseline) == 0 && len(j.cfg.Setup) == 0 && len(j.cfg.AgentCommand) > 0 {
		return nil // nothing is published, or nothing has run in the workspace since it was looked at
	}
	// What setup, guardrails and the question for the agent's version left behind
	// is no work of the agent.
	return invalid(j.repo.Mark(ctx))
}

func (j *job) runSetup(ctx context.Context) error {
	if len(j.cfg.Setup) == 0 {
		return nil
	}
	defer j.out.section("Setup")()
	for _, command := range j.cfg.Setup {
		if j.halted() {
			return errHalted
		}
		j.out.say("› " + command)
		show := j.out.guest()
		w := j.redact.Writer(show)
		exit, err := j.children.Run(ctx, proc.Command{
			Argv: []string{"sh", "-c", command}, Dir: j.dir(), Env: j.guestEnv(nil), Stdout: w, Stderr: w,
			Limits: proc.Limits{Time: setupTimeout, OutputBytes: maxOutput},
		})
		_ = errors.Join(w.Close(), show.Close()) // they show; they decide nothing
		switch {
		case err != nil:
			return invalid(fmt.Errorf("setup %q cannot be started: %w", command, err))
		case exit.Why != proc.Exited:
			return invalid(fmt.Errorf("setup %q was ended: %s", command, exit.Why))
		case exit.Code != 0:
			return invalid(fmt.Errorf("setup %q failed with exit code %d", command, exit.Code))
		}
	}
	return nil
}

// dir is where the agent works.
func (j *job) dir() string {
	return filepath.Join(j.workspace, filepath.FromSlash(j.cfg.WorkingDirectory))
}

// toRunFiles leads from where the agent works to the folder that holds .ralph;
// "" when they are the same.
func (j *job) toRunFiles() string {
	way, err := filepath.Rel(j.dir(), j.place())
	if err != nil || way == "." {
		return ""
	}
	return filepath.ToSlash(way)
}

// undo takes back what was changed for the run, once.
func undo(list *[]func()) {
	for _, f := range slices.Backward(*list) {
		f()
	}
	*list = nil
}

func (j *job) atEnd(f func())      { j.ends = append(j.ends, f) }
func (j *job) afterwards(f func()) { j.after = append(j.after, f) }

// until is when the loop must have ended so that publishing has its time.
func (j *job) until() time.Time {
	if j.cfg.MaxDuration == 0 {
		return time.Time{}
	}
	return j.started.Add(j.cfg.MaxDuration - min(publishReserve, j.cfg.MaxDuration/5))
}

// bounded ends with ctx, and when the loop must have ended.
func (j *job) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if until := j.until(); !until.IsZero() {
		return context.WithDeadline(ctx, until)
	}
	return context.WithCancel(ctx)
}

const (
	publishReserve = 3 * time.Minute  // of max-duration
	publishLimit   = 10 * time.Minute // when there is no max-duration
	setupTimeout   = 30 * time.Minute
	maxOutput      = 1 << 30 // bytes a command may print; the log keeps all of it
	// A cancelled job is killed ten seconds after the first signal: SIGINT, 7.5 s,
	// SIGTERM, 2.5 s, SIGKILL. The agent is ended within killGrace, its work is
	// committed and pushed within salvage, and all is said before lastCall.
	killGrace = 1500 * time.Millisecond
	salvage   = 4 * time.Second
	lastCall  = 6500 * time.Millisecond
)

// temp is where the private files of a run lie: home, tmp and index are the
// guest's, store is ours.
type temp struct {
	root, home, tmp, index, store string
	keep                          bool // the store holds what exists nowhere else
}

func (j *job) removeTemp() {
	if !j.temp.keep {
		_ = os.RemoveAll(j.temp.root)
		return
	}
	for _, dir := range []string{j.temp.home, j.temp.tmp, j.temp.index} {
		_ = os.RemoveAll(dir)
	}
}

// newTemp makes the private folders below dir.
func newTemp(dir string, guest sandbox.Identity) (t temp, err error) {
	if t.root, err = os.MkdirTemp(dir, "ralph-"); err != nil {
		return t, err
	}
	guests := []*string{&t.home, &t.tmp, &t.index}
	for i, dir := range append(guests, &t.store) {
		*dir = filepath.Join(t.root, []string{"home", "tmp", "index", "store"}[i])
		err = errors.Join(err, os.Mkdir(*dir, 0o700))
	}
	err = errors.Join(err, os.Chmod(t.root, 0o711)) // #nosec G302 -- the guest walks through it to its own folders
	if !guest.IsZero() {
		for _, dir := range guests {
			err = errors.Join(err, os.Chown(*dir, guest.UID, guest.GID))
		}
	}
	return t, err
}
