package hook

import (
	"strings"
)

// call is one program about to run: wrappers such as sudo and env are off, and
// variables that the same script sets to fixed text are filled in.
type call struct {
	name      string // without its folder
	args      []arg
	redirects []redirect
	source    string // as written
	cwd       string // empty: unknown
	input     string // what is known to come on standard input
	judged    bool   // as part of a pipeline within a group
}

type arg struct {
	text string
	subs []script
}

// scene is a call with what is around it.
type scene struct {
	call
	walk  *walk
	stage int      // of the pipeline, from 0
	pipe  [][]call // every stage's calls
}

// finding is a command that must not run.
type finding struct {
	kind   string
	why    string
	source string
}

// walk goes through a script in the order in which a shell would run it.
type walk struct {
	guard Guard
	rules []rule
	start string // where the script begins
	cwd   string
	vars  map[string]string
	depth int
	calls int
	found *finding
	// remotes are the git remotes that the script itself adds or moves.
	remotes map[string]bool
}

// maxCalls bounds how many commands of one script are judged, and maxValue the
// bytes of a variable that is filled in.
const (
	maxCalls = 5000
	maxValue = 16 << 10
)

func (w *walk) run(s script) {
	for _, p := range s {
		if w.found != nil || w.calls > maxCalls {
			return
		}
		w.pipeline(p)
	}
}

// pipeline judges every call of it and returns them by stage.
func (w *walk) pipeline(p pipeline) [][]call {
	stages := make([][]call, len(p))
	for i, c := range p {
		var before []call
		if i > 0 {
			before = stages[i-1]
		}
		if stages[i] = w.flatten(c, before); w.found != nil {
			return nil
		}
	}
	for i, calls := range stages {
		for _, c := range calls {
			if c.judged && len(stages) == 1 {
				continue
			}
			if w.calls += 1 + len(c.args)/10; w.calls > maxCalls || w.judge(scene{call: c, walk: w, stage: i, pipe: stages}) {
				return nil
			}
			w.inner(c)
		}
	}
	if len(stages) == 1 {
		w.follow(stages[0])
	}
	return stages
}

// judge asks the rules about one call; true: something was found.
func (w *walk) judge(s scene) bool {
	for _, r := range w.rules {
		if w.found != nil {
			break
		}
		if why := r.check(s); why != "" {
			w.found = &finding{kind: r.kind, why: why, source: s.source}
		}
	}
	return w.found != nil
}

// flatten is every call of one stage: one, or those of a group.
func (w *walk) flatten(c command, before []call) []call {
	if c.function != "" && bomb(c.function, c.group) {
		w.found = &finding{kind: kindForkBomb, why: "a function that starts itself again and again in the background", source: c.source}
		return nil
	}
	var out []call
	cwd := w.cwd
	for _, p := range c.group { // a function's body is judged where it is defined
		for _, calls := range w.pipeline(p) {
			for _, one := range calls {
				one.judged = true
				out = append(out, one)
			}
		}
		if w.found != nil || len(out) > maxCalls {
			return nil
		}
	}
	switch {
	case c.function != "":
		w.cwd, out = cwd, nil
	case strings.HasPrefix(c.source, "("):
		w.cwd = cwd
	}
	for i := range out {
		out[i].redirects = append(out[i].redirects[:len(out[i].redirects):len(out[i].redirects)], w.redirects(c.redirects)...)
	}
	var args []arg
	assigning := true
	for _, word := range c.words {
		text := w.expand(word.text)
		if name, value, ok := strings.Cut(text, "="); ok && assigning && name != "" && isName(name) {
			if !strings.Contains(value, mark) && len(value) <= maxValue && len(w.vars) < 1000 {
				w.vars[name] = value
			} else {
				delete(w.vars, name)
			}
			w.subs(word.subs)
			continue
		}
		assigning = false
		fields := []string{text}
		if !word.quoted && text != word.text && strings.ContainsAny(text, " \t\n") {
			fields = strings.Fields(text) // an unquoted variable is split
		}
		for i, f := range fields {
			a := arg{text: f}
			if i == 0 {
				a.subs = word.subs
			}
			args = append(args, a)
		}
	}
	if len(args) == 0 && len(c.redirects) == 0 {
		return out
	}
	one := call{args: args, redirects: w.redirects(c.redirects), source: c.source, cwd: w.cwd}
	for _, r := range one.redirects {
		if r.op == "<<" || r.op == "<<<" {
			one.input = r.target.text
		}
	}
	for _, b := range before {
		if b.name == "echo" || b.name == "printf" {
			one.input = strings.Join(texts(b.args), " ")
		}
	}
	if len(args) > 0 && c.group == nil {
		one = unwrap(one, 0)
	}
	return append(out, one)
}

func (w *walk) redirects(list []redirect) []redirect {
	out := make([]redirect, len(list))
	for i, r := range list {
		r.target.text = w.expand(r.target.text)
		out[i] = r
	}
	return out
}

// subs judges the commands whose output becomes part of a word.
func (w *walk) subs(list []script) {
	if w.depth++; w.depth <= maxDepth {
		for _, s := range list {
			w.run(s)
		}
	}
	w.depth--
}

// inner judges the scripts within a call: substitutions, and what a shell, eval
// or find is given to run.
func (w *walk) inner(c call) {
	for _, a := range c.args {
		w.subs(a.subs)
	}
	for _, r := range c.redirects {
		w.subs(r.target.subs)
	}
	var code string
	switch {
	case c.name == "eval":
		code = strings.Join(texts(c.args), " ")
	case isShell(c.name) || c.name == "su" || c.name == "runuser":
		for i, a := range c.args {
			if strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.HasSuffix(a.text, "c") && i+1 < len(c.args) {
				code = c.args[i+1].text
				break
			}
		}
		if code == "" && isShell(c.name) && scriptArg(c.args) == "" {
			code = c.input
		}
	case c.name == "find":
		w.exec(c)
	}
	if code == "" || w.found != nil {
		return
	}
	if w.depth++; w.depth <= maxDepth {
		// Marks of variables go back to what the inner shell will expand.
		w.run(parse(unmark(code), w.depth))
	}
	w.depth--
}

// exec judges the command of find's -exec.
func (w *walk) exec(c call) {
	for i, a := range c.args {
		switch a.text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			continue
		}
		var args []arg
		for _, b := range c.args[i+1:] {
			if b.text == ";" || b.text == "+" {
				break
			}
			args = append(args, b)
		}
		if w.calls += 1 + len(args)/10; w.calls > maxCalls || w.found != nil {
			return
		}
		if len(args) == 0 || w.depth >= maxDepth {
			continue
		}
		w.depth++
		one := unwrap(call{args: args, source: c.source}, 0)
		if !w.judge(scene{call: one, walk: w, pipe: [][]call{{one}}}) {
			w.inner(one)
		}
		w.depth--
	}
}
