// Package cli is the command line: commands, flags, what is printed.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/cli/resume"
	"github.com/org/ralph-action/internal/cli/starter"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/nearest"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Main runs a command line, without the program's name, and returns the exit code.
// info is the binary's.
func Main(info Build, args, environ []string, stdin, stdout, stderr *os.File) int {
	a := &app{build: info, args: args, environ: environ, self: self(environ), stdin: stdin, stdout: stdout, stderr: stderr}
	return a.main()
}

// Start is the way into every command.
func Start(info Build) int {
	// From here on nobody can read the environment out of /proc.
	environ, err := confine.Seal(os.Environ())
	if err != nil {
		os.Stderr.WriteString("ralph: " + err.Error() + "\n")
		return 1
	}
	signal.Ignore(syscall.SIGPIPE)                  // a closed terminal or an agent that does not read must not end the run
	defer func() { _ = proc.EndAll(time.Second) }() // as PID 1: nothing survives the run
	return Main(info, os.Args[1:], environ, os.Stdin, os.Stdout, os.Stderr)
}

// app is what the process was given: nothing below it reads environment,
// arguments or standard streams on its own.
type app struct {
	build          Build
	args           []string
	environ        []string
	self           string // this binary, to start its hidden commands
	stdin          *os.File
	stdout, stderr *os.File
}

// getenv looks a variable up in the environment that was taken out of reach.
func (a *app) getenv(name string) string {
	return proc.Getenv(a.environ, name)
}

func (a *app) environment() map[string]string {
	m := make(map[string]string, len(a.environ))
	for _, kv := range a.environ {
		k, v, _ := strings.Cut(kv, "=")
		m[k] = v
	}
	return m
}

// commands is the command line, in the order of its help.
type commands struct {
	Run       runCmd       `cmd:"" default:"withargs" group:"Work on a task:" help:"Run the agent loop in this directory (the default command)."`
	Plan      planCmd      `cmd:"" group:"Work on a task:" help:"Loop over the planning prompt until the plan is complete."`
	Build     buildCmd     `cmd:"" group:"Work on a task:" help:"Loop over the building prompt until the plan is done."`
	Prompt    promptCmd    `cmd:"" group:"Work on a task:" help:"Loop over a prompt file of your own."`
	Session   sessionCmd   `cmd:"" group:"Work on a task:" help:"Continue one agent session until it prints its promise."`
	Supervise superviseCmd `cmd:"" group:"Work on a task:" help:"Restart a command until its task directory has a file DONE."`
	Tasks     tasksCmd     `cmd:"" group:"Work on a task list:" help:"Task lists in which every story is reviewed."`

	Status statusCmd `cmd:"" group:"The last run here:" help:"Show what the last run does or did."`
	Logs   logsCmd   `cmd:"" group:"The last run here:" help:"Print or follow the log of the last run."`
	Resume resumeCmd `cmd:"" group:"The last run here:" help:"Continue the last run after a limit, an interrupt or a kill."`
	Cancel cancelCmd `cmd:"" group:"The last run here:" help:"End the run of this project."`

	Init       initCmd       `cmd:"" group:"Set up:" help:"Write settings for 'ralph run', or files for 'ralph plan'."`
	Doctor     doctorCmd     `cmd:"" group:"Set up:" help:"Check what a run needs, and say what to do."`
	Demo       demoCmd       `cmd:"" group:"Set up:" help:"Show the whole pipeline: no key, no network, no Docker."`
	Completion completionCmd `cmd:"" group:"Set up:" help:"Print a script that completes commands in bash, zsh or fish."`
	Version    versionCmd    `cmd:"" group:"Set up:" help:"Print the version."`

	Action    actionCmd        `cmd:"" group:"For programs:" help:"Run as a GitHub Action: read INPUT_* and GITHUB_*."`
	Hook      hookCmd          `cmd:"" group:"For programs:" help:"Answer the hooks of an agent CLI: JSON in, JSON out."`
	Post      postCmd          `cmd:"" hidden:""`
	Complete  completeCmd      `cmd:"" hidden:""`
	Man       manCmd           `cmd:"" hidden:""`
	DemoAgent demoAgentCmd     `cmd:"" hidden:""`
	V         kong.VersionFlag `name:"version" short:"v" help:"Print the version and exit."`
}

