package cli

import (
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

// errNoRepository says that there is no git repository to commit to.
var errNoRepository = errors.New("no git repository")

// commitTime bounds each command: hooks of the user's and a passphrase may take
// their time.
const commitTime = 10 * time.Minute

// commitPaths commits paths of a folder, and nothing else that is staged or
// changed, as the user would: with their identity and their hooks. said is the
// commit in a line.
func (a *app) commitPaths(dir, message string, paths []string) (said string, err error) {
	git, end, err := a.git(dir, "GIT_LITERAL_PATHSPECS=1")
	if err != nil {
		return "", err
	}
	defer end()
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool { // gone, and git did not know it
		_, missing := os.Lstat(filepath.Join(dir, path))
		known, err := git("ls-files", "--", path)
		return missing != nil && err == nil && known == ""
	})
	// What git does not know yet has to be added; the commit is of the paths only.
	if _, err := git(append([]string{"add", "--"}, paths...)...); err != nil {
		return "", err
	}
	if _, err := git(append([]string{"commit", "-q", "-m", message, "--"}, paths...)...); err != nil {
		return "", err
	}
	id, err := git("log", "-1", "--format=%h %s")
	if err != nil {
		return "", err
	}
	return actions.PlainLine("committed " + strings.TrimSpace(id)), nil
}

// git runs git in a folder's repository; a *gitError says that it failed. The caller
// calls end.
func (a *app) git(dir string, env ...string) (git func(args ...string) (string, error), end func(), err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, nil, err
	}
	if a.getenv("GIT_DIR") == "" && !inRepository(dir) {
		return nil, nil, errNoRepository
	}
	ctx, cancel := a.signals(func(text string) { fmt.Fprintln(a.stderr, text) })
	children, err := proc.Start(ctx, proc.Options{})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return func(args ...string) (string, error) {
		stdout, stderr := proc.Head{Max: maxAnswer}, proc.Head{Max: maxAnswer}
		done, err := children.Run(ctx, proc.Command{
			Argv: append([]string{"git"}, args...), Dir: dir, Env: append(a.environ, env...),
			Stdout: &stdout, Stderr: &stderr, Limits: proc.Limits{Time: commitTime},
		})
		switch {
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", ctx.Err()
		case done.Code != 0 || done.Why != proc.Exited:
			return "", &gitError{done.Code, fmt.Sprintf("git %s: %s", args[0], firstLines(stderr.String()+stdout.String()))}
		}
		return stdout.String(), nil
	}, func() { children.Close(); cancel() }, nil
}

// gitError is what git said when it failed.
type gitError struct {
	code int
	text string
}

func (e *gitError) Error() string { return e.text }

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

// inRepository says that a folder, given as an absolute path, is in a git
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

// maxAnswer bounds what is kept of what git prints, in bytes.
const maxAnswer = 8 << 20
