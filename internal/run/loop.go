package run

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/org/ralph-action/internal/agent/prompt"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/scm"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/run/guard"
	"github.com/org/ralph-action/internal/run/session"
)

// loop asks the agent until an outcome.
func (w *work) loop(ctx context.Context, baseline []ralph.Verdict) {
	until := loopEnd(w.cfg.Limits, w.rec.started())
	if w.repo == nil && w.local() && !until.IsZero() { // nothing is published
		until = w.rec.started().Add(w.cfg.Limits.Duration)
	}
	l := ralph.Loop{
		Agent:      lean{w.agents},
		Workspace:  w.loopWorkspace(w.live.Pushed),
		Guardrails: w.guardrails(), Jobs: w.jobs(),
		SCM:    w.scm(),
		Ready:  w.ready,
		Prompt: w.prompts(),
		Policy: ralph.Policy{
			Completion: w.cfg.Loop.Completion, MaxIterations: w.cfg.Loop.MaxIterations, MinToolCalls: w.cfg.Loop.MinToolCalls, CallsOnly: w.cfg.Mode == config.ModeSession,
			Resume: w.cfg.Agent.Resume, OnAgentError: w.cfg.Loop.OnAgentError, MaxRetries: w.cfg.Loop.MaxRetries, RetryDelay: w.cfg.Loop.RetryDelay, Delay: w.delay,
			StallLimit: w.stallLimit, QuotaWait: w.cfg.Limits.QuotaWait, Salvage: salvage, Grace: killGrace,
			Checkpoint: w.cfg.Git.Commit != config.CommitAtEnd, CheckpointAtEnd: w.cfg.Git.Commit == config.CommitAtEnd,
		},
		Budget: ralph.Budget{
			Cost: w.costLeft(), Tokens: w.cfg.Limits.Tokens, Until: until,
			Total: w.cfg.Limits.TotalCost, Before: w.history.Cost().Amount,
		},
		Emit:   w.emit,
		Stop:   w.Stop.Halt,
		Jitter: jitter, TakeOver: w.agents.TakeOver,
	}
	if w.tasks != nil {
		l.Mailbox = w.tasks.Mailbox()
	}
	if w.backlog != nil {
		w.backlog.Baseline(baseline)
		l.Backlog = w.backlog
	}
	if w.cfg.Git.AskMessage {
		l.Describe = &ralph.Describe{Question: scm.Question, Read: func(answer string) string { return scm.Message(answer, w.cfg.Loop.Completion, w.rec.redact) }}
	}
	if w.cfg.PullRequest.WaitForCI && w.pushes() && w.repo != nil {
		l.Accept = w.accept
	}
	if why := w.children.OpenNetwork(); why != "" && w.network.Restricted() {
		w.rec.warn("Network access is not restricted: " + why + ". Programs are only asked to use ralph's proxy.")
	}
	r := l.Run(ctx, baseline)
	w.rec.report.Tasks, w.rec.report.Findings = w.backlog.Report(), r.Findings
	w.rec.report.Outcome, w.rec.report.Reason = r.Outcome, r.Reason
	w.rec.report.Iterations, w.rec.report.Baseline, w.rec.report.Budget, w.rec.report.Completion = r.Iterations, r.Baseline, r.Budget, r.Completion
	for _, it := range r.Iterations {
		for _, note := range it.Change.Notes {
			w.rec.note(note)
		}
	}
}

// prompts builds what the agent is asked.
func (w *work) prompts() func(ralph.Ask) (ralph.Prompt, error) {
	switch {
	case w.backlog != nil:
		return w.backlog.Ask
	case w.cfg.Mode == config.ModeSession:
		return func(ask ralph.Ask) (ralph.Prompt, error) { return session.Ask(w.cfg.Loop, w.prompt(), ask) }
	}
	return prompt.Builder{
		Task: w.task, Data: strings.TrimSpace(w.decision.Prompt + "\n\n" + w.conflict), Completion: w.cfg.Loop.Completion, Variables: w.cfg.Prompt.Variables,
		Count: w.cfg.Loop.IterationCount && w.cfg.Loop.MaxIterations > 0, Bare: !w.cfg.Loop.CompletionRule, Say: w.repo != nil,
		Own: w.local() || w.cfg.Mode != config.ModeRun,
	}.Build
}

// ready is asked before each iteration.
func (w *work) ready() error {
	if w.repo != nil {
		w.repo.Judging(false)
	}
	var missing *endError
	if err := w.checkPlan(); errors.As(err, &missing) {
		return &ralph.Refusal{Outcome: missing.outcome, Err: missing.err}
	}
	if w.repo != nil {
		w.repo.Work()
	}
	return nil
}

