package dockersandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// newSbxMachine has both command lines. sbx knows no sandbox, and starts its daemon first.
func newSbxMachine(t *testing.T, project string) (d *machine, name string) {
	t.Helper()
	d = newMachine(t, project)
	d.install(t, "sbx")
	d.put(t, "table", "Starting the daemon...\nSANDBOX  AGENT  STATUS  PORTS  WORKSPACE\n")
	return d, strings.ReplaceAll(dockersandbox.Name(d.project), "_", "-")
}

func TestSbx(t *testing.T) { // 003-03
	t.Parallel()
	d, name := newSbxMachine(t, hardName+"_1")
	state := d.state(t)
	v := d.vm(t)
	if err := v.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v.Name() != name || strings.ContainsAny(name, "_ '\"") {
		t.Errorf("Name() = %q, want %q, of letters, digits, hyphens and periods", v.Name(), name)
	}
	wantCalls(t, scripts(d.calls(t)),
		[]string{"ls"},
		[]string{"create", "--name", name, "claude", d.project, state},
		[]string{"exec", "-u", "root", name, "sh", "-c", "SCRIPT", "sh", state, "/home/agent"},
		[]string{"exec", name, "sh", "-c", "SCRIPT", "sh", "ralph@localhost", "Ralph Loop"},
	)
	if last := d.said[len(d.said)-1]; !strings.Contains(last, "sbx secret set anthropic") || !strings.Contains(last, "run once: sbx exec -it "+name+" claude, then /login") {
		t.Errorf("said %q, want how to sign in", d.said)
	}
	if err := v.Write(t.Context(), "tasks.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := v.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCalls(t, scripts(d.calls(t))[4:],
		[]string{"exec", "-i", name, "sh", "-c", "SCRIPT", "sh", filepath.Join(d.project, "tasks.json"), "2"},
		[]string{"ls"},
		[]string{"ls", "--json"},
		[]string{"stop", name},
	)
}

// The agent is started in the project, with its arguments as they are, and its exit code
// comes through.
func TestSbxCommand(t *testing.T) { // 003-03
	t.Parallel()
	d, name := newSbxMachine(t, hardName)
	d.o.Env[0] = "PATH=" + filepath.Join(d.fake, "bin") + ":" + os.Getenv("PATH") // for bash
	claude := "#!/bin/sh\nprintf '%s\\n' \"$PWD\" \"$@\"\nexit 7\n"
	writeProgram(t, filepath.Join(d.fake, "bin", "claude"), claude)
	v := d.vm(t)
	if ok, why, err := v.Available(t.Context()); !ok {
		t.Fatal(why, err)
	}
	argv := v.Command()
	if want := []string{"sbx", "exec", "-w", d.project, name, "bash", "-c"}; !slices.Equal(argv[:len(want)], want) {
		t.Errorf("Command() = %q, want %q first", argv, want)
	}
	var out strings.Builder
	exit, err := v.Run(t.Context(), proc.Command{Argv: append(argv, "-p", "a $(b) \"c\"\n'd'", "--model", "x y"), Dir: d.project, Env: d.o.Env, Stdout: &out})
	if want := d.project + "\n-p\na $(b) \"c\"\n'd'\n--model\nx y\n"; err != nil || exit.Code != 7 || out.String() != want {
		t.Errorf("Run() = %+v, %v with %q, want exit code 7 and %q", exit, err, out.String(), want)
	}
	if last := d.calls(t)[1]; last[0] != "exec" || len(d.calls(t)) != 2 {
		t.Errorf("calls %q, want no stop behind what ended by itself", d.calls(t))
	}
}

func TestWhatIsEndedIsStoppedInside(t *testing.T) {
	t.Parallel()
	for name, install := range map[string][]string{"sbx": {"sbx"}, "docker sandbox": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, "app")
			for _, program := range install {
				d.install(t, program)
			}
			c := &canned{exit: proc.Exit{Code: -1, Why: proc.TimedOut}, exits: map[string]proc.Exit{"stop": {}, "ls": {}}}
			d.o.Process = c
			v := d.vm(t)
			if ok, why, err := v.Available(t.Context()); !ok {
				t.Fatal(why, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if exit, err := v.Run(ctx, proc.Command{Argv: v.Exec("/", "make")}); err != nil || exit.Why != proc.TimedOut {
				t.Errorf("Run() = %+v, %v, want what became of the command", exit, err)
			}
			if got, want := strings.Join(c.got[len(c.got)-1].Argv, " "), name+" stop "+v.Name(); got != want {
				t.Errorf("the last call is %q, want %q", got, want)
			}
		})
	}
}

