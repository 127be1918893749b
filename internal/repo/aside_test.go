package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

func into(base string) optionFunc { return func(o *repo.Options) { o.Base = base } }

// develop makes a branch on the server that is one commit away from main.
func (f *forge) develop(t *testing.T, seed, name, content string) string {
	t.Helper()
	git(t, seed, "checkout", "-q", "-b", "develop")
	write(t, filepath.Join(seed, name), content)
	git(t, seed, "add", "-A")
	git(t, seed, "commit", "-qm", "develop: "+name)
	git(t, seed, "push", "-q", "origin", "develop")
	tip := git(t, seed, "rev-parse", "HEAD")
	git(t, seed, "checkout", "-q", "main")
	return tip
}

// at is a clone with another commit checked out, on a branch or detached.
func (f *forge) at(t *testing.T, kind, rev, branch string) string {
	t.Helper()
	if kind != "shallow" {
		dir := f.clone(t, kind)
		git(t, dir, "remote", "set-url", "origin", "file://"+f.dir)
		defer git(t, dir, "remote", "set-url", "origin", f.url)
		if branch == "" {
			git(t, dir, "checkout", "-q", "--detach", rev)
		} else {
			git(t, dir, "checkout", "-q", "-B", branch, rev)
		}
		return dir
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "remote", "add", "origin", f.url)
	f.config(t, "uploadpack.allowAnySHA1InWant", "true")
	git(t, dir, "fetch", "-q", "--depth=1", "--no-tags", "file://"+f.dir, rev)
	if branch == "" {
		git(t, dir, "checkout", "-q", "--detach", rev)
	} else {
		git(t, dir, "checkout", "-q", "-B", branch, rev)
	}
	return dir
}

// What is checked out is not the base: only the run's own work is proposed.
func TestCheckedOutIsNotTheBase(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"shallow", "full", "blob:none"} {
		for _, branch := range []string{"develop", ""} {
			name := kind + " on a branch"
			if branch == "" {
				name = kind + " detached"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				leave(t, name, "full on a branch", "blob:none detached")
				f := newForge(t)
				seed := f.seed(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n"})
				tip := f.develop(t, seed, "dir/d.txt", "d\n")
				main := onMain(t, seed, "m.txt", "m\n")
				dir := f.at(t, kind, tip, branch)
				r := begin(t, dir, f.url, into("main"))
				if !hasNote(r.start.Notes, "on top of main") || r.start.BaseSHA != tip {
					t.Errorf("Begin() = %+v, want it said", r.start)
				}
				equal(t, "what the agent sees", read(t, filepath.Join(dir, "dir/d.txt")), "d\n")
				write(t, filepath.Join(dir, "dir/x.txt"), "x\n")
				_, c := r.pushed(t, f)
				equal(t, "parent", git(t, f.dir, "rev-parse", c.SHA+"^"), main)
				equal(t, "proposed", proposed(t, f, c.SHA), []string{"dir/x.txt"})
				git(t, dir, "commit", "-q", "--allow-empty", "-m", "agent: empty")
				write(t, filepath.Join(dir, "a.txt"), "a2\n")
				_, c = r.pushed(t, f)
				equal(t, "proposed", proposed(t, f, c.SHA), []string{"a.txt", "dir/x.txt"})
				ahead(t, r, true)

				// The next run goes on with the branch, without what is checked out.
				dir = f.at(t, kind, tip, branch)
				r = begin(t, dir, f.url, into("main"))
				if !r.start.Resumed || r.start.HeadSHA != c.SHA {
					t.Errorf("Begin() again = %+v, want resumed at %s", r.start, c.SHA)
				}
				if _, err := os.Stat(filepath.Join(dir, "dir/d.txt")); err == nil {
					t.Error("the second run sees a file of develop")
				}
			})
		}
	}
}

