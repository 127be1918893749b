// Package installation brings the CLIs of a run's agents that are missing, or of another version
// than was asked for, to where the agents may read them and not write them.
package installation

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
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/run/network"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/namespace"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Options are what a run has for its agents.
type Options struct {
	Config     config.Config
	Isolation  config.Isolation // of ours
	Local      bool             // the run was started on the command line
	Workspace  string           // absolute
	Environ    []string
	Identity   confine.Identity      // the agent's user; zero: our own
	Namespaces *namespace.Namespaces // of children; nil: none
	Redact     *secret.Redactor
	Show       Show
}

// Show is where people see what is done.
type Show interface {
	Say(line string)
	Foreign(of string) io.WriteCloser
	Section(title string) (end func())
}

// wantedAgent is a CLI that is to be installed.
type wantedAgent struct {
	name string
	pkg  install.Package
}

// Begin installs what is missing. Where its folders are known beforehand, that goes on beside
// setup and the baseline.
func Begin(ctx context.Context, o Options) (*Installation, error) {
	var list []wantedAgent
	for _, name := range Agents(o.Config) {
		if from, ok := agent.PackageOf(name); ok && o.Missing(name, from) {
			list = append(list, wantedAgent{name, o.Wanted(name, from)})
		}
	}
	in := &Installation{Options: o}
	if len(list) == 0 {
		return in, nil
	}
	root, err := o.Folder()
	if err != nil {
		return in, fmt.Errorf("agent %q: %w", list[0].name, err)
	}
	if in.beside(ctx, root, list) {
		return in, nil
	}
	for _, w := range list {
		show := o.Show.Foreign("install " + w.name)
		log := o.Redact.Writer(show)
		got, err := in.install(ctx, root, w, log, o.Show.Section)
		_ = errors.Join(log.Close(), show.Close()) // they show; they decide nothing
		if err != nil {
			return in, err
		}
		in.Environ = with(in.Environ, got.Bin)
	}
	return in, nil
}

