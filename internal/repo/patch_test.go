package repo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a patch holds, git apply brings back.
func TestPatchAppliesWithGit(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	long := strings.Repeat("line\nand another\n", 200)
	f.seed(t, map[string]string{
		"a.txt": "a\n", "long.txt": long, "gone.txt": "gone\n", "empty.txt": "", "run.sh": "x\n", "no-end.txt": "one\ntwo", "to-link": "x\n", "bin": "a\x00b",
	})
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "published.txt"), "1\n")
	_, c := r.pushed(t, f)
	rnd := rand.New(rand.NewPCG(1, 2))
	var random strings.Builder
	for l := range strings.Lines(long) {
		switch rnd.IntN(12) {
		case 0:
		case 1:
			fmt.Fprintf(&random, "new %d\n", rnd.Int())
		default:
			random.WriteString(l)
		}
	}
	write(t, filepath.Join(dir, "long.txt"), random.String())
	write(t, filepath.Join(dir, "a.txt"), "b\n")
	write(t, filepath.Join(dir, "new/deep.txt"), "new\n")
	write(t, filepath.Join(dir, "nothing.txt"), "")
	write(t, filepath.Join(dir, "empty.txt"), "full\n")
	write(t, filepath.Join(dir, "no-end.txt"), "one\n2")
	write(t, filepath.Join(dir, "odd \"na\\me\" ü"), "x\n")
	write(t, filepath.Join(dir, "blank "), "x\n")
	for _, name := range []string{"gone.txt", "to-link"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	symlink(t, "a.txt", filepath.Join(dir, "to-link"))
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "bin"), "b\x00c")
	r.snapshot(t)
	var b strings.Builder
	if err := r.Patch(t.Context(), &b, 1<<20); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), "# not in this patch: bin: not text, 3 bytes\n") {
		t.Errorf("Patch() begins %.100q, want bin named", b.String())
	}
	other := filepath.Join(t.TempDir(), "other")
	git(t, filepath.Dir(other), "clone", "-q", f.dir, other)
	git(t, other, "checkout", "-q", c.SHA)
	patch := filepath.Join(t.TempDir(), "patch")
	write(t, patch, b.String())
	git(t, other, "apply", "--index", patch)
	write(t, filepath.Join(other, "bin"), "b\x00c")
	git(t, other, "add", "-A")
	git(t, dir, "add", "-A")
	equal(t, "tree", git(t, other, "write-tree"), git(t, dir, "write-tree"))
}

// What an iteration changed is shown whatever became of it: committed, not committed, or
// pushed; a small change in a file that is longer than the patch may be, too.
func TestDiffsOfSnapshots(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	long := strings.Repeat("a line of a long file\n", 20_000)
	f.seed(t, map[string]string{"a.txt": "a\n", "long.txt": long})
	dir := f.checkout(t, true)
	write(t, filepath.Join(dir, "dirt.txt"), "not the agent's\n")
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "a.txt"), "b\n")
	write(t, filepath.Join(dir, "bin"), "\x00")
	first, _ := r.checkpoint(t)
	write(t, filepath.Join(dir, "long.txt"), long+"one more\n")
	second := r.snapshot(t)
	write(t, filepath.Join(dir, "much.txt"), long)
	third := r.snapshot(t)
	if second.Before != first.After || third.Before != second.Before || first.Before == first.After {
		t.Errorf("trees = %s %s, %s %s, %s %s: want each from the last commit", first.Before, first.After, second.Before, second.After, third.Before, third.After)
	}
	got, err := r.Diffs(t.Context(), [][2]string{{first.Before, first.After}, {second.Before, second.After}, {second.After, third.After}}, 64<<10)
	if err != nil || len(got) != 3 {
		t.Fatalf("Diffs() = %d, %v, want 3", len(got), err)
	}
	for i, want := range []string{
		"# not in this patch: bin: not text, 1 bytes\ndiff --git a/a.txt b/a.txt\n",
		"diff --git a/long.txt b/long.txt\n",
		"# not in this patch: much.txt: too long\n",
	} {
		if !strings.HasPrefix(string(got[i]), want) || len(got[i]) > 64<<10 || strings.Contains(string(got[i]), "dirt") {
			t.Errorf("patch %d = %.300q, want it to begin %q", i+1, got[i], want)
		}
	}
	if !strings.HasSuffix(string(got[0]), "-a\n+b\n") || !strings.HasSuffix(string(got[1]), "+one more\n") {
		t.Errorf("patches = %.300q, %.300q", got[0], got[1])
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := r.Diffs(ended, [][2]string{{first.Before, first.After}}, 64<<10); err == nil || len(got) > 0 {
		t.Errorf("Diffs() = %q, %v when the time is over, want an error", got, err)
	}
}

