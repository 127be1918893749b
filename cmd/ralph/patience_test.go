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
	"time"

	"github.com/creack/pty"

	"github.com/org/ralph-action/internal/run"
)

// On a terminal the first signal lets the running operation finish, and the
// second ends it. 001-33
func TestSignalsOnATerminal(t *testing.T) {
	t.Parallel()
	// The agent and the guardrail say when they are at it, and wait for a file.
	const agent = "cat > /dev/null\ntouch agent.started\nwhile [ ! -f agent.go ]; do sleep 0.05; done\ntouch agent.finished\necho '<response>DONE</response>'\n"
	const guardrail = "touch guard.started; while [ ! -f guard.go ]; do sleep 0.05; done; touch guard.finished"
	for _, tc := range []struct {
		name     string
		signals  []string // files that are waited for before each signal
		release  []string // files that are made after the first signal
		finished []string
		not      []string
	}{
		{"while the agent works", []string{"agent.started"}, []string{"agent.go", "guard.go"}, []string{"agent.finished"}, []string{"guard.started"}},
		{"while a guardrail runs", []string{"guard.started"}, []string{"guard.go"}, []string{"guard.finished"}, nil},
		{"twice", []string{"agent.started", "agent.started"}, nil, nil, []string{"agent.finished"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put := func(name, text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			there := func(name string) bool {
				_, err := os.Stat(filepath.Join(dir, name))
				return err == nil
			}
			put("agent.sh", agent)
			if tc.signals[0] == "guard.started" {
				put("agent.go", "")
			}
			ralph := exec.Command(binary(t), "run", "--prompt", "work", "--agent", "text", "--agent-command", "sh agent.sh", "--guardrails", guardrail)
			ralph.Dir, ralph.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=dumb"}
			terminal, err := pty.Start(ralph)
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close()
			screen := make(chan string)
			var signalled = make(chan struct{}, 2)
			go func() {
				var out bytes.Buffer
				buf := make([]byte, 4096)
				seen := 0
				for {
					n, err := terminal.Read(buf)
					out.Write(buf[:n])
					for c := strings.Count(out.String(), run.SignalText); seen < c; seen++ {
						signalled <- struct{}{}
					}
					if err != nil {
						if !errors.Is(err, syscall.EIO) && !errors.Is(err, io.EOF) {
							t.Error(err)
						}
						screen <- out.String()
						return
					}
				}
			}()
			for _, file := range tc.signals {
				for range 600 {
					if there(file) {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				if err := ralph.Process.Signal(syscall.SIGINT); err != nil {
					t.Error(err)
				}
				select {
				case <-signalled:
				case <-time.After(30 * time.Second):
					t.Error("the signal was not answered")
				}
			}
			for _, file := range tc.release {
				put(file, "")
			}
			out := <-screen
			var exit *exec.ExitError
			if err := ralph.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
				t.Errorf("ralph run = %v, want exit code 130\n%s", err, out)
			}
			for _, file := range tc.finished {
				if !there(file) {
					t.Errorf("%s is missing: what was running was ended\n%s", file, out)
				}
			}
			for _, file := range tc.not {
				if there(file) {
					t.Errorf("%s is there\n%s", file, out)
				}
			}
		})
	}
}
