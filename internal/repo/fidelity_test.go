package repo_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/repotest"
	"github.com/org/ralph-action/internal/repo/worktree"
)

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// What is published is, byte by byte, the tree git add -A makes.
func TestSameTreeAsGit(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{
		"run.sh": "#!/bin/sh\n", "moved/one.txt": "one\n", "moved/two.txt": "two\n", "to-dir": "file\n", "to-file/x": "x\n",
		"crlf.txt": "a\nb\n", "gone.txt": "gone\n", "empty/last.txt": "last\n", "kept.log": "tracked though ignored\n", "link": "file\n",
	})
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at(".gitattributes"), "*.txt text eol=lf\n*.crlf text\n*.raw -text\n")
	write(t, at(".gitignore"), "*.log\n!important.log\nbuild/\n")
	check(os.Chmod(at("run.sh"), 0o755))
	check(os.Rename(at("moved"), at("renamed")))
	check(os.Remove(at("to-dir")))
	write(t, at("to-dir/inside"), "inside\n")
	check(os.RemoveAll(at("to-file")))
	write(t, at("to-file"), "file now\n")
	write(t, at("crlf.txt"), "a\r\nb\r\nc\r\n")
	write(t, at("x.crlf"), "a\r\nb\r\n")
	write(t, at("x.raw"), "a\r\nb\r\n")
	check(os.Remove(at("gone.txt")))
	check(os.RemoveAll(at("empty")))
	write(t, at("kept.log"), "changed\n")
	write(t, at("new.log"), "ignored\n")
	write(t, at("important.log"), "important\n")
	write(t, at("build/out"), "ignored\n")
	check(os.Remove(at("link")))
	check(os.Symlink("run.sh", at("link")))
	check(os.Symlink("/etc/passwd", at("absolute")))
	write(t, at("ünïcode/日本 語.txt"), "\ufeffBOM\n")
	write(t, at("-rf"), "dash\n")
	write(t, at("$(touch pwned)"), "shell\n")
	write(t, at(`back\slash "quoted"`), "quoted\n")
	write(t, at(":(top)magic"), "pathspec\n")
	write(t, at("latin1-\xe9"), "not UTF-8\n")
	write(t, at(".git-not"), "x\n")
	check(os.Mkdir(at("void"), 0o755))

	_, c := r.pushed(t, f)
	git(t, dir, "read-tree", "HEAD~1")
	git(t, dir, "add", "-A")
	equal(t, "tree", git(t, f.dir, "rev-parse", c.SHA+"^{tree}"), git(t, dir, "write-tree"))
	equal(t, "unicode name", git(t, f.dir, "show", c.SHA+":ünïcode/日本 語.txt"), "\ufeffBOM")
	equal(t, "link", git(t, f.dir, "show", c.SHA+":link"), "run.sh")
	if got := files(t, f.dir, c.SHA); !slices.Contains(got, "100755 run.sh") || !slices.Contains(got, "120000 link") {
		t.Errorf("files = %q, want an executable run.sh and a symlink", got)
	}
}

// A file changed in the same clock tick as the index, to the same size, looks
// unchanged to git unless the copy of the index keeps its time.
func TestRacyChangeIsSeen(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	index := filepath.Join(dir, ".git/index")
	for _, content := range []string{"b\n", "c\n", "d\n"} {
		info, err := os.Stat(index)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "a.txt"), content)
		if err := os.Chtimes(filepath.Join(dir, "a.txt"), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		_, c := r.pushed(t, f)
		equal(t, "a.txt", git(t, f.dir, "show", c.SHA+":a.txt")+"\n", content)
	}
}

func TestAgentDamagesIndex(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		act  func(index string) error
	}{
		{"lock left behind", func(index string) error { return os.WriteFile(index+".lock", nil, 0o644) }},
		{"removed", os.Remove},
		{"empty", func(index string) error { return os.Truncate(index, 0) }},
		{"a link to elsewhere", func(index string) error { return errors.Join(os.Remove(index), os.Symlink("/etc/passwd", index)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.seed(t, map[string]string{"a.txt": "a\n", "kept.log": "tracked\n", ".gitignore": "*.log\n"})
			dir := f.checkout(t, true)
			r := begin(t, dir, f.url)
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			if err := tt.act(filepath.Join(dir, ".git/index")); err != nil {
				t.Fatal(err)
			}
			_, c := r.pushed(t, f)
			equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 .gitignore", "100644 a.txt", "100644 kept.log", "100644 second.txt", "100644 x.txt"})
		})
	}
}

