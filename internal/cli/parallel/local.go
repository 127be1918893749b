package parallel

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/run"
	"github.com/org/ralph-action/internal/run/lastrun"
	"github.com/org/ralph-action/internal/tasks"
)

// Command is a parallel run as it was asked for on the command line.
type Command struct {
	Input   *run.Input
	Flags   map[string]string // by name
	Verbose bool
	Getenv  func(string) string
	// Integration is an integration with these flags; nil: what is wrong was said.
	Integration func(flags map[string]string) (*run.Input, error)
}

// Local runs it, and returns its exit code.
func Local(ctx context.Context, c Command) (exitCode int, err error) {
	in, started := c.Input, time.Now()
	cfg := in.Config
	dir, err := dirOf(c.Getenv, in.Workspace)
	command, problem := in.Command()
	if err := errors.Join(err, problem); err != nil {
		return 0, err
	}
	own, _ := in.Isolation(cfg)
	flags := shared(c.Flags, in.Workspace)
	o := options{
		Lanes: cfg.Tasks.Parallel, Project: in.Workspace, Dir: dir, RalphDir: cfg.Tasks.RalphDir, Sandboxed: own != config.IsolationOff,
		Rules:  tasks.Rules{ReviewCap: cfg.Tasks.ReviewCap, SkipReview: cfg.Tasks.SkipReview, Only: cfg.Tasks.Stories},
		Limits: limits{Cost: cfg.Limits.Cost, Iterations: cfg.Loop.MaxIterations},
		Args:   args(flags, c.Verbose), Self: in.Self, Environ: in.Environ, Print: in.Output, Interrupted: in.Interrupted,
		Resumed: in.Before.Resumed, Records: lastrun.Dir(c.Getenv), Record: lastrun.Run{
			Version: in.Version, PID: os.Getpid(), Command: command, Mode: cfg.Mode, Agent: cfg.Agent.Name, Started: started,
			Branch: gitdir.Branch(in.Workspace), Before: in.Before.Cost, Earlier: in.Before.Iterations, Limits: in.Before.Limits, MaxIterations: cfg.Loop.MaxIterations,
		},
	}
	if cfg.Limits.Duration > 0 {
		o.Limits.Until = started.Add(cfg.Limits.Duration)
	}
	o.Integrate = func(ctx context.Context, lanes string) (ralph.Report, error) {
		flags := maps.Clone(flags)
		maps.DeleteFunc(flags, func(name, _ string) bool { return config.Refuses(config.ModeIntegrate, name) })
		if flags["lanes"] = lanes; !o.Limits.Until.IsZero() {
			flags["max-duration"] = span(o.Limits.Until)
		}
		one, err := c.Integration(flags)
		if one == nil {
			return ralph.Report{Outcome: ralph.Invalid, Reason: "the integration could not be configured"}, err
		}
		one.Stop = in.Stop
		return run.Run(ctx, one), nil
	}
	end, err := work(ctx, o)
	if err != nil {
		return 0, err
	}
	sign := ""
	if cfg.Output.Display.Emoji {
		sign = end.Outcome.Row().Sign + " "
	}
	in.Output.Say(sign + end.headline())
	for _, line := range []string{end.Reason, end.Advice} {
		if line != "" {
			in.Output.Say(line)
		}
	}
	return end.Outcome.ExitCode(cfg.Loop.IncompleteOK), nil
}

// span is the time until then, as a flag has it.
func span(until time.Time) string {
	return max(time.Until(until), time.Second).Round(time.Second).String()
}

// shared are the flags of a run, by name, that its lanes and integrations get, too. Its limits
// are shared out.
func shared(flags map[string]string, project string) map[string]string {
	shared := maps.Clone(flags)
	own := []string{"parallel", "stories", "ralph-dir", "max-cost-usd", "max-iterations", "max-duration", "on-incomplete"}
	for _, in := range config.Inputs() {
		if slices.Contains(own, in.Name) {
			for _, name := range append([]string{in.Name}, in.Aliases...) {
				delete(shared, name)
			}
		}
	}
	if file, given := shared["config"]; given && !filepath.IsAbs(file) {
		shared["config"] = filepath.Join(project, file)
	}
	return shared
}

// args are flags as the command line of a lane has them.
func args(flags map[string]string, verbose bool) []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if name == "on-conflict" {
			continue // the integration's
		}
		for _, value := range flagset.Times(name, flags[name]) {
			args = append(args, "--"+name+"="+value)
		}
	}
	if verbose {
		args = append(args, "--verbose")
	}
	return args
}
