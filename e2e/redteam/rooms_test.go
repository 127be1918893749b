//go:build e2e

package redteam

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/demo"
)

// room is a run that attacks share.
type room struct {
	name   string
	own    bool              // each attack has a run of its own
	serial bool              // each attack has an iteration of its own
	speak  bool              // what scripts print is the agent's output
	bare   bool              // the control is the agent alone, started by a shell: no ralph
	inputs map[string]string // beside those of all rooms
	loose  map[string]string // of the control, instead
	env    map[string]string
	files  map[string]demo.File
	limit  time.Duration
}

func rooms() []room {
	text := map[string]string{"agent": "text", "agent-command": "/opt/redteam/raider battery /opt/orders.json"}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(text)
		maps.Copy(all, more)
		return all
	}
	hosts := "allowed.redteam.test, allowed.redteam.test:6379, loop.redteam.test:6379, private.redteam.test, metadata.redteam.test, six.redteam.test:6380, rebind.redteam.test:6379"
	return []room{
		{name: "inside", bare: true, limit: 3 * time.Minute, inputs: with(map[string]string{"allowed-hosts": hosts})},
		{name: "log", bare: true, speak: true, limit: time.Minute, inputs: text},
		{name: "modes", bare: true, own: true, limit: time.Minute, inputs: text},
		{name: "own", bare: true, own: true, limit: 90 * time.Second, inputs: with(map[string]string{"max-processes": "300", "max-memory": "256MB"})},
		{name: "door", bare: true, limit: time.Minute,
			inputs: map[string]string{"agent": "claude", "agent-command": "/opt/redteam/raider claude", "base-url": "http://provider.redteam.test", "api-key": canaries()["the provider's key"]},
			env:    map[string]string{"RT_ORDERS": "/opt/orders.json"}},
	}
}

// orders are the scripts of the attacks, by iteration.
func (r room) orders(list []Attack, w *world) [][]Order {
	env := []string{"RT_RUN=" + w.Name}
	if w.Control {
		env = append(env, "RT_CONTROL=1")
	}
	order := func(a Attack, kind, script string) Order {
		return Order{ID: a.ID + kind, Script: script, Env: append([]string{"RT_ID=" + a.ID}, env...), Seconds: a.Seconds, Speak: r.speak}
	}
	if r.serial {
		return r.serialOrders(list, order)
	}
	iterations := make([][]Order, 2)
	for _, a := range list {
		switch {
		case a.Plant != "":
			iterations[0] = append(iterations[0], order(a, "/plant", a.Plant))
			if a.Script != "" {
				iterations[1] = append(iterations[1], order(a, "", a.Script))
			}
		default:
			iterations[0] = append(iterations[0], order(a, "", a.Script))
		}
		if a.Probe != "" {
			iterations[0] = append(iterations[0], order(a, "/probe", a.Probe))
		}
	}
	return iterations
}

func (r room) serialOrders(list []Attack, order func(Attack, string, string) Order) [][]Order {
	var iterations [][]Order
	undo := Order{}
	for _, a := range list {
		var now []Order
		if undo.Script != "" {
			now = append(now, undo)
		}
		if a.Plant != "" {
			now = append(now, order(a, "/plant", a.Plant))
		} else {
			now = append(now, order(a, "", a.Script))
		}
		undo = Order{}
		if a.Undo != "" {
			undo = order(a, "/undo", a.Undo)
		}
		iterations = append(iterations, now)
	}
	return append(iterations, []Order{undo})
}

// enter runs the attacks behind the walls, or without them.
func (r room) enter(t *testing.T, k *kit, list []Attack, control bool) *world {
	t.Helper()
	name := r.name
	if r.own {
		name = list[0].ID
	}
	s := k.newStage(t, name, control, r.files)
	s.Orders = r.orders(list, s.world)
	maps.Copy(s.Inputs, map[string]string{
		"prompt-file": "TASK.md", "max-iterations": fmt.Sprint(len(s.Orders) + 1), "branch": "ralph/" + s.Name, "title": "Raid " + r.name,
	})
	maps.Copy(s.Inputs, r.inputs)
	maps.Copy(s.Env, r.env)
	if !control || !r.bare {
		if control {
			maps.Copy(s.Inputs, r.loose)
		}
		s.run(t, r.limit)
		return s.world
	}
	s.runBare(t, r.limit)
	return s.world
}

// runBare starts the agent as a careless action would: by a shell that holds all
// secrets, as root, with nothing around it.
func (s *stage) runBare(t *testing.T, limit time.Duration) {
	t.Helper()
	data, err := json.Marshal(s.Orders)
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, s.Net, map[string]string{"orders.json": string(data)})
	name := s.side + "-step"
	args := append([]string{"run", "--name", name, "--rm", "--workdir", "/github/workspace", "--network", "container:" + s.side, "--entrypoint", "/bin/sh"}, limits()...)
	environ := []string{"PATH=" + os.Getenv("PATH"), "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "DOCKER_CONFIG=" + t.TempDir()}
	env := s.environ(t)
	key := canaries()["the provider's key"]
	env["ANTHROPIC_API_KEY"], env["ANTHROPIC_BASE_URL"] = key, "http://provider.redteam.test"
	for name, value := range env {
		if !strings.Contains(name, "-") { // not for a shell
			args, environ = append(args, "-e", name), append(environ, name+"="+value)
		}
	}
	args = append(append(args, s.mounts()...), s.kit.image, "-c",
		`for i in $(seq `+fmt.Sprint(len(s.Orders))+`); do /opt/redteam/raider battery /opt/orders.json </dev/null; done; exit 0`, "sh", "--token="+key)
	cmd := exec.Command("docker", args...)
	cmd.Env = environ
	var log lockedBuffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		_ = exec.Command("docker", "rm", "-f", name).Run()
		<-done
		t.Errorf("%s: the control was still running after %s", s.Name, limit)
	}
	s.Code, s.Log = cmd.ProcessState.ExitCode(), log.String()
	s.gather(t)
}
