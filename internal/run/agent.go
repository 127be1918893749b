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
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/scm"
	"github.com/org/ralph-action/internal/secret"
	"github.com/org/ralph-action/internal/tasks"
)

// cli is an agent, and its command line for people.
type cli interface {
	ralph.Agent
	Argv(ralph.Prompt) []string
}

// checkAgent finds out before anything is spent whether the agents can work: the
// one that works, the one that would take over from it, and the one that reviews.
func (j *sandboxed) checkAgent(ctx context.Context) (crew, error) {
	o, outdated, err := j.worker()
	if err != nil {
		return nil, invalid(err)
	}
	for _, w := range append(outdated, agent.Cautions(o)...) {
		j.rec.warn(w)
	}
	plain := o // another model may be another provider's
	o = j.throughDoor(o)
	if j.box != nil {
		o.Command, o.Argument = j.box.Command(), true
	}
	if j.display != nil {
		out := j.rec.out.Display() // redacts
		j.undo.atEnd(func() { _ = out.Close() })
		o.Display, o.DisplayProcess, o.DisplayOut = j.cfg.DisplayFilter, j.display, out
	}
	a, err := j.newAgent(ctx, o)
	if err != nil {
		return nil, invalid(err)
	}
	if j.Verbose != nil {
		j.rec.out.Aside(logs.AgentCommand(a.Argv(ralph.Prompt{})...))
	}
	if o.Name == "codex" && o.Model == "" && j.cfg.MaxCost > 0 && len(o.Command) == 0 {
		n := "max-cost-usd cannot stop codex without model: its output does not say which model it used, so its tokens have no price. Name one, or give max-tokens."
		j.rec.warn(n)
	}
	worker := &relay{cli: a, name: agentName(o)}
	if err := j.checkFallback(ctx, plain, worker); err != nil {
		return nil, invalid(fmt.Errorf("%s: %w", j.fallbackInput(), err))
	}
	agents, err := j.checkReviewer(ctx, plain, worker)
	return agents, invalid(err)
}

// worker is the agent that works, with all that was said about it, and what is
// out of date in that.
func (j *sandboxed) worker() (o agent.Options, outdated []string, err error) {
	args, outdated := agent.Modern(j.cfg.Agent, j.cfg.AgentArgs)
	exact, more := agent.Modern(j.cfg.Agent, j.cfg.AgentExactArgs)
	o = j.agentOptions(j.cfg.Agent, j.cfg.Model)
	o.Command, o.Args, o.Exact, o.ExactArgs = j.cfg.AgentCommand, args, j.cfg.AgentExact, exact
	o.CommandAt = j.cfg.Sources["agent-command"]
	o.Plain, o.Filter, o.TextScanFull = j.cfg.OutputFormat == "text", j.cfg.ResponseFilter, j.cfg.TextScanFull
	o.Effort, o.Provider, o.BaseURL, o.Settings = j.cfg.Effort, j.cfg.Provider, j.cfg.BaseURL, j.cfg.AgentSettings
	o.Filters, o.Delivery = j.cfg.AgentFilters, j.cfg.AgentPrompt
	if err := j.withKey(&o); err != nil {
		return o, nil, fmt.Errorf("agent %q: %w", o.Name, err)
	}
	return o, append(outdated, more...), nil
}

// fallback is the agent that would take over; ok is false when there is none.
func (j *sandboxed) fallback(o agent.Options) (next agent.Options, ok bool) {
	if j.cfg.FallbackAgent == "" && j.cfg.FallbackModel == "" {
		return o, false
	}
	return j.other(o, cmp.Or(j.cfg.FallbackAgent, j.cfg.Agent), j.cfg.FallbackModel), true
}

// reviewer is the agent that reviews; ok is false when that is the one that works.
func (j *sandboxed) reviewer(o agent.Options) (reviewer agent.Options, ok bool) {
	if j.cfg.ReviewAgent == "" && j.cfg.ReviewModel == "" {
		return o, false
	}
	name, model := cmp.Or(j.cfg.ReviewAgent, j.cfg.Agent), j.cfg.ReviewModel
	if name == j.cfg.Agent {
		model = cmp.Or(model, j.cfg.Model)
	}
	return j.other(o, name, model), true
}

// newAgent is an agent that can work, with what the mode puts around it.
func (j *sandboxed) newAgent(ctx context.Context, o agent.Options) (cli, error) {
	if j.cfg.TaskDir != "" {
		o.Linger = j.linger
	}
	a, err := agent.New(o)
	if err != nil {
		return nil, err
	}
	if j.cfg.Resume {
		if err := a.CanResume(); err != nil {
			return nil, fmt.Errorf("session: resume: %w", err)
		}
	}
	if err := a.Check(ctx); err != nil {
		return nil, err
	}
	if err := j.checkVersion(o, a.Version()); err != nil {
		return nil, err
	}
	switch {
	case j.cfg.TaskDir != "":
		return &attempts{CLI: a, box: j, options: o}, nil
	case j.cfg.Mode == config.ModeSession && len(o.Hooks) > 0:
		return &sessions{cli: a, box: j}, nil
	}
	return a, nil
}

// checkVersion compares what the CLI calls itself with what was asked for.
func (j *sandboxed) checkVersion(o agent.Options, version string) error {
	want := j.cfg.AgentVersion
	if o.Name != j.cfg.Agent || want == "" || want == "latest" || len(o.Command) > 0 || slices.Contains(strings.FieldsFunc(version, notOfVersion), want) {
		return nil
	}
	return fmt.Errorf("agent-version: %s is asked for, and the %s that is installed calls itself %q: leave agent-version out, or set agent-install: auto", want, o.Name, version)
}

func notOfVersion(r rune) bool {
	return r != '.' && r != '-' && r != '+' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}

