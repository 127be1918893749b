package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/killed"
	"github.com/org/ralph-action/internal/run/rundir"
	"github.com/org/ralph-action/internal/run/stash"
	"github.com/org/ralph-action/internal/run/supervised"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/namespace"
)

// workspace is the directory a run has for itself until its end.
type workspace struct {
	*plan
	files    *rundir.Dir        // .ralph
	identity confine.Identity   // the agent's user; zero: our own
	tasks    *supervised.Folder // nil: the agent speaks by its words only
	session  string             // the session log, absolute
	outside  string             // the task folder, when the run's files lie there and not in the workspace
	killed   *killed.Run        // the run that was killed here before; nil: none
	sealed   bool               // the agent of that could not write its record
	foreign  error              // why the record of one cannot be used

	namespaces *namespace.Namespaces // of the children; nil: none
	without    string                // why there are none; empty: nobody asked for them
}

// openWorkspace takes the workspace for this run alone and decides who the
// agent is. cancel ends the run.
func openWorkspace(ctx context.Context, p *plan, cancel context.CancelFunc) (*workspace, error) {
	w := &workspace{plan: p}
	if p.cfg.Tasks.Dir != "" && p.Before.Left == nil {
		w.tasks = &supervised.Folder{ByMark: p.cfg.Loop.Completion.Kind == ralph.CompletionDoneFile, Redact: p.rec.redact.Text}
		p.rec.tasks = w.tasks
	}
	if err := w.open(ctx); err != nil {
		return w, err
	}
	w.watchCancel(ctx, cancel)
	if p.Before.Left != nil {
		return w, w.checkLeft()
	}
	return w, w.checkPlanAtDesk()
}

func (w *workspace) open(ctx context.Context) error {
	if !w.local() {
		var err error
		if w.onRunner() && w.sandboxes() {
			err = w.openNamespaces(ctx)
		}
		if err := errors.Join(err, w.checkSandbox()); err != nil {
			return invalid(err)
		}
	}
	w.rememberModes()
	if held, _, err := rundir.Held(w.Workspace); err != nil || !held { // else the lock refuses this run, and the other's agent may work
		notes, err := stash.Restore(w.Workspace)
		if err != nil {
			return invalid(err)
		}
		for _, n := range notes {
			w.rec.tell(n)
		}
	}
	if err := w.beginStep(); err != nil {
		return invalid(err)
	}
	marker := rundir.Handover(w.Workspace)
	id, handOver, err := confine.IdentityFor(confine.Place{
		Workspace: w.Workspace, Marker: marker, DockerSocket: dockerSocket, Fallback: imageUser(),
	})
	switch {
	case w.isolation == config.IsolationOff:
		id, handOver, err = confine.Identity{}, false, nil
	case errors.Is(err, confine.ErrNoUser) && w.isolation == config.IsolationAuto:
		w.rec.note("The agent runs as root: the workspace belongs to root, and this machine has no user named agent.")
		err = nil
	}
	if err != nil {
		return invalid(err)
	}
	w.identity = id
	// What lies in a workspace that is handed over goes with it, and comes back.
	owner := rundir.Owner{UID: -1, GID: -1}
	if !id.IsZero() && !handOver {
		owner = rundir.Owner{UID: id.UID, GID: id.GID}
	}
	if !w.publishes() {
		if err := w.openTaskDir(); err != nil {
			return err
		}
	}
	if w.files, err = w.openRunFolder(owner); err != nil {
		return invalid(err)
	}
	w.rec.files = w.files
	w.undo.afterwards(func() { _ = w.files.Close() })
	release, err := w.lock(owner)
	if err != nil {
		return invalid(err)
	}
	w.undo.afterwards(release)
	w.findKilled()
	if handOver {
		restore, err := confine.HandOver(ctx, w.Workspace, marker, id)
		if err != nil {
			return invalid(err)
		}
		w.undo.afterwards(func() {
			if err := restore(context.WithoutCancel(ctx)); err != nil {
				w.rec.out.Warn(err.Error())
			}
		})
	}
	logs, err := w.logFolder(owner)
	if err != nil {
		return invalid(err)
	}
	name, log, err := logs.SessionLog(w.rec.started())
	if err != nil {
		return invalid(err)
	}
	w.session = logs.FullPath(name)
	w.rec.session, w.rec.kept.Log = &sessionLog{w: log}, logs.Path(name)
	w.undo.afterwards(func() { _ = log.Close() }) // what is lost of a log is lost
	return nil
}

