package repo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// workspace is a forge with one file and a checkout of it.
func workspace(t *testing.T) (*forge, string) {
	t.Helper()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	return f, f.checkout(t, true)
}

func hasNote(notes []string, part string) bool {
	for _, n := range notes {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}

func TestAgentsOwnCommitsAreKept(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: one")
	git(t, dir, "checkout", "-q", "-b", "feature")
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: two", "--author=Somebody <s@example.com>")
	own := git(t, dir, "rev-parse", "HEAD")
	write(t, filepath.Join(dir, "three.txt"), "3\n")
	change, c := r.pushed(t, f)
	if c.Own != 2 || change.Files != 3 || len(change.Notes) != 0 {
		t.Errorf("Checkpoint() = %+v of %+v, want 2 own commits, 3 files, no notes", c, change)
	}
	equal(t, "log", git(t, f.dir, "log", "--format=%an: %s", "main..ralph/work"), []string{"octo: ralph: iteration", "Somebody: agent: two", "Agent: agent: one"})
	equal(t, "HEAD", git(t, dir, "symbolic-ref", "HEAD"), "refs/heads/ralph/work")
	equal(t, "status", git(t, dir, "status", "--porcelain"), "")

	// Nothing left uncommitted: ours tells of the iteration, and changes nothing.
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "agent: empty")
	write(t, filepath.Join(dir, "four.txt"), "4\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: four")
	four := git(t, dir, "rev-parse", "HEAD")
	_, c = r.pushed(t, f)
	if c.Own != 2 || c.Subject != "ralph: iteration" || !c.Ours {
		t.Errorf("Checkpoint() = %+v, want one of ours on the agent's two commits", c)
	}
	equal(t, "below", git(t, f.dir, "rev-parse", c.SHA+"^", c.SHA+"^{tree}"), git(t, f.dir, "rev-parse", four, four+"^{tree}"))
	equal(t, "HEAD", git(t, dir, "rev-parse", "HEAD"), c.SHA)
	git(t, f.dir, "merge-base", "--is-ancestor", own, c.SHA)
	if _, c = r.checkpoint(t); c.SHA != "" {
		t.Errorf("Checkpoint() = %+v without anything new, want none", c)
	}
}

// Where only the agent commits, one commit of ours at the end tells of it all.
func TestOnlyTheAgentCommits(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	var own string
	for range 2 {
		write(t, filepath.Join(dir, "x.txt"), own+"\n")
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "-qm", "agent")
		own = git(t, dir, "rev-parse", "HEAD")
		r.snapshot(t)
		c, err := r.commitOwn(t.Context(), ralph.Iteration{Number: 1})
		if err != nil || c.SHA != own || c.Ours {
			t.Errorf("CheckpointOwn() = %+v, %v, want the agent's %s", c, err, own)
		}
	}
	_, c := r.pushed(t, f)
	if !c.Ours || git(t, f.dir, "rev-parse", c.SHA+"^") != own {
		t.Errorf("Checkpoint() = %+v, want ours on %s", c, own)
	}
	if _, c = r.checkpoint(t); c.SHA != "" {
		t.Errorf("Checkpoint() = %+v without anything new, want none", c)
	}
}

// A message of the agent's own that looks like ours is not published.
func TestAgentForgesMessages(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url, func(o *repo.Options) {
		o.Forged = func(m string) bool { return strings.Contains(m, "Ralph-Run: 4242") }
	})
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: x\n\nRalph-Run: 4242")
	change, c := r.pushed(t, f)
	if c.Own != 0 || !c.Ours || !hasNote(change.Notes, "published as one") {
		t.Errorf("Checkpoint() = %+v, notes %q, want one commit of ours, and a note", c, change.Notes)
	}
	equal(t, "log", git(t, f.dir, "log", "--format=%s", "main.."+c.SHA), []string{"ralph: iteration"})
	equal(t, "x.txt", git(t, f.dir, "show", c.SHA+":x.txt"), "x")
}

