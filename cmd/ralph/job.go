package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/dockersandbox"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/rundir"
	"github.com/org/ralph-action/internal/runner"
	"github.com/org/ralph-action/internal/sandbox"
	"github.com/org/ralph-action/internal/secret"
	"github.com/org/ralph-action/internal/taskdir"
	"github.com/org/ralph-action/internal/trigger"
)

// job is one run of the pipeline, on a runner or on a desk.
type job struct {
	app       *app
	cfg       config.Config
	site      runner.Context // zero on a desk
	runner    *runner.Runner // nil on a desk
	out       printer
	redact    *secret.Redactor
	workspace string             // absolute
	wrong     error              // what is wrong with the configuration
	sources   config.LoadOptions // of the configuration, on a runner
	stop      lastOrder          // when the run was asked to stop

	files        *rundir.Dir
	session      *sessionLog
	identity     sandbox.Identity
	person       config.Person // whose name the agent's own commits carry
	temp         temp
	children     *proc.Supervisor
	display      *proc.Supervisor // runs the display filter; nil: there is none
	agent        crew
	forge        *forge.Client // makes the pull request; nil: there will be none
	api          *forge.Client // see client
	pusher       *forge.Client // has the token that pushes; nil: nobody asked for it
	facts        forge.Facts   // what the forge said before anything was spent
	pulls        forge.History // of the branch, as it was asked for last
	event        runner.Event  // that started the run
	decision     trigger.Decision
	telling      *telling          // nil: nobody is told while the run goes on
	comment      forge.CommentRef  // what it writes
	seen         []ralph.Iteration // that ended
	ledger       ledger
	network      *network      // nil: open
	inspect      *inspector    // looks at what is about to be published
	proposed     bool          // the pull request was made before the end, for its checks
	signoff      string        // who signs our commits off; empty: nobody
	conflict     string        // why the branch is not up to its base, for the agent; empty: it is
	contact      *repo.Contact // with the server of the branch; nil: nothing is pushed
	repo         *repo.Repo    // nil: nothing is published
	killed       *repo.Killed  // the run that was killed here before; nil: none
	watcher      *repo.Watcher // nil: nobody asks whether the workspace changes
	start        repo.Start
	stillMissing []ralph.Missing   // left out by the last run on the branch, and not decided about since
	tasks        *taskdir.Dir      // nil: the agent speaks by its words only
	backlog      *backlog          // nil: there is no task list
	box          *dockersandbox.VM // nil: the agent runs on this machine
	wantBox      config.Isolation  // docker-sandbox: it has to; auto: it may run in one; empty: neither
	folder       string            // of the last run in it, by name
	outside      string            // the task folder, when the run's files lie there and not in the workspace
	// defaultBranch is the forge's word; empty when it was not asked.
	defaultBranch string
	attached      taskFile
	baseline      []ralph.Verdict
	prices        prices
	verbose       *report.Verbose // nil: not asked for
	setupPath     string          // PATH as setup left it; empty: as it was
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
	ctx, cancelRun := context.WithCancel(ctx)
	defer cancelRun()
	defer undo(&j.after)
	defer undo(&j.ends) // when something panics; close has done it otherwise

	before := []step{
		{"configuration of the base", j.followBase},
		{"configuration", func(context.Context) error { return j.checkConfiguration() }},
		{"event", j.decide},
		{"task list", func(context.Context) error { return j.readTaskList() }},
		{"workspace", j.openWorkspace},
		{"repository", func(context.Context) error { return j.followCheckout() }},
		{"cancel", func(context.Context) error { j.watchCancel(ctx, cancelRun); return nil }},
		{"plan", func(context.Context) error { return j.checkPlanAtDesk() }},
		{"agent's program", j.installAgents},
		{"private folder", func(context.Context) error { return j.openTemp() }},
		{"network", j.openNetwork},
		{"walls", j.buildWalls},
		{"marker", func(ctx context.Context) error { j.ignoreMarker(ctx); return nil }}, // before git's settings are watched
		{"forge", j.checkForge},
		{"repository", j.openRepository},
		{"reviews", func(context.Context) error { return j.checkReviews() }}, // when git has run in the sandbox, which told what is in force
		{"agent", j.checkAgent},
		{"branch", j.attachBranch},
		{"rules of the branch", j.checkRules},
		{"configuration of agents", j.overlayBase},
		{"comment", j.tellAbout},
		{"pull request", j.holdBack},
		{"task folder", func(context.Context) error { return j.openTaskDir() }},
		{"task list", func(context.Context) error { return j.openTaskList() }},
		{"plan", func(context.Context) error { return j.checkPlan() }},
		{"setup", j.runSetup},
		{"large files", j.checkLargeFiles},
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
			j.tellRefusal(ctx)
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
	if j.runner != nil { // where the record does not end the log
		for _, line := range lines(err) {
			j.out.fail(line)
		}
	}
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
	// SIGTERM, which changes nothing, 2.5 s, SIGKILL. The agent is ended within
	// killGrace, its work is committed and pushed within salvage, and the forge is
	// told until lastCall. The rest is for what is written on this machine.
	killGrace = 1500 * time.Millisecond
	salvage   = 5500 * time.Millisecond
	lastCall  = 8 * time.Second
)
