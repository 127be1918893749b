package main

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
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/rundir"
	"github.com/org/ralph-action/internal/sandbox"
)

// openWorkspace takes the workspace for this run alone and decides who the
// agent is.
func (j *job) openWorkspace(ctx context.Context) error {
	if err := j.checkWalls(); err != nil {
		return invalid(err)
	}
	j.rememberModes()
	notes, err := unhide(j.workspace)
	if err != nil {
		return invalid(err)
	}
	for _, n := range notes {
		j.note(n)
		j.out.say(n)
	}
	marker := handoverMarker(j.workspace)
	id, handOver, err := sandbox.IdentityFor(sandbox.Place{
		Workspace: j.workspace, Marker: marker, DockerSocket: dockerSocket, Fallback: imageUser(),
	})
	switch {
	case j.cfg.Isolation == config.IsolationOff:
		id, handOver, err = sandbox.Identity{}, false, nil
	case errors.Is(err, sandbox.ErrNoUser) && j.cfg.Isolation == config.IsolationAuto:
		j.note("The agent runs as root: the workspace belongs to root, and this machine has no user named agent.")
		err = nil
	}
	if err != nil {
		return invalid(err)
	}
	j.identity = id
	// What lies in a workspace that is handed over goes with it, and comes back.
	owner := rundir.Owner{UID: -1, GID: -1}
	if !id.IsZero() && !handOver {
		owner = rundir.Owner{UID: id.UID, GID: id.GID}
	}
	if !j.publishes() {
		if err := j.openTaskDir(); err != nil {
			return err
		}
	}
	if j.files, err = j.openRunFolder(owner); err != nil {
		return invalid(err)
	}
	j.afterwards(func() { _ = j.files.Close() })
	release, err := j.lock(owner)
	if err != nil {
		return invalid(err)
	}
	j.afterwards(release)
	j.findKilled()
	if handOver {
		restore, err := sandbox.HandOver(ctx, j.workspace, marker, id)
		if err != nil {
			return invalid(err)
		}
		j.afterwards(func() {
			if err := restore(context.WithoutCancel(ctx)); err != nil {
				j.out.warn(err.Error())
			}
		})
	}
	logs, err := j.logFolder(owner)
	if err != nil {
		return invalid(err)
	}
	log, err := logs.Append("session-" + j.started.Format("20060102-150405") + ".log") // 000-09
	if err != nil {
		return invalid(err)
	}
	j.session = &sessionLog{w: log}
	j.afterwards(func() { _ = log.Close() }) // what is lost of a log is lost
	return nil
}

// checkWalls refuses to run in the action where nothing would keep the agent from
// what belongs to the job: the runner's files belong to its user, and where ralph
// is that user, too, so does every process.
func (j *job) checkWalls() error {
	if j.runner == nil || j.cfg.Isolation != config.IsolationAuto {
		return nil
	}
	abi, why := sandbox.Available()
	if abi > 0 {
		return nil
	}
	return fmt.Errorf("isolation: auto needs Landlock, which is missing here: %s. The agent could read the job's tokens: use a runner with Linux 5.19 or later, or set isolation: off to do without a sandbox", why)
}

// openRunFolder opens the .ralph that holds the run's files and its lock. Several
// tasks of one project may be supervised at a time, each in its own folder; a
// task folder in the workspace is named from there.
func (j *job) openRunFolder(owner rundir.Owner) (*rundir.Dir, error) {
	if j.tasks == nil || j.publishes() {
		return rundir.Open(j.workspace, owner)
	}
	top, err := filepath.EvalSymlinks(j.workspace)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(top, j.tasks.Path())
	if err != nil || !filepath.IsLocal(rel) {
		j.outside = j.tasks.Path()
		return rundir.Open(j.tasks.Path(), owner)
	}
	return rundir.OpenFolder(j.workspace, path.Join(filepath.ToSlash(rel), rundir.Name), rundir.RunFiles(), owner)
}

// lock takes the workspace, or the task folder, for this run alone.
func (j *job) lock(owner rundir.Owner) (release func(), err error) {
	if j.tasks == nil || j.publishes() {
		return j.files.Lock()
	}
	task, err := rundir.Open(j.tasks.Path(), owner)
	if err != nil {
		return nil, err
	}
	j.afterwards(func() { _ = task.Close() })
	return task.Lock()
}