// Commits that a step made here before the run are not on the server either: the patch
// holds them, too, and applies to what everybody else has.
func TestPatchHoldsCommitsMadeBefore(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := f.checkout(t, true)
	write(t, filepath.Join(dir, "step.txt"), "by a step\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "by a step")
	write(t, filepath.Join(dir, "step2.txt"), "by a step\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "by a step")
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "new.txt"), "new\n")
	r.snapshot(t)
	var b strings.Builder
	if err := r.Patch(t.Context(), &b, 1<<20); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	git(t, filepath.Dir(other), "clone", "-q", f.dir, other)
	patch := filepath.Join(t.TempDir(), "patch")
	write(t, patch, b.String())
	git(t, other, "apply", "--index", patch)
	git(t, dir, "add", "-A")
	equal(t, "tree", git(t, other, "write-tree"), git(t, dir, "write-tree"))

	r.pushed(t, f)
	write(t, filepath.Join(dir, "later.txt"), "later\n")
	r.snapshot(t)
	b.Reset()
	if err := r.Patch(t.Context(), &b, 1<<20); err != nil || strings.Contains(b.String(), "step") || !strings.Contains(b.String(), "later") {
		t.Errorf("Patch() after a push = %q, %v, want what is not on the server alone", b.String(), err)
	}
}

// What an agent left in the middle of a merge or a rebase is committed by nobody; the
// patch keeps it.
func TestPatchOfWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want, begins string
		act                func(t *testing.T, dir string)
	}{
		{"merge", "ours\n", "# with an unfinished merge (MERGE_HEAD), as it stands\n", func(_ *testing.T, dir string) { _, _ = tryGit(dir, "merge", "other") }},
		{"rebase", "ours\n", "# in the middle of a rebase: the commits up to ", func(_ *testing.T, dir string) { _, _ = tryGit(dir, "rebase", "other") }},
		{"am", "ours\n", "# in the middle of a rebase: the commits up to ", func(_ *testing.T, dir string) { _, _ = tryGit(dir, "rebase", "--apply", "other") }},
		{"stash pop", "stashed\n", "# with an unresolved conflict", popConflict},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			r := begin(t, dir, f.url)
			write(t, filepath.Join(dir, "first.txt"), "published\n")
			_, c := r.pushed(t, f)
			disagree(t, dir)
			tt.act(t, dir)
			write(t, filepath.Join(dir, ".ralph", "report.json"), "{}")
			if _, err := r.Snapshot(t.Context()); err == nil {
				t.Fatal("Snapshot() = nil, want an error")
			}
			var b strings.Builder
			if err := r.Patch(t.Context(), &b, 1<<20); err != nil || !strings.HasPrefix(b.String(), tt.begins) || strings.Contains(b.String(), "report.json") {
				t.Fatalf("Patch() = %q, %v, want one that begins with %q", b.String(), err, tt.begins)
			}
			other := filepath.Join(t.TempDir(), "other")
			git(t, filepath.Dir(other), "clone", "-q", f.dir, other)
			git(t, other, "checkout", "-q", c.SHA)
			patch := filepath.Join(t.TempDir(), "patch")
			write(t, patch, b.String())
			git(t, other, "apply", "--index", patch)
			if got := read(t, filepath.Join(other, "a.txt")); !strings.Contains(got, tt.want) {
				t.Errorf("a.txt = %q, want %q in it", got, tt.want)
			}
		})
	}
}

func TestPatchIsBounded(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	var b strings.Builder
	if err := r.Patch(t.Context(), &b, 1000); err != nil || b.Len() != 0 {
		t.Errorf("Patch() before a snapshot = %q, %v, want nothing", b.String(), err)
	}
	write(t, filepath.Join(dir, "large.txt"), strings.Repeat("x\n", 2000))
	write(t, filepath.Join(dir, "small.txt"), "x\n")
	r.snapshot(t)
	if err := r.Patch(t.Context(), &b, 1000); err != nil || b.Len() > 2000 {
		t.Errorf("Patch() = %d bytes, %v, want few", b.Len(), err)
	}
	if s := b.String(); !strings.Contains(s, "# not in this patch: large.txt: too long\n") || !strings.Contains(s, "+++ b/small.txt\n@@ -0,0 +1,1 @@\n+x\n") {
		t.Errorf("Patch() = %q, want large.txt named and small.txt whole", s)
	}
}
