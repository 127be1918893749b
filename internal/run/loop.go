package run

import (
	"context"
	"errors"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/guard"
	"github.com/org/ralph-action/internal/prompt"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/sandbox"
	"github.com/org/ralph-action/internal/scm"
)

// loop asks the agent until an outcome.
func (j *work) loop(ctx context.Context, baseline []ralph.Verdict) {
	l := ralph.Loop{
		Agent:      lean{j.agents},
		Workspace:  j.loopWorkspace(),
		Guardrails: j.guardrails(),
		SCM:        j.scm(),
		Ready:      j.ready,
		Prompt:     j.prompts(),
		Policy: ralph.Policy{
			Completion: j.cfg.Completion, MaxIterations: j.cfg.MaxIterations, MinToolCalls: j.cfg.MinToolCalls, CallsOnly: j.cfg.Mode == config.ModeSession,
			Resume: j.cfg.Resume, OnAgentError: j.cfg.OnAgentError, MaxRetries: j.cfg.MaxRetries, RetryDelay: j.cfg.RetryDelay, Delay: j.delay,
			StallLimit: j.stallLimit, QuotaWait: j.cfg.QuotaWait, Salvage: salvage,
			Checkpoint: j.cfg.Commit != config.CommitAtEnd, CheckpointAtEnd: j.cfg.Commit == config.CommitAtEnd,
		},
		Budget: ralph.Budget{
			Cost: j.cfg.MaxCost, Tokens: j.cfg.MaxTokens, Until: loopEnd(j.cfg, j.rec.started()),
			Total: j.cfg.MaxTotalCost, Before: j.history.Cost().Amount,
		},
		Emit:   j.emit,
		Stop:   j.Stop.Halt,
		Jitter: jitter, TakeOver: j.agents.takeOver,
	}
	if j.tasks != nil {
		l.Mailbox = mailbox{j.tasks.dir, j.rec.redact.Text}
	}
	if j.backlog != nil {
		j.backlog.baseline = baseline
		l.Backlog = j.backlog
	}
	if j.cfg.AskMessage {
		l.Describe = &ralph.Describe{Question: scm.Question, Read: func(answer string) string { return scm.Message(answer, j.rec.redact) }}
	}
	if j.cfg.WaitForCI && j.pushes() && j.repo != nil {
		l.Accept = j.accept
	}
	if why := j.children.OpenNetwork(); why != "" && j.network != nil && j.network.proxy != nil {
		n := "The network is not walled in: " + why + ". Programs are only asked to use ralph's proxy."
		j.rec.warn(n)
	}
	if why := j.forgeable(); why != "" && j.stories != nil && !j.cfg.SkipReview {
		j.rec.note("A program that a reviewer runs could approve in its place: " + why + ". See docs/security.md, Speaking for the agent.")
	}
	r := l.Run(ctx, baseline)
	j.rec.report.Tasks, j.rec.report.Findings = j.backlog.report(), r.Findings
	j.rec.report.Outcome, j.rec.report.Reason = r.Outcome, r.Reason
	j.rec.report.Iterations, j.rec.report.Baseline, j.rec.report.Budget, j.rec.report.Completion = r.Iterations, r.Baseline, r.Budget, r.Completion
	for _, it := range r.Iterations {
		for _, note := range it.Change.Notes {
			j.rec.note(note)
		}
	}
}

// forgeable is why a tool of an agent could speak in its place; "" when it could
// not. Without a sandbox that was not asked for, it goes without saying.
func (j *sandboxed) forgeable() (reason string) {
	switch abi, why := sandbox.Available(); {
	case !j.walled() && !j.local():
		return "isolation is off"
	case !j.walled():
		return ""
	case abi == 0:
		return why
	}
	return j.children.OpenNetwork()
}

// prompts builds what the agent is asked.
func (j *work) prompts() func(ralph.Ask) (ralph.Prompt, error) {
	switch {
	case j.backlog != nil:
		return j.backlog.ask
	case j.cfg.Mode == config.ModeSession:
		return j.askSession
	}
	return prompt.Builder{
		Task: j.task, Data: strings.TrimSpace(j.decision.Prompt + "\n\n" + j.conflict), Completion: j.cfg.Completion, Variables: j.cfg.Variables,
		Count: j.cfg.IterationCount && j.cfg.MaxIterations > 0, Bare: !j.cfg.CompletionRule,
		Own: j.local() || j.cfg.Mode != config.ModeRun,
	}.Build
}