// place is the folder from which the run's files are named.
func (j *job) place() string {
	if j.outside != "" {
		return j.outside
	}
	return j.workspace
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
func (j *job) logFolder(owner rundir.Owner) (*rundir.Dir, error) {
	if j.cfg.Variables == nil {
		return j.files, nil
	}
	logs, err := rundir.OpenFolder(j.workspace, path.Join(j.cfg.Home, logsFolder), []string{sessionLogs, "tmp-*"}, owner)
	if err == nil {
		j.afterwards(func() { _ = logs.Close() })
	}
	return logs, err
}

const (
	logsFolder  = "logs"
	sessionLogs = "session-*.log"
)

// handoverMarker is where an unfinished hand-over is remembered: where git does
// not look.
func handoverMarker(workspace string) string {
	git := filepath.Join(workspace, ".git")
	if info, err := os.Lstat(git); err == nil && info.IsDir() {
		return filepath.Join(git, "ralph-handover")
	}
	return filepath.Join(workspace, rundir.Name, "handover")
}

const dockerSocket = "/var/run/docker.sock"

// imageUser is the user the image brings for workspaces that belong to root;
// none outside of the image.
func imageUser() sandbox.Identity {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return sandbox.Identity{}
	}
	for line := range strings.Lines(string(passwd)) {
		var id sandbox.Identity
		if fields := strings.Split(line, ":"); len(fields) > 3 && fields[0] == "agent" {
			if _, err := fmt.Sscan(fields[2]+" "+fields[3], &id.UID, &id.GID); err == nil {
				return id
			}
		}
	}
	return sandbox.Identity{}
}

// openTemp makes the private folders of the run.
func (j *job) openTemp() error {
	t, err := newTemp(j.tempDir(), j.identity)
	if err != nil {
		return invalid(fmt.Errorf("private folder for the run, which lies below TMPDIR: %w", err))
	}
	j.temp = t
	j.atEnd(j.removeTemp)
	return invalid(j.writeGitConfig(t.home, j.cfg.Committer))
}

// buildWalls starts the supervisor all children run under.
func (j *job) buildWalls(ctx context.Context) (err error) {
	t := j.temp
	o := proc.Options{Identity: j.identity, Env: []string{"PATH=" + j.app.getenv("PATH")}, SpillDir: t.store, Reaper: true}
	if j.cfg.Isolation != config.IsolationOff {
		open := []string{j.workspace, t.home, t.tmp, t.index}
		if folder := j.taskPath(); folder != "" {
			open = append(open, folder)
		}
		open = append(open, sharedTemp(j.identity)...)
		walls := sandbox.DefaultWalls(open, j.install())
		walls.Strict = j.cfg.Isolation == config.IsolationStrict
		walls.Network = j.network.walls(open)
		o.Walls = &walls
		o.Memory, o.FreeDisk, o.DiskPaths = j.cfg.MaxMemory, j.cfg.MinFreeDisk, open
		if j.network != nil {
			o.Refused = j.network.refuse
		}
	}
	if j.cfg.MaxProcesses > 0 {
		o.MaxProcs = uint64(j.cfg.MaxProcesses)
	}
	if j.cfg.Isolation != config.IsolationOff {
		j.report.Isolation = sandbox.Describe(j.identity, o.Walls, os.Getuid())
		if abi, why := sandbox.Available(); abi == 0 {
			j.note("There are no file walls: " + why + ".")
		}
		if o.Walls.Network == nil && j.walled() {
			j.report.Isolation += ", network open (allowed-hosts is *)"
		}
		if j.network != nil && len(j.network.doors) > 0 {
			j.report.Isolation += ", the agent's key kept back"
		}
		j.out.say("Isolation: " + j.report.Isolation)
	}
	if j.children, err = j.startChildren(ctx, o); err != nil {
		return invalid(err)
	}
	if err := j.openBox(ctx); err != nil || j.cfg.DisplayFilter == "" {
		return err
	}
	o.Reaper = false
	j.display, err = j.startChildren(ctx, o)
	return invalid(err)
}

// sharedTemp are the temporary folders that programs have in their code. In a
// container of ours nobody else has anything there, and it goes with the run.
func sharedTemp(id sandbox.Identity) []string {
	if os.Getpid() != 1 || id.IsZero() {
		return nil
	}
	return []string{"/tmp", "/var/tmp"}
}

// startChildren starts a supervisor that lives as long as the run.
func (j *job) startChildren(ctx context.Context, o proc.Options) (*proc.Supervisor, error) {
	children, err := proc.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	j.atEnd(func() {
		if err := children.Close(); err != nil {
			j.out.warn(err.Error())
		}
	})
	return children, nil
}

// tempDir is TMPDIR as it was before the environment was sealed. A folder of
// the workspace is the agent's and no place for the owner's store.
func (j *job) tempDir() string {
	dir := j.app.getenv("TMPDIR")
	if rel, err := filepath.Rel(j.workspace, dir); err == nil && filepath.IsLocal(rel) {
		return ""
	}
	return dir
}

// writeGitConfig gives the agent's own commits an author: its HOME is new.
func (j *job) writeGitConfig(home string, person config.Person) error {
	j.person = person
	if !j.cfg.Author.IsZero() {
		person = j.cfg.Author
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`) // git-config(1) knows fewer escapes than %q writes
	text := fmt.Sprintf("[user]\n\tname = \"%s\"\n\temail = \"%s\"\n[safe]\n\tdirectory = *\n[advice]\n\tdetachedHead = false\n",
		quoted.Replace(person.Name), quoted.Replace(person.Email))
	path := filepath.Join(home, ".gitconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if j.identity.IsZero() {
		return nil
	}
	return os.Chown(path, j.identity.UID, j.identity.GID)
}
