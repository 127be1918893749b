package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/inspect"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/commands"
	"github.com/org/ralph-action/internal/run/credentials"
	"github.com/org/ralph-action/internal/run/guard"
	"github.com/org/ralph-action/internal/run/installation"
	"github.com/org/ralph-action/internal/run/setup"
	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
)

// checkConfiguration says what is wrong with what was asked for, and what is only
// unwise.
func (p *plan) checkConfiguration(problem error) error {
	for _, w := range p.cfg.Warnings {
		p.rec.warn(w)
	}
	var err error
	p.inspect, err = inspect.New(p.cfg.Content, p.cfg.Checks.Guardrails, credentials.Known(p.cfg, p.Environ, p.Credentials.Left))
	p.rec.mask = p.inspect.Mask
	switch wrong := errors.Join(problem, err, p.tokenGiven()); {
	case wrong != nil:
		return invalid(errors.Join(wrong, p.readPrices()))
	case p.cfg.Prompt.Invalid != "":
		return &endError{ralph.PromptInvalid, errors.New(p.cfg.Prompt.Invalid)}
	}
	return invalid(p.readPrices())
}

// tokenGiven refuses what would hand the forge's token to the agent, in whatever
// form.
func (p *plan) tokenGiven() error {
	var wrong []error
	for _, given := range []struct {
		name  string
		texts []string
	}{
		{"agent-command", p.cfg.Agent.Command}, {"agent-args", p.cfg.Agent.Args}, {"agent-exact-args", p.cfg.Agent.ExactArgs},
		{"agent-settings", []string{p.cfg.Agent.Settings}}, {"mcp-config", []string{p.cfg.Agent.MCP}}, {"append-system-prompt", []string{p.cfg.Agent.System}},
	} {
		if slices.ContainsFunc(given.texts, p.holdsToken) {
			wrong = append(wrong, fmt.Errorf("%s contains the forge's token, which no agent gets: give the agent a token of its own, with the rights it needs", given.name))
		}
	}
	return errors.Join(wrong...)
}

// checkPlanAtDesk finds a missing plan before anything else is done, where no
// branch can bring it.
func (p *plan) checkPlanAtDesk() error {
	if p.publishes() {
		return nil
	}
	return p.checkPlan()
}

// checkPlan wants a plan before the agent builds.
func (p *plan) checkPlan() error {
	if p.cfg.Mode != "build" {
		return nil
	}
	if info, err := os.Stat(filepath.Join(p.Workspace, filepath.FromSlash(p.cfg.Prompt.PlanFile))); err != nil || info.IsDir() {
		return &endError{ralph.PlanMissing, errors.New("Implementation plan not found. Run 'ralph plan' first.")} //nolint:revive,staticcheck // the text is a contract
	}
	return nil
}

func (w *work) runBaseline(ctx context.Context) ([]ralph.Verdict, error) {
	var baseline []ralph.Verdict
	if !w.cfg.Checks.Baseline {
		if err := w.afterSetupLook().Missing(ctx, w.checks, w.rec.warn); err != nil {
			return nil, invalid(err)
		}
	}
	if len(w.checks) > 0 && w.cfg.Checks.Baseline {
		end := w.rec.out.Section("Baseline: guardrails before any change")
		baseline = (&ralph.Loop{Guardrails: w.guardrails(), Jobs: w.jobs(), Emit: w.emit, Stop: w.Stop.Halt}).Baseline(ctx)
		end()
		w.afterSetupLook().Blame(ctx, baseline)
		w.rec.report.Baseline = baseline
		if err := guard.Broken(baseline, w.local()); err != nil {
			return baseline, invalid(err)
		}
	}
	if err := w.installed.Wait(ctx); err != nil {
		return baseline, invalid(err)
	}
	if w.repo == nil || len(baseline) == 0 && len(w.cfg.Checks.Setup) == 0 && len(w.cfg.Agent.Command) > 0 {
		return baseline, nil // nothing is published, or nothing has run in the workspace since it was looked at
	}
	// What setup, guardrails and the question for the agent's version left behind
	// is no work of the agent.
	return baseline, invalid(w.repo.Mark(ctx))
}

// setUp runs the setup commands, and looks at what they may have installed.
func (w *work) setUp(ctx context.Context) error {
	if w.sandboxes() && w.box == nil {
		w.look(w.process(), w.getenv("PATH")).NameClosed(ctx, w.Workspace, config.Checks{Guardrails: w.checks, Setup: w.cfg.Checks.Setup}, w.rec.out.Say, w.rec.warn)
	}
	if err := w.runSetup(ctx); err != nil {
		return err
	}
	return w.checkLargeFiles(ctx)
}

// look looks for programs as a process would start them.
func (s *sandboxed) look(p dockersandbox.Process, path string) commands.Look {
	return commands.Look{Process: p, Dir: s.dir(), Env: s.sandboxEnv(nil), Path: path, Sandboxed: s.sandboxes(), Local: s.local()}
}

func (s *sandboxed) afterSetupLook() commands.Look {
	return s.look(s.afterSetup(), s.setup.PathOr(s.getenv("PATH")))
}

func (s *sandboxed) runSetup(ctx context.Context) error {
	o := setup.Options{
		Commands: s.cfg.Checks.Setup, Process: s.process(), Dir: s.dir(), Env: s.sandboxEnv(nil), Path: s.getenv("PATH"),
		Scratch: s.temp.tmp, Identity: s.identity, Network: s.network, OutputBytes: maxOutput,
		Stop: func() error {
			if s.Stop.halted() {
				return errHalted
			}
			return nil
		},
		Redact: s.rec.redact, Show: s.rec.out, Warn: s.rec.warn,
		Own: func(name string) bool {
			agents := installation.Agents(s.cfg)
			return slices.ContainsFunc(agents, func(a string) bool { return slices.Contains(agent.Credentials(a), name) })
		},
	}
	if s.box != nil {
		o.Scratch = "" // our files are not there
	}
	return invalid(s.setup.Run(ctx, o))
}
