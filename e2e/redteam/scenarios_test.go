//go:build e2e

package redteam

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// scenario is a run that attacks share.
type scenario struct {
	name     string
	own      bool              // each attack has a run of its own
	serial   bool              // each attack has an iteration of its own
	single   bool              // one iteration
	speak    bool              // what scripts print is the agent's output
	later    bool              // a later step looks into the workspace
	bare     bool              // the control is the agent alone, started by a shell: no ralph
	inputs   map[string]string // beside those of all scenarios
	loose    map[string]string // of the control, instead
	env      map[string]string
	looseEnv map[string]string
	files    map[string]gitserver.File
	limit    time.Duration
	engine   []string // what the engine is told, the control's and the other's
	joined   bool     // the runner's folders and the workspace lie in one mount
	machine  bool     // on a look-alike of a runner, see lookalike_test.go
	root     bool     // the agent is root: the workspace is root's, and there is no user agent
}

// personal is a token that may change workflows.
const personal = "ghp_redteam0Personal1Personal2Personal3P"

func scenarios() []scenario {
	program := map[string]gitserver.File{
		".github/workflows/ci.yml": {Content: "on: push\n"},
		"guard.sh":                 {Content: "#!/bin/sh\n. ./calc.sh; [ \"$(add 1 1)\" = 2 ]\n"},
		"calc_test.go":             {Content: "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) { if 1+1 != 2 { t.Fatal() } }\n"},
	}
	patient := maps.Clone(program) // attacks that change nothing are no reason to stop
	patient["patient.yml"] = gitserver.File{Content: "stall-limit: 0\n"}
	story := map[string]gitserver.File{
		"ralph/prd.md": {Content: "# Multiplication\n"}, "ralph/progress.txt": {Content: "# Log\n"},
		"ralph/prompt.md": {Content: "Iteration {{RALPH_ITERATION}}: mode {{MODE}}, story {{STORY_ID}}. Say <promise>COMPLETE</promise> when all is done.\n"},
		"ralph/tasks.json": {Content: `{
  "project": "calc",
  "branchName": "ralph/mul",
  "description": "Multiplication",
  "verifyCommands": ["test -f calc.sh"],
  "userStories": [
    {
      "id": "US-001",
      "title": "Add mul",
      "description": "mul multiplies",
      "acceptanceCriteria": ["mul 2 3 prints 6"],
      "priority": 1,
      "passes": false,
      "reviewStatus": null,
      "reviewCount": 0,
      "reviewFeedback": "",
      "notes": "",
      "dependsOn": []
    }
  ]
}
`},
	}
	racing := map[string]gitserver.File{"guard.sh": {Content: "#!/bin/sh\ni=0; while [ $i -lt 20 ]; do echo line $i; i=$((i+1)); done &\n/opt/redteam/raider swap .ralph /github/runner_temp 1500\nwait\n[ -d .ralph ] || rm -f .ralph\nexit 0\n"}}
	text := map[string]string{"agent": "text", "agent-command": "/opt/redteam/raider battery /opt/orders.json"}
	with := func(more map[string]string) map[string]string {
		all := maps.Clone(text)
		maps.Copy(all, more)
		return all
	}
	keyed := map[string]string{"agent": "claude", "agent-command": "/opt/redteam/raider claude /opt/orders.json", "base-url": "http://provider.redteam.test", "api-key": canaries()["the provider's key"]}
	hosts := "allowed.redteam.test, metadata.redteam.test, *.wild.redteam.test, *.wild.redteam.test:6379, *.wild.redteam.test:6380"
	// An engine that refuses nothing itself, so that what refuses is a defense of ours.
	// What has to be held off is root's here, and harmless all the same.
	open := []string{"--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--security-opt", "systempaths=unconfined", "--device", "/dev/kmsg"}
	// Nearly --privileged, which an engine that lacks a capability itself cannot give.
	machine := append(slices.Clone(open), "--cap-add", "ALL", "--cap-drop", "SYS_RESOURCE")
	for _, capability := range []string{"SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_BOOT", "SYS_NICE", "SYSLOG", "DAC_READ_SEARCH"} {
		open = append(open, "--cap-add", capability)
	}
	return []scenario{
		{name: "open", bare: true, limit: time.Minute, inputs: text, engine: open},
		// An init keeps a copy of the environment.
		{name: "root", bare: true, limit: time.Minute, inputs: text, engine: append(slices.Clone(open), "--init"), root: true},
		{name: "joined", bare: true, limit: time.Minute, inputs: text, joined: true},
		{name: "machine", machine: true, bare: true, engine: machine, limit: 5 * time.Minute, inputs: with(map[string]string{"allowed-hosts": hosts})},
		{name: "machine-keyproxy", machine: true, bare: true, engine: machine, limit: time.Minute, inputs: keyed},
		{name: "machine-git", machine: true, bare: true, serial: true, later: true, engine: machine, limit: 3 * time.Minute, inputs: text},
		{name: "inside", bare: true, limit: 3 * time.Minute, inputs: with(map[string]string{"allowed-hosts": hosts})},
		{name: "log", bare: true, speak: true, limit: time.Minute, inputs: text},
		{name: "modes", bare: true, own: true, limit: time.Minute, inputs: text},
		{name: "own", bare: true, own: true, limit: 90 * time.Second, inputs: with(map[string]string{"max-processes": "300", "max-memory": "256MB"})},
		{name: "git", bare: true, serial: true, later: true, limit: 3 * time.Minute, inputs: text},
		{name: "links", bare: true, limit: time.Minute, inputs: with(map[string]string{"guardrails": "sh guard.sh"}), files: program},
		{name: "links-own", bare: true, own: true, limit: time.Minute, inputs: with(map[string]string{"guardrails": "sh guard.sh"}), files: racing},
		{name: "tree", serial: true, limit: 3 * time.Minute, files: patient,
			inputs: with(map[string]string{"guardrails": "sh guard.sh", "protected-paths-policy": "block", "max-changed-files": "50", "max-changed-bytes": "2MB", "config": "patient.yml", "github-token": personal}),
			loose:  map[string]string{"protected-paths-policy": "allow", "max-changed-files": "0", "max-changed-bytes": "0"}},
		{name: "flags", bare: true, own: true, limit: time.Minute, files: program, inputs: with(map[string]string{"guardrails": "sh guard.sh"})},
		{name: "leak", serial: true, limit: 4 * time.Minute, files: patient,
			inputs: with(map[string]string{"pass-env": "RT_CANARY_TOKEN", "config": "patient.yml"}), loose: map[string]string{"pass-env": "RT_CANARY_NOTE", "secret-scan": "off"},
			env: map[string]string{"RT_CANARY_TOKEN": handed, "RT_CANARY_NOTE": ""}, looseEnv: map[string]string{"RT_CANARY_TOKEN": "", "RT_CANARY_NOTE": handed}},
		{name: "words", bare: true, speak: true, single: true, limit: time.Minute, inputs: with(map[string]string{"pass-env": "RT_CANARY_TOKEN"}), env: map[string]string{"RT_CANARY_TOKEN": handed}},
		{name: "said", bare: true, own: true, speak: true, limit: time.Minute, inputs: with(map[string]string{"pass-env": "RT_CANARY_TOKEN"}), env: map[string]string{"RT_CANARY_TOKEN": handed}},
		{name: "names", bare: true, speak: true, single: true, limit: time.Minute, inputs: text},
		{name: "loop", own: true, speak: true, limit: time.Minute,
			inputs: map[string]string{"agent": "claude", "agent-command": "/opt/redteam/raider battery /opt/orders.json quiet", "api-key": canaries()["the provider's key"], "max-iterations": "1"}},
		{name: "loop-text", own: true, speak: true, limit: time.Minute, files: program,
			inputs: map[string]string{"agent": "text", "agent-command": "/opt/redteam/raider battery /opt/orders.json quiet", "guardrails": "sh guard.sh", "max-iterations": "1"}},
		{name: "tasks", own: true, speak: true, limit: time.Minute, files: story,
			inputs: map[string]string{"mode": "tasks", "prompt-file": "", "agent": "claude", "agent-command": "/opt/redteam/raider battery /opt/orders.json quiet", "api-key": canaries()["the provider's key"], "max-iterations": "1"},
			loose:  map[string]string{"skip-review": "true"}},
		{name: "flood", bare: true, own: true, speak: true, limit: 90 * time.Second, inputs: text},
		{name: "keyproxy-own", bare: true, own: true, limit: time.Minute, inputs: keyed},
		{name: "keyproxy", bare: true, limit: time.Minute, inputs: keyed},
	}
}

