package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/cli/manual"
	"github.com/org/ralph-action/internal/cli/resume"
	"github.com/org/ralph-action/internal/lib/nearest"
	"github.com/org/ralph-action/internal/ralph"
)

// The groups of commands in the help, by their titles.
const (
	groupTask  = "Work on a task"
	groupTasks = "Work on a task list"
	groupLast  = "The last run here"
	groupSetUp = "Set up"
	groupOther = "For programs"
)

// commands is the command line, in the order of its help.
func (a *app) commands() *cobra.Command {
	root := &cobra.Command{
		Use: "ralph <command>", Short: "Runs a coding agent in a loop, checks every iteration, and reports honestly.",
		Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true,
	}
	for _, group := range []struct {
		title    string // "": hidden
		commands []*cobra.Command
	}{
		{groupTask, []*cobra.Command{a.runCommand(), a.planCommand(), a.buildCommand(), a.promptCommand(), a.sessionCommand(), a.superviseCommand()}},
		{groupTasks, []*cobra.Command{a.tasksCommand()}},
		{groupLast, []*cobra.Command{a.statusCommand(), a.logsCommand(), a.resumeCommand(), a.cancelCommand()}},
		{groupSetUp, []*cobra.Command{a.initCommand(), a.doctorCommand(), a.demoCommand(), a.completionCommand(), a.versionCommand()}},
		{groupOther, []*cobra.Command{a.actionCommand(), a.hookCommand()}},
		{"", []*cobra.Command{a.postCommand(), a.manCommand(), a.demoAgentCommand()}},
	} {
		if group.title != "" {
			root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		}
		for _, cmd := range group.commands {
			cmd.GroupID, cmd.Hidden = group.title, group.title == ""
			root.AddCommand(cmd)
		}
	}
	root.PersistentFlags().BoolP("version", "v", false, "Print the version and exit.")
	root.PersistentFlags().BoolP("help", "h", false, "Show context-sensitive help.")
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return root
}

// command is one that takes the words of its usage, of which those in brackets may be
// missing, and runs. A word that is called a file, or a dir, is completed as one.
func (a *app) command(usage, short, long string, run func(words []string) error) *cobra.Command {
	names := strings.Fields(usage)[1:]
	cmd := &cobra.Command{
		Use: usage, Short: short, Long: long,
		Args: func(cmd *cobra.Command, words []string) error {
			if version, err := cmd.Flags().GetBool("version"); err == nil && version {
				return errVersion
			}
			switch n := len(words); {
			case n > len(names) && !strings.HasSuffix(usage, "...]"):
				return unexpected(cmd, words[len(names)])
			case n < len(names) && names[n][0] != '[':
				return wrong("expected %q", names[n])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, words []string) error { return run(words) },
		ValidArgsFunction: func(_ *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
			if n := len(words); n < len(names) && (names[n] == "<file>" || names[n] == "<dir>") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().SortFlags = false
	return cmd
}

// word is one of those that a command was given; "" if it was not.
func word(words []string, at int) string {
	if at < len(words) {
		return words[at]
	}
	return ""
}

// modeOf annotates a command that takes the flags of the table with their mode.
const modeOf = "mode"

// misuse is what is wrong with a command line.
type misuse struct {
	text string
	help string // the command whose help explains it; "": the one that was chosen
}

func (m misuse) Error() string { return m.text }

// wrong says what is wrong with a command line.
func wrong(format string, args ...any) error { return misuse{text: fmt.Sprintf(format, args...)} }

// refused are problems that keep a command from doing anything, each said on a line of its own.
type refused []string

func (r refused) Error() string { return strings.Join(r, "\nralph: ") }

// errVersion ends a command line that asks for the version.
var errVersion = errors.New("the version is asked for")

func (a *app) main() int {
	cmd, err := a.execute()
	var wrong misuse
	switch {
	case errors.Is(err, errVersion):
		fmt.Fprintln(a.stdout, a.build.Version)
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(a.stderr, "ralph: %s\nTry '%s --help'.\n", wrong.text, cmp.Or(wrong.help, cmd.CommandPath()))
		return ralph.Invalid.ExitCode(false)
	case err != nil:
		fmt.Fprintln(a.stderr, "ralph:", err)
		return ralph.Invalid.ExitCode(false)
	}
	return int(a.code)
}

// execute runs the command that the arguments name, or run, and returns it.
func (a *app) execute() (*cobra.Command, error) {
	root, args := a.commands(), a.args
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	help := helpIn(args)
	if help == fullHelp {
		args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--all" })
	}
	asked := args // of which command
	completing := len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
	if completing {
		asked = args[1:]
	}
	switch first := word(asked, 0); {
	case strings.HasPrefix(first, "-") && first != "--help" && first != "-h", len(args) == 0:
		asked = append([]string{"run"}, asked...)
	case !completing && !strings.HasPrefix(first, "-") && !slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == first }):
		return root, unexpected(root, first)
	}
	cmd, flags, err := root.Find(asked)
	if err != nil {
		return root, err
	}
	mode := cmd.Annotations[modeOf]
	if mode != "" {
		flagset.Register(cmd.Flags(), mode, a.localDefaults(mode), help == shortHelp)
	}
	if completing {
		complete(cmd)
		asked = append([]string{args[0]}, asked...)
	} else if name, value := flagset.Dashed(cmd.Flags(), flags); name != "" && !cmd.DisableFlagParsing {
		return cmd, wrong("--%s: %q begins like a flag: if it is the value, write --%[1]s=%[3]s", name, value, resume.Word(value))
	}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprint(a.stdout, manual.Help(cmd, a.columns()))
		if help == shortHelp && mode != "" {
			fmt.Fprintf(a.stdout, "\nThese are the flags that most runs need. For all of them: %s --help --all\n", cmd.CommandPath())
		}
	})
	root.SetArgs(asked)
	return root.ExecuteC()
}

// columns are those of the terminal, within the bounds of what reads well.
func (a *app) columns() int {
	width, _, err := term.GetSize(int(a.stdout.Fd()))
	if err != nil {
		return 80
	}
	return max(60, min(width, 110))
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

// complete says how the values of the command's flags are completed.
func complete(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		answer := cobra.FixedCompletions(f.Annotations[flagset.Values], cobra.ShellCompDirectiveNoFileComp)
		if name := f.Annotations[flagset.Placeholder]; len(name) > 0 && slices.Contains([]string{"FILE", "DIR", "PATH"}, name[0]) {
			answer = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, answer) // it exists
	})
}

// flagError says what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	return wrong("%s", flagset.Explain(cmd.Flags(), err))
}

// unexpected says that a command does not take a word. The name of run may be left out.
func unexpected(cmd *cobra.Command, word string) error {
	if cmd.HasParent() && cmd.CommandPath() != "ralph run" {
		if near := nearest.Of(word, listed(cmd)); near != "" {
			return wrong("unexpected argument %s, did you mean %s?", word, near)
		}
		return wrong("unexpected argument %s", word)
	}
	text, near := "unexpected argument "+word+": unknown command", nearest.Of(word, listed(cmd.Root()))
	switch near {
	case "":
	case word:
		return wrong("the command %s has to come before its flags", word)
	default:
		text += ", did you mean " + near + "?"
	}
	return misuse{text + "; pass a task with --prompt", "ralph"}
}

// listed are the names of the commands below one that its help lists.
func listed(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}
