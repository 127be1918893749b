package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// person sits at a terminal on which ralph runs.
type person struct {
	t        *testing.T
	terminal *os.File
	ralph    *exec.Cmd
	gone     chan struct{} // closed when the terminal has no more output

	mu   sync.Mutex
	seen bytes.Buffer
	read int // how much of seen was waited for
}

// atTerminal starts ralph in dir, on a terminal. tools are programs on PATH.
func atTerminal(t *testing.T, dir string, tools []string, args ...string) *person {
	t.Helper()
	bin := t.TempDir()
	for _, name := range tools {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ralph := exec.Command(binary(t), args...)
	ralph.Dir, ralph.Env = dir, []string{"PATH=" + bin, "HOME=" + t.TempDir(), "TERM=xterm"}
	terminal, err := pty.StartWithSize(ralph, &pty.Winsize{Rows: 40, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, terminal: terminal, ralph: ralph, gone: make(chan struct{})}
	go func() {
		defer close(p.gone)
		buffer := make([]byte, 4096)
		for {
			n, err := terminal.Read(buffer)
			p.mu.Lock()
			p.seen.Write(bytes.ReplaceAll(buffer[:n], []byte("\r"), nil)) // a terminal ends lines with \r\n
			p.mu.Unlock()
			if err != nil { // EIO: the other side has gone
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = ralph.Process.Kill()
		<-p.gone
		_ = terminal.Close()
	})
	return p
}

// waits for a text that was not waited for before.
func (p *person) waits(text string) {
	p.t.Helper()
	const limit = 30 * time.Second
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		at := bytes.Index(p.seen.Bytes()[p.read:], []byte(text))
		if at >= 0 {
			p.read += at + len(text)
		}
		seen := p.seen.String()
		p.mu.Unlock()
		if at >= 0 {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the terminal does not show %q within %s:\n%s", text, limit, seen)
		}
	}
}

func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := p.terminal.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// answers waits for a question and types a line. Pairs of both.
func (p *person) answers(pairs ...string) {
	p.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		p.waits(pairs[i])
		p.types(pairs[i+1] + "\r")
	}
}

// sees ralph end, and returns its exit code and all that was on the screen.
func (p *person) sees() (code int, screen string) {
	p.t.Helper()
	select {
	case <-p.gone:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("ralph does not end:\n%s", p.seen.String())
	}
	err := p.ralph.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if status, ok := p.ralph.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.t.Errorf("ralph was ended by %v", status.Signal())
	}
	return p.ralph.ProcessState.ExitCode(), p.seen.String()
}

const (
	askAgent      = "Agent command (e.g., claude, codex, amp, or other LLM CLI): "
	askFlags      = "Agent flags (comma-separated, optional): "
	askIterations = "Maximum iterations [10]: "
	askCompletion = "Completion response [DONE]: "
	askGuardrail  = "Add guardrail command (leave blank to finish): "
	askAction     = "  Fail action (APPEND|PREPEND|REPLACE): "
	askHint       = "  Hint (optional, guidance for agent on failure): "
	askSCM        = "Configure SCM? (y/N): "
	askSCMCommand = "  SCM command (e.g., git): "
	askSCMTasks   = "  SCM tasks (comma-separated, e.g., commit,push): "
)

func settingsFile(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, ".ralph", "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// nothingLeft wants a folder in which ralph left no trace.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(dir, ".ralph")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf(".ralph was left behind: %v", err)
	}
}

// The whole dialogue, as a person has it, and the file to the letter. 001-37
func TestInit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := atTerminal(t, dir, nil, "init")
	p.answers(
		askAgent, "", "an agent is needed: give the command that starts one\n"+askAgent, "text",
		"give the command that starts your agent, such as claude or \"sh agent.sh\"\n"+askAgent, "claude",
		"agent \"claude\": there is no such program on PATH: install it, or correct agent.command in .ralph/settings.json\n"+askFlags, "--model, opus",
		askIterations, "none", "give a whole number from 1 to 10000\n"+askIterations, "",
		askCompletion, "",
		askGuardrail, "make lint", askAction, "append", askHint, "Fix lint errors only. Do not change behavior.",
		askGuardrail, "make test", askAction, "", askHint, "",
		askGuardrail, "",
		askSCM, "y", askSCMCommand, "git", askSCMTasks, "commit",
	)
	code, screen := p.sees()
	if code != 0 || !strings.HasSuffix(screen, "commit\n\nSettings written to .ralph/settings.json\n") {
		t.Errorf("ralph init = %d\n%s", code, screen)
	}
	const want = `{
  "$schema": "settings.schema.json",
  "maximumIterations": 10,
  "completionResponse": "DONE",
  "outputTruncateChars": 5000,
  "streamAgentOutput": true,
  "includeIterationCountInPrompt": false,
  "agent": {
    "command": "claude",
    "flags": [
      "--model",
      "opus"
    ]
  },
  "guardrails": [
    {
      "command": "make lint",
      "failAction": "APPEND",
      "hint": "Fix lint errors only. Do not change behavior."
    },
    {
      "command": "make test",
      "failAction": "APPEND"
    }
  ],
  "scm": {
    "command": "git",
    "tasks": [
      "commit"
    ]
  }
}
`
	if got := settingsFile(t, dir); got != want {
		t.Errorf("settings.json =\n%s\nwant\n%s", got, want)
	}
}

