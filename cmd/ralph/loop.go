package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/prompt"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/guard"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/sandbox"
	"github.com/org/ralph-action/internal/scm"
)

// loop asks the agent until an outcome.
func (j *job) loop(ctx context.Context) {
	l := ralph.Loop{
		Agent:      lean{j.agent},
		Workspace:  j.loopWorkspace(),
		Guardrails: j.guardrails(),
		SCM:        j.scm(),
		Ready:      j.ready,
		Prompt:     j.prompts(),
		Policy: ralph.Policy{
			Completion: j.cfg.Completion, MaxIterations: j.cfg.MaxIterations, MinToolCalls: j.cfg.MinToolCalls, CallsOnly: j.cfg.Mode == config.ModeSession,
			Resume: j.cfg.Resume, OnAgentError: j.cfg.OnAgentError, MaxRetries: j.cfg.MaxRetries, RetryDelay: j.cfg.RetryDelay, Delay: j.cfg.Delay,
			StallLimit: j.cfg.StallLimit, QuotaWait: j.cfg.QuotaWait, Salvage: salvage,
			Checkpoint: j.cfg.Commit != config.CommitAtEnd, CheckpointAtEnd: j.cfg.Commit == config.CommitAtEnd,
		},
		Budget: ralph.Budget{
			Cost: j.cfg.MaxCost, Tokens: j.cfg.MaxTokens, Until: j.until(),
			Total: j.cfg.MaxTotalCost, Before: j.report.History.Cost().Amount,
		},
		Emit:   j.emit,
		Stop:   j.halt,
		Jitter: jitter, TakeOver: j.agent.takeOver,
	}
	if j.tasks != nil {
		l.Mailbox = mailbox{j.tasks, j.redact.Text}
	}
	if j.backlog != nil {
		l.Backlog = j.backlog
	}
	if j.cfg.AskMessage {
		l.Describe = &ralph.Describe{Question: scm.Question, Read: func(answer string) string { return scm.Message(answer, j.redact) }}
	}
	if j.cfg.WaitForCI && j.pushes() && j.repo != nil {
		l.Accept = j.accept
	}
	if why := j.children.OpenNetwork(); why != "" && j.network != nil && j.network.proxy != nil {
		n := "The network is not walled in: " + why + ". Programs are only asked to use ralph's proxy."
		j.note(n)
		j.out.warn(n)
	}
	if why := j.forgeable(); why != "" && j.backlog != nil && !j.cfg.SkipReview {
		j.note("A program that a reviewer runs could approve in its place: " + why + ". See docs/security.md, Speaking for the agent.")
	}
	r := l.Run(ctx, j.baseline)
	j.report.Tasks, j.report.Findings = j.backlog.report(), r.Findings
	j.report.Outcome, j.report.Reason = r.Outcome, r.Reason
	j.report.Iterations, j.report.Baseline, j.report.Budget, j.report.Completion = r.Iterations, r.Baseline, r.Budget, r.Completion
	for _, it := range r.Iterations {
		for _, note := range it.Change.Notes {
			j.note(note)
		}
	}
}

// forgeable is why a tool of an agent could speak in its place; "" when it could
// not. Without a sandbox that was not asked for, it goes without saying.
func (j *job) forgeable() (reason string) {
	switch abi, why := sandbox.Available(); {
	case !j.walled() && j.runner != nil:
		return "isolation is off"
	case !j.walled():
		return ""
	case abi == 0:
		return why
	}
	return j.children.OpenNetwork()
}

// prompts builds what the agent is asked.
func (j *job) prompts() func(ralph.Ask) (ralph.Prompt, error) {
	switch {
	case j.backlog != nil:
		return j.backlog.ask
	case j.cfg.Mode == config.ModeSession:
		return j.askSession
	}
	return prompt.Builder{
		Task: j.task, Data: strings.TrimSpace(j.decision.Prompt + "\n\n" + j.conflict), Completion: j.cfg.Completion, Variables: j.cfg.Variables,
		Count: j.cfg.IterationCount && j.cfg.MaxIterations > 0, Bare: !j.cfg.CompletionRule,
		Own: j.runner == nil || j.cfg.Mode != config.ModeRun,
	}.Build
}

// ready is asked before each iteration.
func (j *job) ready() error {
	if j.repo != nil {
		j.repo.Judging(false)
	}
	var missing *stopped
	if err := j.checkPlan(); errors.As(err, &missing) {
		return &ralph.Refusal{Outcome: missing.outcome, Err: missing.err}
	}
	if j.repo != nil {
		j.repo.Work()
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
	j.keepBooks(e)
	switch e.Kind {
	case ralph.EventIterationStart:
		j.log(report.SessionStepHeader(e.Iteration, j.cfg.Mode, e.Step, e.At))
	case ralph.EventKept:
		j.log(e.Text + "\n")
	case ralph.EventIterationEnd:
		if e.Record != nil && j.cfg.Mode == config.ModeSession {
			j.log(lastStop(*e.Record).String() + "\n")
		}
		if e.Record != nil {
			j.log(report.SessionFooter(*e.Record))
		}
	case ralph.EventRetry: // 000-38
		j.log(report.SessionRetry(e.Text))
	}
}

// keepBooks notes what the commits and the comment tell.
func (j *job) keepBooks(e ralph.Event) {
	switch {
	case e.Kind == ralph.EventCheckpoint:
		if e.Commit != nil && e.Commit.Ours {
			j.ledger.committed(e.Iteration)
		}
		return
	case e.Kind == ralph.EventIterationEnd && e.Record != nil:
		j.ledger.ended(*e.Record)
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
	list := guard.New(specs, guard.Setting{
		Process: j.withPath(), Dir: j.dir(), Env: j.guestEnv(nil), Files: j.files, Redact: j.redact,
		OutputBytes: maxOutput, Show: j.out.guest, Tree: j.tree, ToWorkspace: j.toRunFiles(), Truncate: j.cfg.TruncateChars,
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
