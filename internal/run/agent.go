package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/scm"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/run/crew"
	"github.com/org/ralph-action/internal/run/session"
	"github.com/org/ralph-action/internal/run/supervised"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// checkAgent finds out before anything is spent whether the agents can work: the
// one that works, the one that would take over from it, and the one that reviews.
func (s *sandboxed) checkAgent(ctx context.Context) (crew.Agents, error) {
	o, outdated, err := s.crew().Worker()
	if err != nil {
		return nil, invalid(err)
	}
	for _, w := range append(outdated, agent.Cautions(o)...) {
		s.rec.warn(w)
	}
	plain := o // another model may be another provider's
	o = s.network.ThroughKeyProxy(o)
	if s.box != nil {
		o.Command, o.Argument, o.Process = s.box.Command(), true, s.box
	}
	if s.display != nil {
		out := s.rec.out.Display() // redacts
		s.undo.atEnd(func() { _ = out.Close() })
		o.Display, o.DisplayProcess, o.DisplayOut = s.cfg.Output.DisplayFilter, s.display, out
	}
	a, err := s.newAgent(ctx, o)
	if err != nil {
		return nil, invalid(err)
	}
	if s.Verbose != nil {
		s.rec.out.Aside(logs.AgentCommand(a.Argv(ralph.Prompt{})...))
	}
	s.budgetHolds(o)
	next, err := s.checkFallback(ctx, plain)
	if err != nil {
		return nil, invalid(fmt.Errorf("%s: %w", s.crew().FallbackInput(), err))
	}
	reviewer, err := s.checkReviewer(ctx, plain)
	if err != nil {
		return nil, invalid(fmt.Errorf("review-agent: %w", err))
	}
	return crew.Join(crew.Member{CLI: a, Name: crew.Name(o)}, next, reviewer, s.stories.Reviewing), nil
}

// checkFallback is checkAgent for the agent that would take over; nil if there is none.
func (s *sandboxed) checkFallback(ctx context.Context, o agent.Options) (*crew.Member, error) {
	o, ok := s.crew().Fallback(o)
	if !ok {
		return nil, nil //nolint:nilnil // nobody takes over
	}
	return s.beside(ctx, o, "fallback", false)
}

// checkReviewer is checkAgent for the agent that reviews; nil if that is the one that works.
func (s *sandboxed) checkReviewer(ctx context.Context, o agent.Options) (*crew.Member, error) {
	o, ok := s.crew().Reviewer(o)
	if !ok || s.stories == nil {
		return nil, nil //nolint:nilnil // the one that works reviews
	}
	m, err := s.beside(ctx, o, "review", true)
	if err == nil {
		s.rec.note("Reviews by " + m.Name + ".")
	}
	return m, err
}

// beside is an agent that works in a home of its own; fresh: a new one for each turn.
func (s *sandboxed) beside(ctx context.Context, o agent.Options, home string, fresh bool) (*crew.Member, error) {
	o = s.network.ThroughKeyProxy(o)
	a, err := s.newAgent(ctx, o)
	if err != nil {
		return nil, err
	}
	return &crew.Member{CLI: s.apart(a, o, home, fresh), Name: crew.Name(o)}, nil
}

// crew is what was said about the agents.
func (s *sandboxed) crew() crew.Crew {
	return crew.Crew{Config: s.cfg, Local: s.local(), Options: s.agentOptions}
}

// checkKey ends a run whose agent cannot log in before anything is installed or
// asked for. A login in HOME is looked for later, where the agent will see it.
func (s *sandboxed) checkKey() error {
	if s.docker != "" { // where it may be logged in
		return nil
	}
	o, _, err := s.crew().Worker()
	if err != nil {
		return err
	}
	err = agent.Ready(o)
	if err != nil && !s.cfg.Agent.Install {
		return errors.Join(agent.Found(o), err) // both at once
	}
	return err
}

// budgetHolds warns of a budget that the agent's output gives nothing to hold against.
func (s *sandboxed) budgetHolds(o agent.Options) {
	limits := s.cfg.Limits
	switch {
	case limits.Cost == 0 && limits.TotalCost == 0 && limits.Tokens == 0:
	case s.cfg.Uncounted():
		s.rec.warn("No budget can stop this run: plain text output says neither cost nor tokens. Limit it with max-iterations or max-duration.")
	case catalog.Of(o.Name).UnnamedModel && o.Model == "" && limits.Cost > 0 && len(o.Command) == 0:
		s.rec.warn("max-cost-usd cannot stop " + o.Name + " without model: its output does not say which model it used, so its tokens have no price. Name one, or give max-tokens.")
	}
}

// newAgent is an agent that can work, with what the mode puts around it.
func (s *sandboxed) newAgent(ctx context.Context, o agent.Options) (crew.CLI, error) {
	if s.cfg.Tasks.Dir != "" {
		o.Linger = s.tasks.Linger(s.cfg.Limits.ChildWait, s.rec.out.Say)
	}
	a, err := agent.New(o)
	if err != nil {
		return nil, err
	}
	if s.cfg.Agent.Resume {
		if err := a.CanResume(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.cfg.WhyResume(), err)
		}
	}
	err = s.installed.WhenInstalled(ctx, o.Name, func(ctx context.Context) error {
		if err := a.Check(ctx); err != nil {
			return err
		}
		return s.crew().CheckVersion(o, a.Version())
	})
	if err != nil {
		return nil, err
	}
	switch {
	case s.cfg.Tasks.Dir != "":
		return &supervised.Agent{CLI: a, Folder: s.tasks, Options: o}, nil
	case s.cfg.Mode == config.ModeSession && len(o.Hooks) > 0:
		return &session.Agent{
			CLI: a, Loop: s.cfg.Loop, Task: s.prompt(), State: s.sessionState(), Give: s.giveToSandboxUser, Halted: s.Stop.halted,
		}, nil
	}
	return a, nil
}