// What the project and PATH let us see is offered.
func TestInitProposes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte("lint test:\n\ttouch executed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := atTerminal(t, dir, []string{"amp", "codex"}, "init")
	p.answers(
		"or other LLM CLI) [codex]: ", "", askFlags, "", askIterations, "3", askCompletion, "OK",
		"\nAdd guardrail \"make lint\"? (Y/n): ", "n", "\nAdd guardrail \"make test\"? (Y/n): ", "",
		askGuardrail, "", askSCM, "",
	)
	if code, screen := p.sees(); code != 0 {
		t.Errorf("ralph init = %d\n%s", code, screen)
	}
	got := settingsFile(t, dir)
	for _, want := range []string{`"command": "codex"`, `"maximumIterations": 3`, `"completionResponse": "OK"`, `"command": "make test"`} {
		if !strings.Contains(got, want) {
			t.Errorf("settings.json lacks %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, "make lint") || strings.Contains(got, "scm") {
		t.Errorf("settings.json has what was declined:\n%s", got)
	}
	if _, err := os.Lstat(filepath.Join(dir, "executed")); err == nil {
		t.Error("init ran a target of the project")
	}
}

// 001-36
func TestInitExisting(t *testing.T) {
	t.Parallel()
	const settings, local = `{"agent":{"command":"claude","flags":["--model opus"],"apiKey":"abcdef"}}`, `{"agent":{"flags":["--verbose"]}}`
	const merged = "{\n  \"agent\": {\n    \"apiKey\": \"***\",\n    \"command\": \"claude\",\n    \"flags\": [\n      \"--verbose\"\n    ]\n  }\n}\n"
	for _, tc := range []struct {
		name, settings, local, shown, answer string
		overwritten                          bool
	}{
		{"declined", settings, local, merged + "Loaded from .ralph/settings.json (with local overlay from settings.local.json)\nOverwrite? (y/N): ", "n", false},
		{"blank declines", settings, "", "\"--model opus\"\n    ]\n  }\n}\nLoaded from .ralph/settings.json\nOverwrite? (y/N): ", "", false},
		{"accepted", settings, local, "settings.local.json)\nOverwrite? (y/N): ", "y", true},
		{"broken", "{\n  \"agent\": \x1b[2J}", "", ".ralph/settings.json:2:12: invalid character '\\x1b' looking for beginning of value\nOverwrite? (y/N): ", "yes", true},
		{"broken and declined", "{", "", ".ralph/settings.json:1:1: unexpected end of JSON input\nOverwrite? (y/N): ", "no", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".ralph"), 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"settings.json": tc.settings, "settings.local.json": tc.local} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, ".ralph", name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			p := atTerminal(t, dir, nil, "init")
			p.answers(tc.shown, tc.answer)
			if tc.overwritten {
				p.answers(askAgent, "new-agent", askFlags, "", askIterations, "", askCompletion, "", askGuardrail, "", askSCM, "")
			}
			code, screen := p.sees()
			if code != 0 {
				t.Errorf("ralph init = %d, want 0\n%s", code, screen)
			}
			if got := settingsFile(t, dir); (got != tc.settings) != tc.overwritten || tc.overwritten != strings.Contains(got, "new-agent") {
				t.Errorf("overwritten: %v, want %v:\n%s", got != tc.settings, tc.overwritten, got)
			}
		})
	}
}

// Ctrl+C and Ctrl+D, at any question, leave nothing behind. 001-35
func TestInitInterrupted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, keys string
		questions  []string
	}{
		{"Ctrl+C at once", "\x03", nil},
		{"Ctrl+C in the middle of a line", "make te\x03", []string{askAgent, "claude", askFlags, "", askIterations, "", askCompletion, ""}},
		{"Ctrl+D at once", "\x04", nil},
		{"Ctrl+D in the middle of a line", "com\x04\x04", []string{askAgent, "claude", askFlags, "", askIterations, "", askCompletion, "", askGuardrail, "", askSCM, "y", askSCMCommand, "git"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := atTerminal(t, dir, nil, "init")
			p.answers(tc.questions...)
			p.waits(": ")
			p.types(tc.keys)
			code, screen := p.sees()
			if code != 130 || !strings.Contains(screen, "nothing was written") {
				t.Errorf("ralph init = %d, want 130\n%s", code, screen)
			}
			nothingLeft(t, dir)
		})
	}
}
