package tasks_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/tasks"
)

// The list can be written again whatever stands in the place of its directory, and
// nothing of what stood there is lost but a link.
func TestWriteTasksAnyway(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		plant func(folder string) error
		kept  string // what is still there, by its path from the project
	}{
		{"nothing", os.RemoveAll, ""},
		{"a file", func(folder string) error {
			return errors.Join(os.RemoveAll(folder), os.WriteFile(folder, []byte("theirs"), 0o644))
		}, "ralph.replaced"},
		{"a link", func(folder string) error {
			return errors.Join(os.RemoveAll(folder), os.Symlink("..", folder))
		}, ""},
		{"a folder that cannot be written to", func(folder string) error { return os.Chmod(folder, 0o555) }, "ralph/prd.md"},
		{"a folder for the list", func(folder string) error {
			path := filepath.Join(folder, "tasks.json")
			return errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "deep"), 0o755))
		}, "ralph/prd.md"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			project := t.TempDir()
			f, err := tasks.OpenFolder(project, "")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() })
			if _, err := f.Init(tasks.InitOptions{Name: "x", At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			if err := tc.plant(filepath.Join(project, "ralph")); err != nil {
				t.Fatal(err)
			}
			if err := f.Write(tasks.TasksName, []byte("the list\n")); err != nil {
				t.Fatalf("Write() = %v", err)
			}
			if got, err := f.Tasks(); err != nil || string(got) != "the list\n" {
				t.Errorf("Tasks() = %q, %v; want the list", got, err)
			}
			if _, err := os.Stat(filepath.Join(project, tc.kept)); err != nil {
				t.Errorf("%s: %v", tc.kept, err)
			}
		})
	}
}

// A marker that an agent put there does not outlive the loop that it names, and
// is what the next one reads.
func TestClearMarker(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	f, err := tasks.OpenFolder(project, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	lock, err := f.Lock(tasks.Marker{At: time.Now(), PID: os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(project, tasks.MarkerName)
	other := path + ".new" // a file of its own: one that is removed first may leave it its inode
	if err := errors.Join(os.WriteFile(other, []byte(`{"pid": 1}`), 0o644), os.Rename(other, path)); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Marker(); err != nil || string(got) != `{"pid": 1}` {
		t.Errorf("Marker() = %q, %v", got, err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Fatalf("Release() took a marker that is somebody else's: %v", err)
	}
	if err := lock.Clear(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Marker(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Marker() after Clear = %v, want none", err)
	}
}
