package doctor

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

	"github.com/org/ralph-action/internal/config"
	"github.com/org/ralph-action/internal/run/network"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/tasks"
)

// maxAnswer bounds what is kept of what a small command prints, in bytes.
const maxAnswer = 8 << 10

// ask starts a program and returns the first line it prints, or why there is
// none.
func (d *doctor) ask(ctx context.Context, s *proc.Supervisor, dir string, env []string, argv ...string) (string, error) {
	stdout, stderr := proc.Head{Max: maxAnswer}, proc.Head{Max: maxAnswer}
	exit, err := s.Run(ctx, proc.Command{
		Argv: argv, Dir: dir, Env: env, Stdout: &stdout, Stderr: &stderr,
		Limits: proc.Limits{Time: 30 * time.Second, OutputBytes: 1 << 30},
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
	policy := confine.DefaultPolicy([]string{d.Workspace, d.Home, d.Tmp, d.Index}, nil)
	says := confine.Describe(d.Identity, &policy, os.Getuid())
	switch {
	case d.Docker != "":
		d.checkDockerSandbox(ctx)
	case d.Isolation == config.IsolationOff && abi > 1:
		d.add("isolation", StatusOK, fmt.Sprintf("off: the agent runs as you (uid %d), without a sandbox; Landlock ABI %d is there for --isolation auto", os.Getuid(), abi), "")
	case d.Isolation == config.IsolationOff && files:
		d.add("isolation", StatusOK, fmt.Sprintf("off: the agent runs as you (uid %d), without a sandbox; with --isolation auto: %s", os.Getuid(), says), "")
	case d.Isolation == config.IsolationOff:
		d.add("isolation", StatusOK, fmt.Sprintf("off: the agent runs as you (uid %d), without a sandbox; none is possible here: %s", os.Getuid(), why), "")
	case len(d.Wrong) > 0 && d.Isolation == config.IsolationStrict:
		d.add("isolation", StatusFail, strings.Join(d.Wrong, "; "), "give the workspace to another user than root, or make a user named agent, as the image has one")
	case len(d.Wrong) > 0:
		d.add("isolation", StatusWarn, strings.Join(d.Wrong, "; ")+"; "+says, "give the workspace to another user than root, or make a user named agent, as the image has one")
	case abi == 0 && d.Isolation == config.IsolationStrict:
		d.add("isolation", StatusFail, says, "isolation: strict needs Linux 5.19 or later with Landlock; use another machine, or isolation: auto")
	case !files:
		d.add("isolation", StatusWarn, says, "the agent could read and write whatever its user can; Linux 5.19 or later with Landlock restricts file access")
	default:
		d.add("isolation", StatusOK, says, "")
	}
}

// checkNamespaces says which namespaces a run on this runner would have.
func (d *doctor) checkNamespaces(ctx context.Context) {
	if !d.sandboxes() || !d.OnRunner && !d.Host {
		return
	}
	if os.Geteuid() == 0 {
		d.add("namespaces", StatusSkip, "they are for a runner whose user is not root", "")
		return
	}
	found, without, err := d.Namespaces(ctx)
	switch {
	case err != nil:
		d.add("namespaces", StatusFail, without, err.Error())
	case without != "":
		d.add("namespaces", StatusWarn, "none: "+without, "where the runner's user may use sudo without a password, other processes and files of the job are not even seen by the agent")
	default:
		d.add("namespaces", StatusOK, found, "")
	}
}

// checkReach says whom the agent could reach, and where its key would be.
func (d *doctor) checkReach() {
	if !d.sandboxes() || d.Docker != "" {
		return
	}
	if d.Config.Sandbox.AllowedHosts.Open() {
		d.add("hosts", StatusWarn, "open: allowed-hosts is *", "name the hosts instead, where that can be done")
		return
	}
	o, err := d.Network()
	if err != nil {
		return // said about the agent
	}
	found := "may be reached: " + cmp.Or(network.Reachable(o), "no host")
	switch ok, reason := confine.NetworkAvailable(); {
	case ok:
		d.add("hosts", StatusOK, found, "")
	case d.Isolation == config.IsolationStrict:
		d.add("hosts", StatusFail, "network access cannot be restricted: "+reason, "isolation: strict needs Linux 5.9 or later, and no profile that refuses seccomp's notifications")
	default:
		d.add("hosts", StatusWarn, "programs are only asked to use the proxy ("+reason+"): "+found, "Linux 5.9 or later restricts network access, unless a profile forbids it")
	}
}

// checkReviews says, where there is a task list, whether an approval by an agent would
// count.
func (d *doctor) checkReviews() {
	if _, err := os.Lstat(filepath.Join(d.Workspace, filepath.FromSlash(d.Config.Tasks.RalphDir), tasks.TasksName)); err != nil {
		return
	}
	switch why := d.Unprotected; {
	case why == "":
		d.add("reviews", StatusOK, "the code under review cannot approve in the reviewer's place", "")
	case d.Isolation == config.IsolationOff:
		d.add("reviews", StatusOK, "approvals of mode tasks would be marked as not protected: "+why, "")
	default:
		d.add("reviews", StatusWarn, "approvals of mode tasks would not be protected (the action refuses such a run): "+why, d.Instead)
	}
}

// checkBox asks whether there is a Docker Sandbox. None is made.
func (d *doctor) checkDockerSandbox(ctx context.Context) {
	box, err := dockersandbox.New(dockersandbox.Options{
		Process: d.Children, Project: d.Workspace, Home: d.getenv("HOME"), Env: d.Env,
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
	if d.Docker == config.IsolationDocker {
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
	for _, place := range []struct{ name, dir string }{{"disk: workspace", d.Workspace}, {"disk: temp", filepath.Dir(d.Root)}} {
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
