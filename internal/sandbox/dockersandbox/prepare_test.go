package dockersandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// hardName is a folder that only careful quoting gets through a shell.
const hardName = "it's \"my\" $HOME `id` \\n; app"

func TestFirstRun(t *testing.T) { // 003-03
	t.Parallel()
	for _, project := range []string{"app", hardName, "-u root"} {
		t.Run(project, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, project)
			if err := d.vm(t).Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			name, state := dockersandbox.Name(d.project), d.state(t)
			wantCalls(t, scripts(d.calls(t)),
				[]string{"sandbox", "ls"},
				[]string{"sandbox", "create", "--name", name, "claude", d.project, state},
				[]string{"sandbox", "exec", "-u", "root", name, "sh", "-c", "SCRIPT", "sh", state, "/home/agent"},
				[]string{"sandbox", "exec", name, "sh", "-c", "SCRIPT", "sh", "ralph@localhost", "Ralph Loop"},
			)
			// What the scripts did, in the home of the agent.
			for _, f := range []string{".claude", ".claude.json"} {
				if to, err := os.Readlink(filepath.Join(d.fake, "home", f)); err != nil || to != filepath.Join(state, f) {
					t.Errorf("%s leads to %q (%v), want %q", f, to, err, filepath.Join(state, f))
				}
			}
			if config, err := os.ReadFile(filepath.Join(d.fake, "home", ".gitconfig")); err != nil ||
				!strings.Contains(string(config), "email = ralph@localhost") || !strings.Contains(string(config), "name = Ralph Loop") {
				t.Errorf(".gitconfig = %q (%v), want the loop's name and e-mail", config, err)
			}
			if len(d.said) != 2 || !strings.Contains(d.said[0], "making the docker sandbox "+name) || !strings.Contains(d.said[1], "run once: docker sandbox run "+name+", then /login") {
				t.Errorf("said %q, want that a sandbox is made, and how to sign in", d.said)
			}
		})
	}
}

func TestSignedIn(t *testing.T) {
	t.Parallel()
	d := newMachine(t, "app")
	agent := filepath.Join(d.home, ".dclaude_state", ".claude")
	if err := os.MkdirAll(agent, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(agent, ".credentials.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.vm(t).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(d.said) != 1 || strings.Contains(d.said[0], "/login") {
		t.Errorf("said %q, want nothing about signing in", d.said)
	}
}

// state is the folder that keeps the agent signed in, by its real path.
func (d *machine) state(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(d.o.Home)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(home, ".dclaude_state")
}

func TestSecondRun(t *testing.T) { // 003-03
	t.Parallel()
	d := newMachine(t, hardName)
	name := dockersandbox.Name(d.project)
	for range 2 {
		if err := d.vm(t).Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wantCalls(t, d.calls(t)[4:],
		[]string{"sandbox", "ls"},
		[]string{"sandbox", "ls", "--json"},
		[]string{"sandbox", "stop", name},
	)
	t.Run("stopped already", func(t *testing.T) {
		d.put(t, "stop-fails", "sandbox "+name+" is not running\n")
		if err := d.vm(t).Prepare(t.Context()); err != nil {
			t.Errorf("Prepare() = %v, want none", err)
		}
	})
	t.Run("does not stop", func(t *testing.T) {
		d.put(t, "stop-fails", "the Docker daemon is not running\n")
		if err := d.vm(t).Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), `to see what was changed since: docker sandbox stop `+name+` failed (exit code 1): "the Docker daemon is not running"`) {
			t.Errorf("Prepare() = %v, want docker's words", err)
		}
	})
}

func TestWhoseSandbox(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name       string
		workspaces func(d *machine, other string) []string
		refused    bool
	}{
		{"ours", func(d *machine, _ string) []string { return []string{d.project, d.home} }, false},
		{"ours, by another path", func(d *machine, other string) []string { return []string{other + "/../app"} }, false},
		{"another project's", func(d *machine, other string) []string {
			return []string{other, filepath.Join(d.home, ".dclaude_state")}
		}, true},
		{"of a folder that is not here", func(*machine, string) []string { return []string{`C:\Users\jane\app`} }, false},
		{"unknown", func(*machine, string) []string { return nil }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, "app")
			name := dockersandbox.Name(d.project)
			other := d.project + "\x1b[2J"
			if err := os.Mkdir(other, 0o755); err != nil {
				t.Fatal(err)
			}
			list := map[string]any{"vms": []any{map[string]any{"name": name, "workspaces": tc.workspaces(d, other)}}}
			text, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			d.put(t, "json", string(text))
			d.put(t, "table", "NAME\n"+name+"\n")
			err = d.vm(t).Prepare(t.Context())
			if tc.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "makes the same name; rename one of the folders, or remove that sandbox with: docker sandbox rm "+name) {
				t.Errorf("Prepare() = %v, want refused %v", err, tc.refused)
			}
			if err != nil {
				checkLine(t, err.Error())
			}
			if stopped := slices.ContainsFunc(d.calls(t), func(c []string) bool { return c[1] == "stop" }); stopped == tc.refused {
				t.Errorf("stopped %v, want %v", stopped, !tc.refused)
			}
		})
	}
}