// Work that needs what is checked out is proposed with it.
func TestCheckedOutIsNeeded(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	tip := f.develop(t, seed, "d.txt", "d\n")
	onMain(t, seed, "m.txt", "m\n")
	dir := f.at(t, "shallow", tip, "develop")
	r := begin(t, dir, f.url, into("main"))
	write(t, filepath.Join(dir, "d.txt"), "d, and more\n")
	_, c := r.pushed(t, f)
	equal(t, "parent", git(t, f.dir, "rev-parse", c.SHA+"^"), tip)
	if s := r.State(); s.Branch != "ralph/work" || !hasNote(s.Notes, `another "d.txt"`) {
		t.Errorf("State() = %+v, want the branch itself, and the file named", s)
	}
}

// A commit a step made here, on a detached HEAD or on another branch, is the
// run's own work; create-pull-request drops it on a detached HEAD.
func TestCommitsOfAStepAreKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, branch, kind string }{
		{"detached", "", "full"}, {"detached and shallow", "", "shallow"}, {"develop", "develop", "full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": "a\n"})
			tip := f.develop(t, seed, "d.txt", "d\n")
			dir := f.at(t, tt.kind, tip, tt.branch)
			if tt.kind == "shallow" {
				git(t, dir, "update-ref", "refs/remotes/origin/develop", tip)
			}
			write(t, filepath.Join(dir, "step.txt"), "s\n")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "by a step")
			r := begin(t, dir, f.url, into("main"))
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			_, c := r.pushed(t, f)
			equal(t, "log", git(t, f.dir, "log", "--format=%s", "main.."+c.SHA), []string{"ralph: iteration", "by a step"})
			equal(t, "proposed", proposed(t, f, c.SHA), []string{"step.txt", "x.txt"})
		})
	}
}

// The merge commit a pull_request event checks out: its commits are that pull
// request's, not ours.
func TestPullRequestCheckout(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	f.develop(t, seed, "d.txt", "d\n")
	onMain(t, seed, "m.txt", "m\n")
	git(t, seed, "checkout", "-q", "--detach", "main")
	git(t, seed, "merge", "-q", "--no-ff", "-m", "Merge develop into main", "develop")
	git(t, seed, "push", "-q", "origin", "HEAD:refs/pull/7/merge")
	merge := git(t, seed, "rev-parse", "HEAD")
	for _, base := range []string{"main", "develop"} {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			dir := f.at(t, "shallow", merge, "")
			r := begin(t, dir, f.url, into(base), func(o *repo.Options) { o.Branch = "ralph/into-" + base })
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			_, c := r.pushed(t, f)
			equal(t, "parent", git(t, f.dir, "rev-parse", c.SHA+"^"), git(t, f.dir, "rev-parse", base))
		})
	}
}

// An older commit of the base, a folder below the top, and a linked work tree.
func TestUnusualCheckouts(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n", "sub/b.txt": "b\n"})
	old := git(t, seed, "rev-parse", "HEAD")
	onMain(t, seed, "m.txt", "m\n")
	top := t.TempDir()
	for _, tt := range []struct {
		name string
		dir  func() (work, top string)
	}{
		{"older", func() (string, string) { d := f.at(t, "full", old, ""); return d, d }},
		{"subfolder", func() (string, string) { d := f.clone(t, "full"); return filepath.Join(d, "sub"), d }},
		{"worktree", func() (string, string) {
			d, w := f.clone(t, "full"), filepath.Join(top, "linked")
			git(t, d, "worktree", "add", "-q", "--detach", w)
			return w, w
		}},
	} {
		work, top := tt.dir()
		r := begin(t, work, f.url, func(o *repo.Options) { o.Branch = "ralph/" + tt.name })
		write(t, filepath.Join(top, tt.name+".txt"), "x\n")
		_, c := r.pushed(t, f)
		equal(t, tt.name+": proposed", proposed(t, f, c.SHA), []string{tt.name + ".txt"})
		if strings.Contains(strings.Join(r.State().Notes, "\n"), "commit(s)") {
			t.Errorf("%s: notes = %q, want none about commits", tt.name, r.State().Notes)
		}
		ahead(t, r, true)
	}
}