// other is an agent of another name or with another model than the one that
// works: what was said about that one only holds for the same CLI.
func (j *sandboxed) other(o agent.Options, name, model string) agent.Options {
	if name == o.Name {
		o.Model = model
		return o
	}
	return j.agentOptions(name, model)
}

// checkReviewer is checkAgent for the agent that reviews, where that is another
// or has another model.
func (j *sandboxed) checkReviewer(ctx context.Context, o agent.Options, worker *relay) (crew, error) {
	o, ok := j.reviewer(o)
	if !ok || j.stories == nil {
		return worker, nil
	}
	o = j.throughDoor(o)
	reviewer, err := j.newAgent(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("review-agent: %w", err)
	}
	j.rec.note("Reviews by " + agentName(o) + ".")
	r := &relay{cli: j.apart(reviewer, o, "review", true), name: agentName(o)}
	if r.name != worker.nextName { // else it would take over from itself
		r.next, r.nextName = worker.next, worker.nextName
	}
	return &pair{relay: worker, reviewer: r, stories: j.stories}, nil
}

// crew are the agents of a run: who works, and who would take over.
type crew interface {
	ralph.Agent
	takeOver(f *ralph.Failure) (why string, ok bool)
}

// agentName is an agent for people: its name and its model.
func agentName(o agent.Options) string { return strings.TrimSpace(o.Name + " " + o.Model) }

// pair is an agent that works, and another that reviews.
type pair struct {
	*relay
	reviewer *relay
	stories  *storyList
}

// turn is the one that the step is for.
func (p *pair) turn() *relay {
	if p.stories.step.Mode == string(tasks.Review) {
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
func (j *sandboxed) agentOptions(name, model string) agent.Options {
	o := agent.Options{
		Name: name, Model: model, Dir: j.dir(), Env: j.agentEnv(name),
		Limits:  proc.Limits{Time: j.cfg.IterationTimeout, Silence: j.cfg.IdleTimeout, FinishGrace: j.cfg.ResultGrace, OutputBytes: maxAgentOutput},
		Root:    j.identity.IsZero() && os.Geteuid() == 0,
		Process: pathed{j.children, j}, Mask: j.rec.redact.Writer, Log: j.rec.session,
		LookPath: j.lookPath,
		Scratch:  j.temp.tmp, PromptLog: j.logPrompt, Merge: j.cfg.Variables != nil,
		System: j.cfg.System, MCP: j.cfg.MCP, Price: j.price,
		Hooks: j.hooks(name),
	}
	if n := j.network; n != nil {
		o.Refused = func() func() []string {
			before := n.counts()
			return func() []string { return n.since(before) }
		}
	}
	// The tools of an agent of the user's own print where it prints itself.
	if j.stories != nil && name != "text" {
		o.Judges = func() bool { return j.stories.step.Mode == string(tasks.Review) }
	}
	if len(o.Hooks) > 0 { // a plugin of the user's leaves them to us
		o.Env = append(o.Env, "RALPH_HOOKS=1")
	}
	if j.stories != nil && len(o.Hooks) > 0 {
		o.Env = append(o.Env, stopCap)
	}
	return o
}

// lookPath finds a program as the agent's child would: a path leads from where
// the agent works, unless a branch or a setup command may still bring it there.
func (j *sandboxed) lookPath(name string) (string, error) {
	settled := len(j.cfg.Setup) == 0 && !j.publishes()
	if settled && strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(j.dir(), name)
	}
	return proc.LookPath(name, j.Environ)
}

// stopCap bounds how often the stop hook of a task list keeps an agent going that
// does not listen. The loop puts the list back and goes on.
const stopCap = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=5"

const maxAgentOutput = 4 << 30 // bytes

// agentEnv is the agent's environment: what every child sees, and the agent's
// own credentials. The forge's token is none of them, under whatever name.
func (j *sandboxed) agentEnv(name string) []string {
	allow := slices.DeleteFunc(agent.Credentials(name), func(variable string) bool {
		holds := j.holdsToken(j.getenv(variable))
		if holds {
			n := variable + " holds the token of the forge, which no agent gets: give the agent a key of its own."
			if !slices.Contains(j.rec.report.Notes, n) {
				j.rec.warn(n)
			}
		}
		return holds
	})
	return j.guestEnv(allow)
}

// holdsToken says that a text holds a token of the forge.
func (j *plan) holdsToken(text string) bool {
	tokens := secret.NewFinder(j.cfg.Token, j.cfg.CIToken)
	return tokens.Find([]byte(text)) != nil
}

// withKey puts the key that was given as an input where the agent looks for it.
func (j *sandboxed) withKey(o *agent.Options) error {
	if !j.cfg.APIKey.IsSet() {
		return nil
	}
	name, err := agent.KeyVariable(*o)
	if err != nil || name == "" {
		return err
	}
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	o.Env = append(o.Env, name+"="+j.cfg.APIKey.Reveal())
	return nil
}

// logPrompt keeps a prompt in the run directory. 001-13
func (j *workspace) logPrompt(name, text string) {
	if err := j.files.WriteFile(name, j.rec.redact.Bytes([]byte(text))); err != nil {
		j.rec.out.Warn(err.Error())
	}
}

// scm are the team's own commit commands; nil when there are none, or when we
// commit.
func (j *sandboxed) scm() ralph.SCM {
	if len(j.cfg.SCM.Tasks) == 0 || j.publishes() {
		return nil
	}
	return scm.New(scm.Options{
		Process: j.withPath(), Command: j.cfg.SCM.Command, Tasks: j.cfg.SCM.Tasks,
		Dir: j.dir(), Env: j.guestEnv(nil), Redact: j.rec.redact, Show: j.rec.out.Foreign, OutputBytes: maxOutput,
	})
}
