package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/dockersandbox"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/sandbox"
)

// sandboxed is what children of the run work in: their directories, what they may
// touch, and the network they see.
type sandboxed struct {
	*workspace
	Environ  []string // as the program's, with installed agents on PATH
	temp     temp
	person   config.Person     // whose name the agent's own commits carry
	children *proc.Supervisor  // starts them
	display  *proc.Supervisor  // runs the display filter; nil without one
	network  *network          // nil: open
	box      *dockersandbox.VM // nil: the agent runs on this machine
	delay    time.Duration     // between iterations
	path     string            // PATH as setup left it; empty: as it was
	git      *git
}

// openSandbox installs the agents that are missing and starts the supervisors
// under which all children run.
func openSandbox(ctx context.Context, w *workspace) (*sandboxed, error) {
	s := &sandboxed{workspace: w, Environ: w.Environ, delay: w.cfg.Delay}
	s.git = &git{box: s, dir: s.dir()}
	if err := s.installAgents(ctx); err != nil {
		return s, err
	}
	if err := s.openTemp(); err != nil {
		return s, err
	}
	if err := s.openNetwork(ctx); err != nil {
		return s, err
	}
	if err := s.buildWalls(ctx); err != nil {
		return s, err
	}
	s.ignoreMarker(ctx) // before git's settings are watched
	return s, nil
}

// getenv looks a variable up in the environment of this process, with installed
// agents on PATH.
func (s *sandboxed) getenv(name string) string { return proc.Getenv(s.Environ, name) }

// openTemp makes the private folders of the run.
func (j *sandboxed) openTemp() error {
	t, err := newTemp(j.tempDir(), j.identity)
	if err != nil {
		return invalid(fmt.Errorf("private folder for the run, which lies below TMPDIR: %w", err))
	}
	j.temp = t
	j.undo.atEnd(j.removeTemp)
	return invalid(j.writeGitConfig(t.home, j.cfg.Committer))
}

// buildWalls starts the supervisor all children run under.
func (j *sandboxed) buildWalls(ctx context.Context) (err error) {
	t := j.temp
	o := proc.Options{Identity: j.identity, Env: []string{"PATH=" + j.getenv("PATH")}, SpillDir: t.store, Reaper: true}
	if j.isolation != config.IsolationOff {
		open := []string{j.Workspace, t.home, t.tmp, t.index}
		if folder := j.taskPath(); folder != "" {
			open = append(open, folder)
		}
		open = append(open, sharedTemp(j.identity)...)
		walls := sandbox.DefaultWalls(open, j.install())
		walls.Strict = j.isolation == config.IsolationStrict
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
	if j.isolation != config.IsolationOff {
		j.rec.report.Isolation = sandbox.Describe(j.identity, o.Walls, os.Getuid())
		if abi, why := sandbox.Available(); abi == 0 {
			j.rec.note("There are no file walls: " + why + ".")
		}
		if o.Walls.Network == nil && j.walled() {
			j.rec.report.Isolation += ", network open (allowed-hosts is *)"
		}
		if j.network != nil && len(j.network.doors) > 0 {
			j.rec.report.Isolation += ", the agent's key kept back"
		}
		j.rec.out.Say("Isolation: " + j.rec.report.Isolation)
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
func (j *sandboxed) startChildren(ctx context.Context, o proc.Options) (*proc.Supervisor, error) {
	children, err := proc.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	j.undo.atEnd(func() {
		if err := children.Close(); err != nil {
			j.rec.out.Warn(err.Error())
		}
	})
	return children, nil
}

// tempDir is TMPDIR as it was before the environment was sealed. A folder of
// the workspace is the agent's and no place for the owner's store.
func (j *sandboxed) tempDir() string {
	dir := j.getenv("TMPDIR")
	if rel, err := filepath.Rel(j.Workspace, dir); err == nil && filepath.IsLocal(rel) {
		return ""
	}
	return dir
}

// writeGitConfig gives the agent's own commits an author: its HOME is new.
func (j *sandboxed) writeGitConfig(home string, person config.Person) error {
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
