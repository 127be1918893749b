package confine_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

// tree is a workspace of root's with the entries that are easy to get wrong.
type tree struct{ dir, outside, marker string }

func newTree(t *testing.T) tree {
	t.Helper()
	tr := tree{dir: t.TempDir(), outside: t.TempDir()}
	tr.marker = filepath.Join(tr.dir, ".git", "ralph-handover")
	for _, name := range []string{".git/config", "a/b/file", "a/first", "mine", "group"} {
		touch(t, filepath.Join(tr.dir, name))
	}
	touch(t, filepath.Join(tr.outside, "target"))
	touch(t, filepath.Join(tr.outside, "shared"))
	for _, err := range []error{
		os.Symlink(filepath.Join(tr.outside, "target"), filepath.Join(tr.dir, "symlink")),
		os.Symlink(tr.outside, filepath.Join(tr.dir, "a", "dirlink")),
		os.Link(filepath.Join(tr.outside, "shared"), filepath.Join(tr.dir, "a", "hardlink")),
		os.Link(filepath.Join(tr.dir, "a", "first"), filepath.Join(tr.dir, "second")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

func (tr tree) want(t *testing.T, when string, want map[string]string) {
	t.Helper()
	for name, owner := range want {
		path := filepath.Join(tr.dir, name)
		if name[0] == '/' {
			path = filepath.Join(tr.outside, name)
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(path, &st); err != nil {
			t.Errorf("%s: %v", when, err)
		} else if got := fmt.Sprintf("%d:%d", st.Uid, st.Gid); got != owner {
			t.Errorf("%s: %s belongs to %s, want %s", when, name, got, owner)
		}
	}
}

func TestHandOver(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	if os.Geteuid() != 0 {
		testHandOverPlain(t, tr)
		return
	}
	chown(t, filepath.Join(tr.dir, "mine"), agent.UID, agent.GID)
	chown(t, filepath.Join(tr.dir, "group"), 0, 1000)
	place := confine.Place{Workspace: tr.dir, Marker: tr.marker, Fallback: agent}
	restore, err := confine.HandOver(t.Context(), tr.dir, tr.marker, agent)
	if err != nil {
		t.Fatalf("HandOver() = %v", err)
	}
	tr.want(t, "handed over", map[string]string{
		".": "4001:4001", ".git": "4001:4001", ".git/config": "4001:4001", "a/b/file": "4001:4001",
		"symlink": "4001:4001", "a/dirlink": "4001:4001", "/target": "0:0",
		"a/hardlink": "0:0", "/shared": "0:0", // its other name is not in the workspace
		"a/first": "4001:4001", "second": "4001:4001",
		"mine": "4001:4001", "group": "4001:1000",
		".git/ralph-handover": "0:0",
	})
	chown(t, touch(t, filepath.Join(tr.dir, "new/by-agent")), agent.UID, agent.GID)
	chown(t, filepath.Join(tr.dir, "new"), agent.UID, agent.GID)
	if id, handOver, err := confine.IdentityFor(place); id != agent || !handOver || err != nil {
		t.Errorf("IdentityFor(handed over) = %v, %v, %v, want %v, true", id, handOver, err, agent)
	}
	if err := restore(t.Context()); err != nil {
		t.Fatalf("restore() = %v", err)
	}
	tr.want(t, "handed back", map[string]string{
		".": "0:0", ".git/config": "0:0", "a/b/file": "0:0", "symlink": "0:0", "/target": "0:0", "/shared": "0:0",
		"a/first": "0:0", "second": "0:0", "mine": "4001:4001", "group": "0:1000", "new": "0:0", "new/by-agent": "0:0",
	})
	if _, err := os.Lstat(tr.marker); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("marker after restore: %v, want it gone", err)
	}
}

// testHandOverPlain: without root there is nothing of root's to hand over.
func testHandOverPlain(t *testing.T, tr tree) {
	restore, err := confine.HandOver(t.Context(), tr.dir, tr.marker, agent)
	if err != nil {
		t.Fatalf("HandOver() = %v", err)
	}
	if _, err := os.Lstat(tr.marker); err != nil {
		t.Errorf("marker: %v", err)
	}
	if err := restore(t.Context()); err != nil {
		t.Errorf("restore() = %v", err)
	}
	tr.want(t, "plain user", map[string]string{"a/b/file": fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())})
}

// TestHandOverInterrupted: the process was killed; the next start goes on.
func TestHandOverInterrupted(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	place := confine.Place{Workspace: tr.dir, Marker: tr.marker, Fallback: agent}
	if _, err := confine.HandOver(t.Context(), tr.dir, tr.marker, agent); err != nil {
		t.Fatalf("HandOver() = %v", err)
	}
	if os.Geteuid() != 0 {
		return // nothing was handed over, and IdentityFor never asks
	}
	if _, handOver, err := confine.IdentityFor(place); !handOver || err != nil {
		t.Fatalf("IdentityFor(interrupted) = %v, %v, want a hand-over", handOver, err)
	}
	restore, err := confine.HandOver(t.Context(), tr.dir, tr.marker, agent)
	if err != nil {
		t.Fatalf("HandOver(again) = %v", err)
	}
	if err := restore(t.Context()); err != nil {
		t.Fatalf("restore() = %v", err)
	}
	tr.want(t, "repaired", map[string]string{".": "0:0", "a/b/file": "0:0", "second": "0:0"})
}

// TestHandOverMarkerCannotBeForged: what a real owner of the workspace finds in
// place of a marker does not make root take the workspace.
func TestHandOverMarkerCannotBeForged(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		_, handOver, err := confine.IdentityFor(confine.Place{Workspace: t.TempDir(), Fallback: agent})
		if handOver || err != nil {
			t.Errorf("IdentityFor() = %v, %v, want no hand-over", handOver, err)
		}
		return
	}
	genuine := newTree(t)
	if _, err := confine.HandOver(t.Context(), genuine.dir, genuine.marker, agent); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(genuine.marker)
	if err != nil {
		t.Fatal(err)
	}
	for name, forge := range map[string]func(path string) error{
		"copied, the agent's": func(path string) error {
			return errors.Join(os.WriteFile(path, text, 0o600), os.Chown(path, 4001, 4001))
		},
		"of another tree": func(path string) error { return os.WriteFile(path, text, 0o600) },
		"link to it":      func(path string) error { return os.Symlink(genuine.marker, path) },
		"second name":     func(path string) error { return os.Link(genuine.marker, path) },
		"fifo":            func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory":       func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		marker := filepath.Join(dir, "marker")
		if err := forge(marker); err != nil {
			t.Fatal(err)
		}
		chown(t, dir, agent.UID, agent.GID)
		id, handOver, err := confine.IdentityFor(confine.Place{Workspace: dir, Marker: marker, Fallback: agent})
		if id != agent || handOver || err != nil {
			t.Errorf("%s: IdentityFor() = %v, %v, %v, want %v and no hand-over", name, id, handOver, err, agent)
		}
	}
}

func TestHandOverCancelled(t *testing.T) {
	t.Parallel()
	tr := newTree(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := confine.HandOver(ctx, tr.dir, tr.marker, agent); !errors.Is(err, context.Canceled) {
		t.Errorf("HandOver(cancelled) = %v, want %v", err, context.Canceled)
	}
	owner := fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	tr.want(t, "rolled back", map[string]string{".": owner, "a/b/file": owner})
	if _, err := os.Lstat(tr.marker); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("marker after roll-back: %v, want it gone", err)
	}
}

func TestHandOverRefuses(t *testing.T) {
	t.Parallel()
	if _, err := confine.HandOver(t.Context(), t.TempDir(), "", confine.Identity{}); err == nil {
		t.Error("HandOver(to root) = nil, want an error")
	}
	if _, err := confine.HandOver(t.Context(), filepath.Join(t.TempDir(), "gone"), "", agent); err == nil {
		t.Error("HandOver(missing) = nil, want an error")
	}
	dir := t.TempDir()
	if _, err := confine.HandOver(t.Context(), dir, filepath.Join(dir, "no", "marker"), agent); err == nil {
		t.Error("HandOver(marker nowhere) = nil, want an error")
	}
}
