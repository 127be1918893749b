package manual_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/ralph-action/internal/cli/flagset"
	"github.com/org/ralph-action/internal/cli/manual"
)

// model is a command line with everything that is written in its own way.
func model() *cobra.Command {
	root := &cobra.Command{Use: "ralph <command>", Short: "Loops."}
	root.AddGroup(&cobra.Group{ID: "Work"})
	add := func(to *cobra.Command, cmd cobra.Command) *pflag.FlagSet {
		cmd.Run = func(*cobra.Command, []string) {}
		to.AddCommand(&cmd)
		return cmd.Flags()
	}
	run := add(root, cobra.Command{Use: "run", Short: "Run.", GroupID: "Work", Long: "Example:\n  ralph run   -a x\n\nA long\nline."})
	run.StringP("agent", "a", "", "The agent. More of it.")
	run.Bool("dry", false, "Nothing is pushed.")
	run.Bool("no-dry", false, "")
	run.String("secret", "", "")
	run.Lookup("no-dry").Hidden, run.Lookup("secret").Hidden = true, true
	tasks := &cobra.Command{Use: "tasks <command>", Short: "Lists.", GroupID: "Work"}
	root.AddCommand(tasks)
	format := add(tasks, cobra.Command{Use: "check", Short: "Check."})
	format.String("format", "text", ".text or\nJSON \\\\ done")
	_ = format.SetAnnotation("format", flagset.Placeholder, []string{"FORMAT"})
	_ = format.SetAnnotation("format", flagset.Group, []string{"Display"})
	add(root, cobra.Command{Use: "prompt <file>", Short: "'Loop' over a file.", GroupID: "Work"})
	add(root, cobra.Command{Use: "ghost", Hidden: true})
	return root
}

func TestHelp(t *testing.T) {
	t.Parallel()
	root := model()
	run, _, _ := root.Find([]string{"run"})
	check, _, _ := root.Find([]string{"tasks", "check"})
	for _, tt := range []struct {
		cmd  *cobra.Command
		want string
	}{
		{root, `Usage: ralph <command>

Loops.

Work:
  prompt         'Loop' over a
                 file.
  run            Run.
  tasks check    Check.

Run "ralph <command> --help" for more information on a command.
`},
		{run, `Usage: ralph run [flags]

Run.

Example:
  ralph run   -a x

A long line.

Flags:
  -a, --agent=STRING    The
                        agent.
                        More
                        of it.
      --[no-]dry        Nothing
                        is
                        pushed.
`},
		{check, `Usage: ralph tasks check [flags]

Check.

Display:
      --format=FORMAT    .text
                         or
                         JSON
                         \\
                         done
`},
	} {
		if got := manual.Help(tt.cmd, 30); got != tt.want {
			t.Errorf("Help(%s) = %s, want %s", tt.cmd.Name(), got, tt.want)
		}
	}
}

// A line that begins with a dot is a request of ours, and a backslash one of roff's.
func TestPage(t *testing.T) {
	t.Parallel()
	page := manual.Page(model(), "1.2.3")
	for text := range strings.Lines(page) {
		if request, _, _ := strings.Cut(strings.TrimSpace(text), " "); strings.HasPrefix(text, ".") &&
			!slices.Contains([]string{".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".RI", ".nf", ".fi"}, request) || strings.HasPrefix(text, "'") {
			t.Errorf("the page has the request %q", text)
		}
	}
	for _, want := range []string{
		".TH RALPH 1 \"\" \"ralph 1.2.3\"\n", ".SS run [flags]\n", ".B \\-a, \\-\\-agent=STRING\n", "\n\\&.text or JSON \\e\\e done\n",
		"\n\\&'Loop' over a file.\n", ".TP\n.B 130\ninterrupted\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "ghost") || strings.Contains(page, "secret") {
		t.Error("the page tells of what is hidden")
	}
}
