package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/cli/build"
	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/cli/opening"
	"github.com/org/ralph-action/internal/cli/output"
	"github.com/org/ralph-action/internal/cli/starter"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/config/problem"
	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/report/logs"
	"github.com/org/ralph-action/internal/run"
	"github.com/org/ralph-action/internal/run/credentials"
	"github.com/org/ralph-action/internal/run/rundir"
)

// localFlags are the flags of every command that runs a loop locally.
type localFlags struct {
	kong.Plugins
	Verbose bool `short:"V" help:"Print the effective settings, their sources, and each step on stderr."`
	flags   flagset.Flags
}

func (f localFlags) values() map[string]string { return f.flags.Values() }

// typed is words, and the flags that were given by their letter.
func (f localFlags) typed(a *app, words map[string]string) map[string]string {
	all := f.flags.Typed(a.args)
	maps.Copy(all, words)
	return all
}

// localRun is one loop that was started locally.
type localRun struct {
	mode    string
	dir     string // the workspace; empty: the current directory
	flags   map[string]string
	words   map[string]string // what people call flags that they gave as words, by flag
	verbose bool
	opening string // the first line; empty: none
	before  run.Before
	part    bool // of a parallel run
}

// sources are what the configuration of a local run is read from.
func (a *app) sources(workspace string, d localRun) config.LoadOptions {
	return config.LoadOptions{
		Dir: workspace, Flags: d.flags, Environment: a.environment(), Defaults: a.placeDefaults(d.mode),
		Mode: d.mode, Local: true, Home: a.home(workspace), Prompts: starter.Prompts(), Infer: agent.Infer, Words: d.words,
		Warnings: build.Retired(a.build.Version, a.getenv("GITHUB_ACTION_REF")),
	}
}

// runLocally loads what was configured and runs the pipeline in the current
// directory.
func (a *app) runLocally(d localRun, done *exit) error {
	in, err := a.load(d)
	if in == nil {
		*done = exit(ralph.Invalid.ExitCode(false))
		return err
	}
	if in.Config.Tasks.Parallel > 1 {
		return a.runInParallel(in, d, done)
	}
	patient := d.mode != "supervise" && term.IsTerminal(int(a.stdin.Fd()))
	ctx, stop, cancel := a.patientSignals(in.Interrupted, patient)
	defer cancel()
	if patient {
		in.Stop.Halt = stop
	}
	*done = exit(run.Run(ctx, in).ExitCode)
	return nil
}

// load loads what was configured, and says what nothing keeps the run from; nil: it said what
// is wrong.
func (a *app) load(d localRun) (*run.Input, error) {
	workspace, err := filepath.Abs(d.dir) // of "": the current directory
	if err != nil {
		return nil, err
	}
	sources := a.sources(workspace, d)
	cfg, err := config.Load(sources)
	own := credentials.New(nil)
	redact := own.Redactor(cfg, a.environ)
	var verbose []string // below what is unsafe
	if d.verbose {
		for _, name := range cfg.Loaded {
			verbose = append(verbose, logs.LoadingSettings(name))
		}
		verbose = append(verbose, logs.VerboseLines(cfg.Redacted())...)
	}
	problems := problem.Lines(err)
	if cfg.Prompt.Variables != nil {
		err := gitdir.Check(workspace)
		if errors.Is(err, gitdir.ErrNotRepository) {
			err = fmt.Errorf("%w: %s", err, gitdir.Advice(true))
		}
		problems = append(problems, problem.Lines(err)...)
	}
	if len(problems) > 0 {
		for _, line := range verbose[:min(len(cfg.Loaded), len(verbose))] {
			fmt.Fprintln(a.stderr, redact.Text(line))
		}
		for _, line := range problems {
			fmt.Fprintln(a.stderr, "ralph:", line)
		}
		if len(d.flags) == 0 && d.mode == "run" {
			fmt.Fprintln(a.stderr, "Try 'ralph --help'.")
		}
		return nil, nil //nolint:nilnil // it is said
	}
	d.before.Locked = d.part
	in := &run.Input{
		Config: cfg, Sources: sources, Environ: a.environ, Credentials: own, Binary: run.Binary{Self: a.self, Version: a.version()}, Before: d.before, Workspace: workspace,
		Site: a.localSite(), Output: a.localPrinter(cfg, redact), Redactor: redact, Stop: &run.StopRequest{},
	}
	if d.opening != "" {
		in.Output.Aside(d.opening)
	}
	if !d.part && !lane(cfg) {
		for _, line := range append(opening.Lines(in), verbose...) {
			in.Output.Aside(line)
		}
	}
	if d.verbose {
		in.Verbose = &logs.Verbose{Completion: cfg.Loop.Completion, Mask: redact.Text}
	}
	return in, nil
}

// placeDefaults are the defaults that the place decides, not the mode.
func (a *app) placeDefaults(mode string) map[string]string {
	all := a.localDefaults(mode)
	return map[string]string{"isolation": all["isolation"], "agent-install": all["agent-install"]}
}

