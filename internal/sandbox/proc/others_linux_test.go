package proc_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

// neighbour is a process of the children's user outside of the sandbox.
func neighbour(t *testing.T) int { return outsider(t, childUser()) }

// outsider is a process outside of the sandbox, of our own user if id is zero.
func outsider(t *testing.T, id confine.Identity, env ...string) int {
	t.Helper()
	cmd := exec.Command(binary, "program", "waits", newMark())
	cmd.Env = append(env, quickExit)
	if !id.IsZero() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(id.UID), Gid: uint32(id.GID)}}
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("a process outside of the sandbox ended with %v", err)
		}
	})
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// TestOtherProcesses: a program that an agent starts reaches neither the agent,
// whose words are believed, nor what is outside, and its own all the same.
func TestOtherProcesses(t *testing.T) {
	t.Parallel()
	wantNetwork(t)
	abi, _ := confine.Available()
	for _, network := range []*confine.Network{{}, nil} {
		said := toolSays(t, network, "own")
		for name, got := range said {
			want := "EPERM"
			switch kind, what, _ := strings.Cut(name, ": "); {
			case name == "own: clone3", strings.HasSuffix(name, "write to memory"), strings.HasSuffix(name, "by descriptor"):
				want = "ENOSYS"
			case kind != "own" && (what == "memory file" || what == "input" || what == "output"):
				if abi == 0 {
					continue // the work of Landlock
				}
				want = "EACCES"
			case kind == "own" && !strings.Contains(what, "namespace"):
				want = "ok"
			}
			if got != want {
				t.Errorf("network %v, %s = %s, want %s", network, name, got, want)
			}
		}
		if len(said) < 40 {
			t.Errorf("the tool tried %d things: %v", len(said), said)
		}
	}
}

// TestToolsThatShareTheOutput: what an agent lets speak for it may signal it, and
// still not trace it.
func TestToolsThatShareTheOutput(t *testing.T) {
	t.Parallel()
	wantNetwork(t)
	said := toolSays(t, nil, "shared")
	for name, want := range map[string]string{"agent: nice": "ok", "agent: seize": "EPERM", "outside: nice": "EPERM"} {
		if said[name] != want {
			t.Errorf("%s = %s, want %s", name, said[name], want)
		}
	}
}

// TestServersOfAgents: what a tool serves is not taken for an agent's provider
// where its verdict counts, and what the agent serves is its own.
func TestServersOfAgents(t *testing.T) {
	t.Parallel()
	wantNetwork(t)
	for _, judges := range []bool{true, false} {
		r := newSandbox(t)
		r.network(confine.Network{Sockets: []string{r.tmp}})
		r.options.SpillDir = r.outside
		c := program("judge", newMark())
		c.Env = append(c.Env, "TMPDIR="+r.tmp)
		c.Dir, c.Speaks, c.Judges = r.work, true, judges
		var out, errs strings.Builder
		c.Stdout, c.Stderr = &out, &errs
		var said map[string]string
		exit, err := start(t, r.options).Run(t.Context(), c)
		if err != nil || exit.Code != 0 || json.Unmarshal([]byte(out.String()), &said) != nil {
			t.Fatalf("Run() = %+v, %v, it said %q and %q", exit, err, out.String(), errs.String())
		}
		closed := "ok"
		if judges {
			closed = "EACCES"
		}
		for name, want := range map[string]string{"own": "ok", "tool to the agent": "EACCES", "agent to the tool": closed, "agent to the tool, unix": closed, "what is not there": "ENOENT"} {
			if said[name] != want {
				t.Errorf("judges %v: %s = %q, want %s", judges, name, said[name], want)
			}
		}
	}
}

func toolSays(t *testing.T, network *confine.Network, how string) (said map[string]string) {
	t.Helper()
	r := newSandbox(t)
	r.options.Policy.Network = network
	r.options.SpillDir = r.outside
	c := program("speaker", newMark(), strconv.Itoa(neighbour(t)), how)
	c.Env = append(c.Env, "TMPDIR="+r.tmp)
	c.Dir, c.Speaks = r.work, true
	var out, errs strings.Builder
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader("prompt"), &out, &errs
	exit, err := start(t, r.options).Run(t.Context(), c)
	if err != nil || exit.Code != 0 {
		t.Fatalf("Run() = %+v, %v, it said %q and %q", exit, err, out.String(), errs.String())
	}
	if err := json.Unmarshal([]byte(out.String()), &said); err != nil {
		t.Fatalf("it said %q: %v", out.String(), err)
	}
	if left, err := os.ReadDir(r.outside); err != nil || len(left) != 2 {
		t.Errorf("beside the two files: %v, %v, want no pipe left", left, err)
	}
	return said
}
