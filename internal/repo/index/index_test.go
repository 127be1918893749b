package index

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An index of any version shows whether a conflict is unresolved; one that is cut or
// builds on another file does not show that none is.
func TestResolved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(in string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}, strings.NewReader(in)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	read := func() []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	run("", "init", "-q")
	const blob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	for _, version := range []string{"2", "3", "4"} {
		run("", "read-tree", "--empty")
		run("", "update-index", "--index-version", version)
		run("100644 "+blob+" 0\ta\n100644 "+blob+" 0\tfolder/b\n", "update-index", "--index-info")
		if version == "3" { // made by a flag of an entry
			run("", "update-index", "--skip-worktree", "a")
		}
		index := read()
		if !Resolved(index) {
			t.Errorf("Resolved(version %s) = false, want true", version)
		}
		if Resolved(index[:80]) {
			t.Errorf("Resolved(version %s, cut) = true, want false", version)
		}
		run("100644 "+blob+" 1\tfolder/c\n100644 "+blob+" 3\tfolder/c\n", "update-index", "--index-info")
		if Resolved(read()) {
			t.Errorf("Resolved(version %s with a conflict) = true, want false", version)
		}
	}
	run("", "update-index", "--split-index")
	if Resolved(read()) {
		t.Error("Resolved(split index) = true, want false")
	}
}