// checkSandbox refuses to run in the action where nothing would keep the agent from
// what belongs to the job: the runner's files belong to its user, and where ralph
// is that user, too, so does every process.
func (w *workspace) checkSandbox() error {
	if w.local() || w.isolation != config.IsolationAuto || w.namespaces != nil {
		return nil
	}
	ok, why := confine.FilesAvailable()
	if ok {
		return nil
	}
	return fmt.Errorf("isolation: auto needs Landlock, which is missing here: %s. The agent could read the job's tokens: use a runner with Linux 5.19 or later, or set isolation: off to do without a sandbox", why)
}

// openRunFolder opens the .ralph that holds the run's files and its lock. Several
// tasks of one project may be supervised at a time, each in its own folder; a
// task folder in the workspace is named from there.
func (w *workspace) openRunFolder(owner rundir.Owner) (*rundir.Dir, error) {
	if w.tasks == nil || w.publishes() {
		return rundir.Open(w.Workspace, owner)
	}
	top, err := filepath.EvalSymlinks(w.Workspace)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(top, w.tasks.Dir.Path())
	if err != nil || !filepath.IsLocal(rel) {
		w.outside = w.tasks.Dir.Path()
		return rundir.Open(w.tasks.Dir.Path(), owner)
	}
	return rundir.OpenFolder(w.Workspace, path.Join(filepath.ToSlash(rel), rundir.Name), rundir.RunFiles(), owner)
}

// lock takes the workspace, or the task folder, for this run alone.
func (w *workspace) lock(owner rundir.Owner) (release func(), err error) {
	switch {
	case w.Before.Locked:
		return func() {}, nil
	case w.locked() == w.Workspace:
		return w.files.Lock()
	}
	task, err := rundir.Open(w.locked(), owner)
	if err != nil {
		return nil, err
	}
	w.undo.afterwards(func() { _ = task.Close() })
	return task.Lock()
}

// toRunFiles leads from where the agent works to the folder that holds .ralph;
// "" when they are the same.
func (w *workspace) toRunFiles() string {
	way, err := filepath.Rel(w.dir(), w.place())
	if err != nil || way == "." {
		return ""
	}
	return filepath.ToSlash(way)
}

// place is the folder from which the run's files are named.
func (w *workspace) place() string {
	if w.outside != "" {
		return w.outside
	}
	return w.Workspace
}

// sessionLog is the record of what the agent printed, with lines of ours between.
// What is written to it is masked already. It may be written to by many
// goroutines.
type sessionLog struct {
	mu   sync.Mutex
	w    io.Writer
	last byte // 0: nothing was written
}

func (s *sessionLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p) > 0 {
		s.last = p[len(p)-1]
	}
	return s.w.Write(p)
}

// midLine says that the last line has no end yet.
func (s *sessionLog) midLine() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last != 0 && s.last != '\n'
}

// logFolder is where session logs lie: the loops of seed 000 have a folder of
// their own for them.
func (w *workspace) logFolder(owner rundir.Owner) (*rundir.Dir, error) {
	if w.cfg.Prompt.Variables == nil {
		return w.files, nil
	}
	logs, err := rundir.OpenFolder(w.Workspace, path.Join(w.cfg.Prompt.Home, logsFolder), []string{sessionLogs, "tmp-*"}, owner)
	if err == nil {
		w.undo.afterwards(func() { _ = logs.Close() })
	}
	return logs, err
}

const (
	logsFolder  = "logs"
	sessionLogs = "session-*.log"
)

const dockerSocket = "/var/run/docker.sock"

// imageUser is the user the image brings for workspaces that belong to root;
// none outside of the image.
func imageUser() confine.Identity {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return confine.Identity{}
	}
	for line := range strings.Lines(string(passwd)) {
		var id confine.Identity
		if fields := strings.Split(line, ":"); len(fields) > 3 && fields[0] == "agent" {
			if _, err := fmt.Sscan(fields[2]+" "+fields[3], &id.UID, &id.GID); err == nil {
				return id
			}
		}
	}
	return confine.Identity{}
}