func TestSubFolder(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n", "sub/b.txt": "b\n"})
	dir := f.checkout(t, true)
	r := begin(t, filepath.Join(dir, "sub"), f.url)
	write(t, filepath.Join(dir, "sub/new.txt"), "n\n")
	write(t, filepath.Join(dir, "top.txt"), "t\n")
	write(t, filepath.Join(dir, "sub/.ralph/report.json"), "{}")
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 second.txt", "100644 sub/b.txt", "100644 sub/new.txt", "100644 top.txt"})
}

func TestLinkedWorktreeLocally(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	_ = f
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, dir, "worktree", "add", "-q", "-b", "topic", tree)
	r := begin(t, tree, "")
	write(t, filepath.Join(tree, "x.txt"), "x\n")
	_, c := r.checkpoint(t)
	equal(t, "HEAD", git(t, tree, "rev-parse", "ralph/work"), c.SHA)
	equal(t, "status", git(t, tree, "status", "--porcelain"), "")
	if r.start.Base != "topic" {
		t.Errorf("Begin().Base = %q, want topic", r.start.Base)
	}
}

func TestLocally(t *testing.T) {
	t.Parallel()
	f, _ := workspace(t)
	dir := f.checkout(t, false)
	main := git(t, dir, "rev-parse", "main")
	r := begin(t, dir, "")
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, c := r.checkpoint(t)
	if c.SHA == "" || c.Pushed || c.PushError != "" {
		t.Errorf("Checkpoint() = %+v, want a commit and no push", c)
	}
	if s := r.State(); s.HeadSHA != c.SHA || s.Pushed || s.Branch != "ralph/work" {
		t.Errorf("State() = %+v, want %s unpushed on ralph/work", s, c.SHA)
	}
	equal(t, "branch", git(t, dir, "rev-parse", "ralph/work"), c.SHA)
	equal(t, "main", git(t, dir, "rev-parse", "main"), main)

	// The next day, from main.
	git(t, dir, "checkout", "-q", "main")
	r = begin(t, dir, "")
	if !r.start.Resumed || len(r.start.Messages) != 1 {
		t.Errorf("Begin() = %+v, want the branch continued", r.start)
	}
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	_, d := r.checkpoint(t)
	equal(t, "parent", git(t, dir, "rev-parse", d.SHA+"^"), c.SHA)

	// Dirt in the way of the branch.
	git(t, dir, "checkout", "-q", "main")
	write(t, filepath.Join(dir, "x.txt"), "in the way\n")
	o, err := open(t, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.Begin(t.Context())
	if _, ok := errors.AsType[*worktree.OverwriteError](err); !ok {
		t.Errorf("Begin() over dirt = %v, want *OverwriteError", err)
	} else if strings.Contains(err.Error(), "hint") {
		t.Errorf("Begin() over dirt = %v, want git's error without its hints, which are for people who type commands", err)
	}
	equal(t, "x.txt", read(t, filepath.Join(dir, "x.txt")), "in the way\n")
	equal(t, "HEAD", git(t, dir, "symbolic-ref", "HEAD"), "refs/heads/main")
}

func TestSparseCheckout(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"in/a.txt": "a\n", "out/b.txt": "b\n"})
	dir := f.checkout(t, true)
	git(t, dir, "config", "extensions.worktreeConfig", "true")
	git(t, dir, "sparse-checkout", "set", "in")
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "in/new.txt"), "n\n")
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 in/a.txt", "100644 in/new.txt", "100644 out/b.txt", "100644 second.txt"})
	equal(t, "status", git(t, dir, "status", "--porcelain"), "")
}

// The workflow checked out the work branch itself.
func TestWorkBranchCheckedOut(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, first := r.pushed(t, f)
	dir = filepath.Join(t.TempDir(), "clone")
	git(t, f.dir, "clone", "-q", "-b", "ralph/work", "--depth=1", "file://"+f.dir, dir)
	r = begin(t, dir, f.url)
	if r.start.Base != "main" || r.start.HeadSHA != first.SHA {
		t.Errorf("Begin() = %+v, want base main at %s", r.start, first.SHA)
	}
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	_, c := r.pushed(t, f)
	equal(t, "parent", git(t, f.dir, "rev-parse", c.SHA+"^"), first.SHA)
}

