package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/run/caches"
	"github.com/org/ralph-action/internal/run/commands"
	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/sandbox/toolchain"
)

// checkHost looks at this machine as a runner that has the action on itself: what keeps
// the agent in, what the action needs, and which of the machine's tools would work.
func (d *doctor) checkHost(ctx context.Context) {
	if abi, why := confine.Available(); abi > 0 {
		d.add("host: Landlock", StatusOK, fmt.Sprintf("ABI %d", abi), "")
	} else {
		d.add("host: Landlock", StatusWarn, why, "Linux 5.19 or later with Landlock restricts file access")
	}
	for _, tool := range []struct{ name, arg, advice string }{
		{"node", "--version", "agents that are missing come from npm, which needs it: actions/setup-node, or install the agent on the machine"},
		{"curl", "--version", "the action downloads its binary with it: install it, or give the input binary"},
	} {
		d.checkTool(ctx, tool.name, tool.arg, tool.advice)
	}
	d.checkToolCache()
	d.checkToolchain()
	d.checkCaches()
	d.checkPath(ctx)
}

// checkTool asks a program for its version.
func (d *doctor) checkTool(ctx context.Context, name, arg, advice string) {
	title := "host: " + name
	program, err := proc.LookPath(name, d.Environ)
	if err != nil {
		d.add(title, StatusWarn, "not on PATH", advice)
		return
	}
	if d.inWorkspace(program) {
		d.add(title, StatusWarn, program+" lies in the workspace, and is not started", "take the workspace out of PATH")
		return
	}
	says, err := d.ask(ctx, d.Tools, d.Tmp, d.outside(d.Env), program, arg)
	if err != nil {
		d.add(title, StatusWarn, err.Error(), advice)
		return
	}
	version, _, _ := strings.Cut(says, " (")
	d.add(title, StatusOK, fmt.Sprintf("%s (%s)", version, program), "")
}

// checkToolCache looks at where jobs keep tools, this action's binary and agents.
func (d *doctor) checkToolCache() {
	dir := cmp.Or(d.getenv("RUNNER_TOOL_CACHE"), d.getenv("AGENT_TOOLSDIRECTORY"))
	switch {
	case dir == "":
		d.add("host: tool cache", StatusSkip, "RUNNER_TOOL_CACHE is not set: it is in a job", "")
	case unix.Access(dir, unix.W_OK|unix.X_OK) == nil:
		d.add("host: tool cache", StatusOK, dir, "")
	default:
		d.add("host: tool cache", StatusWarn, dir+" does not exist, or cannot be written", "each job downloads ralph and its agent anew")
	}
}

// checkToolchain lists the folders that variables name.
func (d *doctor) checkToolchain() {
	for _, f := range d.Named {
		title := "toolchain: " + f.Variable
		if f.Closed == "" {
			d.add(title, StatusOK, f.Dir, "")
		} else {
			d.add(title, StatusWarn, fmt.Sprintf("%s: %s, so the agent does not get it", f.Dir, f.Closed), "")
		}
	}
}

// checkCaches lists the caches that a job would use.
func (d *doctor) checkCaches() {
	look := func(name string) (string, error) { return proc.LookPath(name, d.Environ) }
	for _, c := range toolchain.Caches(nil, d.getenv, look) {
		title := "cache: " + c.Name
		if _, ok := c.Read(d.getenv); ok {
			d.add(title, StatusOK, c.Dir+", read where it is", "")
			continue
		}
		size, err := caches.Size(c)
		if err != nil {
			d.add(title, StatusWarn, fmt.Sprintf("%s: %v", c.Dir, err), "a job uses it only where the file system can share what files hold")
			continue
		}
		d.add(title, StatusOK, fmt.Sprintf("%s, %d MB, copied", strings.Join(c.Folders(), " and "), size/1_000_000), "")
	}
}

// checkPath lists the commands of PATH that the sandbox cannot start, by the folder that
// is closed.
func (d *doctor) checkPath(ctx context.Context) {
	if !d.sandboxes() || d.Docker != "" {
		return
	}
	closed, whole := d.Look.Closed(ctx, d.Workspace)
	if !whole {
		d.add("host: PATH", StatusWarn, "not all commands were looked at: that took longer than "+commands.Time.String(), "")
	}
	of := map[string][]string{}
	for _, c := range closed {
		dir := filepath.Dir(c.File)
		of[dir] = append(of[dir], c.Name)
	}
	for _, dir := range slices.Sorted(maps.Keys(of)) {
		for names := range slices.Chunk(of[dir], 25) { // a cell has a limit
			d.add("host: PATH", StatusWarn, fmt.Sprintf("the sandbox cannot start %s: %s is closed", strings.Join(names, ", "), dir),
				"install them where every user can read them, such as below /usr/local or in the tool cache")
		}
	}
	if len(closed) == 0 && whole {
		d.add("host: PATH", StatusOK, "the sandbox can start all commands", "")
	}
}
