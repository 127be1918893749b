package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/inspect"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/credentials"
	"github.com/org/ralph-action/internal/run/guard"
	"github.com/org/ralph-action/internal/sandbox/proc"
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
		if err := w.lookForPrograms(ctx); err != nil {
			return nil, invalid(err)
		}
	}
	if len(w.checks) > 0 && w.cfg.Checks.Baseline {
		end := w.rec.out.Section("Baseline: guardrails before any change")
		baseline = (&ralph.Loop{Guardrails: w.guardrails(), Jobs: w.jobs(), Emit: w.emit, Stop: w.Stop.Halt}).Baseline(ctx)
		end()
		w.blameSandbox(ctx, baseline)
		w.rec.report.Baseline = baseline
		if err := guard.Broken(baseline); err != nil {
			return baseline, invalid(err)
		}
	}
	if err := w.agentsInstalled(ctx); err != nil {
		return baseline, err
	}
	if w.repo == nil {
		return baseline, nil
	}
	// What setup, guardrails and the question for the agent's version left behind
	// is no work of the agent.
	ran := len(baseline) > 0 || len(w.cfg.Checks.Setup) > 0 || len(w.cfg.Agent.Command) == 0
	return baseline, invalid(w.repo.Mark(ctx, ran))
}

// setUp runs the setup commands, and looks at what they may have installed.
func (w *work) setUp(ctx context.Context) error {
	w.nameClosed(ctx)
	if err := w.runSetup(ctx); err != nil {
		return err
	}
	return w.checkLargeFiles(ctx)
}

func (s *sandboxed) runSetup(ctx context.Context) error {
	if len(s.cfg.Checks.Setup) == 0 {
		return nil
	}
	defer s.rec.out.Section("Setup")()
	for _, command := range s.cfg.Checks.Setup {
		if s.Stop.halted() {
			return errHalted
		}
		s.rec.out.Say("› " + command)
		show := s.rec.out.Foreign(command)
		w := s.rec.redact.Writer(show)
		script, env, exports, err := s.collected(command)
		if err != nil {
			return invalid(fmt.Errorf("setup %q cannot be started: %w", command, err))
		}
		refused := s.network.counts()
		exit, err := s.afterSetup().Run(ctx, proc.Command{
			Argv: []string{"sh", "-c", script}, Dir: s.dir(), Env: env, Stdout: w, Stderr: w,
			Limits: proc.Limits{Time: setupTimeout, OutputBytes: maxOutput},
		})
		_ = errors.Join(w.Close(), show.Close()) // they show; they decide nothing
		switch {
		case err != nil:
			return invalid(fmt.Errorf("setup %q cannot be started: %w", command, err))
		case exit.Why != proc.Exited:
			return invalid(&setupError{fmt.Errorf("setup %q was ended: %s", command, exit.Why)})
		case exit.Code != 0:
			why := ""
			if addresses := s.network.since(refused); len(addresses) > 0 {
				why = fmt.Sprintf("; meanwhile the sandbox refused %q (docs/network.md)", strings.Join(addresses[:min(len(addresses), 5)], ", "))
			}
			return invalid(&setupError{fmt.Errorf("setup %q failed with exit code %d%s", command, exit.Code, why)})
		}
		if err := s.take(exports); err != nil {
			return invalid(&setupError{fmt.Errorf("setup %q: %w", command, err)})
		}
	}
	return nil
}

// setupError says how a setup command failed, by its own doing.
type setupError struct{ error }
