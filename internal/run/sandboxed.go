package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/run/caches"
	"github.com/org/ralph-action/internal/run/installation"
	"github.com/org/ralph-action/internal/run/network"
	"github.com/org/ralph-action/internal/run/setup"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/namespace"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/sandbox/toolchain"
)

// sandboxed is what children of the run work in: their directories, what they may
// touch, and the network they see.
type sandboxed struct {
	*workspace
	Environ  []string // as the program's, with installed agents on PATH
	temp     temp
	person   config.Person     // whose name the agent's own commits carry
	children *proc.Supervisor  // starts them
	pool     *proc.Pool        // starts several at once, the first with children
	display  *proc.Supervisor  // runs the display filter; nil without one
	network  *network.Network  // nil: open
	box      *dockersandbox.VM // nil: the agent runs on this machine
	delay    time.Duration     // between iterations
	setup    setup.Exports     // what the setup commands left
	tools    toolchain.Toolchain
	git      *git

	installed *installation.Installation // nil: the run brings no agents
}

// openSandbox installs the agents that are missing and starts the supervisors
// under which all children run.
func openSandbox(ctx context.Context, w *workspace) (*sandboxed, error) {
	s := &sandboxed{workspace: w, Environ: w.Environ, delay: w.cfg.Loop.Delay}
	s.git = &git{box: s, dir: s.dir()}
	if s.Before.Left == nil && s.asks() {
		if err := s.checkKey(); err != nil {
			return s, invalid(err)
		}
		if s.docker != config.IsolationDocker && s.cfg.Agent.Install { // a Docker Sandbox brings its own
			in, err := installation.Begin(ctx, s.installation())
			s.undo.atEnd(in.Close)
			if s.installed, s.Environ = in, in.Environ; err != nil {
				return s, invalid(err)
			}
		}
	}
	s.findTools()
	if err := s.openTemp(); err != nil {
		return s, err
	}
	if s.Before.Left == nil {
		s.lendCaches(ctx)
		if err := s.openNetwork(ctx); err != nil {
			return s, err
		}
	}
	if err := s.buildPolicy(ctx); err != nil {
		return s, err
	}
	s.ignoreMarker(ctx) // before git's settings are watched
	return s, nil
}

func (s *sandboxed) installation() installation.Options {
	return installation.Options{
		Config: s.cfg, Isolation: s.isolation, Local: s.local(), Workspace: s.Workspace, Environ: s.Environ,
		Identity: s.identity, Namespaces: s.namespaces, Redact: s.rec.redact, Show: s.rec.out,
	}
}

// sandboxes reports whether the processes of this run are sandboxed by us, as far as
// the machine can.
func (p *plan) sandboxes() bool {
	return p.isolation != config.IsolationOff && p.docker != config.IsolationDocker
}

// openNetwork starts what leads out of the sandbox.
func (s *sandboxed) openNetwork(ctx context.Context) error {
	if !s.sandboxes() {
		return nil
	}
	o, err := s.networkOptions()
	if err != nil {
		return invalid(err)
	}
	n, err := network.Open(ctx, o)
	if err != nil {
		return invalid(err)
	}
	s.undo.atEnd(n.Close)
	s.network, s.rec.network = n, n
	return nil
}

func (s *sandboxed) networkOptions() (network.Options, error) {
	all, err := s.crew().All()
	return network.Options{
		Config: s.cfg, Agents: all, Workspace: s.Workspace, Dir: s.dir(), Server: s.site.ServerURL,
		Getenv: s.getenv, Credentials: s.Credentials, Say: s.rec.out.Say, Note: s.rec.note,
	}, err
}

// caches are those of this machine that the run may use.
func (p *plan) caches() []toolchain.Cache {
	if !p.sandboxes() || p.docker != "" {
		return nil // without a sandbox they are there
	}
	return caches.Of(p.cfg.Sandbox, p.local(), p.Workspace, p.getenv)
}

// lendCaches lets children use caches of this machine.
func (s *sandboxed) lendCaches(ctx context.Context) {
	to := caches.Sandbox{Home: s.temp.home, Identity: s.identity, Passed: func(name string) string {
		if slices.Contains(s.cfg.Sandbox.PassEnv, name) {
			return s.getenv(name)
		}
		return ""
	}}
	if s.namespaces != nil {
		to.Overlaid = s.namespaces.Caches()
	}
	lent := to.Lend(ctx, s.caches(), s.rec.out.Say)
	s.tools.Env, s.tools.Paths = append(s.tools.Env, lent.Env...), append(s.tools.Paths, lent.Paths...)
}

// findTools opens what earlier steps of the job, or the owner, set up on the machine.
func (s *sandboxed) findTools() {
	s.tools = toolchain.Find(s.Environ, []string{s.Workspace, s.getenv("RUNNER_TEMP"), s.getenv("TMPDIR")})
}

// getenv looks a variable up in the environment of this process, with installed
// agents on PATH.
func (s *sandboxed) getenv(name string) string { return proc.Getenv(s.Environ, name) }

// openTemp makes the private folders of the run.
func (s *sandboxed) openTemp() error {
	t, err := newTemp(s.tempDir(), s.identity)
	if step := s.Before.Step; step != nil && !s.identity.IsZero() && err == nil {
		err = step.Root.Chmod(".", 0o711) // #nosec G302 -- the sandbox user walks through it to its own folders
	}
	if err != nil {
		return invalid(fmt.Errorf("private folder for the run, which lies below TMPDIR: %w", err))
	}
	s.temp = t
	s.undo.atEnd(s.removeTemp)
	return invalid(s.writeGitConfig(t.home, s.cfg.Git.Committer))
}

