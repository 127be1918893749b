package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/repo/printable"
)

// Sandbox runs git as the agent's user, with the agent's restrictions, in the workspace.
// Calls come one at a time.
type Sandbox interface {
	// Git runs git to its end. An exit code other than 0 is a *GitError. Stdout may be nil.
	Git(ctx context.Context, c Command) error
}

// Command is one call of git.
type Command struct {
	Args   []string // without the program's name
	Env    []string // added to the sandbox's environment, KEY=VALUE
	Stdin  io.Reader
	Stdout io.Writer
}

// GitError is a git that failed in the sandbox. Stderr is foreign text.
type GitError struct {
	Args     []string
	ExitCode int    // -1 when a signal ended it
	Stderr   string // bounded by the Sandbox
}

// Error shows the subcommand and the bounded last lines of stderr, on one line.
func (e *GitError) Error() string {
	return fmt.Sprintf("git %s: exit code %d: %s", subcommand(e.Args), e.ExitCode, e.Message(400))
}

// Message returns what git printed, on one line of at most limit bytes. Git's hints are
// left out: they are for people who type commands.
func (e *GitError) Message(limit int) string {
	var b strings.Builder
	for line := range strings.Lines(e.Stderr) {
		if !strings.HasPrefix(line, "hint:") {
			b.WriteString(line)
		}
	}
	return printable.Line(b.String(), limit)
}

// ExitCode returns the exit code of a git that ran; ok is false for any other error.
func ExitCode(err error) (code int, ok bool) {
	var g *GitError
	if errors.As(err, &g) {
		return g.ExitCode, true
	}
	return 0, false
}

// subcommand returns the git command of an argument list.
func subcommand(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-c" || args[i] == "-C":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

const (
	gitTime        = 10 * time.Minute // of one command; staging a million new files takes minutes
	maxOutputBytes = 64 << 20         // of a command whose output is held in memory
)

// Git runs git at the top of the work tree.
func (t *Tree) Git(ctx context.Context, stdin io.Reader, stdout io.Writer, args ...string) error {
	return t.GitEnv(ctx, nil, stdin, stdout, args...)
}

// GitEnv is Git with additional environment variables.
func (t *Tree) GitEnv(ctx context.Context, env []string, stdin io.Reader, stdout io.Writer, args ...string) error {
	all := []string{
		// The answers must not depend on a watcher the agent may have left,
		// and a hook of the user's must not run for our bookkeeping.
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
		// Written by the agent, the commit graph would say what is an ancestor of what.
		"-c", "core.commitGraph=false",
		"-c", "core.safecrlf=false", "-c", "gc.auto=0", "-c", "advice.addEmbeddedRepo=false",
		"-c", "advice.graftFileDeprecated=false", // of the empty one in baseEnv
	}
	if t.Top != "" {
		all = append(all, "-C", t.Top)
	}
	t.unblock()
	defer t.watchPipes(ctx)()
	// A filter the agent planted may hang for ever.
	ctx, cancel := context.WithTimeoutCause(ctx, gitTime, fmt.Errorf("git %s took longer than %s", subcommand(args), gitTime))
	defer cancel()
	return t.sandbox.Git(ctx, Command{Args: append(all, args...), Env: append(baseEnv(), env...), Stdin: stdin, Stdout: stdout})
}

// baseEnv makes a workspace of another uid usable (git would refuse it as
// dubious) and the error texts independent of the language.
func baseEnv() []string {
	return []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null", "LC_ALL=C",
	}
}

// Output runs git and returns what it printed.
func (t *Tree) Output(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	return t.OutputEnv(ctx, nil, stdin, args...)
}

// OutputEnv is Output with additional environment variables.
func (t *Tree) OutputEnv(ctx context.Context, env []string, stdin io.Reader, args ...string) (string, error) {
	var b bytes.Buffer
	if err := t.GitEnv(ctx, env, stdin, &limitWriter{&b, maxOutputBytes}, args...); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Line is Output for one line.
func (t *Tree) Line(ctx context.Context, args ...string) (string, error) {
	s, err := t.Output(ctx, nil, args...)
	return strings.TrimSuffix(s, "\n"), err
}

// Pack writes what pack-objects makes of the given revisions, at most limit bytes.
// It holds whole objects only: a delta would have to be trusted before it can be measured.
func (t *Tree) Pack(ctx context.Context, w io.Writer, limit int64, revs []string, options ...string) error {
	args := append([]string{
		"-c", "pack.compression=1",
		"pack-objects", "-q", "--stdout", "--window=0", "--no-reuse-delta", "--no-use-bitmap-index", "--threads=1",
	}, options...)
	return t.Git(ctx, strings.NewReader(strings.Join(revs, "\n")+"\n"), &limitWriter{w, limit}, args...)
}

// limitWriter refuses to write more than left bytes.
type limitWriter struct {
	w    io.Writer
	left int64
}

func (l *limitWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errors.New("more output than expected")
	}
	return l.w.Write(p)
}