func TestHalfMade(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, text, want string
		removed                bool
	}{
		{"docker refuses", "create-fails", "Creating new sandbox...\nfailed to create sandbox: status 500: no space left\n",
			`docker sandbox create NAME failed (exit code 1): "Creating new sandbox... failed to create sandbox: status 500: no space left"`, false},
		{"the name is too long", "create-fails", "listen unix /Users/x/.docker/sandboxes/vm/y/docker-public.sock: bind: invalid argument\n", "a project with a shorter path would do", false},
		{"an older docker", "create-fails", "unknown flag: --name\n\nUsage:  docker sandbox\n", "4.58 or later", false},
		{"docker says much", "create-fails", strings.Repeat("pulling a layer\n", 10000) + "disk full\n", `layer disk full"`, false},
		{"the setup fails", "exec-fails", "no such user: root\n", `set up the docker sandbox NAME: docker sandbox exec NAME failed (exit code 1): "no such user: root"`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, "app")
			name := dockersandbox.Name(d.project)
			d.put(t, tc.file, tc.text)
			err := d.vm(t).Prepare(t.Context())
			if want := strings.ReplaceAll(tc.want, "NAME", name); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("Prepare() = %v, want an error with %q", err, want)
			}
			checkLine(t, err.Error())
			calls := d.calls(t)
			if removed := slices.Equal(calls[len(calls)-1], []string{"sandbox", "rm", name}); removed != tc.removed {
				t.Errorf("docker was called as %q, want removed %v", scripts(calls), tc.removed)
			}
		})
	}
	t.Run("the run is cancelled while it is made", func(t *testing.T) {
		t.Parallel()
		d := newMachine(t, "app")
		d.put(t, "create-hangs", "")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			for range 1000 {
				if _, err := os.Stat(filepath.Join(d.fake, "create-began")); err == nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		if err := d.vm(t).Prepare(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Prepare() = %v, want %v", err, context.Canceled)
		}
		calls := d.calls(t)
		if got, want := calls[len(calls)-1], []string{"sandbox", "rm", dockersandbox.Name(d.project)}; !slices.Equal(got, want) {
			t.Errorf("the last call is %q, want %q", got, want)
		}
	})
	for _, tc := range []struct {
		name string
		exit proc.Exit
		want string
	}{
		{"it takes too long", proc.Exit{Code: -1, Why: proc.TimedOut}, "failed (not done within 15m0s): (nothing); start Docker Desktop, or restart it"},
		{"docker is killed", proc.Exit{Code: -1, Signal: 9, Why: proc.Exited}, "failed (ended by signal 9): (nothing)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, "app")
			docker := &canned{exits: map[string]proc.Exit{"create": tc.exit}}
			d.o.Process = docker
			if err := d.vm(t).Prepare(t.Context()); err == nil || !strings.HasSuffix(err.Error(), tc.want) {
				t.Errorf("Prepare() = %v, want an error that ends with %q", err, tc.want)
			}
			if last := docker.got[len(docker.got)-1].Argv; last[2] != "rm" {
				t.Errorf("the last call is %q, want what is half made removed", last)
			}
		})
	}
	t.Run("cannot be removed", func(t *testing.T) {
		t.Parallel()
		d := newMachine(t, "app")
		d.put(t, "exec-fails", "no")
		d.put(t, "rm-fails", "no")
		if err := d.vm(t).Prepare(t.Context()); err == nil || !strings.Contains(d.said[len(d.said)-1], "could not be removed; do it with: docker sandbox rm "+dockersandbox.Name(d.project)) {
			t.Errorf("Prepare() = %v and said %q, want how to remove it", err, d.said)
		}
	})
}