func TestAgentRewritesHistory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		act  func(t *testing.T, dir string)
		want []string
	}{
		{"amend", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "x.txt"), "amended\n")
			git(t, dir, "commit", "-qam", "amended", "--amend")
		}, []string{"100644 a.txt", "100644 second.txt", "100644 x.txt"}},
		{"reset to base", func(t *testing.T, dir string) {
			git(t, dir, "reset", "-q", "--hard", "HEAD~1")
			write(t, filepath.Join(dir, "y.txt"), "y\n")
		}, []string{"100644 a.txt", "100644 second.txt", "100644 y.txt"}},
		{"orphan", func(t *testing.T, dir string) {
			git(t, dir, "checkout", "-q", "--orphan", "fresh")
			git(t, dir, "commit", "-qm", "orphan")
			write(t, filepath.Join(dir, "z.txt"), "z\n")
		}, []string{"100644 a.txt", "100644 second.txt", "100644 x.txt", "100644 z.txt"}},
		{"unborn branch", func(t *testing.T, dir string) {
			git(t, dir, "checkout", "-q", "--orphan", "fresh")
			write(t, filepath.Join(dir, "z.txt"), "z\n")
		}, []string{"100644 a.txt", "100644 second.txt", "100644 x.txt", "100644 z.txt"}},
		{"objects thrown away", func(t *testing.T, dir string) {
			git(t, dir, "reset", "-q", "--hard", "HEAD~1")
			git(t, dir, "reflog", "expire", "--expire=now", "--all")
			git(t, dir, "gc", "-q", "--prune=now")
			write(t, filepath.Join(dir, "y.txt"), "y\n")
		}, []string{"100644 a.txt", "100644 second.txt", "100644 y.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			r := begin(t, dir, f.url)
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			_, first := r.pushed(t, f)
			tt.act(t, dir)
			change, second := r.pushed(t, f)
			equal(t, "parent", git(t, f.dir, "rev-parse", second.SHA+"^"), first.SHA)
			equal(t, "files", files(t, f.dir, second.SHA), tt.want)
			if tt.name != "unborn branch" && !hasNote(change.Notes, "rewritten") {
				t.Errorf("notes = %q, want one on the rewritten history", change.Notes)
			}
			equal(t, "status", git(t, dir, "status", "--porcelain"), "")
			equal(t, "HEAD", git(t, dir, "rev-parse", "HEAD"), second.SHA)
		})
	}
}

func TestDirtyAtStart(t *testing.T) {
	t.Parallel()
	for _, include := range []bool{false, true} {
		name := map[bool]string{false: "kept out", true: "included"}[include]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.seed(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "gone.txt": "g\n", "dir/f": "f\n"})
			dir := f.checkout(t, false)
			write(t, filepath.Join(dir, "a.txt"), "dirty\n")
			write(t, filepath.Join(dir, "b.txt"), "dirty too\n")
			write(t, filepath.Join(dir, "untracked.txt"), "u\n")
			if err := os.Remove(filepath.Join(dir, "gone.txt")); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "dir")); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "dir"), "now a file\n")
			r := begin(t, dir, f.url, func(o *repo.Options) { o.IncludeDirty = include })
			equal(t, "Begin().Dirty", r.start.Dirty, []string{"a.txt", "b.txt", "dir", "dir/f", "gone.txt", "untracked.txt"})
			change := r.snapshot(t)
			if change.SinceStart || (change.Files != 0) != include {
				t.Errorf("Snapshot() = %+v, want nothing since start; files only when included", change)
			}
			write(t, filepath.Join(dir, "b.txt"), "by the agent\n")
			write(t, filepath.Join(dir, "c.txt"), "c\n")
			_, c := r.pushed(t, f)
			want := []string{"100644 a.txt", "100644 b.txt", "100644 c.txt", "100644 dir/f", "100644 gone.txt", "100644 second.txt"}
			text, status := "a\n", []string{" D dir/f", " D gone.txt", " M a.txt", "?? dir", "?? untracked.txt"}
			if include {
				want = []string{"100644 a.txt", "100644 b.txt", "100644 c.txt", "100644 dir", "100644 second.txt", "100644 untracked.txt"}
				text, status = "dirty\n", []string{""}
			}
			equal(t, "files", files(t, f.dir, c.SHA), want)
			equal(t, "a.txt", git(t, f.dir, "show", c.SHA+":a.txt")+"\n", text)
			equal(t, "b.txt", git(t, f.dir, "show", c.SHA+":b.txt"), "by the agent")
			got := strings.Split(git(t, dir, "status", "--porcelain", "-uall"), "\n")
			equal(t, "status", sorted(got), sorted(status))
			equal(t, "a.txt here", read(t, filepath.Join(dir, "a.txt")), "dirty\n")
		})
	}
}

