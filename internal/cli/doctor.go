package cli

import (
	"context"
	"fmt"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/cli/build"
	"github.com/org/ralph-action/internal/cli/output"
	"github.com/org/ralph-action/internal/cli/starter"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run"
	"github.com/org/ralph-action/internal/run/credentials"
	"github.com/org/ralph-action/internal/run/doctor"
)

// doctorCmd looks at all that `ralph run` would need, and runs nothing of the
// workspace.
type doctorCmd struct {
	localFlags
	Offline bool `help:"Do not contact the forge or the model: nothing leaves this machine."`
	Host    bool `help:"Look at this machine as a runner for org/ralph-action/host: namespaces, the toolchain, and the commands on PATH that the sandbox cannot start."`
	JSON    bool `name:"json" help:"Print the table as JSON."`
}

// Help is shown below the flags.
func (doctorCmd) Help() string {
	return `Examples:
  ralph doctor
  ralph doctor --host
  ralph doctor --agent codex --guardrails "make test"
  ralph doctor --json --offline | jq -r '.checks[] | select(.status == "FAIL") | .advice'

It reads the same flags and files as 'ralph run', and says for each red line what to do about it. Nothing is spent,
nothing is written into the workspace, no program of the workspace is run, and no value of a secret is shown. The exit
code is 0 when nothing is red, else 2.`
}

const doctorTime = 2 * time.Minute // for everything: each check has a limit of its own

// Run checks and prints.
func (c *doctorCmd) Run(a *app, done *exit) error {
	workspace, err := filepath.Abs("")
	if err != nil {
		return err
	}
	defaults := a.placeDefaults(config.ModeRun)
	if c.Host {
		defaults["isolation"], defaults["agent-install"] = string(config.IsolationAuto), "auto"
	}
	defaults["prompt"] = "none: nothing is asked of an agent"
	cfg, loadErr := config.Load(config.LoadOptions{
		Dir: workspace, Flags: c.values(), Environment: a.environment(), Mode: config.ModeRun, Local: true, Home: a.home(workspace),
		Defaults: defaults,
		Prompts:  starter.Prompts(), Infer: agent.Infer, Warnings: build.Retired(a.build.Version, a.getenv("GITHUB_ACTION_REF")),
	})
	own := credentials.New(nil)
	redact := own.Redactor(cfg, a.environ)
	ctx, cancel := context.WithTimeout(context.Background(), doctorTime)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	rows := run.Examine(ctx, &run.Input{
		Config: cfg, Environ: a.environ, Credentials: own, Binary: run.Binary{Self: a.self, Version: a.version()}, Workspace: workspace, Site: a.localSite(), Redactor: redact,
	}, loadErr, doctor.Options{Offline: c.Offline, Host: c.Host})
	if ctx.Err() != nil {
		fmt.Fprintln(a.stderr, "ralph: stopped before every check was done")
		*done = exit(ralph.Interrupted.ExitCode(false))
		return nil
	}
	for i, row := range rows {
		rows[i].Found, rows[i].Advice = output.Clean(redact, row.Found), output.Clean(redact, row.Advice)
	}
	if slices.ContainsFunc(rows, func(f doctor.Check) bool { return f.Status == doctor.StatusFail }) {
		*done = exit(ralph.Invalid.ExitCode(false))
	}
	if c.JSON {
		return output.DoctorJSON(a.stdout, a.version(), cfg.Agent.Name, rows)
	}
	color := output.Color(a.stdout, a.getenv, cfg.Output.Display.Color)
	_, err = a.stdout.WriteString(output.DoctorTable(rows, color))
	return err
}
