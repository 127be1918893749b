package repo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe where git reads a file keeps nobody waiting: it is taken away and named, the
// work is saved, and HEAD and config are what they were.
func TestPipesInTheWayOfGit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		".git/config", ".git/HEAD", ".git/packed-refs", ".git/config.worktree", ".git/commondir", ".git/shallow", ".git/info/exclude", ".git/info/attributes",
		".git/objects/info/alternates", ".git/objects/info/commit-graph", ".git/refs/heads/other", ".git/logs/HEAD",
		".gitattributes", ".gitignore", ".gitmodules", "deep/down/.gitignore", "deep/down/.gitattributes", ".git/objects/pack/pack-1.idx",
	} {
		for _, how := range []string{"a pipe", "a link to a pipe"} {
			if how == "a link to a pipe" && (strings.HasPrefix(name, "deep/") || name == ".git/packed-refs" || strings.Contains(name, "pack/")) {
				continue // git follows none there
			}
			t.Run(how+" "+name, func(t *testing.T) {
				t.Parallel()
				f, dir := workspace(t)
				r := begin(t, dir, f.url)
				before := map[string]string{}
				for _, kept := range []string{".git/config", ".git/HEAD"} {
					before[kept] = read(t, filepath.Join(dir, kept))
				}
				at := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				pipe := at
				if how == "a link to a pipe" {
					pipe = filepath.Join(t.TempDir(), "pipe")
					if err := os.Symlink(pipe, at); err != nil {
						t.Fatal(err)
					}
				}
				if err := syscall.Mkfifo(pipe, 0o600); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "x.txt"), "x\n")
				began := time.Now()
				r.checkpoint(t)
				if took := time.Since(began); took > 90*time.Second {
					t.Errorf("it took %v", took)
				}
				equal(t, "x.txt", git(t, f.dir, "show", "ralph/work:x.txt"), "x")
				for kept, want := range before {
					equal(t, kept, read(t, filepath.Join(dir, kept)), want)
				}
				if strings.HasPrefix(name, "deep/") || strings.Contains(name, "pack/") {
					return // git may not have needed it, and it is looked for when git waits only
				}
				if _, err := os.Stat(at); err == nil && name != ".git/config" && name != ".git/HEAD" && name != ".git/logs/HEAD" {
					t.Errorf("%s is still there", name)
				}
				if notes := strings.Join(r.State().Notes, "\n"); !strings.Contains(notes, name) {
					t.Errorf("the notes do not name it: %q", notes)
				}
			})
		}
	}
}
