package run

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
	"github.com/org/ralph-action/internal/tasks/taskdir"
)

// taskPath is the task folder, without symbolic links where it exists; "" when
// there is none.
func (p *plan) taskPath() string {
	if p.cfg.Tasks.Dir == "" {
		return ""
	}
	path := filepath.FromSlash(p.cfg.Tasks.Dir)
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Workspace, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// taskFolder is the folder in which an agent that is restarted tells how it
// stands. Its methods do nothing on a nil folder, or before it is open.
type taskFolder struct {
	dir    *taskdir.Dir // nil until it is open
	run    string       // the last run's folder in it, by name
	byMark bool         // the file DONE ends the run
	redact func(string) string
}

// openTaskDir opens the folder in which the agent says that it is done. The
// branch of an earlier run may bring another one: it is opened when that is
// checked out.
func (w *workspace) openTaskDir() error {
	if w.tasks == nil || w.tasks.dir != nil {
		return nil
	}
	owner := taskdir.Owner{UID: -1, GID: -1}
	if !w.identity.IsZero() {
		owner = taskdir.Owner{UID: w.identity.UID, GID: w.identity.GID}
	}
	tasks, err := taskdir.Open(w.taskPath(), owner)
	if err != nil {
		return invalid(err)
	}
	w.tasks.dir = tasks
	w.undo.afterwards(func() { _ = tasks.Close() })
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
	box     *sandboxed
	options agent.Options
	home    string // of its own, made when it is asked first; empty: it has it, or needs none
}

// Run starts the agent with TASK_FOLDER and RUN_FOLDER in its environment.
func (s *attempts) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	folder, err := s.box.tasks.dir.NewRun(time.Now(), p.Iteration)
	if err != nil {
		return ralph.Turn{}, err
	}
	if s.home != "" {
		if s.options, _, err = s.box.ownHome(s.options, s.home); err != nil {
			return ralph.Turn{}, fmt.Errorf("a home for the agent: %w", err)
		}
		s.home = ""
	}
	s.box.tasks.run = filepath.Base(folder)
	_ = s.box.tasks.dir.Post(taskdir.Message{At: time.Now(), Type: "RUN_START", Body: fmt.Sprintf("attempt %d started", p.Iteration), Attempt: p.Iteration, Run: s.box.tasks.run})
	o := s.options
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(kv string) bool {
		return strings.HasPrefix(kv, "TASK_FOLDER=") || strings.HasPrefix(kv, "RUN_FOLDER=")
	})
	o.Env = append(o.Env, "TASK_FOLDER="+s.box.tasks.dir.Path(), "RUN_FOLDER="+folder)
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
		if done, wrong := s.box.tasks.dir.Done(); wrong == nil && done {
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
func (s *sandboxed) linger() time.Duration {
	if done, err := s.tasks.dir.Done(); err != nil || !done {
		return 0
	}
	if s.cfg.Limits.ChildWait == 0 {
		return forever
	}
	s.rec.out.Say(fmt.Sprintf("DONE is there; waiting up to %s for what the agent started", s.cfg.Limits.ChildWait))
	return s.cfg.Limits.ChildWait
}

const forever = 1000 * time.Hour

// post tells the message bus how a run ended. The bus is a courtesy: what cannot
// be written to it is lost.
func (t *taskFolder) post(e ralph.Event) {
	if t == nil || t.dir == nil {
		return
	}
	m := taskdir.Message{At: e.At, Attempt: e.Iteration, Run: t.run}
	switch {
	case e.Kind == ralph.EventResult && e.Turn != nil && e.Turn.Failure != nil:
		m.Type, m.Body, m.ExitCode = taskdir.Warning, "agent failed: "+t.redact(e.Turn.Failure.Message), &e.Turn.ExitCode
	case e.Kind == ralph.EventResult && e.Turn != nil:
		m.Type, m.Body, m.ExitCode = "RUN_STOP", "agent "+driver.ExitText(e.Turn.ExitCode), &e.Turn.ExitCode
	default:
		return
	}
	_ = t.dir.Post(m)
}

// postEnd tells the message bus, and the project's, how it ended.
func (t *taskFolder) postEnd(r ralph.Report) {
	if t == nil || t.dir == nil || r.Outcome == "" {
		return
	}
	now, n := time.Now(), len(r.Iterations)
	m := taskdir.Message{At: now, Attempt: n, Type: taskdir.Error, Body: t.redact(r.Reason)}
	switch r.Outcome {
	case ralph.Completed:
		m.Type, m.Body = taskdir.Info, doneText
		if !t.byMark {
			m.Body = "task completed"
		} else if n > 0 && r.Iterations[n-1].Last().Outlived {
			m.Body = "task completed (DONE marker present, active children ended after the wait)"
		}
		_ = t.dir.Fact(now, fmt.Sprintf("%s, runs: %d", m.Body, n))
	case ralph.Waiting:
		m.Type, m.Body = "RUN_STOP", "status stopped: "+m.Body
	case ralph.MaxIterations:
		m.Body = maxRestartsText
	case ralph.Interrupted:
		m.Type = "RUN_STOP"
	}
	_ = t.dir.Post(m)
}

const (
	doneText        = "task completed (DONE marker present, no active children)"
	maxRestartsText = "max restarts exceeded"
)
