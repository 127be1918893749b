package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/config"
)

func TestTask(t *testing.T) { // 001-14
	t.Parallel()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	for path, text := range map[string]string{outside: "secret", filepath.Join(dir, "task.md"): "task", filepath.Join(dir, "empty"): " \n", filepath.Join(dir, "binary"): "\xff"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "planted")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ file, want, problem string }{
		{"", "inline", ""},
		{"pipe", "", "not a file"}, // nobody will ever write to it
		{"task.md", "task", ""},
		{filepath.Join(dir, "task.md"), "task", ""},
		{outside, "secret", ""}, // named by the user on the command line
		{"planted", "", "planted"},
		{filepath.Join(dir, "planted"), "", "planted"},
		{"gone", "", "does not exist"},
		{"empty", "", "empty now"},
		{"binary", "", "UTF-8"},
		{".", "", "not a file"},
	} {
		got, err := config.Config{
			Prompt: config.Prompt{Text: "inline", File: tc.file},
		}.Task(dir)
		if got != tc.want || (err == nil) != (tc.problem == "") || (err != nil && !strings.Contains(err.Error(), tc.problem)) {
			t.Errorf("Task(%q) = %q, %v; want %q, %q", tc.file, got, err, tc.want, tc.problem)
		}
	}
}
