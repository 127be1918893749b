// Package run is one run of ralph, from what was asked for to what was published.
//
// It is large: what its stages hand each other, from the plan to the pull request, is of use to
// nobody else. What needs less than a stage is a package below it.
package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/run/credentials"
	"github.com/org/ralph-action/internal/run/crew"
	"github.com/org/ralph-action/internal/run/left"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/run/stepdir"
	"github.com/org/ralph-action/internal/tasks"
)

// Input is what a run is given. It is read only.
type Input struct {
	Config      config.Config
	Problem     error              // what is wrong with Config; nil if nothing is
	Sources     config.LoadOptions // Config was loaded from
	Environ     []string
	Credentials *credentials.OfRun
	Binary
	Workspace string          // absolute
	Runner    *actions.Runner // nil if the run was started locally
	Site      actions.Context // where to publish; zero means nowhere
	Event     actions.Event   // that started the run; zero if started locally
	Output    Printer
	Redactor  *secret.Redactor
	Stop      *StopRequest
	Verbose   *logs.Verbose // nil if not asked for
	Before    Before
}

// Before is what a run goes on with.
type Before struct {
	Resumed    bool             // it goes on with runs before it
	Cost       ralph.Cost       // of those
	Iterations int              // of those that ended
	Limits     map[string]int64 // see [lastrun.Run]
	Left       *left.Left       // what the job's step has left, which Post publishes; nil in a Run
	Step       *stepdir.Dir     // of the step on the runner itself; nil: it has none
	// Locked reports whether the run is a part of another one, which has the workspace for
	// itself, hears who asks it to end, and is the last run of the directory.
	Locked bool
}

// Binary is this program.
type Binary struct {
	Self    string // to start its hidden commands
	Version string
}

// local reports whether the run was started on the command line.
func (in *Input) local() bool { return in.Runner == nil }

// Interrupted notes that the run is to end, and says what is going on.
func (in *Input) Interrupted(text string) {
	in.Stop.ask()
	in.Output.Signal(text)
}

// Run is one run, from what was asked for to what was published. Everything
// before the loop costs no tokens; everything after it happens whatever the
// loop's outcome.
func Run(ctx context.Context, in *Input) ralph.Report {
	undo := &cleanup{}
	defer undo.everything() // after a panic; otherwise the record has done it
	rec := newRecord(in, undo)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	s := newStages(ctx, in.Config.Limits, in.Stop, rec)
	defer s.cancel()
	plan, err := makePlan(s.before, in, rec, undo)
	if s.over("configuration and event", err) {
		return s.refuse()
	}
	branch, ok := s.open(plan, cancel)
	if !ok {
		return s.refuse()
	}
	if s.over("reviews", branch.checkReviews()) { // git has run in the sandbox, which told what is in force
		return s.refuse()
	}
	var agents crew.Agents
	if plan.asks() {
		agents, err = branch.checkAgent(s.before)
	}
	if s.over("agent", err) {
		return s.refuse()
	}
	work, err := attach(s.before, branch, agents)
	if s.over("branch", err) {
		return s.refuse()
	}
	var wave *integrating
	if plan.integrates() {
		wave, err = work.takeWave(s.before)
	}
	if s.over("lanes", err) {
		return s.refuse()
	}
	work.remember()
	if s.over("setup", work.setUp(s.before)) {
		return s.refuse()
	}
	baseline, err := work.runBaseline(s.before)
	if s.over("baseline", err) {
		return s.refuse()
	}
	if wave != nil {
		wave.run(ctx, baseline)
	} else {
		work.loop(ctx, baseline)
	}
	work.judged()
	rec.last.Doing("publishes")
	work.publish(ctx)
	work.keepDiffs(ctx)
	return rec.close()
}

// stages knows whether a run may go on to its next stage.
type stages struct {
	run    context.Context // ends when the run is to stop
	before context.Context // ends also when the loop would have to have ended
	cancel context.CancelFunc
	rec    *Record
	stop   *StopRequest
	at     string // the stage that was the last
	err    error
}

func newStages(ctx context.Context, limits config.Limits, stop *StopRequest, rec *Record) *stages {
	s := &stages{run: ctx, rec: rec, stop: stop}
	if until := loopEnd(limits, rec.started()); until.IsZero() {
		s.before, s.cancel = context.WithCancel(ctx)
	} else {
		s.before, s.cancel = context.WithDeadline(ctx, until)
	}
	return s
}