// ready is asked before each iteration.
func (j *work) ready() error {
	if j.repo != nil {
		j.repo.Judging(false)
	}
	var missing *endError
	if err := j.checkPlan(); errors.As(err, &missing) {
		return &ralph.Refusal{Outcome: missing.outcome, Err: missing.err}
	}
	if j.repo != nil {
		j.repo.Work()
	}
	return nil
}

// emit shows an event and writes it into the session log.
func (j *work) emit(e ralph.Event) {
	if j.Verbose != nil {
		for _, line := range j.Verbose.Lines(e) {
			j.rec.out.Aside(line)
		}
	}
	j.rec.out.Event(e)
	j.tasks.post(e)
	if e.Kind == ralph.EventNotice {
		j.rec.note(e.Text)
	}
	j.keepBooks(e)
	switch e.Kind {
	case ralph.EventIterationStart:
		j.rec.log(logs.SessionStepHeader(e.Iteration, j.cfg.Mode, e.Step, e.At))
	case ralph.EventKept:
		j.rec.log(e.Text + "\n")
	case ralph.EventIterationEnd:
		if e.Record != nil && j.cfg.Mode == config.ModeSession {
			j.rec.log(lastStop(*e.Record).String() + "\n")
		}
		if e.Record != nil {
			j.rec.log(logs.SessionFooter(*e.Record))
		}
	case ralph.EventRetry: // 000-38
		j.rec.log(logs.SessionRetry(e.Text))
	}
}

// keepBooks notes what the commits and the comment tell.
func (j *work) keepBooks(e ralph.Event) {
	switch {
	case e.Kind == ralph.EventCheckpoint:
		if e.Commit != nil && e.Commit.Ours {
			j.costs.committed(e.Iteration)
		}
		return
	case e.Kind == ralph.EventIterationEnd && e.Record != nil:
		j.costs.ended(*e.Record)
		if j.telling == nil && !j.cfg.WaitForCI {
			return
		}
		j.seen = append(j.seen, *e.Record)
	case e.Kind != ralph.EventIterationStart:
		return
	}
	if j.telling != nil {
		j.telling.say(j.progress(e.Iteration))
	}
}

// taskFile is what a prompt file held.
type taskFile struct {
	text string
	err  error
}

// task is asked for every iteration: a prompt file may be edited meanwhile. The
// branch of an earlier run may hold an older task, or none: what the file was
// when the branch was attached is no edit, and the task read before stands.
func (j *branch) task() (string, error) {
	if j.cfg.PromptFile == "" {
		return j.cfg.Prompt, nil
	}
	text, err := j.cfg.Task(j.Workspace)
	if text == j.attached.text && (err == nil) == (j.attached.err == nil) {
		return j.cfg.Prompt, nil
	}
	return text, err
}

func (j *branch) guardrails() []ralph.Guardrail {
	specs := make([]guard.Spec, len(j.checks))
	for i, g := range j.checks {
		specs[i] = guard.Spec{Command: g.Command, Action: g.FailAction, Hint: g.Hint, Timeout: g.Timeout, OnChanges: g.When == config.OnChanges}
	}
	list := guard.New(specs, guard.Setting{
		Process: j.withPath(), Dir: j.dir(), Env: j.guestEnv(nil), Files: j.files, Redact: j.rec.redact,
		OutputBytes: maxOutput, Show: j.rec.out.Foreign, Tree: j.tree, ToWorkspace: j.toRunFiles(), Truncate: j.cfg.TruncateChars,
	})
	if j.repo == nil {
		return list
	}
	for i, g := range list {
		list[i] = judging{g, j.repo}
	}
	return list
}

// judging is a guardrail whose files are told apart from the agent's.
type judging struct {
	ralph.Guardrail
	repo *repo.Repo
}

func (g judging) Check(ctx context.Context, iteration int) ralph.Verdict {
	if iteration > 0 { // what was made before is marked
		g.repo.Judging(true)
	}
	return g.Guardrail.Check(ctx, iteration)
}
