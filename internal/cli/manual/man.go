package manual

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/ralph-action/internal/ralph"
)

// Page is the man page, as roff.
func Page(root *cobra.Command, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH RALPH 1 \"\" %q\n", "ralph "+version)
	section := func(title string) { b.WriteString(".SH " + title + "\n") }
	section("NAME")
	b.WriteString("ralph \\- work on a task with a coding agent in a loop\n")
	section("SYNOPSIS")
	b.WriteString(".B ralph\n.I command\n.RI [ flags ]\n")
	section("DESCRIPTION")
	b.WriteString(roff(root.Short+" The commands that work on a task, and doctor, take the flags of run, too, where they mean something: ralph COMMAND --help --all lists them.") + "\n")
	section("COMMANDS")
	for _, command := range leaves(root) {
		writeCommand(&b, command)
	}
	section("EXIT STATUS")
	for code := range ralph.Interrupted.ExitCode(false) + 1 {
		var ends []string
		for _, row := range ralph.Outcomes() {
			if row.ExitCode == code {
				ends = append(ends, string(row.Outcome))
			}
		}
		if len(ends) > 0 {
			fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", code, roff(strings.Join(ends, ", ")))
		}
	}
	section("FILES")
	for _, file := range [][2]string{
		{".github/ralph.yml", "settings of the project"}, {".ralph/settings.json", "settings for local runs, by ralph init"},
		{".ralph/report.html", "the report of the last run"}, {"~/.local/state/ralph", "what ralph status and ralph resume know of the last runs"},
	} {
		fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(file[0]), roff(file[1]))
	}
	return b.String()
}

func writeCommand(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, ".SS %s\n%s\n", roff(strings.TrimPrefix(cmd.UseLine(), "ralph ")), roff(cmd.Short))
	if cmd.Long != "" {
		b.WriteString(".PP\n")
	}
	for _, part := range paragraphs(cmd.Long) {
		if part.verbatim {
			b.WriteString(".nf\n")
		}
		for _, line := range part.lines {
			b.WriteString(cmp.Or(roff(line), ".PP") + "\n")
		}
		if part.verbatim {
			b.WriteString(".fi\n")
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(spelled(cmd, f)), roff(f.Usage))
		}
	})
}

// roff is a text that is no request, with the hyphens that one types.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
