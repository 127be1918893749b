package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/config/textfile"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
)

// prompt is the task as text.
func (l *loader) prompt(v value) string {
	if strings.TrimSpace(v.Text) == "" {
		l.Report(v.Where, "is blank: say what is to be done")
		return ""
	}
	return v.Text
}

// promptFile reads the task from a file.
func (l *loader) promptFile(v value) (path, prompt string) {
	path = strings.TrimSpace(v.Text)
	data, problem := l.files.Read(path, v.from == fromFlag, maxPrompt)
	switch {
	case problem != "":
		l.Report(v.Where, "%s %s", l.Quote(path), problem)
	case strings.TrimSpace(string(data)) == "":
		l.Report(v.Where, "%s is empty: say what is to be done", l.Quote(path))
	default:
		return path, string(data)
	}
	return path, ""
}

// isFolder reports whether a folder is there, else what is wrong. text is how it was given.
func (l *loader) isFolder(where, text string, st fs.FileInfo, err error) bool {
	switch {
	case err != nil:
		l.Report(where, "%s cannot be used: %s", l.Quote(text), textfile.Cause(err))
	case !st.IsDir():
		l.Report(where, "%s is not a folder", l.Quote(text))
	default:
		return true
	}
	return false
}

// directory is a folder of the workspace.
func (l *loader) directory(v value) string {
	text := strings.TrimSpace(v.Text)
	name, ok := l.files.Local(text)
	if !ok {
		l.refuse(v, "it is outside the workspace: give a folder relative to it")
		return ""
	}
	if st, err := l.files.Root.Stat(name); !l.isFolder(v.Where, text, st, err) {
		return ""
	}
	return strings.ReplaceAll(name, "\\", "/")
}

func (l *loader) branch(v value) string { return l.ref(v, ralph.CheckBranch) }

func (l *loader) base(v value) string { return l.ref(v, ralph.CheckRef) }

func (l *loader) ref(v value, check func(string) error) string {
	name := strings.TrimSpace(v.Text)
	if err := check(name); err != nil {
		l.refuse(v, "%s", err)
		return ""
	}
	return name
}

var identity = lazyregexp.New(`^([^<>]*[^<>\s])\s*<([^<>\s]+)>$`)

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

// taskDir is a folder that need not exist yet.
func (l *loader) taskDir(v value) string {
	text := strings.TrimSpace(v.Text)
	name, inside := l.files.Local(text)
	var st os.FileInfo
	var err error
	switch {
	case inside:
		st, err = l.files.Root.Stat(name)
		if l.o.Local {
			st, err = os.Stat(filepath.Join(l.o.Dir, name)) // it may lead anywhere
		}
	case l.o.Local:
		name = l.files.Abs(text) // wherever it is
		st, err = os.Stat(name)
	default:
		l.refuse(v, "it is outside the workspace: give a folder relative to it")
		return ""
	}
	if !errors.Is(err, fs.ErrNotExist) && !l.isFolder(v.Where, text, st, err) {
		return ""
	}
	return filepath.ToSlash(name)
}

// restarts is how often the agent is started; 0 is no "unlimited" here.
func (l *loader) restarts(v value) {
	if n, err := strconv.ParseInt(strings.TrimSpace(v.Text), 10, 64); err == nil && n <= 0 {
		l.refuse(v, "%d would never start the agent: give 1 or more", n)
		return
	}
	l.restarted = int(l.count(v))
}

// refused says that a value was given and already reported.
func (l *loader) refused(v value) bool {
	return v.Where != "" && l.Reported(v.Where)
}
