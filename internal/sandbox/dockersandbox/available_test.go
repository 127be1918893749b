package dockersandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

func TestName(t *testing.T) { // 003-03
	t.Parallel()
	for project, want := range map[string]string{
		"/Users/jane/src/my-app_2.0":  "ralph-_Users_jane_src_my-app_2.0",
		"/home/a b/it's \"$x\"/p;q|r": "ralph-_home_a_b_it_s___x__p_q_r",
		"/srv/für":                    "ralph-_srv_f_r",
		"/srv/a\nb\xffc":              "ralph-_srv_a_b_c",
		"":                            "ralph-",
	} {
		if got := dockersandbox.Name(project); got != want {
			t.Errorf("Name(%q) = %q, want %q", project, got, want)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, project, home, want string }{
		{"a relative project", "src/app", "/home/x", `the project folder "src/app" must be an absolute path`},
		{"no project", "", "/home/x", `the project folder "" must be an absolute path`},
		{"no home", "/src/app", "", `the home folder "" must be an absolute path`},
		{"a project docker would mount read-only", "/src/app:ro", "/home/x", "does not end in :ro"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := dockersandbox.New(dockersandbox.Options{Project: tc.project, Home: tc.home})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New() = %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestCommand(t *testing.T) { // 003-03
	t.Parallel()
	v, err := dockersandbox.New(dockersandbox.Options{Project: "/src/my app/", Home: "/home/x"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(v.Command(), " "), "docker sandbox run ralph-_src_my_app --"; got != want {
		t.Errorf("Command() = %q, want %q", got, want)
	}
}

func TestAvailable(t *testing.T) { // 003-03
	t.Parallel()
	for _, tc := range []struct {
		name  string
		setup func(t *testing.T, d *machine)
		want  string // part of why; "": it is available
	}{
		{"yes", func(*testing.T, *machine) {}, ""},
		{"no docker", func(t *testing.T, d *machine) { d.o.Env = []string{"PATH=" + t.TempDir()} }, "there is no sbx and no docker on PATH; sbx is needed"},
		{"a docker in a relative folder of PATH", func(_ *testing.T, d *machine) { d.o.Env = []string{"PATH=fake/bin"} }, "there is no sbx and no docker on PATH"},
		{"a docker that is no program", func(t *testing.T, d *machine) {
			if err := os.Chmod(filepath.Join(d.fake, "bin", "docker"), 0o644); err != nil {
				t.Fatal(err)
			}
			d.o.Env = []string{"PATH=" + filepath.Join(d.fake, "bin")}
		}, "may not be executed"},
		{"a docker that does not start", func(t *testing.T, d *machine) { d.put(t, "bin/docker", "#!/no/such/shell\n") }, "docker cannot be started"},
		{"no sandbox command", func(t *testing.T, d *machine) { d.put(t, "unknown", "") }, "this docker has no `sandbox` command; sbx is needed (https://docs.docker.com/ai/sandboxes), or a Docker Desktop with the `docker sandbox` command (4.58 or later"},
		{"no daemon", func(t *testing.T, d *machine) {
			d.put(t, "ls-fails", "Cannot connect to the Docker daemon at unix:///x.sock. Is the docker daemon running?\n")
		}, "the Docker daemon does not answer; start Docker Desktop. It said: \"Cannot connect to the Docker daemon at unix:///x.sock."},
		{"switched off", func(t *testing.T, d *machine) {
			d.put(t, "ls-fails", "check feature is enabled: sorry, this feature is not available yet\n")
		}, "switched off; enable beta features"},
		{"containers, before 4.58", func(t *testing.T, d *machine) {
			d.put(t, "table", "SANDBOX ID     TEMPLATE   NAME   WORKSPACE   STATUS   CREATED\n275d94b417bf   x   y   /z   running   2026-01-10 19:12:10\n")
		}, "too old: its sandboxes are containers"},
		{"something else", func(t *testing.T, d *machine) { d.put(t, "ls-fails", "\x1b[31mERROR\x1b[0m:\a it\n\n\r rains\n") }, "`docker sandbox ls` failed (exit code 1)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, "app")
			tc.setup(t, d)
			ok, why, err := d.vm(t).Available(t.Context())
			if err != nil || ok != (tc.want == "") || ok != (why == "") || !strings.Contains(why, tc.want) {
				t.Errorf("Available() = %v, %q, %v; want why with %q", ok, why, err, tc.want)
			}
			checkLine(t, why)
			// Who forces it gets the same words.
			if tc.want != "" {
				if err := d.vm(t).Prepare(t.Context()); err == nil || err.Error() != why {
					t.Errorf("Prepare() = %v, want %q", err, why)
				}
			}
		})
	}
	t.Run("quotes without control characters", func(t *testing.T) {
		t.Parallel()
		d := newMachine(t, "app")
		d.put(t, "ls-fails", "\x1b[31mERROR\x1b[0m:\a it\n\n\r rains\u202e\n")
		if _, why, _ := d.vm(t).Available(t.Context()); !strings.HasSuffix(why, `It said: "ERROR: it rains"`) {
			t.Errorf("why = %q, want docker's words in quotes at its end", why)
		}
	})
}

// checkLine holds for every text of ours that repeats docker's.
func checkLine(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) || len(s) > 4<<10 || strings.ContainsFunc(s, unicode.IsControl) {
		t.Errorf("%d bytes %q, want one bounded line without control characters", len(s), s)
	}
}

func TestHangingDocker(t *testing.T) {
	t.Parallel()
	t.Run("is ended with the context", func(t *testing.T) {
		t.Parallel()
		d := newMachine(t, "app")
		d.put(t, "ls-hangs", "")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		started := time.Now()
		ok, why, err := d.vm(t).Available(ctx)
		if ok || why != "" || !errors.Is(err, context.DeadlineExceeded) || time.Since(started) > 30*time.Second {
			t.Errorf("Available() = %v, %q, %v after %v; want the context's error at once", ok, why, err, time.Since(started))
		}
	})
	t.Run("counts as no docker after some seconds", func(t *testing.T) {
		t.Parallel()
		d := newMachine(t, "app")
		c := &canned{exit: proc.Exit{Code: -1, Why: proc.TimedOut}}
		d.o.Process = c
		ok, why, err := d.vm(t).Available(t.Context())
		if ok || err != nil || !strings.Contains(why, "docker did not answer within 10s; start Docker Desktop") {
			t.Errorf("Available() = %v, %q, %v; want that docker did not answer", ok, why, err)
		}
		if limit := c.got[0].Limits.Time; limit <= 0 || limit > 10*time.Second {
			t.Errorf("docker sandbox ls may take %v, want some seconds", limit)
		}
	})
	t.Run("every command is bounded", func(t *testing.T) {
		t.Parallel()
		d := newMachine(t, "app")
		c := &canned{}
		d.o.Process = c
		if err := d.vm(t).Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.vm(t).Write(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
		c.stdout = dockersandbox.Name(d.project)
		if err := d.vm(t).Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(c.got) != 8 {
			t.Errorf("%d commands, want 8", len(c.got))
		}
		for _, cmd := range c.got {
			if limit := cmd.Limits.Time; limit <= 0 || limit > 15*time.Minute || cmd.Dir != d.project {
				t.Errorf("%q may take %v and runs in %q, want a bound, and %q", cmd.Argv[:3], limit, cmd.Dir, d.project)
			}
		}
	})
}

func TestLostProcesses(t *testing.T) {
	t.Parallel()
	d := newMachine(t, "app")
	d.o.Process = &canned{err: proc.ErrLost}
	if ok, why, err := d.vm(t).Available(t.Context()); ok || why != "" || !errors.Is(err, proc.ErrLost) {
		t.Errorf("Available() = %v, %q, %v; want %v", ok, why, err, proc.ErrLost)
	}
	if err := d.vm(t).Prepare(t.Context()); !errors.Is(err, proc.ErrLost) {
		t.Errorf("Prepare() = %v, want %v", err, proc.ErrLost)
	}
}

func FuzzDockersWords(f *testing.F) {
	f.Add("VM ID  NAME  STATUS\nabc  ralph-_src_app  running\n", "", 0)
	f.Add(`{"vms":[{"name":"ralph-_src_app","workspaces":["/usr","/src/app:ro"]}]} ralph-_src_app`, "", 0)
	f.Add(`{"vms":null}`, "WARNING: deprecated\n", 0)
	f.Add("", "\x1b]0;title\x07\x1b[1;31mfailed\u202e to create\r\n\xff", 1)
	f.Add(strings.Repeat("x ", 1<<19), strings.Repeat("ü", 1<<12), 125)
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, stdout, stderr string, code int) {
		c := &canned{stdout: stdout, stderr: stderr, exit: proc.Exit{Code: code}}
		v, err := dockersandbox.New(dockersandbox.Options{Process: c, Project: "/src/app", Home: home, Env: []string{"PATH=" + pathWithDocker(t)}})
		if err != nil {
			t.Fatal(err)
		}
		ok, why, err := v.Available(t.Context())
		if err != nil || ok && code != 0 || ok == (why != "") {
			t.Errorf("Available() = %v, %q, %v with exit code %d", ok, why, err, code)
		}
		checkLine(t, why)
		if err := v.Prepare(t.Context()); err != nil {
			checkLine(t, err.Error())
		}
		if err := v.Write(t.Context(), "x", nil); err != nil {
			checkLine(t, err.Error())
		} else if code != 0 {
			t.Errorf("Write() = nil with exit code %d", code)
		}
	})
}

func pathWithDocker(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "docker"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
