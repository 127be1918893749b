package repo_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// Every child costs the start of a run; in the sandbox also the sandbox.
func TestCleanTreeAsksLittle(t *testing.T) {
	t.Parallel()
	f, _ := workspace(t)
	for _, packed := range []bool{false, true} {
		dir := f.checkout(t, false)
		if packed {
			git(t, dir, "pack-refs", "--all")
		}
		index := read(t, filepath.Join(dir, ".git/index"))
		r := begin(t, dir, "")
		asked := make([]string, 0, 2)
		for _, c := range r.sandbox.Commands {
			i := slices.IndexFunc(c.Args, func(s string) bool { return s == "status" || s == "checkout" })
			if i < 0 {
				t.Errorf("Begin() asks git %q", c.Args)
				continue
			}
			asked = append(asked, c.Args[i])
		}
		equal(t, "commands", asked, []string{"status", "checkout"})
		equal(t, "HEAD", git(t, dir, "symbolic-ref", "HEAD"), "refs/heads/ralph/work")
		equal(t, "commit", git(t, dir, "rev-parse", "HEAD"), r.start.HeadSHA)
		equal(t, "index", read(t, filepath.Join(dir, ".git/index")), index)
		if r.start.Base != "main" || len(r.start.Dirty) > 0 {
			t.Errorf("Begin() = %+v, want base main, nothing dirty", r.start)
		}
	}
}

// The changed files are those of the branch against its base, whichever run changed them; a
// message is told those of its own commit.
func TestChangedFiles(t *testing.T) {
	t.Parallel()
	f, _ := workspace(t)
	dir := f.checkout(t, false)
	var told [][]ralph.File
	tell := func(o *repo.Options) {
		o.Message = func(_ ralph.Iteration, files []ralph.File) string {
			told = append(told, files)
			return "x\n"
		}
	}
	r := begin(t, dir, "", tell)
	write(t, filepath.Join(dir, "a.txt"), "one\ntwo\n")
	write(t, filepath.Join(dir, "pic.bin"), "\x00\x01")
	r.checkpoint(t)
	r = begin(t, dir, "", tell)
	write(t, filepath.Join(dir, "a.txt"), "one\nthree\nfour\n")
	r.checkpoint(t)
	if want := [][]ralph.File{{{Path: "a.txt"}, {Path: "pic.bin", New: true}}, {{Path: "a.txt"}}}; !reflect.DeepEqual(told, want) {
		t.Errorf("the messages are told of the files %+v, want %+v", told, want)
	}
	files, err := r.Files(t.Context())
	if want := []ralph.File{{Path: "a.txt", Insertions: 3, Deletions: 1}, {Path: "pic.bin", New: true, Uncounted: true}}; err != nil || !reflect.DeepEqual(files, want) {
		t.Errorf("Files() = %+v, %v, want %+v", files, err, want)
	}
}

func TestPackedBranchIsContinued(t *testing.T) {
	t.Parallel()
	f, _ := workspace(t)
	dir := f.checkout(t, false)
	r := begin(t, dir, "")
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, c := r.checkpoint(t)
	git(t, dir, "checkout", "-q", "main")
	git(t, dir, "pack-refs", "--all", "--prune")
	if r = begin(t, dir, ""); !r.start.Resumed || r.start.HeadSHA != c.SHA {
		t.Errorf("Begin() = %+v, want %s continued", r.start, c.SHA)
	}
}

func TestHeadMovesBeforeBegin(t *testing.T) {
	t.Parallel()
	f, _ := workspace(t)
	dir := f.checkout(t, false)
	r, err := open(t, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	base := git(t, dir, "rev-parse", "HEAD")
	write(t, filepath.Join(dir, "late.txt"), "l\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "late")
	if r.start, err = r.Begin(t.Context()); err != nil || r.start.HeadSHA != base {
		t.Errorf("Begin() = %+v, %v, want %s", r.start, err, base)
	}
	equal(t, "work branch", git(t, dir, "rev-parse", "ralph/work"), base)
	equal(t, "late.txt", read(t, filepath.Join(dir, "late.txt")), "l\n")
}

func TestConflictWithoutMerge(t *testing.T) {
	t.Parallel()
	f, _ := workspace(t)
	dir := f.checkout(t, false)
	write(t, filepath.Join(dir, "a.txt"), "mine\n")
	git(t, dir, "stash", "-q")
	write(t, filepath.Join(dir, "a.txt"), "theirs\n")
	git(t, dir, "commit", "-qam", "theirs")
	_, _ = tryGit(dir, "stash", "pop")
	_, err := open(t, dir, "")
	if err == nil || err.Error() != (&worktree.UnfinishedError{What: `an unresolved conflict in "a.txt"`}).Error() {
		t.Errorf("Open() = %v, want an unresolved conflict in a.txt", err)
	}
}

func TestTopOfTheWorkTree(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(f.checkout(t, false), linked); err != nil {
		t.Fatal(err)
	}
	told := f.checkout(t, false)
	git(t, told, "config", "core.worktree", told)
	bare := f.checkout(t, false)
	git(t, bare, "config", "core.bare", "true")
	if _, err := open(t, bare, ""); err == nil {
		t.Error("Open() of a repository that says it is bare = nil, want an error")
	}
	for name, dir := range map[string]string{"through a link": linked, "core.worktree": told} {
		r := begin(t, dir, "")
		write(t, filepath.Join(dir, "x.txt"), "x\n")
		_, c := r.checkpoint(t)
		equal(t, name, files(t, dir, c.SHA), []string{"100644 a.txt", "100644 second.txt", "100644 x.txt"})
	}
}

func TestBrokenSubmoduleIsRefused(t *testing.T) {
	t.Parallel()
	f, _ := workspace(t)
	dir := f.checkout(t, false)
	git(t, dir, "submodule", "--quiet", "add", f.dir, "sub")
	git(t, dir, "commit", "-qm", "sub")
	begin(t, dir, "", func(o *repo.Options) { o.Branch = "ralph/first" })
	write(t, filepath.Join(dir, "sub/.git"), "gitdir: /nowhere\n")
	r, err := open(t, dir, "")
	if err == nil {
		_, err = r.Begin(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("Begin() with a broken submodule = %v, want an error that names it", err)
	}
}
