package repo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The index of every version names the files of attributes that git lists.
func TestAttributeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("init", "-q")
	for _, name := range []string{".gitattributes", "a", "deep/.gitattributes", "deep/er/.gitattributes", "deep/er/x.gitattributes", "deep/.gitattributes.bak", "z/.gitattributes", strings.Repeat("long", 50) + "/.gitattributes"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"2", "3", "4"} {
		run("update-index", "--index-version", version)
		run("add", "-A")
		if version == "3" { // made by a flag of an entry
			run("update-index", "--skip-worktree", "a")
		}
		index, err := os.ReadFile(filepath.Join(dir, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		run("update-index", "--no-skip-worktree", "a")
		want := strings.Fields(run("ls-files", "--", ".gitattributes", "*/.gitattributes"))
		if got := attributeFiles(index); !slices.Equal(got, want) {
			t.Errorf("attributeFiles(version %s) = %q, want %q", version, got, want)
		}
		if got := fmt.Sprint(index[7]); got != version {
			t.Logf("git wrote version %s instead of %s", got, version)
		}
	}
}

func FuzzAttributeFiles(f *testing.F) {
	head := "DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("\x00", 60)
	f.Add([]byte(head + "\x00\x0e.gitattributes\x00\x00\x00\x00"))
	f.Add([]byte(strings.Replace(head, "\x02", "\x04", 1) + "\x00\x0e\x00.gitattributes\x00"))
	f.Add([]byte(strings.Replace(head, "\x02", "\x04", 1) + "\x00\x0e\xff\xff\xff\xff\xff\xff.gitattributes\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, name := range attributeFiles(b) {
			if filepath.Base(name) != attributesName {
				t.Errorf("attributeFiles(%q) names %q", b, name)
			}
		}
	})
}
