package shellguard

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrappers run the command that follows them. The options listed take a value
// of their own; operands says how many words come before the command.
func wrapper(name string) (valued string, operands int, ok bool) {
	switch name {
	case "sudo", "doas":
		return "-u -g -h -p -C -D -r -t -T -U --user --group --chdir --host --prompt", 0, true
	case "env":
		return "-u -C -S --unset --chdir", 0, true
	case "nice", "ionice", "chrt", "renice":
		return "-n -c --adjustment --class --classdata", 0, true
	case "timeout":
		return "-s -k --signal --kill-after", 1, true
	case "xargs":
		return "-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-lines --replace", 0, true
	case "nohup", "command", "builtin", "exec", "setsid", "stdbuf", "unbuffer", "time", "busybox", "toybox", "chronic", "parallel", "watch", "noglob", "nocorrect":
		return "-i -o -e -a --input --output --error", 0, true
	case "flock", "chroot", "taskset", "proot", "repeat":
		return "", 1, true
	case "strace", "ltrace":
		return "-o -p -e -u", 0, true
	}
	return "", 0, false
}

// unwrap takes off sudo, env, xargs and their like, and names the program.
func unwrap(c call, depth int) call {
	if len(c.args) == 0 {
		return c
	}
	name := c.args[0].text
	if strings.Contains(name, "/") {
		name = path.Base(name)
	}
	c.name = name
	valued, operands, ok := wrapper(name)
	if !ok || depth > 8 {
		c.args = c.args[1:]
		return c
	}
	if (name == "command" || name == "builtin") && len(c.args) > 1 && (c.args[1].text == "-v" || c.args[1].text == "-V") {
		c.args = c.args[1:]
		return c
	}
	rest := c.args[1:]
	for len(rest) > 0 {
		text := rest[0].text
		key, _, assigned := strings.Cut(text, "=")
		switch {
		case text == "--":
			rest = rest[1:]
			operands = min(operands, len(rest))
		case strings.HasPrefix(text, "-") && text != "-":
			if name == "env" && (text == "-S" || text == "--split-string") && len(rest) > 1 {
				var split []arg
				for _, f := range strings.Fields(rest[1].text) {
					split = append(split, arg{text: f})
				}
				rest = append(split, rest[2:]...)
				continue
			}
			takes := !assigned && slices.Contains(strings.Fields(valued), text)
			rest = rest[1:]
			if takes && len(rest) > 0 {
				rest = rest[1:]
			}
			continue
		case assigned && syntax.ValidName(strings.TrimSuffix(key, "+")) && (name == "env" || name == "sudo" || name == "doas"):
			rest = rest[1:]
			continue
		}
		break
	}
	if len(rest) <= operands {
		c.args = c.args[1:] // nothing is wrapped: env, or sudo -l
		return c
	}
	c.args = rest[operands:]
	if name == "xargs" {
		for _, f := range strings.Fields(c.input) {
			c.args = append(c.args[:len(c.args):len(c.args)], arg{text: f})
			if len(c.args) > 200 {
				break
			}
		}
	}
	return unwrap(c, depth+1)
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash"}, name)
}

// isInterpreter reports whether the program runs what it reads on standard input.
func isInterpreter(name string) bool {
	if isShell(name) {
		return true
	}
	trimmed := strings.TrimRight(name, "0123456789.")
	return slices.Contains([]string{"python", "node", "perl", "ruby", "php", "deno", "bun", "lua", "pwsh", "osascript"}, trimmed)
}

// scriptArg is the first operand of an interpreter: its script. Empty: it reads
// standard input.
func scriptArg(args []arg) string {
	for _, a := range args {
		switch {
		case a.text == "-s" || a.text == "-" || a.text == "--stdin":
			return ""
		case strings.HasPrefix(a.text, "-c") || strings.HasPrefix(a.text, "-m") || strings.HasPrefix(a.text, "-e") && len(a.text) <= 3 && a.text != "-ex" && a.text != "-eu":
			return a.text
		case !strings.HasPrefix(a.text, "-"):
			return a.text
		}
	}
	return ""
}
