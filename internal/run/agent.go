package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/scm"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/run/stories"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// cli is an agent, and its command line for people.
type cli interface {
	ralph.Agent
	Argv(ralph.Prompt) []string
}

// checkAgent finds out before anything is spent whether the agents can work: the
// one that works, the one that would take over from it, and the one that reviews.
func (s *sandboxed) checkAgent(ctx context.Context) (agentSet, error) {
	o, outdated, err := s.worker()
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
	worker := &relay{cli: a, name: agentName(o)}
	if err := s.checkFallback(ctx, plain, worker); err != nil {
		return nil, invalid(fmt.Errorf("%s: %w", s.fallbackInput(), err))
	}
	agents, err := s.checkReviewer(ctx, plain, worker)
	return agents, invalid(err)
}

// checkKey ends a run whose agent cannot log in before anything is installed or
// asked for. A login in HOME is looked for later, where the agent will see it.
func (s *sandboxed) checkKey() error {
	if s.docker != "" { // where it may be logged in
		return nil
	}
	o, _, err := s.worker()
	if err != nil {
		return err
	}
	return agent.Ready(o)
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

// option is how an input is given to this run, for a sentence.
func (p *plan) option(name, value string) string { return ralph.Option(p.local(), name, value) }

// worker is the agent that works, with all that was said about it, and what is
// out of date in that.
func (s *sandboxed) worker() (o agent.Options, outdated []string, err error) {
	args, outdated := agent.Modern(s.cfg.Agent.Name, s.cfg.Agent.Args)
	exact, more := agent.Modern(s.cfg.Agent.Name, s.cfg.Agent.ExactArgs)
	o = s.agentOptions(s.cfg.Agent.Name, s.cfg.Agent.Model)
	o.Command, o.Args, o.Exact, o.ExactArgs = s.cfg.Agent.Command, args, s.cfg.Agent.Exact, exact
	o.CommandAt = s.cfg.Sources["agent-command"]
	o.Plain, o.Filter, o.TextScanFull = s.cfg.Output.Format == "text", s.cfg.Output.ResponseFilter, s.cfg.Output.TextScanFull
	o.Effort, o.Provider, o.BaseURL, o.Settings = s.cfg.Agent.Effort, s.cfg.Provider.Name, s.cfg.Provider.BaseURL, s.cfg.Agent.Settings
	o.Filters, o.Delivery = s.cfg.Agent.Filters, s.cfg.Agent.Prompt
	if err := s.withKey(&o); err != nil {
		return o, nil, fmt.Errorf("agent %q: %w", o.Name, err)
	}
	return o, append(outdated, more...), nil
}

// fallback is the agent that would take over; ok is false when there is none.
func (s *sandboxed) fallback(o agent.Options) (next agent.Options, ok bool) {
	if s.cfg.Agent.Fallback == "" && s.cfg.Agent.FallbackModel == "" {
		return o, false
	}
	return s.other(o, cmp.Or(s.cfg.Agent.Fallback, s.cfg.Agent.Name), s.cfg.Agent.FallbackModel), true
}

// reviewer is the agent that reviews; ok is false when that is the one that works.
func (s *sandboxed) reviewer(o agent.Options) (reviewer agent.Options, ok bool) {
	if s.cfg.Tasks.ReviewAgent == "" && s.cfg.Tasks.ReviewModel == "" {
		return o, false
	}
	name, model := cmp.Or(s.cfg.Tasks.ReviewAgent, s.cfg.Agent.Name), s.cfg.Tasks.ReviewModel
	if name == s.cfg.Agent.Name {
		model = cmp.Or(model, s.cfg.Agent.Model)
	}
	return s.other(o, name, model), true
}

// newAgent is an agent that can work, with what the mode puts around it.
func (s *sandboxed) newAgent(ctx context.Context, o agent.Options) (cli, error) {
	if s.cfg.Tasks.Dir != "" {
		o.Linger = s.linger
	}
	a, err := agent.New(o)
	if err != nil {
		return nil, err
	}
	if s.cfg.Agent.Resume {
		if err := a.CanResume(); err != nil {
			return nil, fmt.Errorf("session: resume: %w", err)
		}
	}
	err = s.installed.WhenInstalled(ctx, o.Name, func(ctx context.Context) error {
		if err := a.Check(ctx); err != nil {
			return err
		}
		return s.checkVersion(o, a.Version())
	})
	if err != nil {
		return nil, err
	}
	switch {
	case s.cfg.Tasks.Dir != "":
		return &attempts{CLI: a, box: s, options: o}, nil
	case s.cfg.Mode == config.ModeSession && len(o.Hooks) > 0:
		return &sessions{cli: a, box: s}, nil
	}
	return a, nil
}

// checkVersion compares what the CLI calls itself with what was asked for.
func (s *sandboxed) checkVersion(o agent.Options, version string) error {
	want := s.cfg.Agent.Version
	if o.Name != s.cfg.Agent.Name || want == "" || want == "latest" || len(o.Command) > 0 || slices.Contains(strings.FieldsFunc(version, notOfVersion), want) {
		return nil
	}
	return fmt.Errorf("agent-version: %s is asked for, and the %s that is installed calls itself %q: leave agent-version out, or set %s", want, o.Name, version, s.option("agent-install", "auto"))
}

func notOfVersion(r rune) bool {
	return r != '.' && r != '-' && r != '+' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// other is an agent of another name or with another model than the one that
// works: what was said about that one only holds for the same CLI.
func (s *sandboxed) other(o agent.Options, name, model string) agent.Options {
	if name == o.Name {
		o.Model = model
		return o
	}
	return s.agentOptions(name, model)
}

// checkReviewer is checkAgent for the agent that reviews, where that is another
// or has another model.
func (s *sandboxed) checkReviewer(ctx context.Context, o agent.Options, worker *relay) (agentSet, error) {
	o, ok := s.reviewer(o)
	if !ok || s.stories == nil {
		return worker, nil
	}
	o = s.network.ThroughKeyProxy(o)
	reviewer, err := s.newAgent(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("review-agent: %w", err)
	}
	s.rec.note("Reviews by " + agentName(o) + ".")
	r := &relay{cli: s.apart(reviewer, o, "review", true), name: agentName(o)}
	if r.name != worker.nextName { // else it would take over from itself
		r.next, r.nextName = worker.next, worker.nextName
	}
	return &pair{relay: worker, reviewer: r, stories: s.stories}, nil
}

// agentSet is the agents of a run: who works, and who would take over.
type agentSet interface {
	ralph.Agent
	takeOver(f *ralph.Failure) (why string, ok bool)
}

// agentName is an agent for people: its name and its model.
func agentName(o agent.Options) string { return strings.TrimSpace(o.Name + " " + o.Model) }

// pair is an agent that works, and another that reviews.
type pair struct {
	*relay
	reviewer *relay
	stories  *stories.List
}

// turn is the one that the step is for.
func (p *pair) turn() *relay {
	if p.stories.Reviewing() {
		return p.reviewer
	}
	return p.relay
}

// Run asks the one that the step is for.
func (p *pair) Run(ctx context.Context, q ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	return p.turn().Run(ctx, q, emit)
}

func (p *pair) takeOver(f *ralph.Failure) (string, bool) { return p.turn().takeOver(f) }

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
	tokens := secret.NewFinder(p.cfg.Git.Token, p.cfg.Git.CIToken)
	return tokens.Find([]byte(text)) != nil
}

// withKey puts the key that was given as an input where the agent looks for it.
func (s *sandboxed) withKey(o *agent.Options) error {
	if !s.cfg.Provider.APIKey.IsSet() {
		return nil
	}
	name, err := agent.KeyVariable(*o)
	if err != nil || name == "" {
		return err
	}
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	o.Env = append(o.Env, name+"="+s.cfg.Provider.APIKey.Reveal())
	return nil
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
		Dir: s.dir(), Env: s.sandboxEnv(nil), Redact: s.rec.redact, Show: s.rec.out.Foreign, OutputBytes: maxOutput,
	})
}