// agentOptions are what every agent of the run has in common.
func (s *sandboxed) agentOptions(name, model string) agent.Options {
	o := agent.Options{
		Name: name, Model: model, Dir: s.dir(), Env: s.agentEnv(name),
		Limits:  proc.Limits{Time: s.cfg.Limits.Iteration, Silence: s.cfg.Limits.Idle, FinishGrace: s.cfg.Limits.ResultGrace, OutputBytes: maxAgentOutput},
		Flags:   s.local(),
		Root:    s.identity.IsZero() && os.Geteuid() == 0,
		Process: s.setup.Around(s.children), Mask: s.rec.redact.Writer, Log: s.rec.session,
		LookPath: s.lookPath,
		Scratch:  s.temp.tmp, PromptLog: s.logPrompt, Merge: s.cfg.Prompt.Variables != nil,
		System: s.cfg.Agent.System, MCP: s.cfg.Agent.MCP, Price: s.price,
		Hooks: s.hooks(name),
	}
	if s.network != nil {
		o.Refused = s.network.Watch
	}
	// The tools of an agent of the user's own print where it prints itself.
	if s.stories != nil && name != "text" {
		o.Judges = func() bool { return s.stories.Reviewing() }
	}
	if len(o.Hooks) > 0 { // a plugin of the user's leaves them to us
		o.Env = append(o.Env, "RALPH_HOOKS=1")
	}
	if s.stories != nil && len(o.Hooks) > 0 {
		o.Env = append(o.Env, stopCap)
	}
	return o
}

// lookPath finds a program as the agent's child would: a path leads from where
// the agent works, unless a branch or a setup command may still bring it there.
func (s *sandboxed) lookPath(name string) (string, error) {
	settled := len(s.cfg.Checks.Setup) == 0 && !s.publishes()
	if settled && strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(s.dir(), name)
	}
	return proc.LookPath(name, s.Environ)
}

// stopCap bounds how often the stop hook of a task list keeps an agent going that
// does not listen. The loop puts the list back and goes on.
const stopCap = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=5"

const maxAgentOutput = 4 << 30 // bytes

// agentEnv is the agent's environment: what every child sees, and the agent's
// own credentials. The forge's token is none of them, under whatever name.
func (s *sandboxed) agentEnv(name string) []string {
	allow := slices.DeleteFunc(agent.Credentials(name), func(variable string) bool {
		holds := s.holdsToken(s.getenv(variable))
		if holds {
			n := variable + " contains the forge's token, which no agent gets: give the agent a key of its own."
			if !slices.Contains(s.rec.report.Notes, n) {
				s.rec.warn(n)
			}
		}
		return holds
	})
	return s.sandboxEnv(allow)
}

// holdsToken says that a text holds a token of the forge.
func (p *plan) holdsToken(text string) bool {
	return text != "" && secret.NewFinder(p.cfg.Git.Token, p.cfg.Git.CIToken).Find([]byte(text)) != nil
}

// logPrompt keeps a prompt in the run directory.
func (w *workspace) logPrompt(name, text string) {
	if err := w.files.WriteFile(name, w.rec.redact.Bytes([]byte(text))); err != nil {
		w.rec.out.Warn(err.Error())
	}
}

// scm are the team's own commit commands; nil when there are none. The configuration
// has none where ralph commits.
func (s *sandboxed) scm() ralph.SCM {
	if len(s.cfg.Git.SCM.Tasks) == 0 {
		return nil
	}
	return scm.New(scm.Options{
		Process: s.afterSetup(), Command: s.cfg.Git.SCM.Command, Tasks: s.cfg.Git.SCM.Tasks,
		Dir: s.dir(), Env: s.sandboxEnv(nil), Redact: s.rec.redact, Done: s.cfg.Loop.Completion, Show: s.rec.out.Foreign, OutputBytes: maxOutput,
	})
}

// hooks are the commands an agent's CLI asks while it works, by event; nil when
// it has no hooks or they would be of no use. They advise: what the loop itself
// sees decides.
func (s *sandboxed) hooks(name string) map[string]string {
	if s.cfg.Mode != config.ModeTasks && s.cfg.Mode != config.ModeSession || !catalog.Of(name).Hooks || s.cfg.Agent.Exact || s.box != nil {
		return nil
	}
	ours := config.ShellWords([]string{s.Self}) + " hook "
	hooks := map[string]string{string(hook.Stop): ours + "stop"}
	if s.cfg.Mode == config.ModeSession {
		hooks[string(hook.Stop)] += " --session " + config.ShellWords([]string{s.sessionState()})
	}
	hooks[string(hook.PostToolUse)] = ours + "post-tool-use"
	hooks[string(hook.SessionStart)] = ours + "session-start"
	if s.isolation == config.IsolationOff {
		hooks[string(hook.PreToolUse)] = ours + "pre-tool-use"
	}
	return hooks
}

// sessionState is the file in which the stop hook keeps count. It lies in a
// private folder of the agent's, who may write anything into it: only the hook
// believes it.
func (s *sandboxed) sessionState() string { return filepath.Join(s.temp.tmp, "ralph-session.json") }

// giveToSandboxUser writes a file that is the agent's.
func (s *sandboxed) giveToSandboxUser(path string, data []byte) error {
	_ = os.Remove(path) // the agent may have put anything there
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if !s.identity.IsZero() && err == nil {
		err = f.Chown(s.identity.UID, s.identity.GID)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
