package driver

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent/catalog"
	"github.com/org/ralph-action/internal/ralph"
)

// Option is an option of a CLI: its names, and whether a value follows as an
// argument of its own unless it is joined by "=".
type Option struct {
	Names []string
	Value bool
}

// Strip returns the arguments that are none of the options, and the values of
// none. CLIs of Rust refuse an option that comes twice.
func Strip(args []string, options ...Option) []string {
	kept := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(kept, args[i:]...)
		}
		o, joined, found := FindOption(args[i], options)
		switch {
		case !found:
			kept = append(kept, args[i])
		case o.Value && !joined:
			i++
		}
	}
	return kept
}

// Program is the command that starts the CLI, without the options behind the
// CLI's own name; what stands before it, ssh -p 22 host, is another's.
func Program(o Options, name string, options ...Option) []string {
	argv := Command(o, name)
	for i, arg := range argv {
		if ProgramName(arg) == name {
			return append(argv[:i+1:i+1], Strip(argv[i+1:], options...)...)
		}
	}
	return argv
}

// FindOption says which of the options an argument is.
func FindOption(arg string, options []Option) (o Option, joined, found bool) {
	name, _, joined := strings.Cut(arg, "=")
	for _, o := range options {
		if slices.Contains(o.Names, name) && (o.Value || !joined) {
			return o, joined, true
		}
	}
	return Option{}, false, false
}

// Has reports whether one of the names is among the arguments, with or without "=".
func Has(args []string, names ...string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if _, _, found := FindOption(arg, []Option{{Names: names, Value: true}}); found {
			return true
		}
	}
	return false
}

// Value is what stands behind the last option of one of the names.
func Value(args []string, names ...string) string {
	var v string
	for i, arg := range args {
		o, joined, found := FindOption(arg, []Option{{Names: names, Value: true}})
		switch {
		case arg == "--":
			return v
		case !found:
		case joined:
			_, v, _ = strings.Cut(arg, "=")
		case o.Value && i+1 < len(args):
			v = args[i+1]
		}
	}
	return v
}

// AddOption adds the first of an option's names with a value, unless the value is empty or
// the user's arguments have the option.
func AddOption(argv, given []string, value string, names ...string) []string {
	if value == "" || Has(given, names...) {
		return argv
	}
	return append(argv, names[0], value)
}

// InSession adds what makes a CLI go on in a session to the user's arguments, which are
// argv[n:], and takes out an option that it refuses together with that.
func InSession(argv []string, n int, refused Option, add ...string) []string {
	args := Strip(argv[n:], refused)
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return append(argv[:n:n], slices.Insert(args, end, add...)...)
}

// Command is the program with its fixed first arguments, in a slice of its own.
func Command(o Options, program string) []string {
	if len(o.Command) > 0 {
		return slices.Clone(o.Command)
	}
	return []string{program}
}

// Operand keeps a prompt from being taken for an option or for a command of
// the CLI's.
func Operand(prompt string) string {
	if strings.HasPrefix(prompt, "-") || !strings.ContainsAny(prompt, " \t\n") {
		return "\n" + prompt
	}
	return prompt
}

// Behind is what stands behind the CLI's own name in the user's command.
func Behind(o Options, name string) []string {
	for i, arg := range o.Command {
		if ProgramName(arg) == name {
			return o.Command[i+1:]
		}
	}
	return nil
}

// Index is where an option first stands; -1: nowhere.
func Index(args []string, o Option) int {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if _, _, found := FindOption(arg, []Option{o}); found {
			return i
		}
	}
	return -1
}

// Given are the arguments that the user gave a CLI: behind its name in the command,
// and Args.
func Given(o Options, name string) []string { return slices.Concat(Behind(o, name), o.Args) }

// Unanswered says what a permission mode that asks does to a run.
func Unanswered(name, mode, instead string) string {
	return fmt.Sprintf("%s: %s holds, so what it does not allow is refused: nobody is there to be asked. %s", name, mode, instead)
}

// ProgramName is the name of a program with or without a directory.
func ProgramName(program string) string {
	name := path.Base(strings.ReplaceAll(program, `\`, "/"))
	return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
}

// CommandLine is how an agent is started: with the driver's arguments, or with the
// user's exact ones and what the prompt and the session take besides.
func CommandLine(d Driver, o Options, p ralph.Prompt) []string {
	w := d.Ways(o)
	if !catalog.Of(o.Name).Sessions || !resumable(p.Resume) {
		p.Resume = ""
	}
	if !o.Exact {
		return d.Argv(o, p)
	}
	argv := Command(o, o.Name)
	n := len(argv)
	argv = d.Resume(append(argv, o.ExactArgs...), n, p.Resume)
	if w.Argument && w.Flag != "" {
		argv = append(argv, w.Flag)
	}
	switch {
	case w.File:
		argv = append(argv, p.Text)
	case w.Argument:
		argv = append(argv, Operand(p.Text))
	}
	return argv
}

// resumable reports whether a session's id, which is foreign text, may stand in a
// command line. Those of today's CLIs are UUIDs, amp's with a "T-" in front.
func resumable(id string) bool {
	if id == "" || len(id) > MaxName || id[0] == '-' {
		return false
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
