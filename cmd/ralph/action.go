package main

import (
	"fmt"
	"os"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/runner"
	"github.com/org/ralph-action/internal/secret"
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
func (a *app) action(show func(*secret.Redactor) printer) ralph.Report {
	workspace := a.getenv("GITHUB_WORKSPACE")
	if workspace == "" {
		workspace, _ = os.Getwd()
	}
	event, eventErr := runner.ReadEvent(a.getenv)
	sources := config.LoadOptions{
		Dir: workspace, Inputs: runner.Inputs(a.environ), Environment: a.environment(), Prompts: prompts(), Infer: agent.Infer,
		Event: bringsTask(event), EventName: event.Name,
	}
	cfg, cfgErr := config.Load(sources)
	a.left = checkoutSecrets(workspace)
	redact := a.redactor(cfg)
	r, err := runner.New(runner.Options{Getenv: a.getenv, Stdout: a.stdout, Redactor: redact})
	if err != nil {
		fmt.Fprintln(a.stderr, "ralph:", err)
		return ralph.Report{Outcome: ralph.Invalid, ExitCode: ralph.Invalid.ExitCode(false)}
	}
	defer func() {
		if err := r.Close(); err != nil {
			fmt.Fprintln(a.stderr, "ralph:", err)
		}
	}()
	j := &job{app: a, cfg: cfg, redact: redact, workspace: workspace, runner: r, site: r.Context(), event: event, sources: sources}
	if show != nil {
		j.out = show(redact)
	} else {
		var values []string
		for _, s := range a.secrets(cfg) {
			values = append(values, s.Reveal())
		}
		r.Mask(values...)
		j.out = newActions(r, cfg)
	}
	if eventErr != nil {
		j.out.warn(eventErr.Error())
	}
	ctx, cancel := a.signals(j.interrupted)
	defer cancel()
	if cfgErr != nil {
		j.wrong = cfgErr
		j.cfg.Summary = true // a run that never started has nowhere else to say so
	}
	return j.run(ctx)
}
