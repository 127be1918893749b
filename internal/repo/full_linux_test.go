package repo_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/repo/credentials"
)

// The configuration comes back where there is no room for another file.
func TestRestoreWithoutRoomForFiles(t *testing.T) {
	t.Parallel()
	_, from := workspace(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m,nr_inodes=1000"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	if out, err := exec.Command("cp", "-a", from+"/.", dir).CombinedOutput(); err != nil {
		t.Fatalf("cp: %s", out)
	}
	asCheckout(t, dir, 5)
	config := filepath.Join(dir, ".git", "config")
	before := read(t, config)
	h, err := credentials.Stash(dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, "[core]\n\tfsmonitor = evil\n"+read(t, config))
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("fill", i)), nil, 0o600); errors.Is(err, syscall.ENOSPC) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if notes, err := h.Restore(); err != nil || len(notes) != 1 {
		t.Errorf("Restore() = %q, %v, want one note", notes, err)
	}
	equal(t, "config", read(t, config), before)
}