// open takes the workspace for this run, and looks at it and at the forge; false when the
// run ends there.
func (s *stages) open(p *plan, cancel context.CancelFunc) (*branch, bool) {
	ws, err := openWorkspace(s.before, p, cancel)
	if s.over("workspace", err) {
		return nil, false
	}
	box, err := openSandbox(s.before, ws)
	if s.over("sandbox", err) {
		return nil, false
	}
	server, err := openRemote(s.before, p)
	if s.over("forge", err) {
		return nil, false
	}
	b, err := openRepository(s.before, box, server)
	return b, !s.over("repository", err)
}

// over reports whether the run ends with a stage: it failed, or the run was asked
// to stop meanwhile.
func (s *stages) over(stage string, err error) bool {
	if err == nil && s.stop.halted() {
		err = errHalted
	}
	s.at, s.err = stage, err
	return err != nil
}

// refuse ends a run whose loop never started.
func (s *stages) refuse() ralph.Report {
	r := &s.rec.report
	r.Outcome, r.Reason = ralph.Invalid, s.err.Error()
	r.Busy = errors.Is(s.err, rundir.ErrLocked) || errors.Is(s.err, tasks.ErrLocked)
	var end *endError
	switch {
	case s.run.Err() != nil, errors.Is(s.err, errHalted):
		r.Outcome, r.Reason = ralph.Interrupted, "the run was cancelled before the first iteration"
	case s.before.Err() != nil:
		r.Outcome, r.Reason = ralph.Deadline, "the time of the run (max-duration) was used up before the first iteration: "+s.at
	case errors.As(s.err, &end):
		r.Outcome = end.outcome
	}
	undo(&s.rec.undo.begun)
	s.rec.ended()
	s.rec.refused(s.run, s.err)
	return s.rec.close()
}

// endError is an error that decides the outcome.
type endError struct {
	outcome ralph.Outcome
	err     error
}

func (e *endError) Error() string { return e.err.Error() }
func (e *endError) Unwrap() error { return e.err }

// invalid marks err, unless it is nil, as something the user has to correct.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return &endError{ralph.Invalid, err}
}

var errHalted = errors.New("the run was asked to stop before the first iteration")

// cleanup is what has to be undone on every way out of a run, in reverse order.
type cleanup struct {
	begun  []func() // for a loop that does not come
	before []func() // the record is written
	after  []func()
}

// ifRefused adds what is undone only where the loop never starts.
func (c *cleanup) ifRefused(f func())  { c.begun = append(c.begun, f) }
func (c *cleanup) atEnd(f func())      { c.before = append(c.before, f) }
func (c *cleanup) afterwards(f func()) { c.after = append(c.after, f) }

// everything undoes what is left to undo.
func (c *cleanup) everything() {
	c.workspace()
	undo(&c.after)
}

// workspace undoes what must be undone before the record is written.
func (c *cleanup) workspace() { undo(&c.before) }

func undo(list *[]func()) {
	for _, f := range slices.Backward(*list) {
		f()
	}
	*list = nil
}

// loopEnd is when the loop must have ended so that publishing has its time; zero
// means never.
func loopEnd(limits config.Limits, started time.Time) time.Time {
	if limits.Duration == 0 {
		return time.Time{}
	}
	return started.Add(limits.Duration - min(publishReserve, limits.Duration/5))
}

const (
	publishReserve = 3 * time.Minute  // of max-duration
	publishLimit   = 10 * time.Minute // when there is no max-duration
	maxOutput      = 1 << 30          // bytes a command may print; the log keeps all of it
	// A cancelled job is killed ten seconds after the first signal: SIGINT, 7.5 s,
	// SIGTERM, which changes nothing, 2.5 s, SIGKILL. The agent is ended within
	// killGrace, its work is committed and pushed within salvage, and the forge is
	// told until lastCall. The rest is for what is written on this machine.
	killGrace = 1500 * time.Millisecond
	salvage   = 5500 * time.Millisecond
	lastCall  = 8 * time.Second
)

// SignalText is what is said when a run is asked to end by a signal.
const SignalText = "Received signal, shutting down..."

// StopRequest is the wish that a run ends. It may be used by many goroutines.
type StopRequest struct {
	Halt <-chan struct{} // closed: what is running may finish, then the run ends; nil: never

	mu   sync.Mutex
	when time.Time
}

// ask notes that the run is to end now.
func (s *StopRequest) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.when = time.Now()
}

// asked is when the run was asked to end now; zero if it was not.
func (s *StopRequest) asked() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.when
}

// halted reports whether the run is to end when what is running is over.
func (s *StopRequest) halted() bool {
	select {
	case <-s.Halt:
		return true
	default:
		return false
	}
}