func TestEverythingRemoved(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	for _, name := range []string{"a.txt", "second.txt"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string(nil))
	equal(t, "status", git(t, dir, "status", "--porcelain"), "")
}

// A workspace of another uid, as in a container that runs as root.
func TestWorkspaceOfAnotherUser(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	g := &repotest.Sandbox{Dir: dir, Env: []string{"GIT_TEST_ASSUME_DIFFERENT_OWNER=1"}}
	if err := g.Git(t.Context(), worktree.Command{Args: []string{"status"}}); err == nil {
		t.Fatal("git status = nil, want dubious ownership")
	}
	r := begin(t, dir, f.url, func(o *repo.Options) { o.Sandbox = g })
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
}

func TestMark(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "made.txt"), "by setup\n")
	write(t, filepath.Join(dir, "a.txt"), "by setup\n")
	if err := r.Mark(t.Context()); err != nil {
		t.Fatal(err)
	}
	if change := r.snapshot(t); change.SinceStart || change.Files != 0 || change.Tree == r.Seen() {
		t.Errorf("Snapshot() = %+v, want nothing since start, and a tree that is not the one to publish, %s", change, r.Seen())
	}
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.snapshot(t)
	r.Judging(true)
	write(t, filepath.Join(dir, "made.txt"), "again\n")
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 second.txt", "100644 x.txt"})
	equal(t, "a.txt", git(t, f.dir, "show", c.SHA+":a.txt"), "a")
}

// What is new while guardrails run is theirs until the agent changes it, whether or
// not something was committed in between; what they do to files that are there is
// published.
func TestJudging(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "new.txt"), "by the agent\n")
	r.snapshot(t)
	r.Judging(true)
	for _, name := range []string{"one.txt", "two.txt", "a.txt", "new.txt"} {
		write(t, filepath.Join(dir, name), "by a guardrail\n")
	}
	if change := r.snapshot(t); change.Files != 2 || !hasNote(change.Notes, `"one.txt", "two.txt": made by a guardrail`) {
		t.Errorf("Snapshot() = %+v, want 2 files, and one.txt and two.txt named", change)
	}
	write(t, filepath.Join(dir, "one.txt"), "by the agent\n")
	r.snapshot(t)
	r.Judging(true)
	write(t, filepath.Join(dir, "one.txt"), "formatted\n")
	write(t, filepath.Join(dir, "two.txt"), "another time\n")
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 new.txt", "100644 one.txt", "100644 second.txt"})
	equal(t, "one.txt", git(t, f.dir, "show", c.SHA+":one.txt"), "formatted")
	equal(t, "a.txt", git(t, f.dir, "show", c.SHA+":a.txt"), "by a guardrail")
	// A commit of the agent's own takes it along only when it changed it.
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: all")
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, c = r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 new.txt", "100644 one.txt", "100644 second.txt", "100644 x.txt"})
}

// Neither a cache nor what a guardrail makes or keeps rewriting is work of the agent's.
func TestWork(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url, func(o *repo.Options) { o.Cache = cacheOf })
	none := r.snapshot(t).Work
	write(t, filepath.Join(dir, "__pycache__/a.pyc"), "a\n")
	if c := r.snapshot(t); c.SinceStart || c.Work != none {
		t.Errorf("Snapshot() = %+v with a cache, want no work", c)
	}
	for n := range 2 {
		r.Judging(true)
		write(t, filepath.Join(dir, "a.txt"), fmt.Sprintf("checked at %d\n", n))
		write(t, filepath.Join(dir, "report.xml"), fmt.Sprint(n))
		r.snapshot(t)
		if c := r.snapshot(t); c.Work == none && n == 0 {
			t.Errorf("Snapshot() = %+v, want what a guardrail changed once to count", c)
		}
	}
	write(t, filepath.Join(dir, "a.txt"), "checked by the agent\n")
	if c := r.snapshot(t); c.SinceStart || c.Work != none {
		t.Errorf("Snapshot() = %+v with what guardrails always rewrite, want no work", c)
	}
	write(t, filepath.Join(dir, "second.txt"), "by the agent\n")
	r.snapshot(t)
	r.Judging(true)
	write(t, filepath.Join(dir, "second.txt"), "formatted\n")
	if c := r.snapshot(t); !c.SinceStart || c.Work == none {
		t.Errorf("Snapshot() = %+v with a change of the agent's, want work", c)
	}
}
