package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/taskdir"
)

// superviseCmd is the restart manager of seed 002.
type superviseCmd struct {
	deskFlags
	Command []string `arg:"" optional:"" name:"command" help:"The agent's command, after --."`
}

// Help is shown below the flags.
func (superviseCmd) Help() string {
	return `Example:
  ralph supervise --task-dir tasks/42 --max-restarts 20 -- claude -p --dangerously-skip-permissions "Work on task 42"

The command is started again whatever its exit code, until the file DONE lies in the task folder. It finds
the folder in TASK_FOLDER, and a new one for each run in RUN_FOLDER. It is not started again when it exits
with 42, makes a file WAIT_WITHOUT_RESTART there, or posts a message of the type wait_without_restart.`
}

// Run restarts the command.
func (c *superviseCmd) Run(a *app, done *exit) error {
	flags, words := c.values(), map[string]string{}
	if len(c.Command) > 0 {
		if _, twice := flags["agent-command"]; twice {
			fmt.Fprintln(a.stderr, "ralph: the command is given twice, after -- and as the flag --agent-command: give only one of them")
			*done = exit(ralph.Invalid.ExitCode(false))
			return nil
		}
		flags["agent-command"], words["agent-command"] = quoted(c.Command), "the command after --"
	}
	return a.desk(desk{mode: "supervise", flags: flags, words: c.typed(a, words), verbose: c.Verbose}, done)
}

// quoted writes words so that splitting them as a shell would gives them back.
func quoted(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
	}
	return strings.Join(out, " ")
}

