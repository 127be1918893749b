package confine_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

func TestModes(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir, file, other := filepath.Join(top, "a"), filepath.Join(top, "a", "key"), filepath.Join(top, "a", "other")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var m confine.Modes
	m.Remember([]string{top, filepath.Join(top, "missing")}, []string{dir})
	if changed, err := m.Restore(); len(changed) != 0 || err != nil {
		t.Errorf("Restore() before a change = %q, %v, want nothing", changed, err)
	}
	// Another file in its place is not ours to change.
	for _, err := range []error{
		os.WriteFile(other+".new", nil, 0o644), os.Rename(other+".new", other),
		os.Chmod(file, 0o666), os.Chmod(dir, 0o777), os.Chmod(top, 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	changed, err := m.Restore()
	if want := []string{top, dir, file}; err != nil || !slices.Equal(changed, want) {
		t.Errorf("Restore() = %q, %v, want %q", changed, err, want)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, file: 0o600, other: 0o644} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
}

// A folder on the way may be opened by others meanwhile: it is not closed again.
func TestModesOfTheWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	var m confine.Modes
	m.RememberWay(filepath.Join(dir, "file"))
	for _, step := range []struct{ now, want os.FileMode }{{0o755, 0o755}, {0o005, 0o755}} {
		if err := os.Chmod(dir, step.now); err != nil {
			t.Fatal(err)
		}
		_, err := m.Restore()
		info, statErr := os.Stat(dir)
		if err != nil || statErr != nil || info.Mode().Perm() != step.want {
			t.Errorf("Restore() of %v = %v, %v, want %v", step.now, info.Mode(), err, step.want)
		}
	}
}

func TestAbove(t *testing.T) {
	t.Parallel()
	if got, want := confine.Above("/home/runner/_temp/file"), []string{"/home", "/home/runner", "/home/runner/_temp"}; !slices.Equal(got, want) {
		t.Errorf("Above() = %q, want %q", got, want)
	}
	if got := confine.Above("file"); got != nil {
		t.Errorf("Above(relative) = %q, want none", got)
	}
}
