package shellguard

import (
	"path"
	"strings"
)

// follow keeps track of where the script is and of the remotes it makes.
func (w *walk) follow(calls []call) {
	for _, c := range calls {
		switch c.name {
		case "cd", "pushd":
			target := w.guard.home()
			for _, a := range c.args {
				if a.text != "--" && (a.text == "-" || !strings.HasPrefix(a.text, "-")) {
					target = a.text
					break
				}
			}
			w.cwd = w.resolve(target, w.cwd)
		case "popd":
			w.cwd = ""
		case "git":
			if g := gitOf(c); g.name == "remote" {
				if all := g.operands("-t -m"); len(all) > 1 && (all[0] == "add" || all[0] == "set-url") {
					w.remotes[all[1]] = true
				}
			}
		}
	}
}

// expand fills in the variables that are known.
func (w *walk) expand(text string) string {
	if !strings.Contains(text, mark) {
		return text
	}
	parts := strings.Split(text, mark)
	var b strings.Builder
	for i, part := range parts {
		if i%2 == 0 {
			b.WriteString(part)
			continue
		}
		value, known := w.vars[part]
		switch {
		case part == "HOME":
			value, known = w.guard.home(), true
		case part == "PWD" && w.cwd != "":
			value, known = w.cwd, true
		}
		if b.Len() > maxValue {
			return b.String() // x=$x$x…
		}
		if known {
			b.WriteString(value)
		} else {
			b.WriteString(mark + part + mark)
		}
	}
	return b.String()
}

// resolve makes a path absolute and clean; empty: only the shell knows it.
func (w *walk) resolve(text, cwd string) string {
	if strings.Contains(text, mark) {
		return ""
	}
	if !path.IsAbs(text) {
		if cwd == "" {
			return ""
		}
		text = cwd + "/" + text
	}
	return path.Clean(text)
}

// bomb reports whether a function starts itself more than once, in a pipeline with
// itself or in the background.
func bomb(name string, body script) bool {
	for p := range body.pipelines() {
		own, async := 0, false
		for _, c := range p {
			if len(c.words) > 0 && c.script.word(c.words[0]).text == name {
				own++
				async = async || c.async
			}
			if bomb(name, c.script.part(c.group)) {
				return true
			}
		}
		if own > 1 || own == 1 && async {
			return true
		}
	}
	return false
}

func texts(args []arg) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a.text
	}
	return out
}

// unmark writes the marks of variables as a shell would have them.
func unmark(s string) string {
	if !strings.Contains(s, mark) {
		return s
	}
	var b strings.Builder
	for i, part := range strings.Split(s, mark) {
		switch {
		case i%2 == 0:
			b.WriteString(part)
		case part == "(":
			b.WriteString("$_")
		default:
			b.WriteString("${" + part + "}")
		}
	}
	return b.String()
}
