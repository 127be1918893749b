// Package repotest runs git for the tests of the git side.
package repotest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/repo/worktree"
)

// Sandbox runs git directly, and records what it was given.
type Sandbox struct {
	Dir string
	Env []string

	mu       sync.Mutex
	Commands []worktree.Command
}

// Git implements worktree.Sandbox.
func (s *Sandbox) Git(ctx context.Context, c worktree.Command) error {
	s.mu.Lock()
	s.Commands = append(s.Commands, c)
	s.mu.Unlock()
	cmd := exec.CommandContext(ctx, "git", c.Args...)
	cmd.Dir = s.Dir
	cmd.Env = append(append(Env(), s.Env...), c.Env...)
	cmd.Env = append(cmd.Env, "RALPH_TEST_INSIDE=1")
	cmd.Stdin = c.Stdin
	if f, ok := c.Stdin.(*os.File); ok {
		cmd.Stdin = struct{ io.Reader }{f}
	}
	cmd.Stdout = c.Stdout
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &worktree.GitError{Args: c.Args, ExitCode: exit.ExitCode(), Stderr: stderr.String()}
	}
	return err
}

// Env is the environment of git in tests.
func Env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_TEST_FSYNC=0",
		"GIT_AUTHOR_NAME=Agent", "GIT_AUTHOR_EMAIL=agent@example.com",
		"GIT_COMMITTER_NAME=Agent", "GIT_COMMITTER_EMAIL=agent@example.com",
	}
}

// Git runs git in dir and returns its output without the last line end.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := TryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TryGit is Git for a command that may fail.
func TryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = Env()
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

// Write writes a file, and makes the directories above it.
func Write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
