package config

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/org/ralph-action/internal/ralph"
)

// ralphDir is the folder of the task list, which is part of the project.
func (l *loader) ralphDir(v value) string {
	text := strings.TrimSpace(v.Text)
	name, inside := l.files.Local(text)
	switch {
	case !inside:
		l.refuse(v, "it is outside the workspace: give a folder of the project")
		return ""
	case name == ".":
		l.refuse(v, "it is the workspace itself: give a folder below it")
		return ""
	}
	if st, err := l.files.Root.Stat(name); l.mode == ModeTasks && !errors.Is(err, fs.ErrNotExist) { // elsewhere it may be anything
		l.isFolder(v.Where, text, st, err)
	}
	return path.Clean(filepath.ToSlash(name))
}

// validateTasks checks what belongs to a task list.
func (l *loader) validateTasks(values map[string]value) {
	byList := l.c.Loop.Completion.Kind == ralph.CompletionTasks
	switch v := values["completion"]; {
	case l.mode == ModeTasks && !byList && v.given() && !l.refused(v):
		l.Report(v.Where, "in mode tasks the task list says when the work is done: leave it out")
	case l.mode != ModeTasks && l.mode != ModeIntegrate && byList:
		l.Report(v.Where, "tasks belongs to mode tasks")
	}
	if l.mode == ModeIntegrate {
		l.idle(values, "it has no effect in mode integrate: the plan and the lanes have decided it", "stories", "publish", "lane", "review-agent", "review-model")
		if l.c.Tasks.Lane.Dir == "" && !l.refused(values["lanes"]) {
			l.Report("lanes", "mode integrate needs the directory with the plan and with what the lanes handed over")
		}
		if l.c.Git.Commit != CommitEach {
			l.Report(values["commit"].Where, "mode integrate makes one commit for each story: leave it out")
		}
		return
	}
	if l.mode == ModeTasks {
		if dir := values["working-directory"]; l.c.Git.WorkingDirectory != "." && l.c.Git.WorkingDirectory != "" {
			l.Report(dir.Where, "mode tasks works at the top of the workspace, from which the task list is named: leave it out")
		}
		if len(l.c.Git.SCM.Tasks) > 0 {
			l.Report(values["scm-tasks"].Where, "in mode tasks the agent commits, or ralph does with %s: leave them out", l.option("commit", string(CommitEach)))
		}
		if l.c.Tasks.Parallel > 1 {
			l.validateParallel(values)
		} else {
			l.validateLane(values)
			l.idle(values, "it has no effect here: it belongs to mode integrate", "on-conflict")
		}
		if l.c.Tasks.SkipReview {
			l.idle(values, "it has no effect: there are no reviews with "+l.option("skip-review", "true"), "review-agent", "review-model")
		}
		return
	}
	l.idle(values, "it has no effect here: it belongs to mode tasks", ofTasks()...)
}

// validateSession checks what belongs to sessions that go on.
func (l *loader) validateSession(values map[string]value) {
	if l.c.Loop.AcceptNoWork {
		l.c.Loop.MinToolCalls = 0
	}
	if l.mode == ModeTasks && l.c.Agent.Resume {
		l.Report(values["session"].Where, "in mode tasks every iteration has a fresh context, or a review would not be one: leave it out")
	}
	if l.mode == ModeSession {
		switch v := values["completion"]; {
		case v.given() && l.c.Loop.Completion.Kind != ralph.CompletionPromise && !l.refused(v):
			l.Report(v.Where, "a session ends with a promise: leave it out")
		case !l.c.Agent.Resume && values["session"].given():
			l.Report(values["session"].Where, "mode session is one session that goes on: leave it out")
		}
		return
	}
	l.idle(values, "it has no effect here: it belongs to mode session", ofSessions()...)
}

// idle reports what was typed and has no effect. A file may hold it: it serves
// several modes.
func (l *loader) idle(values map[string]value, why string, names ...string) {
	for _, name := range names {
		if v := values[name]; v.from >= fromInput && !l.refused(v) {
			l.Report(v.Where, "%s", why)
		}
	}
}

// validateIsolation checks what a Docker Sandbox can hold.
func (l *loader) validateIsolation(values map[string]value) {
	if l.c.Sandbox.Isolation != IsolationDocker {
		return
	}
	v := values["isolation"]
	if !values["stall-limit"].given() {
		l.c.Loop.StallLimit = 0
	}
	switch {
	case !l.o.Local:
		l.Report(v.Where, "docker-sandbox works locally only; in the action ralph sandboxes the agent itself: give auto or strict")
	case l.c.Git.Commit == CommitEach || l.c.Git.Commit == CommitAtEnd, l.c.Loop.StallLimit > 0, l.c.Loop.MinToolCalls > 0 && l.mode != ModeSession:
		l.Report(v.Where, "what happens in a Docker Sandbox is not looked at from here: it needs %s, no stall-limit and no min-tool-calls", l.option("commit", string(CommitAgent)))
	case l.c.Agent.Name != "claude":
		l.Report(v.Where, "a Docker Sandbox runs claude only, and the agent is %s", l.c.Agent.Name)
	case len(l.c.Agent.Command) > 0:
		l.Report(v.Where, "a Docker Sandbox brings its own claude: leave %s out", values["agent-command"].Where)
	case l.c.Tasks.ReviewAgent != "" && l.c.Tasks.ReviewAgent != "claude":
		l.Report(values["review-agent"].Where, "a Docker Sandbox runs claude only")
	case l.c.Agent.Fallback != "" && l.c.Agent.Fallback != "claude":
		l.Report(values["fallback-agent"].Where, "a Docker Sandbox runs claude only")
	}
}
