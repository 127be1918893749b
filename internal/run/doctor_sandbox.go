package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/agent"
	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/run/network"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/tasks"
)

// openRoom starts what children run under: as a run would, and with a workspace
// that can only be read.
func (d *doctor) openSandbox(ctx context.Context) (err error) {
	if d.isolation != config.IsolationOff {
		id, _, err := confine.IdentityFor(confine.Place{
			Workspace: d.Workspace, Marker: handoverMarker(d.Workspace), DockerSocket: dockerSocket, Fallback: imageUser(),
		})
		if err != nil {
			d.extra = append(d.extra, err.Error())
		}
		d.identity = id
	}
	if d.temp, err = newTemp(d.tempDir(), d.identity); err != nil {
		return fmt.Errorf("private folder: %w", err)
	}
	d.undo.atEnd(d.removeTemp)
	policy := confine.DefaultPolicy([]string{d.temp.home, d.temp.tmp}, append(d.install(), d.Workspace))
	policy.Network = &confine.Network{} // nothing that is asked here has to reach anybody
	o := proc.Options{Identity: d.identity, Env: []string{"PATH=" + d.getenv("PATH")}, SpillDir: d.temp.store, Policy: &policy}
	start := func() (*proc.Supervisor, error) {
		s, err := proc.Start(ctx, o)
		if err == nil {
			d.undo.atEnd(func() { _ = s.Close() })
		}
		return s, err
	}
	if d.tools, err = start(); err != nil {
		return err
	}
	if d.isolation == config.IsolationOff {
		o.Policy = nil
	}
	d.children, err = start()
	return err
}

