package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec" //nolint:depguard // starts the binary under test
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// folder is a small folder without a repository.
func (b *bench) folder(name string) (string, error) {
	dir := filepath.Join(b.dir, name)
	for i := range 20 {
		if err := write(filepath.Join(dir, fileName(i)), "text\n"); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// repository is a small repository without a server.
func (b *bench) repository(ctx context.Context, name string) (string, error) {
	dir, err := b.folder(name)
	if err != nil {
		return "", err
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

// announcing makes an agent that writes to a FIFO in dir as soon as it runs. The function it
// returns measures from the start of a command until that can be read.
func (b *bench) announcing(dir string) (agent string, until func(*exec.Cmd) (float64, error), err error) {
	fifo := filepath.Join(dir, "started") // where the sandboxed agent can write; git commits no pipe
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		return "", nil, err
	}
	if err := os.Chmod(fifo, 0o666); err != nil {
		return "", nil, err
	}
	r, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		return "", nil, err
	}
	heard := bufio.NewReader(r)
	agent, err = b.script(filepath.Base(dir)+"-agent", fmt.Sprintf("echo >%s\necho '<promise>COMPLETE</promise>'\n", fifo))
	return agent, func(cmd *exec.Cmd) (float64, error) {
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
	}, err
}

// start measures from the start of `ralph run` until its agent runs.
func (b *bench) start(ctx context.Context) ([]row, error) {
	const rounds = 21
	dir, err := b.repository(ctx, "start")
	if err != nil {
		return nil, err
	}
	agent, until, err := b.announcing(dir)
	if err != nil {
		return nil, err
	}
	plain, err := b.folder("start-plain")
	if err != nil {
		return nil, err
	}
	bare := func() (float64, error) { return until(b.command(ctx, dir, agent)) }
	var rows []row
	for _, way := range []struct {
		rounds        int
		dir           string
		option, value string
		what, note    string
		target        target
	}{
		{rounds, plain, "--isolation", "off", "binary start to agent start, `ralph run`", "The agent is a shell script whose first words go into a FIFO; both sides include the start of the shell. Twenty files, no repository.", target{AtMost: 25, Unit: "ms"}},
		{rounds / 2, dir, "--isolation", "off", "the same in a repository", "Looks at the files first.", target{}},
		{rounds / 2, dir, "--commit", "each-iteration", "the same with --commit each-iteration", "Looks at the repository and attaches a branch first.", target{}},
		{rounds / 2, dir, "--isolation", "auto", "the same with --isolation auto", "", target{}},
	} {
		one, err := row{What: way.what, Comparison: "the same agent started directly", Target: way.target, Note: way.note}.compare(way.rounds,
			func() (float64, error) { return until(b.run(ctx, way.dir, agent, way.option, way.value)) }, bare)
		if err != nil {
			return nil, err
		}
		rows = append(rows, one)
	}
	return rows, nil
}

// host measures the action on the runner, whose binary is in the tool cache, until the
// agent runs: Node, the checksum, the sandbox and the network's proxy.
func (b *bench) host(ctx context.Context) ([]row, error) {
	dir, err := b.repository(ctx, "host")
	if err != nil {
		return nil, err
	}
	agent, until, err := b.announcing(dir)
	if err != nil {
		return nil, err
	}
	script, err := os.ReadFile("host/main.js")
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(b.ralph)
	if err != nil {
		return nil, err
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	step := filepath.Join(b.dir, "host-step")
	cached := filepath.Join(step, "cache", "ralph", "1.2.3", arch, "ralph")
	release := fmt.Sprintf(`{"version": "v1.2.3", "binaries": {"%s_%s": "%x"}}`, runtime.GOOS, runtime.GOARCH, sha256.Sum256(binary))
	err = errors.Join(
		write(filepath.Join(step, "action", "host", "main.js"), string(script)), write(filepath.Join(step, "action", "release.json"), release),
		write(cached, string(binary)), write(filepath.Join(step, "temp", "state"), ""), write(filepath.Join(dir, ".github", "ralph.yml"), "commit: off\n"),
	)
	cmd := func(argv ...string) *exec.Cmd {
		cmd := b.command(ctx, dir, argv...)
		cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE="+dir, "RUNNER_TEMP="+filepath.Join(step, "temp"), "TMPDIR="+filepath.Join(step, "temp"), "RUNNER_TOOL_CACHE="+filepath.Join(step, "cache"),
			"INPUT_PROMPT=work", "INPUT_AGENT=text", "INPUT_AGENT-COMMAND="+agent, "INPUT_MAX-ITERATIONS=1", "INPUT_ON-INCOMPLETE=succeed", "INPUT_PULL-REQUEST=none")
		if os.Geteuid() == 0 { // a runner has a user of its own
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1001, Gid: 1001}}
		}
		return cmd
	}
	if os.Geteuid() == 0 {
		err = errors.Join(err, b.command(ctx, dir, "chown", "-R", "1001:1001", dir, step).Run(), os.Chmod(b.dir, 0o755)) // #nosec G302 -- for that user
	}
	if err != nil {
		return nil, err
	}
	one, err := row{
		What: "`uses:` on the runner to the agent's first line, binary in the tool cache", Comparison: "node -e 0", Target: target{AtMost: 2000, Unit: "ms"},
	}.compare(11, func() (float64, error) { return until(cmd("node", filepath.Join(step, "action", "host", "main.js"))) },
		func() (float64, error) {
			began := time.Now()
			err := cmd("node", "-e", "0").Run()
			return ms(time.Since(began)), err
		})
	return []row{one}, err
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
