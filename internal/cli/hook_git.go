package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/tasks"
)

const (
	// gitTime bounds one look at a tree: the repository's own configuration may
	// name filters, and those may hang.
	gitTime = 5 * time.Second
	// maxStatus bounds what is read of it, in bytes.
	maxStatus = 4 << 20
)

// uncommitted are the changes in a project's repository, as git status
// --porcelain prints them, without what a run of ours leaves there.
func (a *app) uncommitted(ctx context.Context, project string) ([]string, error) {
	out, err := a.gitStatus(ctx, project, "--porcelain=v1")
	if err != nil {
		return nil, err
	}
	var changes []string
	entries := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		if len(e) < 4 {
			continue
		}
		if e[0] == 'R' || e[0] == 'C' { // the next one is the name before
			i++
		}
		changes = append(changes, e)
	}
	return changes, nil
}

// treeMark is different when the commit or the changes of a tree are. Sizes and
// times stand for the contents of changed files.
func (a *app) treeMark(ctx context.Context, p project) (string, error) {
	out, err := a.gitStatus(ctx, p.dir, "--porcelain=v2", "--branch")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for i, line := range strings.Split(string(out), "\x00") {
		head := strings.HasPrefix(line, "# ")
		if line == "" || head && !strings.HasPrefix(line, "# branch.oid") {
			continue
		}
		fmt.Fprintf(sum, "%s\x00", line)
		if head {
			continue
		}
		_, path, _ := strings.Cut(line, " ")
		if fields := strings.SplitN(line, " ", 9); line[0] == '1' && len(fields) == 9 {
			path = fields[8]
		}
		if info, err := os.Lstat(filepath.Join(p.top(), path)); err == nil && i < 10_000 {
			fmt.Fprintf(sum, "%d %d\x00", info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// gitStatus runs git status -z with a format. It takes no lock and starts
// neither the watcher nor the hooks that a repository may name.
func (a *app) gitStatus(ctx context.Context, project string, format ...string) ([]byte, error) {
	env := gitEnvironment(a.environ)
	if _, err := proc.LookPath("git", env); err != nil {
		return nil, err
	}
	children, err := proc.Start(ctx, proc.Options{SpillDir: a.getenv("TMPDIR")})
	if err != nil {
		return nil, err
	}
	defer func() { _ = children.Close() }()
	argv := append([]string{"git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "status", "-z"}, format...)
	argv = append(argv, "--", ":/", ":(exclude)"+tasks.MarkerName)
	for _, name := range append(rundir.RunFiles(), ".gitignore") {
		argv = append(argv, ":(exclude,glob)"+rundir.Name+"/"+name, ":(exclude,glob)"+rundir.Name+"/"+name+"/**")
	}
	var out, complaints bytes.Buffer
	exit, err := children.Run(ctx, proc.Command{
		Argv: argv, Dir: project, Env: env, Stdout: &out, Stderr: &complaints,
		Limits: proc.Limits{Time: gitTime, Grace: 100 * time.Millisecond, OutputBytes: maxStatus},
	})
	switch {
	case err != nil:
		return nil, err
	case exit.Why == proc.Flooded:
		return out.Bytes(), nil // enough to know
	case exit.Why != proc.Exited:
		return nil, fmt.Errorf("git status %s after %s", exit.Why, gitTime)
	case exit.Code != 0:
		first, _, _ := strings.Cut(strings.TrimSpace(complaints.String()), "\n")
		return nil, errors.New("git status: " + first)
	}
	return out.Bytes(), nil
}

// gitEnvironment leaves out what would point git to another repository.
func gitEnvironment(environ []string) []string {
	env := make([]string, 0, len(environ)+3)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
			"GIT_PREFIX", "GIT_NAMESPACE", "GIT_TRACE", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS":
		default:
			env = append(env, kv)
		}
	}
	return append(env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}
