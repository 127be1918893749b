package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/agent/install"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// installAgents installs the CLIs that are missing, or of another version than was asked
// for, where the agent may read them and not write them. Where that is known beforehand,
// it goes on beside setup and the baseline.
func (s *sandboxed) installAgents(ctx context.Context) error {
	if s.docker == config.IsolationDocker || !s.cfg.Agent.Install {
		return nil // a Docker Sandbox brings its own
	}
	var list []wantedAgent
	for _, name := range s.agents() {
		if from, ok := agent.PackageOf(name); ok && s.missing(name, from) {
			list = append(list, wantedAgent{name, s.wanted(name, from)})
		}
	}
	if len(list) == 0 {
		return nil
	}
	root, err := s.agentsFolder()
	if err != nil {
		return invalid(fmt.Errorf("agent %q: %w", list[0].name, err))
	}
	if s.installBeside(ctx, root, list) {
		return nil
	}
	for _, w := range list {
		show := s.rec.out.Foreign("install " + w.name)
		log := s.rec.redact.Writer(show)
		in, err := s.installAgent(ctx, root, w, log, s.rec.out.Section)
		_ = errors.Join(log.Close(), show.Close()) // they show; they decide nothing
		if err != nil {
			return invalid(err)
		}
		s.useProgram(in.Bin)
	}
	return nil
}

// wantedAgent is a CLI that is to be installed.
type wantedAgent struct {
	name string
	pkg  install.Package
}

// agents are the names of the agents a run asks, each once; without the one that
// is a command of the user's.
func (p *plan) agents() []string {
	var names []string
	for _, name := range []string{p.cfg.Agent.Name, p.cfg.Agent.Fallback, p.cfg.Tasks.ReviewAgent} {
		own := name == p.cfg.Agent.Name && len(p.cfg.Agent.Command) > 0
		if name != "" && !own && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// installAgent installs one CLI below root. What npm prints is written to log, which fold
// folds away.
func (s *sandboxed) installAgent(ctx context.Context, root string, w wantedAgent, log io.Writer, fold func(string) func()) (install.Installed, error) {
	reach, err := s.npmNetwork(ctx)
	if err != nil {
		return install.Installed{}, fmt.Errorf("agent %q: %w", w.name, err)
	}
	if reach != nil {
		defer reach.proxy.Close()
	}
	start := func(ctx context.Context, dir string) (install.Process, func() error, error) {
		return s.installer(ctx, dir, reach)
	}
	in, err := install.Install(ctx, install.Options{
		Start: start, Root: root, Owner: install.Owner(s.identity), Workspace: s.Workspace,
		Env: confine.Environment(s.Environ, npmVariables(s.Environ, reach), reach.variables()),
		Say: s.rec.out.Say, Log: log, Fold: fold,
	}, w.pkg)
	if refused := reach.refused(); err != nil && len(refused) > 0 {
		err = fmt.Errorf("%w (the sandbox refused %s: see allowed-hosts)", err, refused[0].Address)
	}
	if err != nil {
		return in, fmt.Errorf("agent %q: %w; install it into the image or on the machine yourself, or set %s", w.name, err, s.option("agent-install", "never"))
	}
	if in.Fresh {
		s.rec.out.Say(fmt.Sprintf("Installed %s %s into %s", w.name, in.Version, in.Dir))
	}
	return in, nil
}

// missing says that a CLI is not on PATH, or not in the version that was asked
// for.
func (s *sandboxed) missing(name string, from agent.Package) bool {
	program, err := proc.LookPath(from.Program, s.Environ)
	asked := ""
	if name == s.cfg.Agent.Name {
		asked = s.cfg.Agent.Version
	}
	return err != nil || asked != "" && asked != packageVersion(program)
}

// wanted is the package a run would install.
func (p *plan) wanted(name string, from agent.Package) install.Package {
	pkg := install.Package(from)
	if name == p.cfg.Agent.Name && p.cfg.Agent.Version != "" {
		pkg.Version = p.cfg.Agent.Version
	}
	return pkg
}

// useProgram puts a folder in front of PATH, for the run.
func (s *sandboxed) useProgram(bin string) {
	path := bin
	if old := s.getenv("PATH"); old != "" {
		path += string(filepath.ListSeparator) + old
	}
	s.Environ = proc.Setenv(s.Environ, "PATH", path)
}

// installer starts what npm runs under: the agent's user, in a sandbox in which
// only dir can be written.
func (s *sandboxed) installer(ctx context.Context, dir string, reach *network) (install.Process, func() error, error) {
	path := install.PathOutside(s.getenv("PATH"), s.Workspace)
	o := proc.Options{Identity: s.identity, Env: []string{"PATH=" + path}, Reaper: s.coming == nil, Namespaces: s.namespaces} // the run's own supervisor is one
	if s.isolation != config.IsolationOff {
		policy := confine.DefaultPolicy([]string{dir}, append(filepath.SplitList(path), install.Reads(s.Environ)...))
		policy.Strict = s.isolation == config.IsolationStrict
		policy.Network = reach.policy([]string{dir})
		o.Policy = &policy
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

// agentsFolder is where installed CLIs are kept from run to run: below the user's
// cache directory, or the runner's tool cache where there is one (a container has
// one only if it is mounted), else below the step's HOME, which a workflow can
// cache. In a container locally the HOME of root is closed to the agent: there it
// is /var/cache.
func (s *sandboxed) agentsFolder() (string, error) {
	base := s.getenv("XDG_CACHE_HOME")
	if tools := s.getenv("RUNNER_TOOL_CACHE"); base == "" && usable(tools) {
		base = tools
	}
	if home := s.getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".cache")
		if !s.identity.IsZero() && closed(home) {
			base = "/var/cache" // of root, who made the agent another user
		}
	}
	dir := filepath.Join(base, "ralph", "agents")
	if rel, err := filepath.Rel(s.Workspace, dir); !filepath.IsAbs(dir) || err == nil && filepath.IsLocal(rel) {
		return "", errors.New("there is no directory to install it in: set HOME or XDG_CACHE_HOME to a directory outside of the workspace, which the agent can write")
	}
	return dir, nil
}

// usable reports whether a tool cache is there, and can be written or holds agents.
func usable(tools string) bool {
	if !filepath.IsAbs(tools) {
		return false
	}
	_, err := os.Stat(filepath.Join(tools, "ralph", "agents"))
	return err == nil || unix.Access(tools, unix.W_OK|unix.X_OK) == nil
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
