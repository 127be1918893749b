package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report"
	"github.com/org/ralph-action/internal/scm"
)

// cli is the agent and what can be asked of it before it runs.
type cli interface {
	ralph.Agent
	Check(context.Context) error
	Argv(ralph.Prompt) []string
}

// checkAgent finds out before anything is spent whether the agent can work.
func (j *job) checkAgent(ctx context.Context) error {
	args, warnings := agent.Modern(j.cfg.Agent, j.cfg.AgentArgs)
	exact, more := agent.Modern(j.cfg.Agent, j.cfg.AgentExactArgs)
	for _, w := range append(warnings, more...) {
		j.note(w)
		j.out.warn(w)
	}
	o := agent.Options{
		Name: j.cfg.Agent, Command: j.cfg.AgentCommand, Args: args, Model: j.cfg.Model,
		Exact: j.cfg.AgentExact, ExactArgs: exact, Plain: j.cfg.OutputFormat == "text",
		Dir: j.dir(), Env: j.agentEnv(),
		Limits:  proc.Limits{Time: j.cfg.IterationTimeout, Silence: j.cfg.IdleTimeout, FinishGrace: j.cfg.ResultGrace, OutputBytes: maxAgentOutput},
		Root:    j.identity.IsZero() && os.Geteuid() == 0,
		Process: j.children, Mask: j.redact.Writer, Log: j.session,
		LookPath: j.lookPath,
		Scratch:  j.temp.tmp, PromptLog: j.logPrompt, Filter: j.cfg.ResponseFilter,
		TextScanFull: j.cfg.TextScanFull, Merge: j.cfg.Variables != nil,
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
	j.agent = a
	if j.cfg.TaskDir != "" {
		j.agent = &attempts{CLI: a, job: j, options: o}
	}
	if j.verbose != nil {
		j.out.aside(report.AgentCommand(a.Argv(ralph.Prompt{})...))
	}
	return invalid(a.Check(ctx))
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

const maxAgentOutput = 4 << 30 // bytes

// agentEnv is the agent's environment: what every child sees, and the agent's
// own credentials.
func (j *job) agentEnv() []string { return j.guestEnv(agent.Credentials(j.cfg.Agent)) }

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
		Process: j.children, Command: j.cfg.SCM.Command, Tasks: j.cfg.SCM.Tasks,
		Dir: j.dir(), Env: j.guestEnv(nil), Redact: j.redact, Show: j.out.guest, OutputBytes: maxOutput,
	})
}
