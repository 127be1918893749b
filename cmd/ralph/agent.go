package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/scm"
	"github.com/org/ralph-action/internal/tasks"
)

// cli is the agent and what can be asked of it before it runs.
type cli interface {
	ralph.Agent
	Check(context.Context) error
	Argv(ralph.Prompt) []string
}

// checkAgent finds out before anything is spent whether the agents can work.
func (j *job) checkAgent(ctx context.Context) error {
	args, warnings := agent.Modern(j.cfg.Agent, j.cfg.AgentArgs)
	exact, more := agent.Modern(j.cfg.Agent, j.cfg.AgentExactArgs)
	for _, w := range append(warnings, more...) {
		j.note(w)
		j.out.warn(w)
	}
	o := j.agentOptions(j.cfg.Agent, j.cfg.Model)
	o.Command, o.Args, o.Exact, o.ExactArgs = j.cfg.AgentCommand, args, j.cfg.AgentExact, exact
	o.Plain, o.Filter, o.TextScanFull = j.cfg.OutputFormat == "text", j.cfg.ResponseFilter, j.cfg.TextScanFull
	if j.box != nil {
		o.Command, o.Argument = j.box.Command(), true
	}
	if j.display != nil {
		out := j.out.display() // redacts
		j.atEnd(func() { _ = out.Close() })
		o.Display, o.DisplayProcess, o.DisplayOut = j.cfg.DisplayFilter, j.display, out
	}
	if j.cfg.TaskDir != "" {
		o.Linger = j.linger
	}
	a, err := agent.New(o)
	if err != nil {
		return invalid(err)
	}
	if j.cfg.Resume {
		if err := a.CanResume(); err != nil {
			return invalid(fmt.Errorf("session: resume: %w", err))
		}
	}
	j.agent = a
	switch {
	case j.cfg.TaskDir != "":
		j.agent = &attempts{CLI: a, job: j, options: o}
	case j.cfg.Mode == config.ModeSession && len(o.Hooks) > 0:
		j.agent = &sessions{cli: a, job: j}
	}
	if j.verbose != nil {
		j.out.aside(report.AgentCommand(a.Argv(ralph.Prompt{})...))
	}
	if err := a.Check(ctx); err != nil {
		return invalid(err)
	}
	return invalid(j.checkReviewer(ctx, o))
}

// checkReviewer is checkAgent for the agent that reviews, where that is another
// or has another model.
func (j *job) checkReviewer(ctx context.Context, o agent.Options) error {
	if j.backlog == nil || j.cfg.ReviewAgent == "" && j.cfg.ReviewModel == "" {
		return nil
	}
	if name := cmp.Or(j.cfg.ReviewAgent, j.cfg.Agent); name != j.cfg.Agent {
		o = j.agentOptions(name, j.cfg.ReviewModel)
	} else {
		o.Model = cmp.Or(j.cfg.ReviewModel, j.cfg.Model)
	}
	reviewer, err := agent.New(o)
	if err != nil {
		return fmt.Errorf("review-agent: %w", err)
	}
	if err := reviewer.Check(ctx); err != nil {
		return fmt.Errorf("review-agent: %w", err)
	}
	j.note("Reviews by " + strings.TrimSpace(o.Name+" "+o.Model) + ".")
	j.agent = &pair{cli: j.agent, reviewer: reviewer, backlog: j.backlog}
	return nil
}

// pair is an agent that works, and another that reviews.
type pair struct {
	cli
	reviewer ralph.Agent
	backlog  *backlog
}

// Run asks the one that the step is for.
func (p *pair) Run(ctx context.Context, q ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	if p.backlog.step.Mode == string(tasks.Review) {
		return p.reviewer.Run(ctx, q, emit)
	}
	return p.cli.Run(ctx, q, emit)
}

// agentOptions are what every agent of the run has in common.
func (j *job) agentOptions(name, model string) agent.Options {
	o := agent.Options{
		Name: name, Model: model, Dir: j.dir(), Env: j.agentEnv(name),
		Limits:  proc.Limits{Time: j.cfg.IterationTimeout, Silence: j.cfg.IdleTimeout, FinishGrace: j.cfg.ResultGrace, OutputBytes: maxAgentOutput},
		Root:    j.identity.IsZero() && os.Geteuid() == 0,
		Process: j.children, Mask: j.redact.Writer, Log: j.session,
		LookPath: j.lookPath,
		Scratch:  j.temp.tmp, PromptLog: j.logPrompt, Merge: j.cfg.Variables != nil,
		Hooks: j.hooks(name),
	}
	if len(o.Hooks) > 0 { // a plugin of the user's leaves them to us
		o.Env = append(o.Env, "RALPH_HOOKS=1")
	}
	if j.backlog != nil && len(o.Hooks) > 0 {
		o.Env = append(o.Env, stopCap)
	}
	return o
}

// lookPath finds a program as the agent's child would: a path leads from where
// the agent works, unless a branch or a setup command may still bring it there.
func (j *job) lookPath(name string) (string, error) {
	settled := len(j.cfg.Setup) == 0 && !j.publishes()
	if settled && strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(j.dir(), name)
	}
	return proc.LookPath(name, j.app.environ)
}

// stopCap bounds how often the stop hook of a task list keeps an agent going that
// does not listen. The loop puts the list back and goes on.
const stopCap = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=5"

const maxAgentOutput = 4 << 30 // bytes

// agentEnv is the agent's environment: what every child sees, and the agent's
// own credentials.
func (j *job) agentEnv(name string) []string { return j.guestEnv(agent.Credentials(name)) }

// logPrompt keeps a prompt in the run directory. 001-13
func (j *job) logPrompt(name, text string) {
	if err := j.files.WriteFile(name, j.redact.Bytes([]byte(text))); err != nil {
		j.out.warn(err.Error())
	}
}

// scm are the team's own commit commands; nil when there are none, or when we
// commit.
func (j *job) scm() ralph.SCM {
	if len(j.cfg.SCM.Tasks) == 0 || j.publishes() {
		return nil
	}
	return scm.New(scm.Options{
		Process: j.guests(), Command: j.cfg.SCM.Command, Tasks: j.cfg.SCM.Tasks,
		Dir: j.dir(), Env: j.guestEnv(nil), Redact: j.redact, Show: j.out.guest, OutputBytes: maxOutput,
	})
}
