// Command bench measures ralph against the budgets of docs/internals/performance.md. Every
// number stands beside a comparison taken in the same run, in turns, so that a
// busy or slow machine changes both; ratios are what counts.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec" //nolint:depguard // what is compared with are programs of others, started barely
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) } //nolint:forbidigo // this is main

// bench is what the measurements share.
type bench struct {
	dir   string // everything that is written; removed at the end
	env   []string
	ralph string // the binary under test
	built bool   // by us, stripped as a release is
	forge *forge
	cpr   string // dist/index.js of create-pull-request; empty: its git commands and calls
	say   func(format string, args ...any)
}

// measurement fills some rows of the table.
type measurement struct {
	name string
	do   func(*bench, context.Context) ([]row, error)
}

func measurements() []measurement {
	list := []measurement{
		{"loop", (*bench).loop},
		{"sandbox", (*bench).sandbox},
		{"proxy", (*bench).proxy},
		{"start", (*bench).start},
		{"host", (*bench).host},
		{"refusal", (*bench).refusal},
		{"options", (*bench).options},
		{"guardrails", (*bench).guardrails},
	}
	for _, f := range streamFormats() {
		list = append(list, measurement{"stream/" + f.agent, func(b *bench, ctx context.Context) ([]row, error) { return b.stream(ctx, f) }})
	}
	return append(list, []measurement{
		{"checkpoint", (*bench).checkpoint},
		{"beside", (*bench).beside},
		{"publish", (*bench).publish},
		{"integrate", (*bench).integrate},
		{"10000-bundles", (*bench).integrateMany},
		{"size", (*bench).size},
		{"image", (*bench).image},
		{"fanout", (*bench).fanout},
	}...)
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 4 && args[0] == integrateWord {
		if err := integrateWaves(args[1:], stdout); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
		return 0
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("o", filepath.Join("bench", "latest.json"), "write the numbers to `FILE`")
	only := flags.String("run", "", "measure only what matches this `REGEXP` (loop, sandbox, proxy, start, host, refusal, options, guardrails, stream/AGENT, checkpoint, beside, publish, integrate, 10000-bundles, size, image, fanout)")
	binary := flags.String("ralph", "", "measure this `BINARY` instead of building ./cmd/ralph")
	theirs := flags.String("create-pull-request", "", "compare publishing with create-pull-request itself, whose dist/index.js is this `FILE`")
	limit := flags.Duration("timeout", 10*time.Minute, "give up after this time")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	chosen, err := regexp.Compile(*only)
	if err != nil || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "bench:", cmp.Or(err, errors.New("no arguments are taken")))
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()

	b, err := newBench(ctx, *binary, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	defer b.close()
	if b.cpr = *theirs; b.cpr != "" {
		if b.cpr, err = filepath.Abs(b.cpr); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
	}
	record := record{Machine: describe(ctx), Started: time.Now().UTC().Truncate(time.Second)}
	code := 0
	for _, m := range measurements() {
		if !chosen.MatchString(m.name) || (m.name == "image" || m.name == "10000-bundles") && *only == "" { // which builds it twice, from the network
			continue
		}
		began := time.Now()
		rows, err := m.do(b, ctx)
		if ctx.Err() != nil {
			fmt.Fprintln(stderr, "bench: stopped:", context.Cause(ctx))
			return 130
		}
		if err != nil {
			code = 1
			if !slices.ContainsFunc(rows, func(r row) bool { return r.Error != "" }) {
				rows = append(rows, row{What: m.name, Error: err.Error()})
			}
		}
		b.say("%s: %s", m.name, time.Since(began).Round(100*time.Millisecond))
		record.Rows = append(record.Rows, rows...)
	}
	record.LoadAfter = load()
	record.Seconds = int(time.Since(record.Started).Seconds())
	record.print(stdout)
	if err := record.write(*out); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return code
}

// newBench makes the working directory and the binary under test. Other users may
// walk through the directory: in the sandbox the agent is another user.
func newBench(ctx context.Context, binary string, stderr io.Writer) (*bench, error) {
	dir, err := os.MkdirTemp("", "ralph-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{dir: dir, ralph: binary, say: func(format string, args ...any) { fmt.Fprintf(stderr, "# "+format+"\n", args...) }}
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"), "LC_ALL=C", //nolint:forbidigo // handed on
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Bench", "GIT_AUTHOR_EMAIL=bench@example.com", "GIT_COMMITTER_NAME=Bench", "GIT_COMMITTER_EMAIL=bench@example.com",
	}
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "home"), 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o755))
	if err == nil {
		err = b.build(ctx)
	}
	if err == nil {
		b.forge, err = newForge(filepath.Join(dir, "forge"))
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// build makes the binary as a release is made.
func (b *bench) build(ctx context.Context) (err error) {
	if b.ralph != "" {
		b.ralph, err = filepath.Abs(b.ralph)
		return err
	}
	b.ralph, b.built = filepath.Join(b.dir, "ralph"), true
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.ralph, "./cmd/ralph")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") //nolint:forbidigo // handed on
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/ralph: %w\n%s", err, text)
	}
	return nil
}

func (b *bench) close() {
	if b.forge != nil {
		b.forge.close()
	}
	if err := os.RemoveAll(b.dir); err != nil {
		b.say("%v", err)
	}
}

// command is one of somebody else's programs, in a clean environment.
func (b *bench) command(ctx context.Context, dir string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, b.env
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// git runs git and gives what it said when it fails.
func (b *bench) git(ctx context.Context, dir string, args ...string) error {
	if text, err := b.command(ctx, dir, append([]string{"git"}, args...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w\n%s", args, err, text)
	}
	return nil
}