// exitPanic carries kong's wish to exit out of its parser, so that os.Exit is
// called in main only.
type exitPanic int

func (a *app) main() (code int) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exitPanic)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	args := a.args
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	help := helpIn(args)
	if help == fullHelp {
		args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--all" })
	}
	ctx, err := a.parse(args, help)
	if err != nil {
		fmt.Fprintf(a.stderr, "ralph: %s\n", misuse(err, args))
		return ralph.Invalid.ExitCode(false)
	}
	var done exit
	if err := ctx.Run(&done); err != nil {
		fmt.Fprintln(a.stderr, "ralph:", err)
		return ralph.Invalid.ExitCode(false)
	}
	return int(done)
}

// refused are problems that keep a command from doing anything, each said on a line of its own.
type refused []string

func (r refused) Error() string { return strings.Join(r, "\nralph: ") }

// parse reads the command line. What is wrong with it is said, and the help made, by a
// parser that knows every flag.
func (a *app) parse(args []string, help int) (*kong.Context, error) {
	if help == noHelp {
		if parser, err := a.parser(args, false, args); err == nil {
			if ctx, err := parser.Parse(args); err == nil {
				return ctx, nil
			}
		}
	}
	parser, err := a.parser(args, help == shortHelp, nil)
	if err != nil {
		return nil, err
	}
	return parser.Parse(args)
}