// deskPrinter prints where people look: the loops of seed 000 keep stdout free
// and show everything on stderr.
func (a *app) localPrinter(cfg config.Config, redact *secret.Redactor) run.Printer {
	o := a.outputTo(redact, cfg.Output)
	o.Lane = lane(cfg)
	switch cfg.Mode {
	case "plan", "build", "prompt":
		o.Out = a.stderr
	case "supervise":
		return output.NewSupervisor(o, cfg.Loop, cfg.Limits)
	}
	return output.NewTerminal(o)
}

// lane reports whether a run is a lane of a plan, which was told what there is to say of all.
func lane(cfg config.Config) bool { return cfg.Tasks.Lane.Key != (fanout.LaneKey{}) }

// outputTo are the options of output to standard output.
func (a *app) outputTo(redact *secret.Redactor, o config.Output) output.Options {
	return output.Options{Redact: redact, Out: a.stdout, Stderr: a.stderr, Getenv: a.getenv, Output: o}
}

// home is where the files of plan, build and prompt lie, relative to the
// workspace: beside this binary when that is part of the project, be it through
// a symbolic link, and has them beside it; else in .ralph.
func (a *app) home(workspace string) string {
	self, err := filepath.EvalSymlinks(a.self)
	if err != nil {
		return rundir.Name
	}
	top, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return rundir.Name
	}
	rel, err := filepath.Rel(top, filepath.Dir(self))
	if err != nil || !filepath.IsLocal(rel) || !inhabited(filepath.Dir(self)) {
		return rundir.Name
	}
	return filepath.ToSlash(rel)
}

// inhabited says that a folder holds the configuration or the prompts of plan
// and build.
func inhabited(dir string) bool {
	for _, name := range []string{"config", "prompts"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// planCmd, buildCmd and promptCmd are the loops of seed 000.
type planCmd struct {
	localFlags
	Iterations string `arg:"" optional:"" name:"max-iterations" help:"Maximum number of iterations. Default: no limit."`
}

type buildCmd struct {
	localFlags
	Iterations string `arg:"" optional:"" name:"max-iterations" help:"Maximum number of iterations. Default: no limit."`
}

type promptCmd struct {
	localFlags
	File       string `arg:"" name:"file" file:"" help:"The prompt. It must say that the agent prints <promise>COMPLETE</promise> when it is done."`
	Iterations string `arg:"" optional:"" name:"max-iterations" help:"Maximum number of iterations. Default: no limit."`
}

const templateHelp = `
The template is prompts/%[1]s.md and the configuration is config, beside the ralph binary when that lies in the project
and has a config or prompts beside it, else in .ralph; 'ralph init --preset ralph-loop' writes both. Without a template there is a built-in one. The folder of
specifications, specs unless the configuration says otherwise, must exist. The agent commits. The session log is in logs/ there.`

// Help is shown below the flags.
func (planCmd) Help() string {
	return "Example:\n  ralph plan 5\n" + fmt.Sprintf(templateHelp, "plan")
}

// Help is shown below the flags.
func (buildCmd) Help() string {
	return "Example:\n  ralph build 20\n" + fmt.Sprintf(templateHelp, "build")
}

// Help is shown below the flags.
func (promptCmd) Help() string {
	return `Example:
  ralph prompt prompts/refactor.md 10

$NAME and ${NAME} are replaced in the prompt: SPECS_DIR, MODE, PLAN_FILE, and what the configuration file defines.`
}

// Run loops over the planning prompt.
func (c *planCmd) Run(a *app, done *exit) error {
	return c.template(a, done, "plan", c.Iterations, nil)
}

// Run loops over the building prompt.
func (c *buildCmd) Run(a *app, done *exit) error {
	return c.template(a, done, "build", c.Iterations, nil)
}

// Run loops over a prompt file.
func (c *promptCmd) Run(a *app, done *exit) error {
	return c.template(a, done, "prompt", c.Iterations, map[string]string{"prompt-file": c.File})
}

// template is a loop of seed 000: what stands as a word on the command line is
// the same as the flag of its name.
func (f localFlags) template(a *app, done *exit, mode, iterations string, words map[string]string) error {
	flags := f.values()
	if iterations != "" {
		if words == nil {
			words = map[string]string{}
		}
		words["max-iterations"] = iterations
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if _, twice := flags[name]; twice {
			return fmt.Errorf("%q is the word for --%s, which is given, too: give only one of them", words[name], name)
		}
	}
	maps.Copy(flags, words)
	called := map[string]string{}
	for name, what := range map[string]string{"prompt-file": "the prompt file", "max-iterations": "the number of iterations"} {
		if _, given := words[name]; given {
			called[name] = what
		}
	}
	return a.runLocally(localRun{mode: mode, flags: flags, words: f.typed(a, called), verbose: f.Verbose}, done)
}