// emit shows an event and writes it into the session log.
func (w *work) emit(e ralph.Event) {
	if w.Verbose != nil {
		for _, line := range w.Verbose.Lines(e) {
			w.rec.out.Aside(line)
		}
	}
	w.rec.out.Event(e)
	w.rec.last.Follow(e, w.rec.masked)
	w.rec.kept.Event(e)
	w.tasks.Post(e)
	if e.Kind == ralph.EventNotice {
		w.rec.note(e.Text)
	}
	w.keepBooks(e)
	switch e.Kind {
	case ralph.EventIterationStart:
		w.rec.log(logs.SessionHeader(e.Iteration, w.cfg.Mode, e.Step, e.At))
	case ralph.EventKept:
		w.rec.log(e.Text + "\n")
	case ralph.EventIterationEnd:
		if e.Record != nil && w.cfg.Mode == config.ModeSession {
			w.rec.log(session.LastStop(*e.Record).String() + "\n")
		}
		if e.Record != nil {
			w.rec.log(logs.SessionFooter(*e.Record))
		}
	case ralph.EventRetry:
		w.rec.log(logs.SessionRetry(e.Text))
	}
}

// keepBooks notes what the commits, the pull request and the comment tell.
func (w *work) keepBooks(e ralph.Event) {
	switch {
	case e.Kind == ralph.EventCheckpoint && e.Commit.SHA == "":
		w.costs.withdrawn()
	case e.Kind == ralph.EventCheckpoint && e.Commit.Ours:
		w.costs.committed(e.Iteration)
	case e.Kind == ralph.EventIterationEnd && e.Record != nil:
		w.costs.ended(*e.Record)
		w.left.Ended(*e.Record, w.rec.masked)
	}
	w.lane.Event(e)
	w.live.Event(e, &w.rec.report)
}

// taskFile is what a prompt file held.
type taskFile struct {
	text string
	err  error
}

// task is asked for every iteration: a prompt file may be edited meanwhile. The
// branch of an earlier run may hold an older task, or none: what the file was
// when the branch was attached is no edit, and the task read before stands.
func (b *branch) task() (string, error) {
	if b.cfg.Prompt.File == "" {
		return b.cfg.Prompt.Text, nil
	}
	text, err := b.cfg.Task(b.Workspace)
	if text == b.attached.text && (err == nil) == (b.attached.err == nil) {
		return b.cfg.Prompt.Text, nil
	}
	return text, err
}

func (b *branch) guardrails() []ralph.Guardrail {
	specs := make([]guard.Spec, len(b.checks))
	for i, g := range b.checks {
		specs[i] = guard.Spec{Command: g.Command, Action: g.FailAction, Hint: g.Hint, Timeout: g.Timeout, Rule: ralph.Rule{Parallel: g.Parallel, OnChanges: g.When == config.OnChanges}}
	}
	list := guard.New(specs, guard.Setting{
		Process: b.setup.Around(b.sideBySide()), Dir: b.dir(), Env: b.sandboxEnv(nil), Files: b.files, Redact: b.rec.redact,
		OutputBytes: maxOutput, Show: b.rec.out.Foreign, Watch: b.network.WatchEngines, SpillDir: b.temp.store, ToWorkspace: b.toRunFiles(), Truncate: b.cfg.Checks.TruncateChars, Earlier: b.Before.Iterations,
	})
	if b.repo == nil {
		return list
	}
	mu := new(sync.Mutex)
	for i, g := range list {
		list[i] = judging{g, b.repo, mu}
	}
	return list
}

// judging is a guardrail whose files are told apart from the agent's.
type judging struct {
	ralph.Guardrail
	repo *repo.Repo
	mu   *sync.Mutex // they may run side by side
}

func (g judging) Check(ctx context.Context, iteration int, live <-chan struct{}) (ralph.Verdict, func()) {
	if iteration > 0 { // what was made before is marked
		g.mu.Lock()
		g.repo.Judging(true)
		g.mu.Unlock()
	}
	return g.Guardrail.Check(ctx, iteration, live)
}

// maxJobs is how many guardrails run side by side unless somebody says otherwise.
const maxJobs = 4

func (p *plan) jobs() int { return cmp.Or(p.cfg.Checks.Jobs, min(maxJobs, runtime.NumCPU())) }

// jitter makes a wait longer by up to a quarter, and by at most ten seconds.
func jitter(wait time.Duration) time.Duration {
	return rand.N(min(wait/4, 10*time.Second) + 1)
}
