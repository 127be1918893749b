package run

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/run/stories"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/tasks"
)

// readTaskList looks at the task list before anything else is done: its branch is
// that of the run, its commands are guardrails, and neither is the agent's to
// change later.
func (p *plan) readTaskList() error {
	if p.cfg.Mode != config.ModeTasks && !p.integrates() {
		return nil
	}
	list, err := stories.Read(p.Workspace, p.cfg.Tasks.RalphDir, p.cfg.Prompt.Text, tasks.Rules{ReviewCap: p.cfg.Tasks.ReviewCap, SkipReview: p.cfg.Tasks.SkipReview, Only: p.cfg.Tasks.Stories})
	if err != nil {
		return invalid(err)
	}
	p.undo.afterwards(list.Close)
	p.undo.atEnd(list.Seal) // when every child is gone
	p.checks = slices.Clone(p.checks)
	for _, command := range list.Commands() {
		known := slices.ContainsFunc(p.checks, func(g config.Guardrail) bool { return g.Command == command })
		if !known && strings.TrimSpace(command) != "" {
			p.checks = append(p.checks, config.Guardrail{
				Command: command, FailAction: ralph.Append, Timeout: p.cfg.Limits.Guardrail, When: config.Always,
			})
		}
	}
	p.rec.report.Task = list.Task()
	p.stories = list
	return nil
}

// openTaskList takes the task list of the branch that is checked out now for this
// run alone.
func (w *work) openTaskList() error {
	if w.stories == nil {
		return nil
	}
	o := stories.Options{
		MaxIterations: w.cfg.Loop.MaxIterations, Completion: w.cfg.Loop.Completion,
		Local: w.local(), Sandboxed: w.box != nil || w.isolation != config.IsolationOff, Elsewhere: w.box != nil,
		Published: w.repo != nil, AgentCommits: w.cfg.Git.Commit == config.CommitAgent, Lane: w.lane != nil,
		Base: w.start.Base, BaseSHA: w.start.BaseSHA, Conflict: w.conflict, Tip: w.start.Tip,
		Host: stories.Host{
			Git: w.gitText, Seen: func() string { return "" },
			Note: w.rec.note, Warn: w.rec.warn, Say: w.rec.out.Say, Show: w.rec.out.Warn, Redact: w.rec.redact.Text, Mask: w.rec.masked, Emit: w.emit,
		},
	}
	if w.integrates() { // nobody works on it: how long that would take is no news
		o.Host.Say = func(string) {}
	}
	switch {
	case w.repo != nil:
		o.Host.Seen, o.Host.Changed = w.repo.Seen, w.repo.Changed
		o.Host.Merged = func() bool { return w.repo.Holds(context.Background(), w.start.Tip) }
		o.Host.BaseFile = func(name string) ([]byte, error) { return w.repo.BaseFile(context.Background(), w.repo.Prefix()+name) }
	case w.watcher != nil:
		o.Host.Seen = w.watcher.Seen
	}
	if w.box != nil {
		o.Host.Put = func(name string, data []byte) error {
			ctx, cancel := context.WithTimeout(context.Background(), boxWrite)
			defer cancel()
			return w.box.Write(ctx, name, data)
		}
	}
	backlog, err := stories.Open(w.stories, o)
	if err != nil {
		return invalid(err)
	}
	w.backlog = backlog
	w.undo.atEnd(backlog.Close)
	return nil
}

const boxWrite = 30 * time.Second

// ignoreMarker has git ignore the marker in this clone, as 'ralph tasks init' has
// it in the project: an agent that commits everything would commit it.
func (s *sandboxed) ignoreMarker(ctx context.Context) {
	if s.stories == nil || s.box != nil || gitdir.Check(s.dir()) != nil {
		return
	}
	const script = `git check-ignore -q "$1" && exit
f=$(git rev-parse --git-path info/exclude) && mkdir -p "${f%/*}" && echo "/$1" >> "$f"`
	_, _ = s.children.Run(ctx, proc.Command{
		Argv: []string{"sh", "-c", script, "sh", tasks.MarkerName}, Dir: s.dir(), Env: append(s.sandboxEnv(nil), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"),
		Limits: proc.Limits{Grace: killGrace, Time: gitLeast},
	}) // when it cannot be ignored, it is left out of what we publish all the same
}
