package scm

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// changes says whether `git commit -am` has anything to commit: asking the agent
// costs money, and an empty commit is an error. It tells once of new files that
// would be left out; before are the tasks that ran already.
func (t *tasks) changes(ctx context.Context, before [][]string, emit func(ralph.Event)) (bool, error) {
	untracked := "no"
	if !t.noted && !adds(before) {
		untracked = "normal"
	}
	// What is dirty inside a submodule is not committed by its superproject.
	words := []string{"status", "--porcelain", "--untracked-files=" + untracked, "--ignore-submodules=dirty"}
	var s status
	said := &tail{limit: outputBytes}
	w := t.Redact.Writer(said)
	exit, err := t.Process.Run(ctx, proc.Command{
		Argv: slices.Concat(t.Command, words), Dir: t.Dir, Env: t.Env, Stdout: &s, Stderr: w,
		Limits: proc.Limits{Time: t.Timeout},
	})
	_ = w.Close() // only flushes into a sink that cannot fail
	switch name := t.name(words[:1]); {
	case err != nil:
		return false, fmt.Errorf("%s: could not be started: %w", name, err)
	case exit.Why != proc.Exited:
		return false, fmt.Errorf("%s: %s", name, t.reason(exit))
	case exit.Code != 0:
		return false, fmt.Errorf("%s: exit code %d: %s", name, exit.Code, lastLines(said.text()))
	}
	if s.untracked != "" {
		t.noted = true
		emit(ralph.Event{Kind: ralph.EventNotice, Text: fmt.Sprintf(
			"New files such as %s are not committed: \"commit -am\" takes only files that git knows. A task \"add -A\" before \"commit\" would add them.",
			t.Redact.Text(printable(s.untracked)))})
	}
	return s.tracked, nil
}

// adds says that the user stages new files, or some of them.
func adds(tasks [][]string) bool {
	return slices.ContainsFunc(tasks, func(words []string) bool {
		return len(words) > 0 && (words[0] == "add" || words[0] == "stage")
	})
}

// status reads `git status --porcelain` (gitformat: two letters, a space, a
// path), whatever its length.
type status struct {
	line      []byte // what is kept of the line that is being read
	tracked   bool   // a file that git knows has changed
	untracked string // the first new file, at most statusLine bytes; ralph's own do not count
}

// statusLine bounds what is kept of a line, in bytes.
const statusLine = 300

func (s *status) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		if room := statusLine - len(s.line); room > 0 {
			s.line = append(s.line, line[:min(room, len(line))]...)
		}
		if ended {
			s.read(string(s.line))
			s.line = s.line[:0]
		}
		p = rest
	}
	return n, nil
}

func (s *status) read(line string) {
	path, isNew := strings.CutPrefix(line, "?? ")
	switch {
	case !isNew:
		s.tracked = s.tracked || line != ""
	case s.untracked == "" && !strings.HasPrefix(path, ".ralph/") && !strings.Contains(path, "/.ralph/"):
		s.untracked = strings.ToValidUTF8(path, "\uFFFD")
	}
}
