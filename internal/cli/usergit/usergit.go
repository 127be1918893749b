// Package usergit runs git in a repository of the user's as they would: with their
// identity, their settings and their hooks.
package usergit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// ErrNoRepository says that there is no git repository.
var ErrNoRepository = errors.New("no git repository")

const (
	// commandTime bounds each command: hooks of the user's and a passphrase may take
	// their time.
	commandTime = 10 * time.Minute
	maxAnswer   = 8 << 20 // bytes that are kept of what git prints
)

// Git runs git in a folder's repository.
type Git struct {
	ctx      context.Context // of the one command of ralph's that it is for
	dir      string
	environ  []string
	children *proc.Supervisor
}

// Start begins to run git in a folder with an environment. The caller calls Close.
func Start(ctx context.Context, dir string, environ []string) (*Git, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	named := slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, "GIT_DIR=") && v != "GIT_DIR=" })
	if !named && !inRepository(dir) {
		return nil, ErrNoRepository
	}
	children, err := proc.Start(ctx, proc.Options{})
	if err != nil {
		return nil, err
	}
	return &Git{ctx, dir, environ, children}, nil
}

// Close ends what runs.
func (g *Git) Close() { g.children.Close() }

// Run is what a command of git prints; an error that is git's own is a *Failure.
func (g *Git) Run(args ...string) (string, error) {
	stdout, stderr := proc.Head{Max: maxAnswer}, proc.Head{Max: maxAnswer}
	done, err := g.children.Run(g.ctx, proc.Command{
		Argv: append([]string{"git"}, args...), Dir: g.dir, Env: g.environ,
		Stdout: &stdout, Stderr: &stderr, Limits: proc.Limits{Time: commandTime},
	})
	switch {
	case err != nil:
		return "", err
	case g.ctx.Err() != nil:
		return "", g.ctx.Err()
	case done.Code != 0 || done.Why != proc.Exited:
		return "", &Failure{done.Code, fmt.Sprintf("git %s: %s", args[0], firstLines(stderr.String()+stdout.String()))}
	}
	return stdout.String(), nil
}

// Yes is the answer of a command that exits with 1 for no.
func (g *Git) Yes(args ...string) (bool, error) {
	_, err := g.Run(args...)
	var failed *Failure
	if errors.As(err, &failed) && failed.code == 1 {
		return false, nil
	}
	return err == nil, err
}

// Commit commits paths, and nothing else that is staged or changed. said is the commit
// in a line.
func (g *Git) Commit(message string, paths []string) (said string, err error) {
	literal := *g
	literal.environ = append(slices.Clip(g.environ), "GIT_LITERAL_PATHSPECS=1")
	g = &literal
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { // gone, and git did not know it
		_, missing := os.Lstat(filepath.Join(g.dir, path))
		known, err := g.Run("ls-files", "--", path)
		return missing != nil && err == nil && known == ""
	})
	// What git does not know yet has to be added; the commit is of the paths only.
	if _, err := g.Run(append([]string{"add", "--"}, paths...)...); err != nil {
		return "", err
	}
	if _, err := g.Run(append([]string{"commit", "-q", "-m", message, "--"}, paths...)...); err != nil {
		return "", err
	}
	id, err := g.Run("log", "-1", "--format=%h %s")
	if err != nil {
		return "", err
	}
	return actions.PlainLine("committed " + strings.TrimSpace(id)), nil
}

// Failure is what git said when it failed.
type Failure struct {
	code int
	text string
}

func (e *Failure) Error() string { return e.text }

// firstLines is what git had to say, on one line.
func firstLines(text string) string {
	const most = 5
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && len(kept) < most {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return "it said nothing"
	}
	return actions.PlainLine(strings.Join(kept, "; "))
}

// inRepository reports whether a folder, given as an absolute path, is in a git
// repository.
func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}