// buildWalls starts the supervisor all children run under.
func (s *sandboxed) buildPolicy(ctx context.Context) (err error) {
	t := s.temp
	o := proc.Options{Identity: s.identity, Env: []string{"PATH=" + s.getenv("PATH")}, SpillDir: t.store, Reaper: true, Namespaces: s.namespaces}
	if s.isolation != config.IsolationOff {
		open := []string{s.Workspace, t.home, t.tmp, t.index}
		if folder := s.taskPath(); folder != "" && s.Before.Left == nil { // else the agent may have made it a link
			open = append(open, toolchain.Outside([]string{folder}, open)...)
		}
		install := toolchain.Outside(s.install(), open)
		open = append(open, s.sharedTemp()...)
		policy := confine.DefaultPolicy(open, install)
		policy.Strict = s.isolation == config.IsolationStrict
		policy.Hide(s.getenv("RUNNER_TEMP"))  // the runner's command files, and credentials of checkout
		policy.Hide(namespace.RunnerFolder()) // the runner's own credentials
		if step := s.Before.Step; step != nil {
			policy.Hide(step.Path())
		}
		if policy.Network = s.network.Policy(open); s.Before.Left != nil {
			policy.Network = &confine.Network{} // git alone runs, and what a filter of the agent's starts
		}
		o.Policy = &policy
		o.Memory, o.FreeDisk, o.DiskPaths = s.cfg.Limits.Memory, s.cfg.Limits.FreeDisk, open
		if s.network != nil {
			o.Refused = s.network.Refuse
		}
	}
	if s.cfg.Limits.Processes > 0 {
		o.MaxProcs = uint64(s.cfg.Limits.Processes)
	}
	if s.isolation != config.IsolationOff {
		s.rec.report.Isolation = confine.Describe(s.identity, o.Policy, os.Getuid())
		if ok, why := confine.FilesAvailable(); !ok {
			note := "File access is not restricted: " + why + "."
			if s.namespaces != nil {
				note = "Landlock is missing (" + why + "): what the agent may not read is hidden from it in the folders of the runner's user only."
			}
			s.rec.note(note)
		}
		if o.Policy.Network == nil && s.sandboxes() {
			s.rec.report.Isolation += ", network open (allowed-hosts is *)"
		}
		if s.network.HidesKey() {
			s.rec.report.Isolation += ", API key hidden from the agent"
		}
		s.rec.report.Isolation += s.describeNamespaces()
		s.rec.out.Say("Isolation: " + s.rec.report.Isolation)
	}
	if s.children, err = s.startChildren(ctx, o); err != nil {
		return invalid(err)
	}
	s.pool = proc.NewPool(s.children)
	s.undo.atEnd(func() { s.warn(s.pool.Close()) })
	if err := s.openDockerSandbox(ctx); err != nil || s.cfg.Output.DisplayFilter == "" {
		return err
	}
	o.Reaper = false
	s.display, err = s.startChildren(ctx, o)
	return invalid(err)
}

// sharedTemp are the temporary folders that programs have in their code. In a
// container of ours, and in namespaces, they belong to the children alone, and go with
// the run, as do changes of caches there.
func (s *sandboxed) sharedTemp() []string {
	switch {
	case s.namespaces != nil:
		return append(namespace.Private(), s.namespaces.Caches()...)
	case os.Getpid() != 1 || s.identity.IsZero():
		return nil
	}
	return namespace.Private()
}

// startChildren starts a supervisor that lives as long as the run.
func (s *sandboxed) startChildren(ctx context.Context, o proc.Options) (*proc.Supervisor, error) {
	children, err := proc.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	s.undo.atEnd(func() { s.warn(children.Close()) })
	return children, nil
}

func (s *sandboxed) warn(err error) {
	if err != nil {
		s.rec.out.Warn(err.Error())
	}
}

// tempDir is the step's folder, else TMPDIR as it was before the environment was sealed. A
// folder of the workspace is the agent's and no place for the owner's store.
func (s *sandboxed) tempDir() string {
	if step := s.Before.Step; step != nil {
		return step.Path()
	}
	dir := s.getenv("TMPDIR")
	if rel, err := filepath.Rel(s.Workspace, dir); err == nil && filepath.IsLocal(rel) {
		return ""
	}
	return dir
}

// writeGitConfig gives the agent's own commits an author: its HOME is new.
func (s *sandboxed) writeGitConfig(home string, person config.Person) error {
	s.person = person
	if !s.cfg.Git.Author.IsZero() {
		person = s.cfg.Git.Author
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`) // git-config(1) knows fewer escapes than %q writes
	text := fmt.Sprintf("[user]\n\tname = \"%s\"\n\temail = \"%s\"\n[safe]\n\tdirectory = *\n[advice]\n\tdetachedHead = false\n",
		quoted.Replace(person.Name), quoted.Replace(person.Email))
	path := filepath.Join(home, ".gitconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	if s.identity.IsZero() {
		return nil
	}
	return os.Chown(path, s.identity.UID, s.identity.GID)
}
