package repo_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
	"testing"
)

// TestMain puts what the tests write into memory where there is room: most of
// their time went into making small files.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // there is little to keep, and much that is soon garbage
	os.Exit(inMemory(m))
}

func inMemory(m *testing.M) int {
	const shm, noexec, room = "/dev/shm", 8, 2 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shm, &fs); err != nil || fs.Flags&noexec != 0 || fs.Bavail*uint64(fs.Bsize) < room {
		return m.Run()
	}
	dir, err := os.MkdirTemp(shm, "repo-test-")
	if err != nil {
		return m.Run()
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv("TMPDIR", dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
