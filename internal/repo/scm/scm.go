// Package scm commits with the team's own commands: it asks the agent for a
// commit message and runs the SCM tasks of the settings in order.
package scm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Question asks the agent for a commit message.
const Question = "Provide a short imperative commit message for the changes. Output only the message, no explanation."

// DefaultTimeout is how long one task may take unless Options says otherwise. A
// push over a slow line takes minutes, one that takes longer hangs.
const DefaultTimeout = 10 * time.Minute

// Process runs a child; *proc.Supervisor does.
type Process interface {
	Run(ctx context.Context, c proc.Command) (proc.Exit, error)
}

// Options say what is run, and where.
type Options struct {
	Process Process
	Command []string   // the program with its first arguments: git
	Tasks   [][]string // each is what follows the command: {"commit"}, {"push"}, {"add", "-A"}
	Dir     string
	Env     []string
	Redact  *secret.Redactor
	Done    ralph.Completion // what the agent says when the work is done, which is no message
	// Show opens a stream that shows one task's output live, redacted; nil drops
	// it.
	Show        func(command string) io.WriteCloser
	Timeout     time.Duration // of one task; 0: DefaultTimeout
	OutputBytes int64         // ends a task that prints more; 0: no limit
}

// New returns the tasks as the loop runs them.
func New(o Options) ralph.SCM {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	// Nobody is there to type a password: better an error than a push that hangs.
	const prompt = "GIT_TERMINAL_PROMPT="
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(v string) bool { return strings.HasPrefix(v, prompt) })
	o.Env = append(o.Env, prompt+"0")
	return &tasks{Options: o}
}

type tasks struct {
	Options
	noted bool // the user knows that new files are left out
}

// Deliver runs the tasks up to the first that fails. The agent is asked just
// before the first commit, and only when git, if it is git, has something to
// commit.
func (t *tasks) Deliver(ctx context.Context, it ralph.Iteration, ask func(prompt string) (string, error), emit func(ralph.Event)) (ralph.Delivery, error) {
	var d ralph.Delivery
	for i, words := range t.Tasks {
		if ctx.Err() != nil {
			return d, fmt.Errorf("%s: the run was over before it started", t.name(words))
		}
		argv := slices.Concat(t.Command, words)
		if isCommit(words) {
			if t.isGit() {
				changes, err := t.changes(ctx, t.Tasks[:i], emit)
				if err != nil {
					return d, err
				}
				if !changes {
					continue
				}
			}
			if d.Message == "" {
				message, err := t.message(words, ask)
				if errors.Is(err, ralph.ErrSpent) { // finished work is not left lying for want of a message
					message, err = cmp.Or(Message(it.Said.Commit, t.Done, t.Redact), fmt.Sprintf("ralph: iteration %d", it.Number)), nil
				}
				if err != nil {
					return d, err
				}
				d.Message = message
			}
			argv = append(argv, "-am", d.Message) // one argument, whatever is in it
		}
		if err := t.run(ctx, &d, words, argv, emit); err != nil {
			return d, err
		}
	}
	return d, nil
}

// message asks for the commit message.
func (t *tasks) message(words []string, ask func(prompt string) (string, error)) (string, error) {
	answer, err := ask(Question)
	if err != nil {
		return "", fmt.Errorf("%s: %w", t.name(words), err)
	}
	message := Message(answer, t.Done, t.Redact)
	if message == "" {
		return "", fmt.Errorf("%s: the agent was asked for a commit message and gave none", t.name(words))
	}
	return message, nil
}

// run runs one task and adds it to the delivery.
func (t *tasks) run(ctx context.Context, d *ralph.Delivery, words, argv []string, emit func(ralph.Event)) error {
	shown := t.Redact.Text(printable(strings.Join(argv, " ")))
	emit(ralph.Event{Kind: ralph.EventTaskStart, Text: shown})
	start := time.Now()
	out := &tail{limit: outputBytes}
	exit, err := t.start(ctx, shown, argv, out)
	task := ralph.Task{Command: shown, ExitCode: exit.Code, Duration: time.Since(start), Output: out.text()}
	why := ""
	switch {
	case err != nil:
		task.ExitCode, why = -1, "could not be started: "+t.Redact.Text(err.Error())
	case exit.Why != proc.Exited:
		task.ExitCode, why = -1, t.reason(exit)
	case exit.Code < 0:
		why = "ended by a signal"
	case exit.Code > 0:
		why = fmt.Sprintf("exit code %d", exit.Code)
	}
	d.Tasks = append(d.Tasks, task)
	emit(ralph.Event{Kind: ralph.EventTaskEnd, Task: &task})
	if why == "" {
		return nil
	}
	why = t.name(words) + ": " + why
	if last := lastLines(task.Output); last != "" {
		why += ": " + last
	}
	return errors.New(why)
}

// start runs a program of the team's with its output shown and kept, redacted.
func (t *tasks) start(ctx context.Context, shown string, argv []string, out io.Writer) (proc.Exit, error) {
	sinks := []io.Writer{out}
	if t.Show != nil {
		show := t.Show(shown)
		defer show.Close()
		sinks = append(sinks, &shrug{w: show})
	}
	w := t.Redact.Writer(io.MultiWriter(sinks...))
	exit, err := t.Process.Run(ctx, proc.Command{
		Argv: argv, Dir: t.Dir, Env: t.Env, Stdout: w, Stderr: w,
		Limits: proc.Limits{Time: t.Timeout, OutputBytes: t.OutputBytes},
	})
	_ = w.Close() // only flushes into sinks that cannot fail
	return exit, err
}

func (t *tasks) reason(exit proc.Exit) string {
	switch exit.Why {
	case proc.TimedOut:
		return fmt.Sprintf("timed out after %s", t.Timeout)
	case proc.Flooded:
		return fmt.Sprintf("printed more than %d bytes", t.OutputBytes)
	case proc.OverMemory:
		return "used more memory than max-memory allows"
	case proc.DiskFull:
		return "ended: the disk is nearly full (min-free-disk)"
	case proc.Cancelled:
		return "cancelled"
	}
	return "ended early"
}

// name is the task as an error names it: "git push".
func (t *tasks) name(words []string) string {
	return t.Redact.Text(printable(strings.Join(slices.Concat(t.Command, words), " ")))
}

func (t *tasks) isGit() bool { return len(t.Command) > 0 && filepath.Base(t.Command[0]) == "git" }

func isCommit(words []string) bool { return len(words) == 1 && words[0] == "commit" }
