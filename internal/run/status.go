package run

import (
	"os"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/inspect"
	"github.com/org/ralph-action/internal/repo/gitdir"
	"github.com/org/ralph-action/internal/run/credentials"
	"github.com/org/ralph-action/internal/run/lastrun"
)

// remember begins the record of this run for `ralph status`, `ralph resume` and `ralph
// logs`. The one of the run before stays until here, where all is ready: a run that does
// not start is not the last one.
func (w *work) remember() {
	w.rec.ends.ready = true
	dir := lastrun.Dir(w.getenv)
	if !w.local() || dir == "" || w.Before.Locked {
		return
	}
	run := lastrun.Run{
		Version: w.Version, Workspace: w.Workspace, Folder: w.locked(), PID: os.Getpid(), Command: w.command(w.rec.masked),
		Mode: w.cfg.Mode, Task: lastrun.Short(w.rec.report.Task, lastrun.MaxTask, w.rec.masked), Agent: w.cfg.Agent.Name, Started: w.rec.started(),
		Log: w.session, Files: w.files.FullPath(""), Branch: gitdir.Branch(w.dir()), Now: "setup", MaxIterations: w.cfg.Loop.MaxIterations,
		Before: w.Before.Cost, Earlier: w.Before.Iterations, Limits: w.Before.Limits,
	}
	if w.repo != nil {
		run.Branch, run.Ours, run.Base = w.start.Branch, true, w.start.Base
	}
	last, err := lastrun.Begin(dir, run)
	if err != nil {
		w.rec.out.Aside("This run is not recorded for ralph status, ralph logs and ralph resume: " + err.Error())
	}
	w.rec.last = last
	w.rec.report.Resumable = err == nil && run.Mode != config.ModeSession && len(run.Command.Withheld) == 0
}

// locked is the directory that this run has for itself.
func (w *workspace) locked() string {
	if w.tasks == nil || w.publishes() {
		return w.Workspace
	}
	return w.tasks.Dir.Path()
}

// Command is the command line, without the flags that hold a secret.
func (in *Input) Command() (lastrun.Command, error) {
	i, err := inspect.New(in.Config.Content, in.Config.Checks.Guardrails, credentials.Known(in.Config, in.Environ, in.Credentials.Left))
	if err != nil {
		return lastrun.Command{}, err
	}
	return in.command(func(text string) string { return i.Mask(in.Redactor.Text(text)) }), nil
}

func (in *Input) command(masked func(string) string) lastrun.Command {
	c := lastrun.Command{Flags: map[string]string{}, Files: lastrun.Digests(in.Workspace, in.Config.Files())}
	for name, value := range in.Sources.Flags {
		text := strings.TrimSpace(value)
		inline := name != "prompt" && strings.HasPrefix(text, "{") || strings.HasPrefix(name, "agent-") && strings.HasPrefix(text, "[") // JSON may hold anything
		if inline || masked(value) != value {
			c.Withheld = append(c.Withheld, name)
			continue
		}
		c.Flags[name] = value
	}
	slices.Sort(c.Withheld)
	return c
}
