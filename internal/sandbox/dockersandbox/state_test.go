package dockersandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestState(t *testing.T) { // 003-03
	t.Parallel()
	for _, tc := range []struct {
		name, before, after string
		aside               bool
	}{
		{"missing", "-", "{}\n", false},
		{"empty", "", "{}\n", false},
		{"broken", `{"a":`, "{}\n", true},
		{"no object", `null`, "{}\n", true},
		{"a list", `[1]`, "{}\n", true},
		{"signed in", "{\"oauth\": {\"x\": 1e400}}", "{\"oauth\": {\"x\": 1e400}}", false},
		{"the least", `{}`, `{}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, "app")
			d.o.Process = &canned{}
			state := filepath.Join(d.home, ".dclaude_state")
			file := filepath.Join(state, ".claude.json")
			if tc.before != "-" {
				if err := os.Mkdir(state, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(tc.before), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.vm(t).Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != tc.after {
				t.Errorf(".claude.json = %q (%v), want %q", got, err, tc.after)
			}
			for _, dir := range []string{state, filepath.Join(state, ".claude")} {
				if info, err := os.Lstat(dir); err != nil || info.Mode() != os.ModeDir|0o700 {
					t.Errorf("%s: %v (%v), want a folder for its owner alone", dir, info.Mode(), err)
				}
			}
			kept, err := os.ReadFile(filepath.Join(state, ".claude.json.broken"))
			if tc.aside != (err == nil) || tc.aside && string(kept) != tc.before {
				t.Errorf(".claude.json.broken = %q (%v), want kept %v", kept, err, tc.aside)
			}
			if told := strings.Contains(strings.Join(d.said, "\n"), "was no JSON object and is {} now"); told != tc.aside {
				t.Errorf("said %q, want told %v", d.said, tc.aside)
			}
			if names, err := os.ReadDir(state); err != nil || len(names) != 2 && !tc.aside {
				t.Errorf("the folder holds %v (%v), want .claude and .claude.json", names, err)
			}
		})
	}
}

// What an agent plants in the folder it shares must not be followed.
func TestPlantedState(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		plant func(state, victim string) error
		want  string
	}{
		{"the folder is a link", func(state, victim string) error { return os.Symlink(victim, state) }, `.dclaude_state" is a symbolic link and must be a real folder`},
		{"the folder is a file", func(state, _ string) error { return os.WriteFile(state, nil, 0o600) }, `.dclaude_state" is a file and must be a real folder`},
		{"the agent's folder is a link", func(state, victim string) error {
			return join(os.Mkdir(state, 0o700), os.Symlink(victim, filepath.Join(state, ".claude")))
		}, `.claude" is a symbolic link and must be a real folder`},
		{"the agent's file is a link", func(state, victim string) error {
			return join(os.Mkdir(state, 0o700), os.Symlink(filepath.Join(victim, "file"), filepath.Join(state, ".claude.json")))
		}, `.claude.json" is a symbolic link and must be a real file`},
		{"the agent's file is a dangling link", func(state, victim string) error {
			return join(os.Mkdir(state, 0o700), os.Symlink(filepath.Join(victim, "new"), filepath.Join(state, ".claude.json")))
		}, `.claude.json" is a symbolic link`},
		{"the agent's file is a folder", func(state, _ string) error { return os.MkdirAll(filepath.Join(state, ".claude.json"), 0o700) }, `is a folder and must be a real file`},
		{"the agent's file is a pipe", func(state, _ string) error {
			return join(os.Mkdir(state, 0o700), syscall.Mkfifo(filepath.Join(state, ".claude.json"), 0o600))
		}, `is something else and must be a real file`},
		{"the agent's file is giant", func(state, _ string) error {
			file := filepath.Join(state, ".claude.json")
			return join(os.Mkdir(state, 0o700), os.WriteFile(file, nil, 0o600), os.Truncate(file, 65<<20))
		}, `is larger than 64 MiB`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, "app")
			docker := &canned{}
			d.o.Process = docker
			victim := t.TempDir()
			if err := os.WriteFile(filepath.Join(victim, "file"), []byte("mine"), 0o640); err != nil {
				t.Fatal(err)
			}
			if err := tc.plant(filepath.Join(d.home, ".dclaude_state"), victim); err != nil {
				t.Fatal(err)
			}
			err := d.vm(t).Prepare(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Prepare() = %v, want an error with %q", err, tc.want)
			}
			if got, err := os.ReadFile(filepath.Join(victim, "file")); err != nil || string(got) != "mine" {
				t.Errorf("a file outside holds %q (%v) now, want it untouched", got, err)
			}
			if names, err := os.ReadDir(victim); err != nil || len(names) != 1 {
				t.Errorf("a folder outside holds %v (%v), want one file", names, err)
			}
			if len(docker.got) != 1 {
				t.Errorf("docker was called %d times, want once, for the list", len(docker.got))
			}
		})
	}
	t.Run("the home is a link", func(t *testing.T) { // the sandbox knows it by its real path
		t.Parallel()
		d := newMachine(t, "app")
		link := filepath.Join(t.TempDir(), "home")
		if err := os.Symlink(d.home, link); err != nil {
			t.Fatal(err)
		}
		d.o.Home = link
		if err := d.vm(t).Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		calls := d.calls(t)
		if got, want := calls[1][len(calls[1])-1], d.state(t); got != want || strings.HasPrefix(got, link) {
			t.Errorf("the sandbox gets %q, want %q", got, want)
		}
	})
	t.Run("no home", func(t *testing.T) {
		t.Parallel()
		d := newMachine(t, "app")
		d.o.Home = filepath.Join(d.home, "nobody")
		if err := d.vm(t).Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), `cannot be opened: no such file`) {
			t.Errorf("Prepare() = %v, want that the home cannot be opened", err)
		}
	})
}

// join is the first error.
func join(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
