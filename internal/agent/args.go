package agent

import (
	"slices"
	"strings"
)

// option is an option of a CLI: its names, and whether a value follows as an
// argument of its own unless it is joined by "=".
type option struct {
	names []string
	value bool
}

// strip returns the arguments that are none of the options, and the values of
// none. CLIs of Rust refuse an option that comes twice.
func strip(args []string, options ...option) []string {
	kept := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(kept, args[i:]...)
		}
		o, joined, found := find(args[i], options)
		switch {
		case !found:
			kept = append(kept, args[i])
		case o.value && !joined:
			i++
		}
	}
	return kept
}

// program is the command that starts the CLI, without the options behind the
// CLI's own name; what stands before it, ssh -p 22 host, is another's.
func program(o Options, name string, options ...option) []string {
	argv := command(o, name)
	for i, arg := range argv {
		if Infer([]string{arg}) == name {
			return append(argv[:i+1:i+1], strip(argv[i+1:], options...)...)
		}
	}
	return argv
}

// find says which of the options an argument is.
func find(arg string, options []option) (o option, joined, found bool) {
	name, _, joined := strings.Cut(arg, "=")
	for _, o := range options {
		if slices.Contains(o.names, name) && (o.value || !joined) {
			return o, joined, true
		}
	}
	return option{}, false, false
}

// has says that one of the names is among the arguments, with or without "=".
func has(args []string, names ...string) bool {
	for _, arg := range args {
		if arg == "--" {
			return false
		}
		if _, _, found := find(arg, []option{{names: names, value: true}}); found {
			return true
		}
	}
	return false
}

// value is what stands behind the last option of one of the names.
func value(args []string, names ...string) string {
	var v string
	for i, arg := range args {
		o, joined, found := find(arg, []option{{names: names, value: true}})
		switch {
		case arg == "--":
			return v
		case !found:
		case joined:
			_, v, _ = strings.Cut(arg, "=")
		case o.value && i+1 < len(args):
			v = args[i+1]
		}
	}
	return v
}
