package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	_ "github.com/alecthomas/kong" // linked like the rest of the product: see sandbox

	_ "github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/agent/prompt"
	_ "github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/report/logs"
	_ "github.com/org/ralph-action/internal/run/guard"
	_ "github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// trivial is an agent that does nothing but say so. Both sides run it.
func trivial() []string { return []string{"/bin/echo", "working"} }

// loop compares an iteration with a bare start of the same agent, by the CPU
// time of all processes that take part.
func (b *bench) loop(ctx context.Context) ([]row, error) {
	const rounds, iterations = 7, 300
	r, err := row{
		What: "CPU per iteration, trivial agent, no guardrail, no sandbox", Comparison: "bare fork + exec + wait of it", Target: target{AtMost: 1.5, Ratio: true},
		Note: "User and system time of this process, the supervisor and the agent. Ours reads the agent's output, decodes, redacts, formats and logs it; the bare one drops it into /dev/null. The start of the supervisor is shared by 300 iterations.",
	}.compare(rounds, func() (float64, error) {
		before := cpuTime()
		err := b.iterate(ctx, iterations)
		return ms(cpuTime()-before) / iterations, err
	}, bareStarts(ctx, iterations, trivial()...))
	return []row{r}, err
}

// bareStarts is the CPU time of one of n starts of a child without a supervisor.
func bareStarts(ctx context.Context, n int, argv ...string) func() (float64, error) {
	return func() (float64, error) {
		before := cpuTime()
		for range n {
			if err := bareStart(ctx, argv); err != nil {
				return 0, err
			}
		}
		return ms(cpuTime()-before) / float64(n), nil
	}
}

// iterate runs the product's loop: engine, prompt, text agent, supervisor,
// redactor, formatter, session log.
func (b *bench) iterate(ctx context.Context, iterations int) (err error) {
	file, err := os.Create(filepath.Join(b.dir, "session.log"))
	if err != nil {
		return err
	}
	defer file.Close()
	children, err := proc.Start(ctx, proc.Options{SpillDir: b.dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, children.Close()) }() // its time is known once it has ended
	redact := secret.NewRedactor(secret.New("ghs_0123456789abcdefghijklmnopqrstuvwxyz"))
	log := redact.Writer(file)
	cli, err := agent.New(agent.Options{
		Name: "text", Command: trivial(), Dir: "/", Env: b.env, Process: children, Log: log,
		Limits: proc.Limits{Time: time.Hour, Silence: time.Hour, OutputBytes: 1 << 30},
	})
	if err != nil {
		return err
	}
	format := logs.Formatter{Emoji: true}
	l := ralph.Loop{
		Agent: cli,
		Prompt: prompt.Builder{
			Task:       func() (string, error) { return "Say that you work.", nil },
			Completion: ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"}, Count: true,
		}.Build,
		Policy: ralph.Policy{Completion: ralph.Completion{Kind: ralph.CompletionPromise, Token: "COMPLETE"}, MaxIterations: iterations},
		Emit: func(e ralph.Event) {
			for _, line := range format.Lines(e) {
				_, _ = io.WriteString(io.Discard, redact.Text(line))
			}
			switch e.Kind {
			case ralph.EventIterationStart:
				_, _ = io.WriteString(log, logs.SessionHeader(e.Iteration, "run", ralph.Step{}, e.At))
			case ralph.EventIterationEnd:
				_, _ = io.WriteString(log, logs.SessionFooter(*e.Record))
			}
		},
	}
	if r := l.Run(ctx, nil); r.Outcome != ralph.MaxIterations || len(r.Iterations) != iterations {
		return fmt.Errorf("the loop ended with %s after %d iterations: %s", r.Outcome, len(r.Iterations), r.Reason)
	}
	return nil
}

// bareStart is what a child without a supervisor costs.
func bareStart(ctx context.Context, argv []string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Files: []*os.File{null, null, null}})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// cpuTime is what this process and its waited-for children have used.
func cpuTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err == nil {
			sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
		}
	}
	return sum
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
