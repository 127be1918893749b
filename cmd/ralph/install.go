package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/agent/install"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/proc"
	"github.com/org/ralph-action/internal/sandbox"
)

// installAgents installs the CLIs that are missing, or of another version than
// was asked for, before the walls are built through which the agent may read
// them and not write them.
func (j *job) installAgents(ctx context.Context) error {
	if j.wantBox == config.IsolationDocker {
		return nil // it brings its own
	}
	for _, name := range j.agents() {
		if err := j.installAgent(ctx, name); err != nil {
			return invalid(fmt.Errorf("agent %q: %w", name, err))
		}
	}
	return nil
}

// agents are the names of the agents a run asks, each once; without the one that
// is a command of the user's.
func (j *job) agents() []string {
	var names []string
	for _, name := range []string{j.cfg.Agent, j.cfg.FallbackAgent, j.cfg.ReviewAgent} {
		own := name == j.cfg.Agent && len(j.cfg.AgentCommand) > 0
		if name != "" && !own && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (j *job) installAgent(ctx context.Context, name string) error {
	from, ok := agent.PackageOf(name)
	if !ok || !j.cfg.AgentInstall {
		return nil
	}
	if !j.missing(name, from) {
		return nil
	}
	root, err := j.agentsFolder()
	if err != nil {
		return err
	}
	reach, err := j.npmNetwork(ctx)
	if err != nil {
		return err
	}
	if reach != nil {
		defer reach.proxy.Close()
	}
	start := func(ctx context.Context, dir string) (install.Process, func() error, error) {
		return j.installer(ctx, dir, reach)
	}
	show := j.out.guest()
	log := j.redact.Writer(show)
	in, err := install.Install(ctx, install.Options{
		Start: start, Root: root, Owner: install.Owner(j.identity), Workspace: j.workspace,
		Env: sandbox.Environment(j.app.environ, npmVariables(j.app.environ, reach), reach.variables()),
		Say: j.out.say, Log: log, Fold: j.out.section,
	}, j.wanted(name, from))
	_ = errors.Join(log.Close(), show.Close()) // they show; they decide nothing
	if refused := reach.refused(); err != nil && len(refused) > 0 {
		err = fmt.Errorf("%w (the network wall refused %s: see allowed-hosts)", err, refused[0].Address)
	}
	if err != nil {
		return fmt.Errorf("%w; install it into the image or on the machine yourself, or set agent-install: never", err)
	}
	j.useProgram(in.Bin)
	if in.Fresh {
		j.out.say(fmt.Sprintf("Installed %s %s into %s", name, in.Version, in.Dir))
	}
	return nil
}

// missing says that a CLI is not on PATH, or not in the version that was asked
// for.
func (j *job) missing(name string, from agent.Package) bool {
	program, err := proc.LookPath(from.Program, j.app.environ)
	asked := ""
	if name == j.cfg.Agent {
		asked = j.cfg.AgentVersion
	}
	return err != nil || asked != "" && asked != packageVersion(program)
}

// wanted is the package a run would install.
func (j *job) wanted(name string, from agent.Package) install.Package {
	p := install.Package(from)
	if name == j.cfg.Agent && j.cfg.AgentVersion != "" {
		p.Version = j.cfg.AgentVersion
	}
	return p
}

// useProgram puts a folder in front of PATH, for the run.
func (j *job) useProgram(bin string) {
	a := *j.app
	a.environ = slices.Clone(a.environ)
	path := bin
	if old := a.getenv("PATH"); old != "" {
		path += string(filepath.ListSeparator) + old
	}
	a.environ = slices.DeleteFunc(a.environ, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	a.environ = append(a.environ, "PATH="+path)
	j.app = &a
}

// installer starts what npm runs under: the agent's user, inside walls in which
// only dir can be written.
func (j *job) installer(ctx context.Context, dir string, reach *network) (install.Process, func() error, error) {
	path := install.PathOutside(j.app.getenv("PATH"), j.workspace)
	o := proc.Options{Identity: j.identity, Env: []string{"PATH=" + path}, Reaper: true}
	if j.cfg.Isolation != config.IsolationOff {
		walls := sandbox.DefaultWalls([]string{dir}, append(filepath.SplitList(path), install.Reads(j.app.environ)...))
		walls.Strict = j.cfg.Isolation == config.IsolationStrict
		walls.Network = reach.walls([]string{dir})
		o.Walls = &walls
		if reach != nil {
			o.Refused = reach.refuse
		}
	}
	children, err := proc.Start(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return children, children.Close, nil
}

// npmVariables are those that npm sees. Where there is a proxy of ours, it is the
// only one.
func npmVariables(environ []string, reach *network) []string {
	names := install.Variables(environ)
	if reach == nil {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return strings.HasSuffix(strings.ToLower(name), "proxy")
	})
}

// agentsFolder is where installed CLIs are kept from run to run: below the
// step's HOME, which a workflow can cache, or the user's cache folder. In a container
// at a desk the HOME of root is closed to the agent: there it is /var/cache.
func (j *job) agentsFolder() (string, error) {
	base := j.app.getenv("XDG_CACHE_HOME")
	if home := j.app.getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".cache")
		if !j.identity.IsZero() && closed(home) {
			base = "/var/cache" // of root, who made the agent another user
		}
	}
	dir := filepath.Join(base, "ralph", "agents")
	if rel, err := filepath.Rel(j.workspace, dir); !filepath.IsAbs(dir) || err == nil && filepath.IsLocal(rel) {
		return "", errors.New("there is no place to install it: set HOME or XDG_CACHE_HOME to a folder outside of the workspace, which is the agent's")
	}
	return dir, nil
}

// closed says that only its owner and group may enter a folder.
func closed(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.Mode().Perm()&0o001 == 0
}

// packageVersion is the version of the npm package a program belongs to; empty
// when it belongs to none.
func packageVersion(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	root := packageRoot(real)
	if root == real {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(root, "package.json"))
	var manifest struct{ Version string }
	if err != nil || json.Unmarshal(data, &manifest) != nil {
		return ""
	}
	return manifest.Version
}
