// Package manual writes help and the man page from the commands and flags of the program.
package manual

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/ralph-action/internal/cli/flagset"
)

// mostLeft is how wide the column of names may be, beside which their help stands.
const mostLeft = 32

// Help is what --help says of a command, in lines of that width where it is prose.
func Help(cmd *cobra.Command, width int) string {
	var b strings.Builder
	b.WriteString("Usage: " + cmd.UseLine() + "\n\n" + strings.Join(wrap(cmd.Short, width), "\n") + "\n")
	if cmd.Long != "" {
		b.WriteString("\n")
	}
	for _, part := range paragraphs(cmd.Long) {
		if !part.verbatim {
			part.lines = wrap(strings.Join(part.lines, " "), width)
		}
		b.WriteString(strings.Join(part.lines, "\n") + "\n")
	}
	titles, rows := []string{""}, map[string][][2]string{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		title := strings.Join(f.Annotations[flagset.Group], "")
		if !f.Hidden {
			rows[title] = append(rows[title], [2]string{strings.Repeat(" ", 4-min(4, 4*len(f.Shorthand))) + spelled(cmd, f), f.Usage})
		}
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
	})
	for _, title := range titles {
		writeTable(&b, cmp.Or(title, "Flags"), rows[title], width)
	}
	for _, group := range cmd.Root().Groups() {
		var listed [][2]string
		for _, c := range leaves(cmd) {
			if groupOf(c) == group.ID {
				listed = append(listed, [2]string{nameOf(c), c.Short})
			}
		}
		writeTable(&b, group.ID, listed, width)
	}
	if !cmd.HasParent() {
		b.WriteString("\nRun \"ralph <command> --help\" for more information on a command.\n")
	}
	return b.String()
}

// writeTable writes names and their help below a title, if there are any.
func writeTable(b *strings.Builder, title string, rows [][2]string, width int) {
	left := 0
	for _, row := range rows {
		if n := len(row[0]); n <= mostLeft {
			left = max(left, n)
		}
	}
	for i, row := range rows {
		if i == 0 {
			b.WriteString("\n" + title + ":\n")
		}
		lines := wrap(row[1], width-left-6)
		if len(row[0]) > left {
			lines = slices.Insert(lines, 0, "")
		}
		for j, line := range lines {
			name := ""
			if j == 0 {
				name = row[0]
			}
			b.WriteString(strings.TrimRight(fmt.Sprintf("  %-*s    %s", left, name, line), " ") + "\n")
		}
	}
}

// spelled is a flag as one types it.
func spelled(cmd *cobra.Command, f *pflag.Flag) string {
	name := "--" + f.Name
	if no := cmd.Flags().Lookup("no-" + f.Name); no != nil && no.Hidden {
		name = "--[no-]" + f.Name
	}
	if f.NoOptDefVal == "" {
		name += "=" + cmp.Or(strings.Join(f.Annotations[flagset.Placeholder], ""), "STRING")
	}
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	return name
}

// leaves are the commands below one that do something and are listed.
func leaves(cmd *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	for _, c := range cmd.Commands() {
		switch {
		case c.HasSubCommands():
			found = append(found, leaves(c)...)
		case !c.Hidden && groupOf(c) != "":
			found = append(found, c)
		}
	}
	return found
}

// groupOf is the group of a command, or of the one that it is part of.
func groupOf(cmd *cobra.Command) string {
	if cmd.GroupID == "" && cmd.HasParent() {
		return groupOf(cmd.Parent())
	}
	return cmd.GroupID
}

// nameOf is what one types after ralph.
func nameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// paragraph is a part of a text. What is indented in it, such as an example, is verbatim,
// as are empty lines.
type paragraph struct {
	verbatim bool
	lines    []string
}

func paragraphs(text string) (parts []paragraph) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSuffix(line, "\n")
		verbatim := line == "" || line[0] == ' '
		if len(parts) == 0 || parts[len(parts)-1].verbatim != verbatim {
			parts = append(parts, paragraph{verbatim: verbatim})
		}
		last := &parts[len(parts)-1]
		last.lines = append(last.lines, line)
	}
	return parts
}

// wrap breaks a text into lines.
func wrap(text string, width int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
