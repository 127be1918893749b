package manual

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/org/ralph-action/internal/ralph"
)

// Page is the man page, as roff.
func Page(model *kong.Application, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH RALPH 1 \"\" %q\n", "ralph "+version)
	section := func(title string) { b.WriteString(".SH " + title + "\n") }
	section("NAME")
	b.WriteString("ralph \\- work on a task with a coding agent in a loop\n")
	section("SYNOPSIS")
	b.WriteString(".B ralph\n.I command\n.RI [ flags ]\n")
	section("DESCRIPTION")
	b.WriteString(roff(model.Help+" The commands that work on a task, and doctor, take the flags of run, too, where they mean something: ralph COMMAND --help --all lists them.") + "\n")
	section("COMMANDS")
	for _, command := range model.Leaves(true) {
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

func writeCommand(b *strings.Builder, command *kong.Node) {
	fmt.Fprintf(b, ".SS %s\n%s\n", roff(strings.TrimPrefix(command.Summary(), "ralph ")), roff(command.Help))
	indented := false
	if command.Detail != "" {
		b.WriteString(".PP\n")
	}
	for line := range strings.Lines(strings.TrimSpace(command.Detail)) {
		line = strings.TrimSuffix(line, "\n")
		switch example := strings.HasPrefix(line, " "); {
		case line == "":
			b.WriteString(".PP\n")
			continue
		case example && !indented:
			b.WriteString(".nf\n")
			indented = true
		case !example && indented:
			b.WriteString(".fi\n")
			indented = false
		}
		b.WriteString(roff(line) + "\n")
	}
	if indented {
		b.WriteString(".fi\n")
	}
	for _, f := range command.Flags {
		if f.Hidden {
			continue
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(f.String()), roff(f.Help))
	}
}

// roff is a text that is no request, with the hyphens that one types.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
