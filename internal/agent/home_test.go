package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/agent/agenttest"
	"github.com/org/ralph-action/internal/agent/driver"
	"github.com/org/ralph-action/internal/agent/gemini"
	"github.com/org/ralph-action/internal/agent/opencode"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

type never struct{}

func (never) Run(context.Context, proc.Command) (proc.Exit, error) { return proc.Exit{}, nil }

// What an agent leaves in the home that was made for the run neither holds the
// owner up nor is anything of the owner's copied out of it.
func TestHomeOfTheRun(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.json")
	agenttest.WriteFile(t, outside, `{"plugin":["SECRET"]}`)
	large := strings.Repeat(" ", 1<<20) + `{"plugin":["SECRET"]}`
	for _, tt := range []struct {
		name  string
		plant func(path string) error
	}{
		{"a pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"a link to a pipe", func(path string) error {
			pipe := filepath.Join(filepath.Dir(path), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				return err
			}
			return os.Symlink("pipe", path)
		}},
		{"a device", func(path string) error { return os.Symlink("/dev/zero", path) }},
		{"a link out of it", func(path string) error { return os.Symlink(outside, path) }},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o700) }},
		{"a long file", func(path string) error { return os.WriteFile(path, []byte(large), 0o600) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := t.TempDir()
			home, scratch := filepath.Join(run, "home"), filepath.Join(run, "tmp")
			for _, path := range []string{".gemini/settings.json", ".config/opencode/config.json", ".config/amp/settings.json"} {
				path = filepath.Join(home, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := tt.plant(path); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(scratch, 0o700); err != nil {
				t.Fatal(err)
			}
			o := Options{Env: []string{"HOME=" + home, "TMPDIR=" + scratch, "GEMINI_API_KEY=k"}, Scratch: scratch, Process: never{}}
			if driver.Lookup(opencode.Driver{}.Environ(o), "OPENCODE_PURE") == "" {
				t.Error("opencode's plugins were found")
			}
			o.Effort = "low"
			if files, err := (gemini.Driver{}).Extras(o); err != nil || len(files) != 1 || strings.Contains(files[0].Text, "SECRET") {
				t.Errorf("gemini's settings = %+v, %v", files, err)
			}
			o.Effort, o.Name, o.Settings = "", "amp", `{"a":1}`
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), "amp's own settings") {
				t.Errorf("New(amp) = %v", err)
			}
		})
	}
}

// A user may keep the settings elsewhere, and link to them.
func TestHomeOfTheUser(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(t.TempDir(), "dotfiles")
	home := filepath.Join(t.TempDir(), "me")
	for _, dir := range []string{kept, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	agenttest.WriteFile(t, filepath.Join(kept, "settings.json"), `{"theme":"dark"}`)
	if err := os.Symlink(kept, filepath.Join(home, ".gemini")); err != nil {
		t.Fatal(err)
	}
	files, err := gemini.Driver{}.Extras(Options{Env: []string{"HOME=" + home}, Effort: "low", Scratch: t.TempDir()})
	if err != nil || len(files) != 1 || !strings.Contains(files[0].Text, `"theme": "dark"`) {
		t.Errorf("gemini's settings = %+v, %v", files, err)
	}
}
