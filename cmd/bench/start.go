package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec" //nolint:depguard // starts the binary under test
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// repository is a small repository without a server.
func (b *bench) repository(ctx context.Context, name string) (string, error) {
	dir := filepath.Join(b.dir, name)
	for i := range 20 {
		if err := write(filepath.Join(dir, fileName(i)), "text\n"); err != nil {
			return "", err
		}
	}
	return dir, errors.Join(
		b.git(ctx, dir, "init", "-q", "-b", "main"), b.git(ctx, dir, "add", "-A"), b.git(ctx, dir, "commit", "-q", "-m", "first"),
	)
}

// script writes a fake agent.
func (b *bench) script(name, body string) (string, error) {
	path := filepath.Join(b.dir, name)
	return path, os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755)
}

// start measures from the start of `ralph run` until its agent runs. The agent
// says so through a FIFO, at which somebody waits.
func (b *bench) start(ctx context.Context) ([]row, error) {
	const rounds = 21
	dir, err := b.repository(ctx, "start")
	if err != nil {
		return nil, err
	}
	fifo := filepath.Join(dir, "started") // where the sandboxed agent can write; git commits no pipe
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		return nil, err
	}
	if err := os.Chmod(fifo, 0o666); err != nil {
		return nil, err
	}
	r, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	heard := bufio.NewReader(r)
	agent, err := b.script("starts", fmt.Sprintf("echo >%s\necho '<promise>COMPLETE</promise>'\n", fifo))
	if err != nil {
		return nil, err
	}
	until := func(cmd *exec.Cmd) (float64, error) {
		began := time.Now()
		said := make(chan time.Duration, 1)
		go func() {
			if _, err := heard.ReadByte(); err == nil {
				said <- time.Since(began)
			}
		}()
		text, err := cmd.CombinedOutput()
		if err == nil {
			select {
			case t := <-said:
				return ms(t), nil
			case <-time.After(time.Second):
				err = errors.New("the agent never said that it started")
			}
		}
		return 0, fmt.Errorf("%s: %w\n%s", cmd.Path, err, text)
	}
	bare := func() (float64, error) { return until(b.command(ctx, dir, agent)) }
	var rows []row
	for _, way := range []struct {
		rounds        int
		option, value string
		what, note    string
		target        target
	}{
		{rounds, "--isolation", "off", "binary start to agent start, `ralph run`", "The agent is a shell script whose first words go into a FIFO; both sides include the start of the shell. Twenty files, no remote.", target{AtMost: 25, Unit: "ms"}},
		{rounds / 2, "--commit", "each-iteration", "the same with --commit each-iteration", "Looks at the repository and attaches a branch first.", target{}},
		{rounds / 2, "--isolation", "auto", "the same with --isolation auto", "", target{}},
	} {
		one, err := row{What: way.what, Comparison: "the same agent started directly", Target: way.target, Note: way.note}.compare(way.rounds,
			func() (float64, error) { return until(b.run(ctx, dir, agent, way.option, way.value)) }, bare)
		if err != nil {
			return nil, err
		}
		rows = append(rows, one)
	}
	return rows, nil
}

// refusal measures how long it takes to refuse a wrong input, an empty task, and a
// missing key.
func (b *bench) refusal(ctx context.Context) ([]row, error) {
	dir, err := b.repository(ctx, "refusal")
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, way := range []struct{ what, input, says string }{
		{"a wrong input to exit 2, `ralph action`", "INPUT_MAX-ITERATIONS=many", "is not allowed"}, {"nothing to do, the same", "INPUT_MAX-ITERATIONS=1", "nothing to do"},
		{"no key, the same", "INPUT_PROMPT=work", "no credentials"},
	} {
		one, err := row{What: way.what, Comparison: "git version", Target: target{AtMost: 100, Unit: "ms"}}.compare(21,
			func() (float64, error) {
				cmd := b.command(ctx, dir, b.ralph, "action")
				cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE="+dir, way.input)
				began := time.Now()
				text, err := cmd.CombinedOutput()
				if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(text), way.says) {
					return 0, fmt.Errorf("not refused: %w\n%s", err, text)
				}
				return ms(time.Since(began)), nil
			},
			func() (float64, error) {
				began := time.Now()
				err := b.git(ctx, dir, "version")
				return ms(time.Since(began)), err
			})
		if err != nil {
			return rows, err
		}
		rows = append(rows, one)
	}
	return rows, nil
}

// run is one `ralph run` of one iteration with a text agent.
func (b *bench) run(ctx context.Context, dir, agent string, more ...string) *exec.Cmd {
	argv := []string{b.ralph, "run", "--prompt", "Say that you work.", "--agent", "text", "--agent-command", agent, "--max-iterations", "1", "--on-incomplete", "succeed"}
	return b.command(ctx, dir, append(argv, more...)...)
}