// parser knows the commands, and the flags of the one that args choose: all, or those that
// given may name. In a short help not all of them are shown.
func (a *app) parser(args []string, short bool, given []string) (*kong.Kong, error) {
	var cli commands
	shortened := cli.arm(a, args, short, given)
	return kong.New(&cli,
		kong.Name("ralph"),
		kong.Description("Runs a coding agent in a loop, checks every iteration, and reports honestly."),
		kong.Vars{"version": a.build.Version, "agents": strings.Join(starter.Agents(), ", ")},
		kong.Writers(a.stdout, a.stderr),
		kong.Exit(func(code int) { panic(exitPanic(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.Help(func(o kong.HelpOptions, ctx *kong.Context) error {
			err := kong.DefaultHelpPrinter(o, ctx)
			if err == nil && shortened {
				_, err = fmt.Fprintf(a.stdout, "\nThese are the flags that most runs need. For all of them: %s --help --all\n", helpCommand(ctx))
			}
			return err
		}),
		kong.Bind(a),
	)
}

// What a command line asks for of the help.
const (
	noHelp = iota
	shortHelp
	fullHelp
)

// helpIn tells what args ask for.
func helpIn(args []string) int {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	switch {
	case !slices.Contains(args, "--help") && !slices.Contains(args, "-h"):
		return noHelp
	case slices.Contains(args, "--all"):
		return fullHelp
	}
	return shortHelp
}

// helpCommand is the command whose help is shown, as one types it.
func helpCommand(ctx *kong.Context) string {
	if ctx.Selected() == nil {
		return "ralph"
	}
	return strings.TrimSpace(ctx.Selected().FullPath())
}

// arm gives the table's flags to the command that args choose, for a short help
// those only that most users need, and reports whether it left some out.
func (c *commands) arm(a *app, args []string, short bool, given []string) (shortened bool) {
	commands := map[string]*localFlags{
		"run": &c.Run.localFlags, "plan": &c.Plan.localFlags, "build": &c.Build.localFlags, "prompt": &c.Prompt.localFlags, "supervise": &c.Supervise.localFlags,
		"tasks": &c.Tasks.Run.localFlags, "session": &c.Session.localFlags, "doctor": &c.Doctor.localFlags, "integrate": &c.Tasks.Integrate.localFlags,
	}
	mode := "run" // the default command, whose flags need no name in front
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		mode = args[0]
	}
	if mode == "integrate" || mode == "tasks" && (len(args) < 2 || args[1] != "run" && args[1] != config.ModeIntegrate) {
		return false
	}
	if mode == "tasks" && args[1] == config.ModeIntegrate {
		mode = config.ModeIntegrate
	}
	local, loops := commands[mode]
	if !loops || short && len(args) == 1 { // of ralph itself, the commands are listed
		return false
	}
	if mode == "doctor" {
		mode = config.ModeRun // it looks at what that would do
	}
	local.flags = flagset.New(mode, a.localDefaults(mode), short, given)
	local.Plugins = kong.Plugins{local.flags.Target()}
	return short
}

// dashedValue is what kong says of a value that begins with a dash.
var dashedValue = lazyregexp.New(`(?s)^(--?\S+): expected \S+ value but got "(.*)" \((?:short|long) flag\)`)

// misuse says what is wrong with the command line, and where the right one is
// explained. kong speaks of tokens where a person would speak of values.
func misuse(err error, args []string) string {
	text, help := err.Error(), "ralph"
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Selected() != nil {
		help = strings.TrimSpace(wrong.Context.Selected().FullPath())
	}
	if flag, _, ok := strings.Cut(text, ": expected "); ok && strings.HasSuffix(text, "(<EOL>)") {
		text = flag + " needs a value"
	}
	if name, unknown := strings.CutPrefix(text, "unknown flag --"); unknown && wrong != nil && wrong.Context != nil {
		var flags []string
		for _, f := range wrong.Context.Flags() {
			flags = append(flags, f.Name)
		}
		if named := nearest.WithWord(name, flags); len(named) == 1 {
			text += ", did you mean --" + named[0] + "?"
		}
	}
	if m := dashedValue.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("%s: %q begins like a flag: if it is the value, write %s=%s", m[1], m[2], m[1], resume.Word(m[2]))
	}
	switch argument, unexpected := strings.CutPrefix(text, "unexpected argument "); {
	case help != "ralph run" || !unexpected:
	case len(args) > 0 && args[0] == "run":
		text = fmt.Sprintf("unexpected argument %q: did you mean --prompt %s?", argument, config.ShellWords([]string{argument}))
	default:
		var names []string
		for _, c := range wrong.Context.Model.Children {
			if !c.Hidden {
				names = append(names, c.Name)
			}
		}
		near := nearest.Of(argument, names)
		if text += ": unknown command"; near != "" {
			text += ", did you mean " + near + "?"
		}
		text, help = text+"; pass a task with --prompt", "ralph"
	}
	return text + "\nTry '" + help + " --help'."
}

// exit is the code a command ends with.
type exit int

// signals ends the context at the first SIGINT or SIGTERM and says so. Later
// signals are swallowed: what follows the first is bounded and saves the work.
func (a *app) signals(say func(string)) (context.Context, context.CancelFunc) {
	ctx, _, cancel := a.patientSignals(say, false)
	return ctx, cancel
}

// patientSignals is signals for somebody who sits there and waits: with patient,
// the first signal closes stop, so that the running operation can finish, and
// only the second ends the context.
func (a *app) patientSignals(say func(string), patient bool) (ctx context.Context, stop <-chan struct{}, done context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(c, syscall.SIGHUP)
	}
	stopped := make(chan struct{})
	go func() {
		var first os.Signal
		select {
		case first = <-c:
		case <-ctx.Done():
			return
		}
		say(run.SignalText)
		close(stopped)
		if patient && first != syscall.SIGHUP { // nobody is left to send a second one
			say("The current operation may finish; a second signal ends it.")
			select {
			case <-c:
				say(run.SignalText)
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, stopped, func() { cancel(); signal.Stop(c) }
}

// self finds this binary by the name it was started with: the hidden commands
// are dispatched by arguments, and a test binary also by name.
func self(environ []string) string {
	running, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	named, err := proc.LookPath(os.Args[0], environ)
	if err != nil {
		return running
	}
	a, errA := os.Stat(named)
	b, errB := os.Stat(running)
	if abs, err := filepath.Abs(named); err == nil && errA == nil && errB == nil && os.SameFile(a, b) {
		return abs
	}
	return running
}
