package run

import (
	"path/filepath"

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

// openTaskDir opens the folder in which the agent says that it is done. The
// branch of an earlier run may bring another one: it is opened when that is
// checked out.
func (w *workspace) openTaskDir() error {
	if w.tasks == nil || w.tasks.Dir != nil {
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
	w.tasks.Dir = tasks
	w.undo.afterwards(func() { _ = tasks.Close() })
	return invalid(tasks.Resume())
}
