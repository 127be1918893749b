// Package supervised is an agent that is restarted until its task folder says that it is done: it
// tells there how it stands, and is told of its runs.
package supervised

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

// Folder is the task folder. Its methods do nothing on a nil folder, or before it is open.
type Folder struct {
	Dir    *taskdir.Dir // nil until it is open
	ByMark bool         // the file DONE ends the run
	Redact func(string) string

	run string // the last run's folder in it, by name
}

// Mailbox is how the loop looks into the folder.
func (t *Folder) Mailbox() ralph.Mailbox { return mailbox{t.Dir, t.Redact} }

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

// Agent is an agent that is told in which folder it works: a new one for each run.
type Agent struct {
	*agent.CLI
	Folder  *Folder
	Options agent.Options
	Home    func(agent.Options) (agent.Options, error) // gives it a home of its own, when it is asked first; nil: it needs none
}

// Run starts the agent with TASK_FOLDER and RUN_FOLDER in its environment.
func (s *Agent) Run(ctx context.Context, p ralph.Prompt, emit func(ralph.Event)) (ralph.Turn, error) {
	dir := s.Folder.Dir
	folder, err := dir.NewRun(time.Now(), p.Iteration)
	if err != nil {
		return ralph.Turn{}, err
	}
	if s.Home != nil {
		if s.Options, err = s.Home(s.Options); err != nil {
			return ralph.Turn{}, fmt.Errorf("a home for the agent: %w", err)
		}
		s.Home = nil
	}
	s.Folder.run = filepath.Base(folder)
	_ = dir.Post(taskdir.Message{At: time.Now(), Type: "RUN_START", Body: fmt.Sprintf("attempt %d started", p.Iteration), Attempt: p.Iteration, Run: s.Folder.run})
	o := s.Options
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(kv string) bool {
		return strings.HasPrefix(kv, "TASK_FOLDER=") || strings.HasPrefix(kv, "RUN_FOLDER=")
	})
	o.Env = append(o.Env, "TASK_FOLDER="+dir.Path(), "RUN_FOLDER="+folder)
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
		if done, wrong := dir.Done(); wrong == nil && done {
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

// Linger is how long children of an agent that exited may go on: when the task
// is done they are waited for, up to the most, where 0 is no limit; otherwise the next attempt
// must not meet them.
func (t *Folder) Linger(most time.Duration, say func(string)) func() time.Duration {
	return func() time.Duration {
		if done, err := t.Dir.Done(); err != nil || !done {
			return 0
		}
		if most == 0 {
			return forever
		}
		say(fmt.Sprintf("DONE is there; waiting up to %s for what the agent started", most))
		return most
	}
}

const forever = 1000 * time.Hour

// Post tells the message bus how a run ended. The bus is a courtesy: what cannot
// be written to it is lost.
func (t *Folder) Post(e ralph.Event) {
	if t == nil || t.Dir == nil {
		return
	}
	m := taskdir.Message{At: e.At, Attempt: e.Iteration, Run: t.run}
	switch {
	case e.Kind == ralph.EventResult && e.Turn != nil && e.Turn.Failure != nil:
		m.Type, m.Body, m.ExitCode = taskdir.Warning, "agent failed: "+t.Redact(e.Turn.Failure.Message), &e.Turn.ExitCode
	case e.Kind == ralph.EventResult && e.Turn != nil:
		m.Type, m.Body, m.ExitCode = "RUN_STOP", "agent "+driver.ExitText(e.Turn.ExitCode), &e.Turn.ExitCode
	default:
		return
	}
	_ = t.Dir.Post(m)
}

// PostEnd tells the message bus, and the project's, how it ended.
func (t *Folder) PostEnd(r ralph.Report) {
	if t == nil || t.Dir == nil || r.Outcome == "" {
		return
	}
	now, n := time.Now(), len(r.Iterations)
	m := taskdir.Message{At: now, Attempt: n, Type: taskdir.Error, Body: t.Redact(r.Reason)}
	switch r.Outcome {
	case ralph.Completed:
		m.Type, m.Body = taskdir.Info, doneText
		if !t.ByMark {
			m.Body = "task completed"
		} else if n > 0 && r.Iterations[n-1].Last().Outlived {
			m.Body = "task completed (DONE marker present, active children ended after the wait)"
		}
		_ = t.Dir.Fact(now, fmt.Sprintf("%s, runs: %d", m.Body, n))
	case ralph.Waiting:
		m.Type, m.Body = "RUN_STOP", "status stopped: "+m.Body
	case ralph.MaxIterations:
		m.Body = maxRestartsText
	case ralph.Interrupted:
		m.Type = "RUN_STOP"
	}
	_ = t.Dir.Post(m)
}

const (
	doneText        = "task completed (DONE marker present, no active children)"
	maxRestartsText = "max restarts exceeded"
)