// Agents are the names of the agents a run asks, each once; without the one that is a command
// of the user's.
func Agents(cfg config.Config) []string {
	var names []string
	for _, name := range []string{cfg.Agent.Name, cfg.Agent.Fallback, cfg.Tasks.ReviewAgent} {
		own := name == cfg.Agent.Name && len(cfg.Agent.Command) > 0
		if name != "" && !own && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Found is the environment in which the agents are on PATH that an earlier run has installed.
func (o Options) Found() []string {
	root, err := o.Folder()
	if err != nil || !o.Config.Agent.Install {
		return o.Environ
	}
	for _, name := range Agents(o.Config) {
		from, ok := agent.PackageOf(name)
		if !ok || !o.Missing(name, from) {
			continue
		}
		if in, ok, err := install.Find(root, o.Wanted(name, from)); err == nil && ok {
			o.Environ = with(o.Environ, in.Bin)
		}
	}
	return o.Environ
}

// install installs one CLI below root. What npm prints is written to log, which fold folds
// away.
func (s *Installation) install(ctx context.Context, root string, w wantedAgent, log io.Writer, fold func(string) func()) (install.Installed, error) {
	var reach *network.Network // nil: open
	if allowed := s.Config.Sandbox.AllowedHosts; s.Isolation != config.IsolationOff && !allowed.Open() {
		var err error
		if reach, err = network.ForNPM(ctx, allowed, s.Environ); err != nil {
			return install.Installed{}, fmt.Errorf("agent %q: %w", w.name, err)
		}
		defer reach.Close()
	}
	start := func(ctx context.Context, dir string) (install.Process, func() error, error) {
		return s.installer(ctx, dir, reach)
	}
	in, err := install.Install(ctx, install.Options{
		Start: start, Root: root, Owner: install.Owner(s.Identity), Workspace: s.Workspace,
		Env: confine.Environment(s.Environ, npmVariables(s.Environ, reach), reach.Variables()),
		Say: s.Show.Say, Log: log, Fold: fold,
	}, w.pkg)
	if refused := reach.Refused(); err != nil && len(refused) > 0 {
		err = fmt.Errorf("%w (the sandbox refused %s: see allowed-hosts)", err, refused[0].Address)
	}
	if err != nil {
		return in, fmt.Errorf("agent %q: %w; install it into the image or on the machine yourself, or set %s", w.name, err, ralph.Option(s.Local, "agent-install", "never"))
	}
	if in.Fresh {
		s.Show.Say(fmt.Sprintf("Installed %s %s into %s", w.name, in.Version, in.Dir))
	}
	return in, nil
}

// Missing reports whether a CLI is not on PATH, or not in the version that was asked
// for.
func (o Options) Missing(name string, from agent.Package) bool {
	program, err := proc.LookPath(from.Program, o.Environ)
	asked := ""
	if name == o.Config.Agent.Name {
		asked = o.Config.Agent.Version
	}
	return err != nil || asked != "" && asked != packageVersion(program)
}

// Wanted is the package a run would install.
func (o Options) Wanted(name string, from agent.Package) install.Package {
	pkg := install.Package(from)
	if name == o.Config.Agent.Name && o.Config.Agent.Version != "" {
		pkg.Version = o.Config.Agent.Version
	}
	return pkg
}

// with is an environment with a folder in front of PATH.
func with(environ []string, bin string) []string {
	path := bin
	if old := proc.Getenv(environ, "PATH"); old != "" {
		path += string(filepath.ListSeparator) + old
	}
	return proc.Setenv(environ, "PATH", path)
}

func (o Options) getenv(name string) string { return proc.Getenv(o.Environ, name) }

// installer starts what npm runs under: the agent's user, in a sandbox in which
// only dir can be written.
func (s *Installation) installer(ctx context.Context, dir string, reach *network.Network) (install.Process, func() error, error) {
	path := install.PathOutside(s.getenv("PATH"), s.Workspace)
	o := proc.Options{Identity: s.Identity, Env: []string{"PATH=" + path}, Reaper: s.over == nil, Namespaces: s.Namespaces} // the run's own supervisor is one
	if s.Isolation != config.IsolationOff {
		policy := confine.DefaultPolicy([]string{dir}, append(filepath.SplitList(path), install.Reads(s.Environ)...))
		policy.Strict = s.Isolation == config.IsolationStrict
		policy.Network = reach.Policy([]string{dir})
		o.Policy = &policy
		if reach != nil {
			o.Refused = reach.Refuse
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
func npmVariables(environ []string, reach *network.Network) []string {
	names := install.Variables(environ)
	if reach == nil {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return strings.HasSuffix(strings.ToLower(name), "proxy")
	})
}

// Folder is where installed CLIs are kept from run to run: below the user's
// cache directory, or the runner's tool cache where there is one (a container has
// one only if it is mounted), else below the step's HOME, which a workflow can
// cache. In a container locally the HOME of root is closed to the agent: there it
// is /var/cache.
func (o Options) Folder() (string, error) {
	base := o.getenv("XDG_CACHE_HOME")
	if tools := o.getenv("RUNNER_TOOL_CACHE"); base == "" && usable(tools) {
		base = tools
	}
	if home := o.getenv("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".cache")
		if !o.Identity.IsZero() && closed(home) {
			base = "/var/cache" // of root, who made the agent another user
		}
	}
	dir := filepath.Join(base, "ralph", "agents")
	if rel, err := filepath.Rel(o.Workspace, dir); !filepath.IsAbs(dir) || err == nil && filepath.IsLocal(rel) {
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
	root := PackageRoot(real)
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

// PackageRoot is the npm package a program belongs to, else the program itself.
func PackageRoot(program string) string {
	parts := strings.Split(program, string(filepath.Separator))
	for i := len(parts) - 2; i > 0; i-- {
		if parts[i] != "node_modules" {
			continue
		}
		end := i + 2
		if strings.HasPrefix(parts[i+1], "@") {
			end++
		}
		return strings.Join(parts[:min(end, len(parts))], string(filepath.Separator))
	}
	return program
}
