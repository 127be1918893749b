package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// localAgent works long enough for the status line to be drawn.
const localAgent = `cat > /dev/null
echo 'I am at it'
sleep 1.5
echo work > file
echo '<response>DONE</response>'
`

// A terminal shows colours and a status line; NO_COLOR and TERM=dumb are
// honoured, and a pipe gets plain lines.
func TestTerminal(t *testing.T) {
	t.Parallel()
	const status, colour = "· the agent's turn, running for ", "\x1b[1m"
	for _, tc := range []struct {
		name           string
		env            []string
		status, colour bool
	}{
		{"terminal", []string{"TERM=xterm"}, true, true},
		{"NO_COLOR", []string{"TERM=xterm", "NO_COLOR=1"}, true, false},
		{"dumb terminal", []string{"TERM=dumb"}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			out := onTerminal(t, tc.env)
			if got := strings.Contains(out, status); got != tc.status {
				t.Errorf("status line: %v, want %v\n%q", got, tc.status, out)
			}
			if got := strings.Contains(out, colour); got != tc.colour {
				t.Errorf("colours: %v, want %v\n%q", got, tc.colour, out)
			}
			for _, want := range []string{"Iteration 1 of 10", "I am at it", "Completed in 1 iteration"} {
				if !strings.Contains(out, want) {
					t.Errorf("the terminal does not show %q\n%q", want, out)
				}
			}
		})
	}
}

// onTerminal runs ralph locally with a terminal as its standard output.
func onTerminal(t *testing.T, env []string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(localAgent), 0o600); err != nil {
		t.Fatal(err)
	}
	env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = dir, env
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	ralph := exec.Command(binary(t), "run", "--prompt", "work", "--agent", "text", "--agent-command", "sh agent.sh")
	ralph.Dir, ralph.Env = dir, env
	terminal, err := pty.StartWithSize(ralph, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var out bytes.Buffer
	if _, err := io.Copy(&out, terminal); err != nil && !errors.Is(err, syscall.EIO) { // EIO: the other side has gone
		t.Error(err)
	}
	if err := ralph.Wait(); err != nil {
		t.Errorf("ralph run: %v\n%s", err, out.String())
	}
	return out.String()
}