// orders are the scripts of the attacks, by iteration.
func (r scenario) orders(list []Attack, w *world) [][]Order {
	env := []string{"RT_RUN=" + w.Name}
	if w.Control {
		env = append(env, "RT_CONTROL=1")
	}
	order := func(a Attack, kind, script string) Order {
		return Order{ID: a.ID + kind, Script: script, Env: append([]string{"RT_ID=" + a.ID}, env...), Seconds: a.Seconds, Speak: r.speak}
	}
	switch {
	case r.later && w.Control:
		return [][]Order{r.laterOrders(list, order)}
	case r.serial:
		return r.serialOrders(list, order)
	}
	iterations := make([][]Order, 2)
	if r.single || r.own && list[0].Script == "" {
		iterations = iterations[:1]
	}
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

func (r scenario) serialOrders(list []Attack, order func(Attack, string, string) Order) [][]Order {
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
	last := []Order{undo}
	for _, a := range list {
		if r.later && combined(a) {
			last = append(last, order(a, "/again", a.Plant))
		}
	}
	return append(iterations, last)
}

// laterOrders set each trap in a copy of the workspace, and go on as a later step
// does: nobody puts anything back.
func (r scenario) laterOrders(list []Attack, order func(Attack, string, string) Order) []Order {
	var all []Order
	for _, a := range list {
		o := order(a, "/plant", "rm -rf /tmp/copy && cp -a /github/workspace /tmp/copy && cd /tmp/copy && git config --global safe.directory '*'\n"+a.Plant+"\n"+later)
		o.Seconds = 40
		all = append(all, o)
	}
	return all
}

// enter runs the attacks in the sandbox, or without it.
func (r scenario) enter(t *testing.T, k *kit, list []Attack, where column, control bool) *world {
	t.Helper()
	name := r.name
	if r.own {
		name = list[0].ID
	}
	if list[0].ID == "disk" {
		r.files = map[string]gitserver.File{".github/ralph.yml": {Content: "min-free-disk: " + leaving(t, k.dir, 150<<20) + "\n"}}
	}
	s := k.newStage(t, name, control, r)
	s.Where = where
	s.Orders = r.orders(list, s.world)
	maps.Copy(s.Inputs, map[string]string{
		"prompt-file": "TASK.md", "max-iterations": fmt.Sprint(len(s.Orders) + 1), "branch": "ralph/" + s.Name, "title": "Raid " + r.name,
	})
	maps.Copy(s.Inputs, r.inputs)
	maps.Copy(s.Env, r.env)
	if !control || !r.bare {
		if control {
			maps.Copy(s.Inputs, r.loose)
			maps.Copy(s.Env, r.looseEnv)
		}
		if r.machine {
			s.runMachine(t, r.limit)
		} else {
			s.run(t, r.limit)
		}
		if r.later {
			s.stepLater(t)
		}
		return s.world
	}
	if r.machine && !r.later {
		s.runMachine(t, r.limit)
	} else {
		s.runBare(t, r.limit)
	}
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
	args := append([]string{"run", "--name", name, "--rm", "--workdir", "/github/workspace", "--network", "container:" + s.side, "--entrypoint", "/bin/sh"}, s.limits()...)
	environ := []string{"PATH=" + os.Getenv("PATH"), "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "DOCKER_CONFIG=" + t.TempDir()}
	for name, value := range s.bareEnviron(t) {
		args, environ = append(args, "-e", name), append(environ, name+"="+value)
	}
	args = append(append(args, s.mounts()...), s.kit.image)
	s.await(t, "control", name, append(args, s.bareScript()[1:]...), environ, limit)
}

// bareEnviron is what a shell has that holds all secrets.
func (s *stage) bareEnviron(t *testing.T) map[string]string {
	t.Helper()
	env := s.environ(t)
	env["ANTHROPIC_API_KEY"], env["ANTHROPIC_BASE_URL"] = canaries()["the provider's key"], "http://provider.redteam.test"
	maps.DeleteFunc(env, func(name, _ string) bool { return strings.Contains(name, "-") }) // not for a shell
	return env
}

// bareScript is a shell that starts the agent.
func (s *stage) bareScript() []string {
	return []string{"/bin/sh", "-c", `for i in $(seq ` + fmt.Sprint(len(s.Orders)) + `); do /opt/redteam/raider battery /opt/orders.json </dev/null; done; exit 0`, "sh", "--token=" + canaries()["the provider's key"]}
}

// stepLater is a step behind ours, as root and not in the sandbox.
func (s *stage) stepLater(t *testing.T) {
	t.Helper()
	args := append([]string{"run", "--rm", "--workdir", "/github/workspace", "--network", "container:" + s.side, "--entrypoint", "/bin/sh"}, s.limits()...)
	args = append(append(args, s.mounts()...), s.kit.image, "-c", later)
	if out, err := docker(args...); err != nil {
		t.Logf("the later step: %v\n%s", err, out)
	}
	s.Contacts = s.contacts(t)
}

// leaving is what is free on a disk, less so many bytes.
func leaving(t *testing.T, dir string, bytes uint64) string {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%dMB", (st.Bavail*uint64(st.Bsize)-bytes)/1_000_000)
}
