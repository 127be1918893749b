package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

func open(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root, dir
}

// only fails unless dir holds these names and no temporary file.
func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]atomicfile.Options{
		"plain": {}, "durable": {Sync: true}, "a temporary name": {Temp: "f.new"}, "over a directory": {ReplaceDir: true}, "public": {Mode: 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, plant := range map[string]func(at, outside string) error{
				"nothing":        func(string, string) error { return nil },
				"a file":         func(at, _ string) error { return os.WriteFile(at, []byte("old and longer"), 0o444) },
				"a link out":     func(at, outside string) error { return os.Symlink(outside, at) },
				"a hard link":    func(at, outside string) error { return os.Link(outside, at) },
				"a dangling one": func(at, _ string) error { return os.Symlink("nowhere", at) },
				"a taken temp":   func(at, outside string) error { return os.Symlink(outside, at+".new") },
			} {
				root, dir := open(t)
				outside := filepath.Join(t.TempDir(), "outside")
				if err := errors.Join(os.WriteFile(outside, []byte("theirs"), 0o600), plant(filepath.Join(dir, "f"), outside)); err != nil {
					t.Fatal(err)
				}
				if err := atomicfile.Write(root, "f", strings.NewReader("new"), opts); err != nil {
					t.Errorf("%s: Write() = %v", what, err)
				}
				got, err := os.ReadFile(filepath.Join(dir, "f"))
				info, e := os.Lstat(filepath.Join(dir, "f"))
				if err != nil || e != nil || string(got) != "new" || !info.Mode().IsRegular() {
					t.Errorf("%s: the file holds %q, %v, %v, want a regular one with new", what, got, info, errors.Join(err, e))
				}
				if want := opts.Mode; want == 0 && info.Mode().Perm() != 0o600 {
					t.Errorf("%s: mode %v, want 0600", what, info.Mode())
				}
				if theirs, err := os.ReadFile(outside); err != nil || string(theirs) != "theirs" {
					t.Errorf("%s: the file outside holds %q, %v", what, theirs, err)
				}
				if what != "a taken temp" || opts.Temp != "" {
					only(t, dir, "f")
				}
			}
		})
	}
}

func TestWriteDirectories(t *testing.T) {
	t.Parallel()
	root, dir := open(t)
	if err := os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(root, "a/f", strings.NewReader("x"), atomicfile.Options{Sync: true}); err != nil {
		t.Errorf("Write(a/f) = %v", err)
	}
	only(t, filepath.Join(dir, "a"), "b", "f")
	if err := atomicfile.Write(root, "a/b", strings.NewReader("x"), atomicfile.Options{}); err == nil {
		t.Error("Write over a directory = nil, want an error")
	}
	only(t, filepath.Join(dir, "a"), "b", "f")
	if err := atomicfile.Write(root, "a/b", strings.NewReader("x"), atomicfile.Options{ReplaceDir: true}); err != nil {
		t.Errorf("Write with ReplaceDir = %v", err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../f", "out/f", "missing/f"} {
		if err := atomicfile.Write(root, name, strings.NewReader("x"), atomicfile.Options{}); err == nil {
			t.Errorf("Write(%s) = nil, want an error", name)
		}
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	root, dir := open(t)
	if err := atomicfile.Probe(root); err != nil {
		t.Errorf("Probe() = %v", err)
	}
	only(t, dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Probe(root); err == nil {
		t.Error("Probe of a directory that is gone = nil, want an error")
	}
}

// What fails leaves the old file and nothing else.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		name    string
		content error
		finish  error
	}{{"content", broken, nil}, {"finish", nil, broken}} {
		root, dir := open(t)
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		content := iotest.ErrReader(tt.content)
		if tt.content == nil {
			content = strings.NewReader("new")
		}
		finished := false
		err := atomicfile.Write(root, "f", content, atomicfile.Options{Finish: func(f *os.File) error {
			info, err := f.Stat()
			finished = err == nil && info.Size() == 3
			return tt.finish
		}})
		if !errors.Is(err, broken) {
			t.Errorf("%s: Write() = %v, want broken", tt.name, err)
		}
		if finished != (tt.content == nil) {
			t.Errorf("%s: Finish got the whole file: %v", tt.name, finished)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != "old" {
			t.Errorf("%s: the file holds %q, %v, want old", tt.name, got, err)
		}
		only(t, dir, "f")
	}
}