// taskPath is the task folder, without symbolic links where it exists; "" when
// there is none.
func (j *job) taskPath() string {
	if j.cfg.TaskDir == "" {
		return ""
	}
	path := filepath.FromSlash(j.cfg.TaskDir)
	if !filepath.IsAbs(path) {
		path = filepath.Join(j.workspace, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// openTaskDir opens the folder in which the agent says that it is done. The
// branch of an earlier run may bring another one: it is opened when that is
// checked out.
func (j *job) openTaskDir() error {
	path := j.taskPath()
	if path == "" || j.tasks != nil {
		return nil
	}
	owner := taskdir.Owner{UID: -1, GID: -1}
	if !j.identity.IsZero() {
		owner = taskdir.Owner{UID: j.identity.UID, GID: j.identity.GID}
	}
	tasks, err := taskdir.Open(path, owner)
	if err != nil {
		return invalid(err)
	}
	j.tasks = tasks
	j.afterwards(func() { _ = tasks.Close() })
	return invalid(tasks.Resume())
}

// mailbox is how the loop looks into the task folder.
type mailbox struct {
	*taskdir.Dir
	mask func(string) string
}

const maxWhy = 200 // characters of what an agent waits for

// Waiting masks what the agent says before it is cut.
func (m mailbox) Waiting(t ralph.Turn) (string, bool) {
	why, waits := m.Dir.Waiting(t.ExitCode)
	runes := []rune(m.mask(why))
	if len(runes) > maxWhy {
		runes = append(runes[:maxWhy-1], '…')
	}
	return string(runes), waits
}

// attempts is an agent that is told in which folder it works: a new one for
// each run.
type attempts struct {
	*agent.CLI
	job     *job
	options agent.Options
	home    string // of its own, made when it is asked first; empty: it has it, or needs none
}

// Run starts the agent with TASK_FOLDER and RUN_FOLDER in its environment. 002-08
func (s *attempts) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	folder, err := s.job.tasks.NewRun(time.Now(), p.Iteration)
	if err != nil {
		return ralph.Turn{}, err
	}
	if s.home != "" {
		if s.options, _, err = s.job.ownHome(s.options, s.home); err != nil {
			return ralph.Turn{}, fmt.Errorf("a home for the agent: %w", err)
		}
		s.home = ""
	}
	s.job.folder = filepath.Base(folder)
	_ = s.job.tasks.Post(taskdir.Message{At: time.Now(), Type: "RUN_START", Body: fmt.Sprintf("attempt %d started", p.Iteration), Attempt: p.Iteration, Run: s.job.folder})
	o := s.options
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(kv string) bool {
		return strings.HasPrefix(kv, "TASK_FOLDER=") || strings.HasPrefix(kv, "RUN_FOLDER=")
	})
	o.Env = append(o.Env, "TASK_FOLDER="+s.job.tasks.Path(), "RUN_FOLDER="+folder)
	cli, err := agent.New(o)
	if err != nil {
		return ralph.Turn{}, err
	}
	turn, err := cli.Run(ctx, p, func(e ralph.Event) {
		if e.Kind == ralph.EventResult && e.Turn != nil {
			turn := spoken(*e.Turn)
			e.Turn = &turn
		}
		emit(e)
	})
	if err != nil {
		// A shell that does not find its last command says the same. The mark beats
		// every exit code.
		if done, wrong := s.job.tasks.Done(); wrong == nil && done {
			return ralph.Turn{ExitCode: -1, Failure: &ralph.Failure{Kind: ralph.FailureCrash, Message: err.Error()}}, nil
		}
	}
	return spoken(turn), err
}

// spoken takes silence for no failure, and neither the exit code of an agent
// that waits: the command says what it has to say in its folder.
func spoken(t ralph.Turn) ralph.Turn {
	silent := t.Failure != nil && t.Failure.Kind == ralph.FailureEmpty && t.ExitCode == 0
	waits := t.Failure != nil && t.Failure.Kind == ralph.FailureCrash && t.ExitCode == taskdir.WaitCode
	if silent || waits {
		t.Failure = nil
	}
	return t
}

// linger is how long children of an agent that exited may go on: when the task
// is done they are waited for, otherwise the next attempt must not meet them.
// 002-07, 002-14
func (j *job) linger() time.Duration {
	if done, err := j.tasks.Done(); err != nil || !done {
		return 0
	}
	if j.cfg.ChildWaitTimeout == 0 {
		return forever
	}
	j.out.say(fmt.Sprintf("DONE is there; waiting up to %s for what the agent started", j.cfg.ChildWaitTimeout))
	return j.cfg.ChildWaitTimeout
}

const forever = 1000 * time.Hour

// post tells the message bus how a run ended. The bus is a courtesy: what cannot
// be written to it is lost. 002-07, 002-09, 002-10
func (j *job) post(e ralph.Event) {
	if j.tasks == nil {
		return
	}
	m := taskdir.Message{At: e.At, Attempt: e.Iteration, Run: j.folder}
	switch {
	case e.Kind == ralph.EventResult && e.Turn != nil && e.Turn.Failure != nil:
		m.Type, m.Body, m.ExitCode = taskdir.Warning, "agent failed: "+j.redact.Text(e.Turn.Failure.Message), &e.Turn.ExitCode
	case e.Kind == ralph.EventResult && e.Turn != nil:
		m.Type, m.Body, m.ExitCode = "RUN_STOP", "agent "+driver.ExitText(e.Turn.ExitCode), &e.Turn.ExitCode
	default:
		return
	}
	_ = j.tasks.Post(m)
}

// postEnd tells the message bus, and the project's, how it ended.
func (j *job) postEnd() {
	if j.tasks == nil || j.report.Outcome == "" {
		return
	}
	now, n := time.Now(), len(j.report.Iterations)
	m := taskdir.Message{At: now, Attempt: n, Type: taskdir.Error, Body: j.redact.Text(j.report.Reason)}
	switch j.report.Outcome {
	case ralph.Completed:
		m.Type, m.Body = taskdir.Info, doneText
		if j.cfg.Completion.Kind != ralph.CompletionDoneFile {
			m.Body = "task completed"
		} else if n > 0 && j.report.Iterations[n-1].Last().Outlived {
			m.Body = "task completed (DONE marker present, active children ended after the wait)"
		}
		_ = j.tasks.Fact(now, fmt.Sprintf("%s, runs: %d", m.Body, n))
	case ralph.Waiting:
		m.Type, m.Body = "RUN_STOP", "status stopped: "+m.Body
	case ralph.MaxIterations:
		m.Body = maxRestartsText
	case ralph.Interrupted:
		m.Type = "RUN_STOP"
	}
	_ = j.tasks.Post(m)
}

const (
	doneText        = "task completed (DONE marker present, no active children)" // 002-07
	maxRestartsText = "max restarts exceeded"                                    // 002-09
)
