package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/ralph"
)

// prompt is the task as text.
func (l *loader) prompt(v value) string {
	if strings.TrimSpace(v.text) == "" {
		l.report(v.where, "is blank: say what is to be done")
		return ""
	}
	return v.text
}

// promptFile reads the task from a file.
func (l *loader) promptFile(v value) (path, prompt string) {
	path = strings.TrimSpace(v.text)
	data, problem := l.read(path, v.from == fromFlag, maxPrompt)
	switch {
	case problem != "":
		l.report(v.where, "%s %s", l.quote(path), problem)
	case strings.TrimSpace(string(data)) == "":
		l.report(v.where, "%s is empty: say what is to be done", l.quote(path))
	default:
		return path, string(data)
	}
	return path, ""
}

// directory is a folder of the workspace.
func (l *loader) directory(v value) string {
	text := strings.TrimSpace(v.text)
	name, ok := l.local(text)
	if !ok {
		l.refuse(v, "it is outside the workspace: give a folder relative to it")
		return ""
	}
	switch st, err := l.root.Stat(name); {
	case err != nil:
		l.report(v.where, "%s cannot be used: %s", l.quote(text), cause(err))
		return ""
	case !st.IsDir():
		l.report(v.where, "%s is not a folder", l.quote(text))
		return ""
	}
	return strings.ReplaceAll(name, "\\", "/")
}

// model goes into the agent's argv.
func (l *loader) model(v value) string {
	s := l.line(v)
	if strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t") {
		l.refuse(v, "give the name of a model, without spaces and not beginning with -")
		return ""
	}
	return s
}

// token is what stands between the tags of the completion marker.
func (l *loader) token(v value) string {
	s := l.line(v)
	if strings.ContainsAny(s, "<>") {
		l.refuse(v, "give the word that stands inside the tag, without < and >")
		return ""
	}
	return s
}

func (l *loader) branch(v value) string {
	name := strings.TrimSpace(v.text)
	if err := ralph.CheckBranch(name); err != nil {
		l.refuse(v, "%s", err)
		return ""
	}
	return name
}

func (l *loader) base(v value) string {
	name := strings.TrimSpace(v.text)
	if err := ralph.CheckRef(name); err != nil {
		l.refuse(v, "%s", err)
		return ""
	}
	return name
}

var identity = regexp.MustCompile(`^([^<>]*[^<>\s])\s*<([^<>\s]+)>$`)

func (l *loader) person(v value) Person {
	s := l.line(v)
	if s == "" {
		return Person{}
	}
	m := identity.FindStringSubmatch(s)
	if m == nil {
		l.refuse(v, "give Name <email>")
		return Person{}
	}
	return Person{Name: m[1], Email: m[2]}
}

// firstControl names the first character of s that does not belong on a line:
// control characters, and the invisible ones that reorder or hide text.
func firstControl(s string) string {
	for _, r := range s {
		switch {
		case r == '\n' || r == '\r':
			return "a line break"
		case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Cs):
			return fmt.Sprintf("the control character %U", r)
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
			return fmt.Sprintf("the invisible character %U", r)
		}
	}
	return ""
}

// validate checks what involves more than one input, and fills in what depends
// on another.
func (l *loader) validate(values map[string]value) {
	l.validateTask(values)
	if l.c.Agent == "text" && len(l.c.AgentCommand) == 0 && !l.refused(values["agent-command"]) {
		l.report(values["agent"].where, "text needs agent-command: the program that reads the prompt on stdin and prints its answer")
	}
	if v, ok := values["agent-command"]; ok && len(l.c.AgentCommand) > 0 && strings.TrimSpace(l.c.AgentCommand[0]) == "" {
		l.refuse(v, "its first word is the program and cannot be empty")
	}
	if l.c.Completion.Token == "" && values["completion-token"].text == "" {
		l.c.Completion.Token = map[ralph.CompletionKind]string{
			ralph.CompletionPromise:  "COMPLETE",
			ralph.CompletionResponse: "DONE",
		}[l.c.Completion.Kind]
	}
	if l.c.Branch != "" && l.c.Branch == l.c.Base {
		l.refuse(values["branch"], "it is also the base: a pull request needs two branches")
	}
	for i := range l.c.Guardrails {
		switch g := &l.c.Guardrails[i]; g.Timeout {
		case unlimited:
			g.Timeout = 0
		case 0:
			g.Timeout = l.c.GuardrailTimeout
		}
	}
}

// refused says that a value was given and already reported.
func (l *loader) refused(v value) bool {
	return v.where != "" && slices.ContainsFunc(l.list, func(p Problem) bool { return p.Where == v.where })
}

func (l *loader) validateTask(values map[string]value) {
	text, hasText := values["prompt"]
	file, hasFile := values["prompt-file"]
	switch {
	case hasText && hasFile:
		l.report(text.where, "there are two prompts, %s is the other: give only one of them", file.where)
	case !hasText && !hasFile:
		l.report("prompt", "there is nothing to do: give the task as prompt or as prompt-file")
	}
}