func TestAgentCommitsDirt(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	write(t, filepath.Join(dir, "private.txt"), "not for anybody\n")
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: everything")
	change, c := r.pushed(t, f)
	if c.Own != 0 || !hasNote(change.Notes, "changed before the run") {
		t.Errorf("Checkpoint() = %+v, notes %q, want the agent's commit left out and said", c, change.Notes)
	}
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 second.txt", "100644 x.txt"})
	equal(t, "status", git(t, dir, "status", "--porcelain"), "?? private.txt")
}

func TestLeftOut(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n", ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", ".gitignore": "*.log\n"})
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "ok.txt"), "ok\n")
	write(t, filepath.Join(dir, "debug.log"), "ignored\n")
	write(t, filepath.Join(dir, ".ralph/report.json"), "{}")
	write(t, filepath.Join(dir, ".ralph/guardrail_001_x.log"), "log")
	write(t, filepath.Join(dir, ".ralph/settings.json"), "{}")
	write(t, filepath.Join(dir, "raw.bin"), "raw")
	write(t, filepath.Join(dir, "pointer.bin"), "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("0", 64)+"\nsize 3\n")
	write(t, filepath.Join(dir, "bad\nname\x1b.txt"), "x")
	big, err := os.Create(filepath.Join(dir, "big.dat"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(big.Truncate(100<<20+1), big.Close()); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main", "cloned")
	write(t, filepath.Join(dir, "cloned/x"), "x")
	git(t, filepath.Join(dir, "cloned"), "add", "-A")
	git(t, filepath.Join(dir, "cloned"), "commit", "-qm", "inner")
	git(t, dir, "init", "-q", "-b", "main", "unborn")
	write(t, filepath.Join(dir, "unborn/x"), "x")

	change, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{
		"100644 .gitattributes", "100644 .gitignore", "100644 .ralph/settings.json", "100644 a.txt", "100644 ok.txt", "100644 second.txt",
	})
	for _, want := range []string{`"cloned": a repository`, `"big.dat": larger than 100 MB`, `"raw.bin": its attributes ask for the filter "lfs"`, `"pointer.bin": a Git LFS pointer without its file`, `"bad\nname\x1b.txt": the name holds control`, "unborn"} {
		if !hasNote(change.Notes, want) {
			t.Errorf("notes = %q, want %q", change.Notes, want)
		}
	}

	// The agent's own commit of the same things is not published as it is.
	if err := os.Remove(filepath.Join(dir, "big.dat")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A", "--", "raw.bin", ".ralph")
	git(t, dir, "commit", "-qm", "agent: all in")
	write(t, filepath.Join(dir, "more.txt"), "more\n")
	change, c = r.pushed(t, f)
	if c.Own != 0 || !hasNote(change.Notes, "published as one") {
		t.Errorf("Checkpoint() = %+v, notes %q, want the agent's commit left out", c, change.Notes)
	}
	if got := files(t, f.dir, c.SHA); len(got) != 7 {
		t.Errorf("files = %q, want 7", got)
	}
}

func TestSubmoduleMoves(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	inner := f.seed(t, map[string]string{"i.txt": "i\n"})
	g := newForge(t)
	seed := g.seed(t, map[string]string{"a.txt": "a\n"})
	git(t, seed, "submodule", "add", "-q", inner, "sub")
	git(t, seed, "commit", "-qm", "submodule")
	git(t, seed, "push", "-q", "origin", "main")
	r := begin(t, seed, g.url)
	write(t, filepath.Join(seed, "sub/i.txt"), "i2\n")
	git(t, filepath.Join(seed, "sub"), "commit", "-qam", "inner")
	_, c := r.pushed(t, g)
	equal(t, "gitlink", git(t, g.dir, "rev-parse", c.SHA+":sub"), git(t, filepath.Join(seed, "sub"), "rev-parse", "HEAD"))
}

// disagree gives the branch other, and ralph/work, which is checked out, a commit
// each that do not go together.
func disagree(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "checkout", "-q", "-b", "other")
	write(t, filepath.Join(dir, "a.txt"), "theirs\n")
	git(t, dir, "commit", "-qam", "theirs")
	git(t, dir, "checkout", "-q", "ralph/work")
	write(t, filepath.Join(dir, "a.txt"), "ours\n")
	git(t, dir, "commit", "-qam", "ours")
}

// popConflict leaves a conflict without a merge.
func popConflict(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "a.txt"), "stashed\n")
	git(t, dir, "stash", "-q")
	git(t, dir, "checkout", "-q", "other")
	_, _ = tryGit(dir, "stash", "pop")
}

func TestUnfinishedIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		act        func(t *testing.T, dir string)
	}{
		{"merge", "MERGE_HEAD", func(t *testing.T, dir string) { _, _ = tryGit(dir, "merge", "other") }},
		{"rebase", "rebase", func(t *testing.T, dir string) { _, _ = tryGit(dir, "rebase", "other") }},
		{"cherry-pick", "CHERRY_PICK_HEAD", func(t *testing.T, dir string) { _, _ = tryGit(dir, "cherry-pick", "other") }},
		{"stash pop", `conflict in "a.txt"`, popConflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			r := begin(t, dir, f.url)
			disagree(t, dir)
			tt.act(t, dir)
			_, err := r.Snapshot(t.Context())
			u, ok := errors.AsType[*worktree.UnfinishedError](err)
			if !ok || !strings.Contains(u.Error(), tt.want) {
				t.Fatalf("Snapshot() = %v, want *UnfinishedError with %q", err, tt.want)
			}
			if _, err := r.Checkpoint(t.Context(), ralph.Iteration{}); err == nil {
				t.Error("Checkpoint() after it = nil, want an error")
			}
			// Finished in the next iteration: the work is there.
			git(t, dir, "checkout", "-q", "-f", "ralph/work")
			git(t, dir, "reset", "-q", "--merge")
			for _, f := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge"} {
				_ = os.RemoveAll(filepath.Join(dir, ".git", f))
			}
			write(t, filepath.Join(dir, "a.txt"), "solved\n")
			r.pushed(t, f)
		})
	}
}

// Commits and trees that no server takes are not pushed as they are.
func TestAgentCraftsObjects(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	git(t, dir, "add", "-A")
	raw := filepath.Join(t.TempDir(), "commit")
	write(t, raw, "tree "+git(t, dir, "write-tree")+"\nparent "+git(t, dir, "rev-parse", "HEAD")+"\nauthor nobody\ncommitter nobody\n\nbad\n")
	git(t, dir, "update-ref", "HEAD", git(t, dir, "hash-object", "-t", "commit", "--literally", "-w", raw))
	write(t, filepath.Join(dir, ".g\u200cit/config"), "x\n")
	write(t, filepath.Join(dir, "sub/GIT~2 "), "x\n")
	if err := os.Symlink("x.txt", filepath.Join(dir, ".gitmodules")); err != nil {
		t.Fatal(err)
	}
	change, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 second.txt", "100644 sub/GIT~2 ", "100644 x.txt"})
	if c.Own != 0 || !hasNote(change.Notes, "damaged") {
		t.Errorf("Checkpoint() = %+v, notes %q, want the crafted commit left out", c, change.Notes)
	}
}
