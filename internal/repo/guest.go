package repo

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

// Guest runs git as the agent's user inside its sandbox, with the workspace as
// working directory. Calls come one at a time.
type Guest interface {
	// Git runs git to its end. A git that ended with an exit code other than 0
	// is a *GuestError. Stdout may be nil.
	Git(ctx context.Context, c GuestCommand) error
}

// GuestCommand is one call of git.
type GuestCommand struct {
	Args   []string // without the program's name
	Env    []string // added to the guest's environment, KEY=VALUE
	Stdin  io.Reader
	Stdout io.Writer
}

// GuestError is a git that failed on the guest's side. Stderr is foreign text.
type GuestError struct {
	Args     []string
	ExitCode int    // -1 when a signal ended it
	Stderr   string // bounded by the Guest
}

// Error shows the subcommand and the bounded last lines of stderr, on one line.
func (e *GuestError) Error() string {
	return fmt.Sprintf("git %s: exit code %d: %s", subcommand(e.Args), e.ExitCode, e.said(400))
}

// said is what git printed on one line, without its hints: they are for people who
// type commands.
func (e *GuestError) said(limit int) string {
	var b strings.Builder
	for line := range strings.Lines(e.Stderr) {
		if !strings.HasPrefix(line, "hint:") {
			b.WriteString(line)
		}
	}
	return printable.Line(b.String(), limit)
}

// subcommand names the git command of an argument list, without its options.
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

// guestTime bounds one git command; staging a million new files takes minutes.
const guestTime = 10 * time.Minute

// guestOutputBytes bounds what is read of a command whose answer is short.
const guestOutputBytes = 64 << 20

// git runs git in the top folder of the work tree.
func (r *Repo) git(ctx context.Context, stdin io.Reader, stdout io.Writer, args ...string) error {
	return r.gitEnv(ctx, nil, stdin, stdout, args...)
}

func (r *Repo) gitEnv(ctx context.Context, env []string, stdin io.Reader, stdout io.Writer, args ...string) error {
	all := []string{
		// The answers must not depend on a watcher the agent may have left,
		// and a hook of the user's must not run for our bookkeeping.
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
		// Written by the agent, the commit graph would say what is an ancestor of what.
		"-c", "core.commitGraph=false",
		"-c", "core.safecrlf=false", "-c", "gc.auto=0", "-c", "advice.addEmbeddedRepo=false",
		"-c", "advice.graftFileDeprecated=false", // of the empty one in baseEnv
	}
	if r.top != "" {
		all = append(all, "-C", r.top)
	}
	r.unblock()
	defer r.watchPipes(ctx)()
	// A filter the agent planted may hang for ever.
	ctx, cancel := context.WithTimeoutCause(ctx, guestTime, fmt.Errorf("git %s took longer than %s", subcommand(args), guestTime))
	defer cancel()
	return r.opt.Guest.Git(ctx, GuestCommand{
		Args:   append(all, args...),
		Env:    append(baseEnv(), env...),
		Stdin:  stdin,
		Stdout: stdout,
	})
}

// baseEnv makes a workspace of another uid usable (git would refuse it as
// dubious) and the error texts independent of the language.
func baseEnv() []string {
	return []string{
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null", "LC_ALL=C",
	}
}

// out runs git and returns what it printed.
func (r *Repo) out(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	b := &bounded{left: guestOutputBytes}
	if err := r.git(ctx, stdin, b, args...); err != nil {
		return "", err
	}
	return b.String(), nil
}

// answer is out for answers of one line.
func (r *Repo) answer(ctx context.Context, args ...string) (string, error) {
	s, err := r.out(ctx, nil, args...)
	return strings.TrimSuffix(s, "\n"), err
}

// exitCode is the exit code of a git that ran; ok is false for any other error.
func exitCode(err error) (code int, ok bool) {
	var g *GuestError
	if errors.As(err, &g) {
		return g.ExitCode, true
	}
	return 0, false
}

var errTooMuch = errors.New("more output than expected")

// bounded is a buffer that refuses to grow beyond a limit.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errTooMuch
	}
	b.left -= len(p)
	return b.Buffer.Write(p)
}
