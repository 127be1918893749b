package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const fakeRalph = "RALPH_E2E_FAKE"

// started is what the fake ralph saw of its own start.
type started struct {
	Args []string
	Env  []string
	PID  int
}

func TestMain(m *testing.M) {
	if os.Getenv(fakeRalph) != "" {
		_ = json.NewEncoder(os.Stdout).Encode(started{Args: os.Args[1:], Env: os.Environ(), PID: os.Getpid()})
		return
	}
	code := m.Run()
	for _, f := range slices.Backward(atEnd) {
		f()
	}
	os.Exit(code)
}

// atEnd is what TestMain runs after the last test, in reverse order: the ends of
// what the tests share.
var atEnd []func()

// enter runs entrypoint.sh with this test binary as the ralph on PATH.
func enter(t *testing.T, env []string, args ...string) (started, int) {
	t.Helper()
	return enterAs(t, "../entrypoint.sh", env, args...)
}

// enterAs runs it by another name.
func enterAs(t *testing.T, script string, env []string, args ...string) (started, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "ralph")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), script, args...)
	cmd.Env = append([]string{"PATH=" + bin + ":/usr/bin:/bin", fakeRalph + "=1"}, env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("entrypoint.sh %q: %v", args, err)
	}
	var s started
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("entrypoint.sh %q printed %q: %v", args, out, err)
	}
	return s, cmd.Process.Pid
}

// The runner starts the post step by that name, with the arguments of the step.
func TestPostEntrypoint(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../entrypoint.sh")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "post-entrypoint.sh") // as the Dockerfile copies it
	if err := os.WriteFile(script, text, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"action"}} {
		s, _ := enterAs(t, script, []string{"GITHUB_ACTIONS=true", "INPUT_MAX-ITERATIONS=3"}, args...)
		if !slices.Equal(s.Args, []string{"post"}) || !slices.Contains(s.Env, "INPUT_MAX-ITERATIONS=3") {
			t.Errorf("post-entrypoint.sh %q started ralph %q, want post and all of the environment", args, s.Args)
		}
	}
}

func TestEntrypointCommand(t *testing.T) {
	t.Parallel()
	action := []string{"GITHUB_ACTIONS=true"}
	for _, c := range []struct {
		name string
		env  []string
		args []string
		want []string
	}{
		{"action without arguments", action, nil, []string{"action"}},
		{"action with arguments", action, []string{"run", "--prompt", "x"}, []string{"run", "--prompt", "x"}},
		{"locally without arguments", nil, nil, []string{"--help"}},
		{"locally with arguments", nil, []string{"version"}, []string{"version"}},
		{"not quite an action", []string{"GITHUB_ACTIONS=1"}, nil, []string{"--help"}},
		{"arguments stay whole", nil, []string{"run", "--prompt", "a  b\n$(id) `id` *", "", "-n"}, []string{"run", "--prompt", "a  b\n$(id) `id` *", "", "-n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, _ := enter(t, c.env, c.args...); !slices.Equal(got.Args, c.want) {
				t.Errorf("entrypoint(%q) ran ralph %q, want %q", c.args, got.Args, c.want)
			}
		})
	}
}

// A runner names inputs with hyphens, and its values may hold anything.
func TestEntrypointKeepsEnvironment(t *testing.T) {
	t.Parallel()
	want := []string{
		"INPUT_MAX-ITERATIONS=3",
		"INPUT_GITHUB-TOKEN=ghs_x",
		"INPUT_PROMPT=two\nlines $(id) 'quoted'",
		"INPUT_EMPTY-ONE=",
		"GITHUB_ACTIONS=true",
	}
	got, _ := enter(t, want)
	for _, w := range want {
		if !slices.Contains(got.Env, w) {
			t.Errorf("entrypoint: the environment lacks %q", w)
		}
	}
}

// Nothing may stay in front of ralph: its /proc/PID/environ would keep the
// secrets readable.
func TestEntrypointExecs(t *testing.T) {
	t.Parallel()
	got, pid := enter(t, nil, "version")
	if got.PID != pid {
		t.Errorf("entrypoint: ralph ran as pid %d, want that of the entrypoint, %d", got.PID, pid)
	}
}

// What an earlier step left in the environment must not run before ralph.
func TestEntrypointRunsNothingOfTheEnvironment(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "rc")
	if err := os.WriteFile(script, []byte("touch "+mark+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, _ := enter(t, []string{
		"BASH_ENV=" + script,
		"ENV=" + script,
		"BASH_FUNC_exec%%=() { touch " + mark + "; }",
		"BASH_FUNC_set%%=() { touch " + mark + "; }",
	}, "version")
	if _, err := os.Stat(mark); err == nil {
		t.Error("entrypoint ran code out of the environment")
	}
	if !slices.Equal(got.Args, []string{"version"}) {
		t.Errorf("entrypoint ran ralph %s, want version", strings.Join(got.Args, " "))
	}
}