// ask starts a program and returns the first line it prints, or why there is
// none.
func (d *doctor) ask(ctx context.Context, s *proc.Supervisor, dir string, env []string, argv ...string) (string, error) {
	stdout, stderr := proc.Head{Max: maxAnswer}, proc.Head{Max: maxAnswer}
	exit, err := s.Run(ctx, proc.Command{
		Argv: argv, Dir: dir, Env: env, Stdout: &stdout, Stderr: &stderr,
		Limits: proc.Limits{Time: 30 * time.Second, OutputBytes: maxOutput},
	})
	switch {
	case err != nil:
		return "", err
	case exit.Why != proc.Exited || exit.Code != 0:
		return "", fmt.Errorf("%s: exit code %d, %s: %.200s", strings.Join(argv, " "), exit.Code, exit.Why, strings.TrimSpace(stderr.String()+" "+stdout.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// checkSandbox says who the agent would be and what it could touch.
func (d *doctor) checkSandbox(ctx context.Context) {
	abi, _ := confine.Available()
	files, why := confine.FilesAvailable()
	policy := confine.DefaultPolicy([]string{d.Workspace, d.temp.home, d.temp.tmp, d.temp.index}, nil)
	says := confine.Describe(d.identity, &policy, os.Getuid())
	switch {
	case d.docker != "":
		d.checkDockerSandbox(ctx)
	case d.isolation == config.IsolationOff && abi > 1:
		d.add("isolation", StatusOK, fmt.Sprintf("off: the agent runs as you (uid %d), without a sandbox; Landlock ABI %d is there for --isolation auto", os.Getuid(), abi), "")
	case d.isolation == config.IsolationOff && files:
		d.add("isolation", StatusOK, fmt.Sprintf("off: the agent runs as you (uid %d), without a sandbox; with --isolation auto: %s", os.Getuid(), says), "")
	case d.isolation == config.IsolationOff:
		d.add("isolation", StatusOK, fmt.Sprintf("off: the agent runs as you (uid %d), without a sandbox; none is possible here: %s", os.Getuid(), why), "")
	case len(d.extra) > 0 && d.isolation == config.IsolationStrict:
		d.add("isolation", StatusFail, strings.Join(d.extra, "; "), "give the workspace to another user than root, or make a user named agent, as the image has one")
	case len(d.extra) > 0:
		d.add("isolation", StatusWarn, strings.Join(d.extra, "; ")+"; "+says, "give the workspace to another user than root, or make a user named agent, as the image has one")
	case abi == 0 && d.isolation == config.IsolationStrict:
		d.add("isolation", StatusFail, says, "isolation: strict needs Linux 5.19 or later with Landlock; use another machine, or isolation: auto")
	case !files:
		d.add("isolation", StatusWarn, says, "the agent could read and write whatever its user can; Linux 5.19 or later with Landlock restricts file access")
	default:
		d.add("isolation", StatusOK, says, "")
	}
}

// checkNamespaces says which namespaces a run on this runner would have.
func (d *doctor) checkNamespaces(ctx context.Context) {
	if !d.sandboxes() || !d.onRunner() && !d.Host {
		return
	}
	if os.Geteuid() == 0 {
		d.add("namespaces", StatusSkip, "they are for a runner whose user is not root", "")
		return
	}
	err := d.openNamespaces(ctx)
	switch {
	case err != nil:
		d.add("namespaces", StatusFail, d.without, err.Error())
	case d.without != "":
		d.add("namespaces", StatusWarn, "none: "+d.without, "where the runner's user may use sudo without a password, other processes and files of the job are not even seen by the agent")
	default:
		d.add("namespaces", StatusOK, d.namespaces.String(), "")
	}
}

// checkReach says whom the agent could reach, and where its key would be.
func (d *doctor) checkReach() {
	if !d.sandboxes() || d.docker != "" {
		return
	}
	if d.cfg.Sandbox.AllowedHosts.Open() {
		d.add("hosts", StatusWarn, "open: allowed-hosts is *", "name the hosts instead, where that can be done")
		return
	}
	o, err := d.networkOptions()
	if err != nil {
		return // said about the agent
	}
	found := "may be reached: " + cmp.Or(network.Reachable(o), "no host")
	if _, keyProxy := agent.KeyProxy(o.Agents[0]); keyProxy && d.cfg.Provider.KeyProxy {
		found += "; the key stays with ralph"
	}
	switch ok, reason := confine.NetworkAvailable(); {
	case ok:
		d.add("hosts", StatusOK, found, "")
	case d.isolation == config.IsolationStrict:
		d.add("hosts", StatusFail, "network access cannot be restricted: "+reason, "isolation: strict needs Linux 5.9 or later, and no profile that refuses seccomp's notifications")
	default:
		d.add("hosts", StatusWarn, "programs are only asked to use the proxy ("+reason+"): "+found, "Linux 5.9 or later restricts network access, unless a profile forbids it")
	}
}

// checkReviews says, where there is a task list, whether an approval by an agent would
// count.
func (d *doctor) checkReviews() {
	if _, err := os.Lstat(filepath.Join(d.Workspace, filepath.FromSlash(d.cfg.Tasks.RalphDir), tasks.TasksName)); err != nil {
		return
	}
	switch why, instead := d.unprotectedReviews(d.docker != ""); {
	case why == "":
		d.add("reviews", StatusOK, "the code under review cannot approve in the reviewer's place", "")
	case d.isolation == config.IsolationOff:
		d.add("reviews", StatusOK, "approvals of mode tasks would be marked as not protected: "+why, "")
	default:
		d.add("reviews", StatusWarn, "approvals of mode tasks would not be protected (the action refuses such a run): "+why, instead)
	}
}

// checkBox asks whether there is a Docker Sandbox. None is made.
func (d *doctor) checkDockerSandbox(ctx context.Context) {
	box, err := dockersandbox.New(dockersandbox.Options{
		Process: d.children, Project: d.Workspace, Home: d.getenv("HOME"), Env: d.sandboxEnv(nil),
	})
	why := ""
	if err == nil {
		var ok bool
		if ok, why, err = box.Available(ctx); ok {
			d.add("isolation", StatusOK, "Docker Sandbox "+box.Name()+" can be used", "")
			return
		}
	}
	if err != nil {
		why = err.Error()
	}
	if d.docker == config.IsolationDocker {
		d.add("isolation", StatusFail, "there is no Docker Sandbox: "+why, "install sbx or start Docker Desktop, or set another --isolation")
		return
	}
	d.add("isolation", StatusWarn, "the agent would run without a sandbox: "+why, "")
}

const (
	diskFull = 200 << 20 // bytes: not even a log fits for long
	diskLow  = 2 << 30   // bytes: an agent's CLI takes up to half a GB
)

// checkDisk looks at the disk space for the run's own files and for the work.
func (d *doctor) checkDisk() {
	for _, place := range []struct{ name, dir string }{{"disk: workspace", d.Workspace}, {"disk: temp", filepath.Dir(d.temp.root)}} {
		var fs unix.Statfs_t
		if err := unix.Statfs(place.dir, &fs); err != nil {
			d.add(place.name, StatusWarn, err.Error(), "")
			continue
		}
		free := int64(fs.Bavail) * int64(fs.Bsize) //nolint:unconvert // the types differ between systems
		found := fmt.Sprintf("%.1f GB free in %s", float64(free)/1e9, place.dir)
		switch {
		case free < diskFull:
			d.add(place.name, StatusFail, found, "free disk space")
		case free < diskLow:
			d.add(place.name, StatusWarn, found, "free disk space: a CLI that is installed needs half a GB, a build more")
		default:
			d.add(place.name, StatusOK, found, "")
		}
	}
}

// outside is an environment with those folders of PATH alone that are not in the
// workspace: the interpreter of a program is looked for there, too.
func (d *doctor) outside(env []string) []string {
	out := slices.Clone(env)
	for i, kv := range out {
		if list, ok := strings.CutPrefix(kv, "PATH="); ok {
			dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !filepath.IsAbs(dir) || d.inWorkspace(dir) })
			out[i] = "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
		}
	}
	return out
}

// inWorkspace says that a program is the agent's to change.
func (d *doctor) inWorkspace(program string) bool {
	top, err := filepath.EvalSymlinks(d.Workspace)
	if err != nil {
		return false
	}
	for _, path := range []string{program, realPath(program)} {
		if rel, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func realPath(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return real
}
