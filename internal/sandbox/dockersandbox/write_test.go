package dockersandbox_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
)

func TestWrite(t *testing.T) { // 003-03
	t.Parallel()
	big := bytes.Repeat([]byte("0123456789\x00\xff\n"), 100_000)
	for _, tc := range []struct {
		name, path string
		data       []byte
	}{
		{"a file", "tasks.json", []byte("{\"a\": 1}\n")},
		{"with a name for a shell to break", "$(id) 'x' \"y\".json", []byte("text")},
		{"nothing", "empty", nil},
		{"that looks like an option", "-n", []byte("-e\n")},
		{"large", "big", big},
		{"in a folder", "ralph/./x/../tasks.json", []byte("deep")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, hardName)
			full := filepath.Join(d.project, tc.path)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte("old, and longer than some"), 0o640); err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{tc.path, full} { // relative and absolute
				if err := d.vm(t).Write(t.Context(), path, tc.data); err != nil {
					t.Fatalf("Write(%q) = %v", path, err)
				}
				if got, err := os.ReadFile(full); err != nil || !bytes.Equal(got, tc.data) {
					t.Errorf("the file holds %d bytes (%v), want %d", len(got), err, len(tc.data))
				}
			}
			if info, err := os.Stat(full); err != nil || info.Mode() != 0o640 {
				t.Errorf("mode %v (%v), want it kept", info.Mode(), err)
			}
			calls := scripts(d.calls(t))
			if got, want := strings.Join(calls[0][:7], " "), "sandbox exec -i "+dockersandbox.Name(d.project)+" sh -c SCRIPT"; got != want || calls[0][8] != full {
				t.Errorf("docker was called as %q, want %q with %q", calls[0], want, full)
			}
		})
	}
}

func TestWriteFails(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, path string
		setup      func(t *testing.T, d *machine)
		want       string
		asked      bool
	}{
		{"out of the project", "../other/file", nil, "it must be a file below the project", false},
		{"somewhere else", "/etc/passwd", nil, `write "/etc/passwd" in the docker sandbox: it must be a file below the project`, false},
		{"beside the project", "SIBLING", nil, "it must be a file below the project", false},
		{"the project itself", ".", nil, "it must be a file below the project", false},
		{"no name", "", nil, "it must be a file below the project", false},
		{"no file's name", "a\x00b", nil, "it must be a file below the project", false},
		{"no folder", "no/such/file", nil, "failed (exit code", true},
		{"docker fails", "file", func(t *testing.T, d *machine) { d.put(t, "exec-fails", "no sandbox named x\n") }, `failed (exit code 1): "no sandbox named x"`, true},
		{"half of it arrives", "file", func(t *testing.T, d *machine) { d.put(t, "cut", "ne") }, `2 of 3 bytes arrived`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := newMachine(t, "app")
			if tc.setup != nil {
				tc.setup(t, d)
			}
			file := filepath.Join(d.project, "file")
			if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			err := d.vm(t).Write(t.Context(), strings.ReplaceAll(tc.path, "SIBLING", d.project+"2/file"), []byte("new"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("Write() = %v, want an error with %q", err, tc.want)
			}
			checkLine(t, err.Error())
			if got, err := os.ReadFile(file); err != nil || string(got) != "old" {
				t.Errorf("the file holds %q (%v), want what it held", got, err)
			}
			if asked := len(d.calls(t)) > 0; asked != tc.asked {
				t.Errorf("docker was asked: %v, want %v", asked, tc.asked)
			}
		})
	}
}
