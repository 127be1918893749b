package config

import (
	"errors"
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
	if err := CheckBranch(name); err != nil {
		l.refuse(v, "%s", err)
		return ""
	}
	return name
}

func (l *loader) base(v value) string {
	name := strings.TrimSpace(v.text)
	if err := checkRef(name); err != nil {
		l.refuse(v, "%s", err)
		return ""
	}
	return name
}

// CheckBranch says what is wrong with the name of a branch we are to create:
// git's rules (git-check-ref-format), GitHub's, and no character that means
// something to a shell, because people paste branch names into one.
func CheckBranch(name string) error {
	if i := strings.IndexAny(name, ";&|<>()$`'\"!#{}"); i >= 0 {
		return fmt.Errorf("the name of a branch cannot hold %q", name[i])
	}
	return checkRef(name)
}

var commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// checkRef holds for a branch that exists, too.
func checkRef(name string) error {
	for _, r := range name {
		if r == utf8.RuneError || unicode.Is(unicode.C, r) || unicode.IsSpace(r) || strings.ContainsRune(`~^:?*[\`, r) {
			return fmt.Errorf("the name of a branch cannot hold %q", r)
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return errors.New("give the name of a branch without an empty part")
		case strings.HasPrefix(part, "."):
			return errors.New("no part of the name of a branch begins with a dot")
		case strings.HasSuffix(part, ".lock"):
			return errors.New("no part of the name of a branch ends with .lock")
		}
	}
	switch {
	case len(name) > 200:
		return errors.New("give a name of at most 200 bytes")
	case strings.HasPrefix(name, "-"):
		return errors.New("the name of a branch does not begin with -")
	case strings.HasPrefix(name, "refs/"):
		return errors.New("give the short name, without refs/heads/")
	case strings.Contains(name, ".."), strings.Contains(name, "@{"):
		return errors.New(`the name of a branch cannot hold ".." or "@{"`)
	case strings.HasSuffix(name, "."):
		return errors.New("the name of a branch does not end with a dot")
	case name == "@", name == "HEAD", commitID.MatchString(name):
		return errors.New("that stands for a commit: give the name of a branch")
	}
	return nil
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
