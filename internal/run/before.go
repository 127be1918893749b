package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/ralph-action/internal/guard"
	"github.com/org/ralph-action/internal/inspect"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/credentials"
)

// checkConfiguration says what is wrong with what was asked for, and what is only
// unwise.
func (j *plan) checkConfiguration(problem error) error {
	for _, w := range j.cfg.Warnings {
		j.rec.warn(w)
	}
	var err error
	j.inspect, err = inspect.New(j.cfg, credentials.Known(j.cfg, j.Environ, j.Credentials.Left))
	j.rec.mask = j.inspect.Mask
	switch wrong := errors.Join(problem, err, j.tokenGiven()); {
	case wrong != nil:
		return invalid(errors.Join(wrong, j.readPrices()))
	case j.cfg.PromptInvalid != "":
		return &endError{ralph.PromptInvalid, errors.New(j.cfg.PromptInvalid)}
	}
	return invalid(j.readPrices())
}

// tokenGiven refuses what would hand the forge's token to the agent, in whatever
// form.
func (j *plan) tokenGiven() error {
	var wrong []error
	for _, given := range []struct {
		name  string
		texts []string
	}{
		{"agent-command", j.cfg.AgentCommand}, {"agent-args", j.cfg.AgentArgs}, {"agent-exact-args", j.cfg.AgentExactArgs},
		{"agent-settings", []string{j.cfg.AgentSettings}}, {"mcp-config", []string{j.cfg.MCP}}, {"append-system-prompt", []string{j.cfg.System}},
	} {
		if slices.ContainsFunc(given.texts, j.holdsToken) {
			wrong = append(wrong, fmt.Errorf("%s holds the token of the forge, which no agent gets: give the agent a token of its own, with the rights it needs", given.name))
		}
	}
	return errors.Join(wrong...)
}

// checkPlanAtDesk finds a missing plan before anything else is done, where no
// branch can bring it.
func (j *plan) checkPlanAtDesk() error {
	if j.publishes() {
		return nil
	}
	return j.checkPlan()
}

// checkPlan wants a plan before the agent builds. 000-11
func (j *plan) checkPlan() error {
	if j.cfg.Mode != "build" {
		return nil
	}
	if info, err := os.Stat(filepath.Join(j.Workspace, filepath.FromSlash(j.cfg.PlanFile))); err != nil || info.IsDir() {
		return &endError{ralph.PlanMissing, errors.New("Implementation plan not found. Run 'ralph plan' first.")} //nolint:revive,staticcheck // the text is a contract
	}
	return nil
}

func (j *work) runBaseline(ctx context.Context) ([]ralph.Verdict, error) {
	var baseline []ralph.Verdict
	if len(j.checks) > 0 && j.cfg.Baseline {
		end := j.rec.out.Section("Guardrails on the untouched tree")
		baseline = (&ralph.Loop{Guardrails: j.guardrails(), Emit: j.emit, Stop: j.Stop.Halt}).Baseline(ctx)
		end()
		j.rec.report.Baseline = baseline
		if err := guard.Broken(baseline); err != nil {
			return baseline, invalid(err)
		}
	}
	if j.repo == nil || len(baseline) == 0 && len(j.cfg.Setup) == 0 && len(j.cfg.AgentCommand) > 0 {
		return baseline, nil // nothing is published, or nothing has run in the workspace since it was looked at
	}
	// What setup, guardrails and the question for the agent's version left behind
	// is no work of the agent.
	return baseline, invalid(j.repo.Mark(ctx))
}

// setUp runs the setup commands, and looks at what they may have installed.
func (j *work) setUp(ctx context.Context) error {
	if err := j.runSetup(ctx); err != nil {
		return err
	}
	return j.checkLargeFiles(ctx)
}

func (j *sandboxed) runSetup(ctx context.Context) error {
	if len(j.cfg.Setup) == 0 {
		return nil
	}
	defer j.rec.out.Section("Setup")()
	for _, command := range j.cfg.Setup {
		if j.Stop.halted() {
			return errHalted
		}
		j.rec.out.Say("› " + command)
		show := j.rec.out.Foreign()
		w := j.rec.redact.Writer(show)
		script, env := j.tellingPath(command)
		exit, err := j.withPath().Run(ctx, proc.Command{
			Argv: []string{"sh", "-c", script}, Dir: j.dir(), Env: append(j.guestEnv(nil), env...), Stdout: w, Stderr: w,
			Limits: proc.Limits{Time: setupTimeout, OutputBytes: maxOutput},
		})
		j.readPath()
		_ = errors.Join(w.Close(), show.Close()) // they show; they decide nothing
		switch {
		case err != nil:
			return invalid(fmt.Errorf("setup %q cannot be started: %w", command, err))
		case exit.Why != proc.Exited:
			return invalid(fmt.Errorf("setup %q was ended: %s", command, exit.Why))
		case exit.Code != 0:
			return invalid(fmt.Errorf("setup %q failed with exit code %d", command, exit.Code))
		}
	}
	return nil
}