func TestSbxOrDocker(t *testing.T) { // 003-03
	t.Parallel()
	for _, tc := range []struct {
		name, sbx string // what `sbx ls` says where it fails
		docker    bool
		uses      string // "" for neither
		want      string
	}{
		{"both", "", true, "sbx", ""},
		{"sbx alone", "", false, "sbx", ""},
		{"not signed in", "ERROR: You are not authenticated to Docker. Starting the sign-in flow...\n", false, "", "sbx is not signed in to Docker; run: sbx login"},
		{"no session", "no valid user session found, please sign in to Docker to proceed\n", false, "", "sbx is not signed in to Docker; run: sbx login"},
		{"not signed in, and the old command answers", "user is not authenticated to Docker\n", true, "docker", ""},
		{"something else", "ERROR: inspect exec: context deadline exceeded\n", false, "", "`sbx ls` failed (exit code 1); sbx is needed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, _ := newSbxMachine(t, "app")
			if tc.sbx != "" {
				script := "#!/bin/sh\nprintf '%s' '" + tc.sbx + "' >&2\nexit 1\n"
				writeProgram(t, filepath.Join(d.fake, "bin", "sbx"), script)
			}
			if !tc.docker {
				if err := os.Remove(filepath.Join(d.fake, "bin", "docker")); err != nil {
					t.Fatal(err)
				}
			}
			v := d.vm(t)
			ok, why, err := v.Available(t.Context())
			if err != nil || ok != (tc.uses != "") || !strings.Contains(why, tc.want) {
				t.Errorf("Available() = %v, %q, %v, want %q", ok, why, err, tc.want)
			}
			checkLine(t, why)
			if ok && v.Command()[0] != tc.uses {
				t.Errorf("Command() = %q, want it of %s", v.Command(), tc.uses)
			}
		})
	}
	t.Run("a daemon that hangs", func(t *testing.T) {
		t.Parallel()
		d, _ := newSbxMachine(t, "app")
		d.o.Process = &canned{exit: proc.Exit{Code: -1, Why: proc.TimedOut}}
		if _, why, _ := d.vm(t).Available(t.Context()); !strings.Contains(why, "sbx did not answer within 10s; run: sbx daemon restart") {
			t.Errorf("Available() says %q, want how to restart it", why)
		}
	})
}

func TestSbxRefuses(t *testing.T) {
	t.Parallel()
	t.Run("without a policy for the network", func(t *testing.T) {
		t.Parallel()
		d, name := newSbxMachine(t, "app")
		d.put(t, "create-fails", "ERROR: global network policy has not been initialized\n")
		if err := d.vm(t).Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "sbx create "+name+" failed (exit code 1)") || !strings.HasSuffix(err.Error(), "run once: sbx policy init balanced") {
			t.Errorf("Prepare() = %v, want what to do", err)
		}
	})
	t.Run("half made", func(t *testing.T) {
		t.Parallel()
		d, name := newSbxMachine(t, "app")
		d.put(t, "exec-fails", "no such user: root\n")
		if err := d.vm(t).Prepare(t.Context()); err == nil {
			t.Error("Prepare() = nil, want an error")
		}
		calls := d.calls(t)
		if last := calls[len(calls)-1]; !slices.Equal(last, []string{"rm", "--force", name}) {
			t.Errorf("the last call is %q, want it removed without a question", last)
		}
	})
	t.Run("another project's", func(t *testing.T) {
		t.Parallel()
		d, name := newSbxMachine(t, "an_app")
		other := filepath.Join(filepath.Dir(d.project), "an-app")
		if err := os.Mkdir(other, 0o755); err != nil {
			t.Fatal(err)
		}
		d.put(t, "table", "SANDBOX\n"+name+"\n")
		d.put(t, "json", "Starting the daemon...\n"+`{"sandboxes":[{"name":"`+name+`","id":"5c2b6e0a","agent":"claude","status":"stopped","workspaces":["`+other+`"]}]}`)
		err := d.vm(t).Prepare(t.Context())
		if err == nil || !strings.Contains(err.Error(), "makes the same name; rename one of the folders, or remove that sandbox with: sbx rm "+name) {
			t.Errorf("Prepare() = %v, want it refused", err)
		}
	})
}

// sbx mounts volumes into the agent's folder, which cannot be removed then. A test mounts
// nothing: here it is rm that refuses.
func TestStateBesideMounts(t *testing.T) {
	t.Parallel()
	d, _ := newSbxMachine(t, "app")
	script := "#!/bin/sh\nfor last; do :; done\ncase $last in */.claude) exit 1 ;; esac\nexec /bin/rm \"$@\"\n"
	writeProgram(t, filepath.Join(d.fake, "bin", "rm"), script)
	if err := d.vm(t).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{".claude/.credentials.json", ".claude.json"} {
		if to, err := os.Readlink(filepath.Join(d.fake, "home", f)); err != nil || to != filepath.Join(d.state(t), f) {
			t.Errorf("%s leads to %q (%v), want %q", f, to, err, filepath.Join(d.state(t), f))
		}
	}
}

func TestLostWhileItRuns(t *testing.T) {
	t.Parallel()
	d := newMachine(t, "app")
	d.o.Process = &canned{err: proc.ErrLost}
	if _, err := d.vm(t).Run(t.Context(), proc.Command{Argv: []string{"docker", "sandbox", "exec"}}); !errors.Is(err, proc.ErrLost) {
		t.Errorf("Run() = %v, want %v", err, proc.ErrLost)
	}
	if len(d.said) != 1 || !strings.Contains(d.said[0], "may still run") {
		t.Errorf("said %q, want that it may still run", d.said)
	}
}
