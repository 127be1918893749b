package repo_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

// A file whose content the caller decides is committed as it says, whatever the
// agent tells git, and the workspace is clean afterwards.
func TestPinned(t *testing.T) {
	t.Parallel()
	const path, mine = "list/tasks.json", "mine\n"
	for _, tc := range []struct {
		name  string
		agent func(t *testing.T, dir string)
		clean bool
	}{
		{"another content", func(t *testing.T, dir string) { write(t, filepath.Join(dir, path), "theirs\n") }, false},
		{"the same", func(t *testing.T, dir string) { write(t, filepath.Join(dir, path), mine) }, true},
		{"a commit of its own", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, path), "theirs\n")
			git(t, dir, "commit", "-qam", "theirs")
			write(t, filepath.Join(dir, path), mine)
		}, true},
		{"skip-worktree", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, path), "theirs\n")
			git(t, dir, "commit", "-qam", "theirs")
			git(t, dir, "update-index", "--skip-worktree", path)
			write(t, filepath.Join(dir, path), mine)
		}, true},
		{"a filter", func(t *testing.T, dir string) {
			git(t, dir, "config", "filter.z.clean", "sed s/mine/theirs/")
			git(t, dir, "config", "filter.z.smudge", "cat")
			write(t, filepath.Join(dir, ".git/info/attributes"), "tasks.json filter=z\n")
			write(t, filepath.Join(dir, path), mine)
		}, false},
		{"taken out of git", func(t *testing.T, dir string) {
			git(t, dir, "rm", "-q", "--cached", path)
			git(t, dir, "commit", "-qm", "gone")
			write(t, filepath.Join(dir, ".git/info/exclude"), "list/\n")
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.seed(t, map[string]string{path: "start\n", "code": "x\n"})
			dir := f.checkout(t, false)
			r := begin(t, dir, f.url, func(o *repo.Options) {
				o.Pinned = func() map[string][]byte {
					return map[string][]byte{path: []byte(mine), "elsewhere/none": []byte("never")}
				}
			})
			seen := r.Seen()
			write(t, filepath.Join(dir, "code"), "y\n")
			tc.agent(t, dir)
			_, c := r.pushed(t, f)
			equal(t, "committed", git(t, f.dir, "show", c.SHA+":"+path), "mine")
			if got := files(t, f.dir, c.SHA); slices.Contains(got, "100644 elsewhere/none") {
				t.Errorf("a file that nobody has was committed: %q", got)
			}
			changed, err := r.Changed(seen)
			if err != nil || !slices.Equal(changed, []string{"code", path}) {
				t.Errorf("Changed() = %q, %v; want the code and the list", changed, err)
			}
			if tc.clean {
				equal(t, "status", git(t, dir, "status", "--porcelain"), "")
			}
		})
	}
}
