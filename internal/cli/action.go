package cli

import (
	"fmt"
	"os"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/cli/build"
	"github.com/org/ralph-action/internal/cli/opening"
	"github.com/org/ralph-action/internal/cli/output"
	"github.com/org/ralph-action/internal/cli/starter"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run"
	"github.com/org/ralph-action/internal/run/credentials"
)

// actionCmd is the GitHub Action.
type actionCmd struct{}

// Help is shown below the usage line.
func (actionCmd) Help() string {
	return `The runner starts this; see the README for a workflow. By hand, in a checkout:
  env 'INPUT_PROMPT=Fix the failing tests' GITHUB_WORKSPACE=$PWD ralph action`
}

// Run reads what the runner hands over and runs the pipeline.
func (actionCmd) Run(a *app, done *exit) error {
	*done = exit(a.action(nil).ExitCode)
	return nil
}

// action runs the pipeline as the runner asked for it. show replaces the log of
// the runner by another printer; nil keeps it.
func (a *app) action(show func(*secret.Redactor) run.Printer) ralph.Report {
	workspace := a.getenv("GITHUB_WORKSPACE")
	if workspace == "" {
		workspace, _ = os.Getwd()
	}
	event, eventErr := actions.ReadEvent(a.getenv)
	sources := config.LoadOptions{
		Dir: workspace, Inputs: actions.Inputs(a.environ), Environment: a.environment(), Prompts: starter.Prompts(), Infer: agent.Infer, Warnings: build.Retired(a.build.Version, a.getenv("GITHUB_ACTION_REF")),
		Event: run.BringsTask(event), EventName: event.Name,
	}
	cfg, cfgErr := config.Load(sources)
	own := credentials.New(credentials.LeftByCheckout(workspace))
	redact := own.Redactor(cfg, a.environ)
	r, err := actions.New(actions.Options{Getenv: a.getenv, Stdout: a.stdout, Redactor: redact})
	if err != nil {
		fmt.Fprintln(a.stderr, "ralph:", err)
		return ralph.Report{Outcome: ralph.Invalid, ExitCode: ralph.Invalid.ExitCode(false)}
	}
	defer func() {
		if err := r.Close(); err != nil {
			fmt.Fprintln(a.stderr, "ralph:", err)
		}
	}()
	in := &run.Input{
		Config: cfg, Problem: cfgErr, Sources: sources, Environ: a.environ, Credentials: own, Binary: run.Binary{Self: a.self, Version: a.version()},
		Workspace: workspace, Runner: r, Site: r.Context(), Event: event, Redactor: redact, Stop: &run.StopRequest{},
	}
	if show != nil {
		in.Output = show(redact)
	} else {
		var values []string
		for _, s := range credentials.Known(cfg, a.environ, own.Left) {
			values = append(values, s.Reveal())
		}
		r.Mask(values...)
		in.Output = output.NewActions(r, redact, cfg.Output)
		if line := opening.Unsafe(in); cfgErr == nil && line != "" {
			in.Output.Warn(line)
		}
	}
	if eventErr != nil {
		in.Output.Warn(eventErr.Error())
	}
	ctx, cancel := a.signals(in.Interrupted)
	defer cancel()
	return run.Run(ctx, in)
}
