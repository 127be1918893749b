package repo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

// Each git is a process in the sandbox: a run that finds a clean work tree starts
// these, and no others.
func TestGitCommands(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n"})
	used, packed := t.TempDir(), f.checkout(t, false)
	initWork(t, used, f.url)
	f.fetchTip(t, used)
	git(t, packed, "repack", "-q", "-a", "-d")
	for _, tt := range []struct {
		name, dir string
		update    repo.Update
		want      string
	}{
		{"created", used, repo.UpdateNone, "status checkout status add write-tree check-attr unpack-objects update-ref"},
		{"updated where the last run was", used, repo.UpdateNone, "status pack-objects checkout status status add write-tree check-attr unpack-objects update-ref"},
		{"rebased where the last run was", used, repo.UpdateRebase, "status pack-objects checkout status status add write-tree check-attr unpack-objects update-ref"},
		{"updated in a new checkout", f.checkout(t, false), repo.UpdateNone, "status index-pack checkout status status add write-tree check-attr unpack-objects update-ref"},
		{"updated in a checkout of one pack", packed, repo.UpdateNone, "status pack-objects index-pack checkout status status add write-tree check-attr unpack-objects update-ref"},
	} {
		git(t, tt.dir, "checkout", "-q", "-f", "-B", "main", "refs/remotes/origin/main")
		r := begin(t, tt.dir, f.url, updates(tt.update))
		if err := r.Mark(t.Context()); err != nil {
			t.Fatalf("%s: Mark() = %v", tt.name, err)
		}
		write(t, filepath.Join(tt.dir, "dir/b.txt"), tt.name)
		r.pushed(t, f)
		var got []string
		for _, c := range r.sandbox.Commands {
			args := c.Args
			for args[0] == "-c" || args[0] == "-C" {
				args = args[2:]
			}
			got = append(got, args[0])
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%s: git %s, want %s", tt.name, got, tt.want)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An agent that ran here before may have stored something else under the name of an
// object: the branch it left is not taken from the workspace then.
func TestBranchAtHandForged(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := t.TempDir()
	initWork(t, dir, f.url)
	f.fetchTip(t, dir)
	git(t, dir, "checkout", "-q", "-f", "-B", "main", "refs/remotes/origin/main")
	first := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "a.txt"), "changed\n")
	first.pushed(t, f)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	object := func(id string) string { return filepath.Join(dir, ".git/objects", id[:2], id[2:]) }
	real := object(git(t, dir, "rev-parse", "ralph/work:a.txt"))
	write(t, filepath.Join(dir, "forged"), "forged\n")
	forged := object(git(t, dir, "hash-object", "-w", "forged"))
	if err := errors.Join(os.Remove(real), os.Rename(forged, real), os.Remove(filepath.Join(dir, "forged"))); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "checkout", "-q", "-f", "-B", "main", "refs/remotes/origin/main")
	second, err := open(t, dir, f.url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "COLLISION") {
		t.Errorf("Begin() = %v, want git's word for two contents of one name", err)
	}
}
