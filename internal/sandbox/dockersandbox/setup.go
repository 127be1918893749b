package dockersandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/org/ralph-action/internal/sandbox/proc"
)

// agentHome is the home of the user `agent` in Docker's image of Claude Code,
// docker/sandbox-templates:claude-code.
const agentHome = "/home/agent"

// linkState puts links to the state folder in the place of what keeps the agent
// signed in. $1 is the folder, $2 the agent's home. sbx mounts volumes below .claude,
// which stay: there the file with the login alone is linked.
const linkState = `set -e
for f in .claude .claude.json; do
	rm -rf --one-file-system -- "$2/$f" 2>/dev/null || f=.claude/.credentials.json
	ln -sf -- "$1/$f" "$2/$f"
	chown -h agent:agent "$2/$f" 2>/dev/null || :
done`

// identify names the author of what the agent commits. $1 is the e-mail, $2 the
// name.
const identify = `git config --global user.email "$1" && git config --global user.name "$2"`

// create makes the sandbox with the project and the state folder in it. Every
// path is an argument of its own, so that no shell reads it.
func (v *VM) create(ctx context.Context, state string) error {
	v.say("making the docker sandbox %s; the first time, docker fetches an image, which can take minutes", v.Name())
	err := v.do(ctx, call{within: createTime, args: []string{"create", "--name", v.Name(), "claude", v.o.Project, state}})
	if err != nil {
		// One that docker itself refused to make may be somebody else's.
		if refused := (*refusal)(nil); !errors.As(err, &refused) || refused.exit.Why != proc.Exited || refused.exit.Code < 0 {
			v.remove(ctx)
		}
		return err
	}
	for _, args := range [][]string{
		{"exec", "-u", "root", v.Name(), "sh", "-c", linkState, "sh", state, agentHome},
		{"exec", v.Name(), "sh", "-c", identify, "sh", "ralph@localhost", "Ralph Loop"},
	} {
		if err := v.do(ctx, call{within: execTime, args: args}); err != nil {
			v.remove(ctx) // a next run would take it for a finished one
			return fmt.Errorf("set up the docker sandbox %s: %w", v.Name(), err)
		}
	}
	return nil
}

// remove is for a sandbox that was just made; docker gets its time for it after
// a cancelled run too.
func (v *VM) remove(ctx context.Context) {
	if err := v.do(context.WithoutCancel(ctx), call{within: stopTime, args: v.cli.remove(v.Name())}); err != nil {
		v.say("the docker sandbox %s is half made and could not be removed; do it with: %s rm %s", v.Name(), v.cli, v.Name())
	}
}

// stop ends what runs in the sandbox; it may be stopped already.
func (v *VM) stop(ctx context.Context) error {
	err := v.do(ctx, call{within: stopTime, args: []string{"stop", v.Name()}})
	if refused := (*refusal)(nil); errors.As(err, &refused) && refused.alreadyStopped() {
		return nil
	}
	return err
}

// ours fails when the sandbox with our name shows another project. It knows
// only when docker says so in a way we understand, and about folders that are
// there.
func (v *VM) ours(ctx context.Context) error {
	a, err := v.ask(ctx, call{within: lookTime, args: []string{"ls", "--json"}})
	if err != nil || a.exit.Why != proc.Exited || a.exit.Code != 0 {
		return ctx.Err()
	}
	type vm struct {
		Name       string   `json:"name"`
		Workspaces []string `json:"workspaces"`
	}
	var listed struct {
		VMs       []vm `json:"vms"`       // docker sandbox
		Sandboxes []vm `json:"sandboxes"` // sbx, which may have told before that it starts its daemon
	}
	if json.Unmarshal([]byte(a.stdout[max(0, strings.Index(a.stdout, "{")):]), &listed) != nil {
		return nil
	}
	all := append(listed.VMs, listed.Sandboxes...)
	i := slices.IndexFunc(all, func(m vm) bool { return m.Name == v.Name() })
	if i < 0 {
		return nil
	}
	other := ""
	for _, path := range all[i].Workspaces {
		switch path = strings.TrimSuffix(path, ":ro"); {
		case path == v.o.Project || same(path, v.o.Project):
			return nil
		case !same(path, v.statePath()) && same(path, path):
			other = path
		}
	}
	if other != "" {
		return fmt.Errorf("the docker sandbox %s belongs to %s, and %q makes the same name; rename one of the folders, or remove that sandbox with: %s rm %s",
			v.Name(), quote(other), v.o.Project, v.cli, v.Name())
	}
	return nil
}

// same says that both paths are there and lead to one folder.
func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
