package rmtree_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/lib/rmtree"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "remove" {
		few := syscall.Rlimit{Cur: 32, Max: 32}
		if err := errors.Join(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few), rmtree.Remove(os.Args[2])); err != nil {
			fmt.Fprintln(os.Stderr, "remove:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A folder is removed however deep it is.
func TestRemove(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dir")
	for _, name := range []string{"up-0/x", "up-1", "way" + strings.Repeat("/d", 100) + "/x", "way" + strings.Repeat("/d", 50) + "/e" + strings.Repeat("/d", 50)} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	if err := errors.Join(os.WriteFile(outside+"/file", nil, 0o600), os.Symlink(outside, dir+"/way/d/link")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(os.Args[0], "remove", dir).CombinedOutput(); err != nil {
		t.Errorf("%v: %.300s", err, out)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
	if _, err := os.Stat(outside + "/file"); err != nil {
		t.Error(err)
	}
}
