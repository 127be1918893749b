package shellguard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is one program about to run: wrappers such as sudo and env are off, and
// variables that the same script sets to fixed text are filled in.
type call struct {
	name      string // without its directory
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

// redirect is a redirection. The target of a here-document, <<, is its text.
type redirect struct {
	op     string
	target word
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
	guard  Guard
	rules  []rule
	start  string // where the script begins
	cwd    string
	vars   map[string]string
	arrays map[string][]arg
	depth  int
	calls  int
	found  *finding
	// remotes are the git remotes that the script itself adds or moves.
	remotes map[string]bool
}

// maxCalls bounds how many commands of one script are judged, maxValue the
// bytes of a variable that is filled in, and maxArray the arrays and the
// elements of each.
const (
	maxCalls = 5000
	maxValue = 16 << 10
	maxArray = 100
)

// runText judges a text that a shell would be given.
func (w *walk) runText(text string) {
	for _, s := range parse(text) {
		w.run(s)
	}
}

func (w *walk) run(s script) {
	for p := range s.pipelines() {
		if w.found != nil || w.calls > maxCalls {
			return
		}
		w.pipeline(p)
	}
}

// pipeline judges every call of it and returns them by stage.
func (w *walk) pipeline(p []command) [][]call {
	p = p[:min(len(p), maxCalls)]
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

// flatten is every call of one stage: one, or those of a compound command.
func (w *walk) flatten(c command, before []call) []call {
	body := c.script.part(c.group)
	if c.function != "" && bomb(c.function, body) {
		w.found = &finding{kind: kindForkBomb, why: "a function that starts itself again and again in the background", source: c.source}
		return nil
	}
	for _, n := range c.within {
		if each, ok := n.(*syntax.WordIter); ok && each.Name != nil {
			delete(w.vars, each.Name.Value)
			delete(w.arrays, each.Name.Value)
		}
		w.subs(c.script.subs(n))
	}
	out := w.group(c, body)
	if w.found != nil || len(out) > maxCalls {
		return nil
	}
	redirects := w.redirects(c)
	for i := range out {
		out[i].redirects = append(out[i].redirects[:len(out[i].redirects):len(out[i].redirects)], redirects...)
	}
	for _, a := range append(c.assigns[:len(c.assigns):len(c.assigns)], c.declares...) {
		w.assign(c.script, a)
	}
	args := w.args(c)
	for _, a := range args {
		w.subs(a.subs)
	}
	for _, r := range redirects {
		w.subs(r.target.subs)
	}
	if len(args) == 0 && len(redirects) == 0 {
		return out
	}
	one := call{args: args, redirects: redirects, source: c.source, cwd: w.cwd}
	for _, r := range redirects {
		if r.op == "<<" || r.op == "<<<" {
			one.input = r.target.text
		}
	}
	for _, b := range before {
		if b.name == "echo" || b.name == "printf" {
			one.input = strings.Join(texts(b.args), " ")
		}
	}
	return append(out, unwrap(one, 0))
}

// group judges the statements of a compound command and returns their calls. A
// function's body is judged where it is defined, and is no part of the stage.
func (w *walk) group(c command, body script) []call {
	if w.depth++; w.depth > maxDepth {
		w.depth--
		return nil
	}
	defer func() { w.depth-- }()
	var out []call
	cwd := w.cwd
	for p := range body.pipelines() {
		for _, calls := range w.pipeline(p) {
			for _, one := range calls {
				one.judged = true
				out = append(out, one)
			}
		}
		if w.found != nil || len(out) > maxCalls {
			return out
		}
	}
	if c.function != "" || c.subshell {
		w.cwd = cwd
	}
	if c.function != "" {
		return nil
	}
	return out
}

// assign keeps the value of a variable or an array, where it is known.
func (w *walk) assign(s script, a *syntax.Assign) {
	if a.Name == nil || a.Naked {
		return
	}
	name := a.Name.Value
	switch {
	case a.Array != nil:
		elems := command{script: s}
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				elems.words = append(elems.words, e.Value)
			}
		}
		list := w.args(elems)
		for _, e := range list {
			w.subs(e.subs)
		}
		if a.Append {
			list = append(w.arrays[name][:len(w.arrays[name]):len(w.arrays[name])], list...)
		}
		delete(w.vars, name)
		delete(w.arrays, name)
		if len(list) <= maxArray && len(w.arrays) < maxArray {
			w.arrays[name] = list
		}
	default:
		value := s.word(a.Value)
		text := w.expand(value.text)
		if a.Append {
			text = w.expand(mark+name+mark) + text
		}
		delete(w.vars, name)
		delete(w.arrays, name)
		if a.Index == nil && !strings.Contains(text, mark) && len(text) <= maxValue && len(w.vars) < 1000 {
			w.vars[name] = text
		}
		w.subs(value.subs)
	}
}

// args are the program and its arguments, with what is known of variables.
func (w *walk) args(c command) []arg {
	var out []arg
	for _, in := range c.words {
		for _, one := range braces(in) {
			word := c.script.word(one)
			text := w.expand(word.text)
			if name := strings.Trim(word.text, mark); word.text == mark+name+mark && w.arrays[name] != nil {
				out = append(out, w.arrays[name]...)
				continue
			}
			fields := []string{text}
			if !word.quoted && text != word.text && strings.ContainsAny(text, " \t\n") {
				fields = strings.Fields(text) // an unquoted variable is split
			}
			for i, f := range fields {
				a := arg{text: f}
				if i == 0 {
					a.subs = word.subs
				}
				out = append(out, a)
			}
		}
	}
	for _, a := range c.declares {
		text := ""
		if a.Name != nil {
			text = a.Name.Value
		}
		value := c.script.word(a.Value)
		if !a.Naked {
			text += "="
			value.subs = nil // judged when it was assigned
		}
		out = append(out, arg{text: text + w.expand(value.text), subs: value.subs})
	}
	return out
}

func (w *walk) redirects(c command) []redirect {
	var out []redirect
	for _, r := range c.redirects {
		one := redirect{op: r.Op.String(), target: c.script.word(r.Word)}
		if r.Hdoc != nil {
			one.op = "<<"
			if one.target.quoted {
				one.target = word{text: r.Hdoc.Lit(), quoted: true}
			} else {
				one.target = c.script.document(r.Hdoc)
			}
		}
		one.target.text = w.expand(one.target.text)
		out = append(out, one)
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

// inner judges what a shell, eval or find is given to run.
func (w *walk) inner(c call) {
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
		w.runText(unmark(code))
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
