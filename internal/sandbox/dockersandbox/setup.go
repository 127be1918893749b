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
// signed in. $1 is the folder, $2 the agent's home.
const linkState = `set -e
for f in .claude .claude.json; do
	rm -rf -- "$2/$f"
	ln -s -- "$1/$f" "$2/$f"
	chown -h agent:agent "$2/$f" 2>/dev/null || :
done`

// identify names the author of what the agent commits. $1 is the e-mail, $2 the
// name.
const identify = `git config --global user.email "$1" && git config --global user.name "$2"`

// create makes the sandbox with the project and the state folder in it. Every
// path is an argument of its own, so that no shell reads it.
func (v *VM) create(ctx context.Context, state string) error {
	v.say("making the docker sandbox %s; the first time, docker fetches an image, which can take minutes", v.name)
	err := v.do(ctx, call{within: createTime, args: []string{"create", "--name", v.name, "claude", v.o.Project, state}})
	if err != nil {
		// One that docker itself refused to make may be somebody else's.
		if refused := (*refusal)(nil); !errors.As(err, &refused) || refused.exit.Why != proc.Exited || refused.exit.Code < 0 {
			v.remove(ctx)
		}
		return err
	}
	for _, args := range [][]string{
		{"exec", "-u", "root", v.name, "sh", "-c", linkState, "sh", state, agentHome},
		{"exec", v.name, "sh", "-c", identify, "sh", "ralph@localhost", "Ralph Loop"},
	} {
		if err := v.do(ctx, call{within: execTime, args: args}); err != nil {
			v.remove(ctx) // a next run would take it for a finished one
			return fmt.Errorf("set up the docker sandbox %s: %w", v.name, err)
		}
	}
	return nil
}

// remove is for a sandbox that was just made; docker gets its time for it after
// a cancelled run too.
func (v *VM) remove(ctx context.Context) {
	if err := v.do(context.WithoutCancel(ctx), call{within: stopTime, args: []string{"rm", v.name}}); err != nil {
		v.say("the docker sandbox %s is half made and could not be removed; do it with: docker sandbox rm %s", v.name, v.name)
	}
}

func (v *VM) stop(ctx context.Context) error {
	v.say("stopping the docker sandbox %s, so that it sees the project as it is now", v.name)
	err := v.do(ctx, call{within: stopTime, args: []string{"stop", v.name}})
	if refused := (*refusal)(nil); errors.As(err, &refused) && refused.alreadyStopped() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the docker sandbox has to be stopped to see what was changed since: %w", err)
	}
	return nil
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
		VMs []vm `json:"vms"`
	}
	if json.Unmarshal([]byte(a.stdout), &listed) != nil {
		return nil
	}
	i := slices.IndexFunc(listed.VMs, func(m vm) bool { return m.Name == v.name })
	if i < 0 {
		return nil
	}
	other := ""
	for _, path := range listed.VMs[i].Workspaces {
		switch path = strings.TrimSuffix(path, ":ro"); {
		case path == v.o.Project || same(path, v.o.Project):
			return nil
		case !same(path, v.statePath()) && same(path, path):
			other = path
		}
	}
	if other != "" {
		return fmt.Errorf("the docker sandbox %s belongs to %s, and %q makes the same name; rename one of the folders, or remove that sandbox with: docker sandbox rm %s",
			v.name, quote(other), v.o.Project, v.name)
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
