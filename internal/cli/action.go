package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
	"github.com/org/ralph-action/internal/run/admission"
	"github.com/org/ralph-action/internal/run/credentials"
	"github.com/org/ralph-action/internal/run/left"
	"github.com/org/ralph-action/internal/run/stepdir"
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
func (a *app) action(show func(*secret.Redactor) run.Printer) (report ralph.Report) {
	sources := a.actionSources()
	sources.Seen = map[string][]byte{}
	step, err := stepdir.Open(a.getenv(stepdir.Variable), sources.Dir)
	if err == nil {
		err = a.asAction(sources, run.Before{Step: step}, show, func(ctx context.Context, in *run.Input) { report = run.Run(ctx, in) })
	}
	if err != nil {
		fmt.Fprintln(a.stderr, "ralph:", err)
		return ralph.Report{Outcome: ralph.Invalid, ExitCode: ralph.Invalid.ExitCode(false)}
	}
	return report
}

// postCmd is the step that a runner starts after the job's others, also when it was
// cancelled.
type postCmd struct{}

// Run publishes what the action left, if it was killed.
func (postCmd) Run(a *app, done *exit) error {
	sources := a.actionSources()
	ctx, cancel := a.signals(func(string) {})
	defer cancel()
	warn := func(err error) {
		if err != nil {
			fmt.Fprintln(a.stdout, "::warning title=ralph::"+err.Error())
			*done = 1
		}
	}
	step, err := stepdir.Open(a.getenv(stepdir.Variable), sources.Dir)
	if err != nil {
		warn(err)
		return nil
	}
	if step != nil {
		defer func() { warn(step.Remove()) }()
		warn(step.End(ctx, left.MainWait))
	}
	now, _ := config.Load(sources) // the agent may have written it
	found, err := left.Find(ctx, sources.Dir, filepath.Join(sources.Dir, filepath.FromSlash(now.Git.WorkingDirectory)), a.getenv, step, func(text string) { fmt.Fprintln(a.stdout, text) })
	switch {
	case err != nil:
		warn(err)
		return nil
	case ctx.Err() != nil:
		warn(errors.New("the post step was cancelled: what a killed run left is not published; it is unchanged in the workspace"))
		return nil
	case found == nil:
		fmt.Fprintln(a.stdout, "Nothing to do.")
		return nil
	}
	sources.Instead = found.Files
	published := false
	err = a.asAction(sources, run.Before{Left: found, Step: step}, nil, func(ctx context.Context, in *run.Input) { published = run.Post(ctx, in) })
	if err != nil {
		fmt.Fprintln(a.stderr, "ralph:", err)
	}
	if !published {
		*done = 1
	}
	return nil
}

// actionSources are those of the action's configuration.
func (a *app) actionSources() config.LoadOptions {
	workspace := a.getenv("GITHUB_WORKSPACE")
	if workspace == "" {
		workspace, _ = os.Getwd()
	}
	return config.LoadOptions{
		Dir: workspace, Inputs: actions.Inputs(a.environ), Environment: a.environment(), Prompts: starter.Prompts(), Infer: agent.Infer, Warnings: build.Retired(a.build.Version, a.getenv("GITHUB_ACTION_REF")),
	}
}

// asAction does something with what the runner handed over.
func (a *app) asAction(sources config.LoadOptions, before run.Before, show func(*secret.Redactor) run.Printer, do func(context.Context, *run.Input)) error {
	event, eventErr := actions.ReadEvent(a.getenv)
	sources.Event, sources.EventName = admission.BringsTask(event), event.Name
	workspace := sources.Dir
	cfg, cfgErr := config.Load(sources)
	own := credentials.New(credentials.LeftByCheckout(workspace))
	redact := own.Redactor(cfg, a.environ)
	r, err := actions.New(actions.Options{Getenv: a.getenv, Stdout: a.stdout, Redactor: redact})
	if err != nil {
		return err
	}
	defer func() {
		if err := r.Close(); err != nil {
			fmt.Fprintln(a.stderr, "ralph:", err)
		}
	}()
	in := &run.Input{
		Before: before, Config: cfg, Problem: cfgErr, Sources: sources, Environ: a.environ, Credentials: own, Binary: run.Binary{Self: a.self, Version: a.version()},
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
		if line := opening.Unsafe(in); cfgErr == nil && line != "" && in.Before.Left == nil {
			in.Output.Warn(line)
		}
	}
	if eventErr != nil {
		in.Output.Warn(eventErr.Error())
	}
	ctx, cancel := a.signals(in.Interrupted)
	defer cancel()
	do(ctx, in)
	return nil
}
