package repo_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/repo"
)

// localTree is the tree of the workspace's branch.
func localTree(t testing.TB, dir string) string {
	t.Helper()
	return git(t, dir, "rev-parse", "ralph/work^{tree}")
}

// sameTree compares what arrived with what was committed here.
func sameTree(t testing.TB, r *run, f *forge, rev string) {
	t.Helper()
	if got, want := git(t, f.dir, "rev-parse", rev+"^{tree}"), localTree(t, r.dir); got != want {
		t.Errorf("tree of %s = %s, want %s: %s", rev, got, want, git(t, f.dir, "ls-tree", "-r", rev))
	}
}

// What the forge signs is, byte by byte, what a push would have brought:
// publishing.md, "sign-commits".
func TestSignedTreeIsTheSame(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{
		"run.sh": "#!/bin/sh\n", "moved/one.txt": "one\n", "moved/two.txt": "two\n", "to-dir": "file\n", "to-file/x": "x\n",
		"gone.txt": "gone\n", "empty/last.txt": "last\n", "link": "file\n", "to-link": "file\n", "deep/a/b/c.txt": "c\n",
	})
	d := newGitData(t, f)
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url, d.option(t))
	at := func(name string) string { return filepath.Join(dir, name) }
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.Chmod(at("run.sh"), 0o755))
	check(os.Rename(at("moved"), at("renamed")))
	check(os.Remove(at("to-dir")))
	write(t, at("to-dir/inside"), "inside\n")
	check(os.RemoveAll(at("to-file")))
	write(t, at("to-file"), "file now\n")
	check(os.Remove(at("gone.txt")))
	check(os.RemoveAll(at("empty")))
	check(os.Remove(at("link")))
	check(os.Symlink("run.sh", at("link")))
	check(os.Remove(at("to-link")))
	check(os.Symlink("/etc/passwd", at("to-link")))
	write(t, at("ünïcode/日本 語.txt"), "\ufeffBOM, \u2028, <&>, \x01\x7f\r\n")
	write(t, at("-rf"), "dash\n")
	write(t, at(`back\slash "quoted"`), "no end")
	write(t, at("binary"), "\x00\x01\xff\xfe")
	write(t, at("latin1.txt"), "caf\xe9\n")
	write(t, at("nothing"), "")
	write(t, at("large.txt"), strings.Repeat("some text\n", 80_000))
	write(t, at("deep/a/b/c.txt"), "changed\n")
	_, c := r.pushed(t, f)
	sameTree(t, r, f, c.SHA)
	if s := r.State(); !s.Signed || !s.Verified || s.HeadSHA != c.SHA {
		t.Errorf("State() = %+v, want %s signed and verified", s, c.SHA)
	}
	equal(t, "message", git(t, f.dir, "log", "-1", "--format=%B", c.SHA), "ralph: iteration\n\nRalph-Iteration: 1\n")
	equal(t, "signed", git(t, f.dir, "log", "-1", "--format=%cn", c.SHA), "GitHub")
	if n := d.count("POST blobs"); n != 3 {
		t.Errorf("%d blobs were uploaded, want the three that are no text of reasonable size", n)
	}

	// The next ones stand on it, and cost three calls each.
	before := d.count("POST trees")
	write(t, at("next.txt"), "next\n")
	check(os.Remove(at("binary")))
	_, next := r.pushed(t, f)
	sameTree(t, r, f, next.SHA)
	equal(t, "parent", git(t, f.dir, "rev-parse", next.SHA+"^"), c.SHA)
	if n := d.count("POST trees") - before; n != 1 {
		t.Errorf("the next commit took %d tree requests, want 1", n)
	}
}

// The agent's own commits are made one by one, empty ones and merges of what
// the server has included, submodules too.
func TestSignedOwnCommits(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	git(t, seed, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("a", 40)+",module")
	git(t, seed, "commit", "-qm", "a module")
	git(t, seed, "push", "-q", "origin", "main")
	dir := f.checkout(t, true)
	other := f.seedBranch(t, "other", "other.txt")
	d := newGitData(t, f)
	r := begin(t, dir, f.url, d.option(t))
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	git(t, dir, "add", "-A")
	git(t, dir, "update-index", "--cacheinfo", "160000,"+other+",module")
	git(t, dir, "commit", "-qm", "agent: one")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "agent: nothing")
	git(t, dir, "fetch", "-q", "file://"+f.dir, "other")
	git(t, dir, "merge", "-q", "--allow-unrelated-histories", "-m", "agent: merge", "FETCH_HEAD")
	git(t, dir, "checkout", "-q", "-b", "side", "HEAD~2")
	write(t, filepath.Join(dir, "side.txt"), "s\n")
	git(t, dir, "add", "side.txt")
	git(t, dir, "commit", "-qm", "side")
	git(t, dir, "checkout", "-q", "ralph/work")
	git(t, dir, "merge", "-q", "-m", "agent: merge of a branch of its own", "side")
	write(t, filepath.Join(dir, "left.txt"), "left\n")
	_, c := r.pushed(t, f)
	equal(t, "subjects", git(t, f.dir, "log", "--first-parent", "--format=%s", "main..ralph/work"),
		[]string{"ralph: iteration", "agent: merge of a branch of its own", "agent: merge", "agent: nothing", "agent: one"})
	git(t, f.dir, "merge-base", "--is-ancestor", other, c.SHA)
	equal(t, "module", git(t, f.dir, "rev-parse", c.SHA+":module"), other)
	sameTree(t, r, f, c.SHA)
	if s := r.State(); !s.Verified {
		t.Errorf("State() = %+v, want it verified", s)
	}
}

// seedBranch makes a branch with one commit on the forge.
func (f *forge) seedBranch(t testing.TB, branch, name string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "clone", "-q", "-b", "main", f.dir, "x")
	dir = filepath.Join(dir, "x")
	git(t, dir, "checkout", "-q", "-b", branch)
	write(t, filepath.Join(dir, name), name+"\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", name)
	git(t, dir, "push", "-q", "origin", branch)
	return git(t, dir, "rev-parse", "HEAD")
}

// Commits that were made in the checkout before the run are made by the forge,
// too.
func TestSignedCommitsOfBeforeTheRun(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	write(t, filepath.Join(dir, "early.txt"), "early\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "an earlier step")
	d := newGitData(t, f)
	r := begin(t, dir, f.url, d.option(t))
	write(t, filepath.Join(dir, "late.txt"), "late\n")
	_, c := r.pushed(t, f)
	equal(t, "log", git(t, f.dir, "log", "--format=%cn %s", "main.."+c.SHA), []string{"GitHub ralph: iteration", "GitHub an earlier step"})
	sameTree(t, r, f, c.SHA)
}

func TestSignedManyFiles(t *testing.T) {
	t.Parallel()
	n := 100
	if long {
		n = 1000
	}
	f, dir := workspace(t)
	d := newGitData(t, f)
	r := begin(t, dir, f.url, d.option(t))
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i%30, i)), strings.Repeat(fmt.Sprintf("line %d\n", i), 20))
	}
	started := time.Now()
	_, c := r.pushed(t, f)
	sameTree(t, r, f, c.SHA)
	if n := d.count("POST trees") + d.count("POST blobs") + d.count("POST commits") + d.count("POST refs"); n > 12 {
		t.Errorf("the files took %d calls, want at most 12", n)
	}
	t.Logf("%s, %d tree requests, at most %d entries and %d bytes", time.Since(started).Round(time.Millisecond), d.count("POST trees"), d.entries, d.bytes)
}

// Binary files go up a few at a time, each once.
func TestSignedUploadsInParallel(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	d := newGitData(t, f)
	var held atomic.Int32
	all := make(chan struct{})
	d.before = func(op string) { // the first eight wait for each other
		if op == "POST blobs" {
			if held.Add(1) == 8 {
				close(all)
			}
			<-all
		}
	}
	r := begin(t, dir, f.url, d.option(t))
	for i := range 40 {
		write(t, filepath.Join(dir, fmt.Sprintf("b%d.bin", i)), fmt.Sprintf("\x00%d", i%30)) // ten of them twice
	}
	_, c := r.pushed(t, f)
	sameTree(t, r, f, c.SHA)
	if d.most > 8 || d.count("POST blobs") != 30 {
		t.Errorf("%d blobs, %d at once, want 30, at most 8 at once", d.count("POST blobs"), d.most)
	}
}

// Somebody pushes between our look and the move of the branch.
func TestSignedBranchMoved(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		t.Run(fmt.Sprintf("first push %t", first), func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			d := newGitData(t, f)
			r := begin(t, dir, f.url, d.option(t))
			if !first {
				write(t, filepath.Join(dir, "zero.txt"), "0\n")
				r.pushed(t, f)
			}
			var once atomic.Bool
			d.before = func(op string) {
				if (op == "PATCH refs" || op == "POST refs") && once.CompareAndSwap(false, true) {
					if first {
						git(t, f.dir, "branch", "ralph/work", "main")
					}
					somebody(t, f, "theirs.txt", "t\n")
				}
			}
			write(t, filepath.Join(dir, "one.txt"), "1\n")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "agent: one")
			write(t, filepath.Join(dir, "one.txt"), "1 again\n")
			_, c := r.pushed(t, f)
			equal(t, "log", git(t, f.dir, "log", "--format=%s", "-3", c.SHA), []string{"ralph: iteration", "agent: one", "somebody: theirs.txt"})
			equal(t, "theirs", git(t, f.dir, "show", c.SHA+":theirs.txt"), "t")
			equal(t, "ours", git(t, f.dir, "show", c.SHA+":one.txt"), "1 again")
			write(t, filepath.Join(dir, "two.txt"), "2\n")
			_, c = r.pushed(t, f)
			equal(t, "log", git(t, f.dir, "rev-list", "--count", "main.."+c.SHA), map[bool]string{true: "4", false: "5"}[first])
			if s := r.State(); s.Branch != "ralph/work" || !s.Verified {
				t.Errorf("State() = %+v, want ralph/work, verified", s)
			}
		})
	}
}

func TestSignedConflict(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	d := newGitData(t, f)
	r := begin(t, dir, f.url, d.option(t))
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
	theirs := somebody(t, f, "one.txt", "theirs\n")
	write(t, filepath.Join(dir, "one.txt"), "ours\n")
	r.pushed(t, f)
	s := r.State()
	if !strings.HasPrefix(s.Branch, "ralph/work-") || !hasNote(s.Notes, `"one.txt"`) {
		t.Fatalf("State() = %+v, want a branch of its own", s)
	}
	equal(t, "their branch", git(t, f.dir, "rev-parse", "ralph/work"), theirs)
	equal(t, "our branch", git(t, f.dir, "show", s.Branch+":one.txt"), "ours")
	sameTree(t, r, f, s.HeadSHA)
}

// What the forge stores is compared with what it was given, before the branch
// moves.
func TestSignedTampered(t *testing.T) {
	t.Parallel()
	wrong := strings.Repeat("1", 40)
	for _, test := range []struct {
		name   string
		tamper func(op string, answer map[string]any)
		want   string
	}{
		{"blob", func(op string, a map[string]any) {
			if op == "POST blobs" {
				a["sha"] = wrong
			}
		}, `upload "b.bin"`},
		{"tree", func(op string, a map[string]any) {
			if op == "POST trees" {
				a["sha"] = wrong
			}
		}, "create a tree"},
		{"tree of the commit", func(op string, a map[string]any) {
			if op == "POST commits" {
				a["tree"] = map[string]any{"sha": wrong}
			}
		}, "made another one"},
		{"parents", func(op string, a map[string]any) {
			if op == "POST commits" {
				a["parents"] = []any{}
			}
		}, "made another one"},
		{"no id", func(op string, a map[string]any) {
			if op == "POST commits" {
				a["sha"] = "x/../y"
			}
		}, "made another one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			d := newGitData(t, f)
			d.tamper = test.tamper
			r := begin(t, dir, f.url, d.option(t))
			write(t, filepath.Join(dir, "b.bin"), "\x00\x01")
			write(t, filepath.Join(dir, "c.txt"), "c\n")
			_, c := r.checkpoint(t)
			if c.Pushed || !strings.Contains(c.PushError, test.want) {
				t.Errorf("Checkpoint() = %+v, want an error with %q", c, test.want)
			}
			if out, err := tryGit(f.dir, "rev-parse", "-q", "--verify", "ralph/work"); err == nil {
				t.Errorf("the branch is at %s, want none", out)
			}
		})
	}
}

// A run that dies leaves objects to which nothing points; the next one does the
// work anew, and nothing is there twice.
func TestSignedCrashAndAgain(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"POST blobs", "POST trees", "POST commits", "POST refs"} {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s done %t", op, done), func(t *testing.T) {
				t.Parallel()
				f, dir := workspace(t)
				d := newGitData(t, f)
				var dead atomic.Bool
				d.lose = func(at string) bool {
					if at == op && done {
						dead.Store(true)
					}
					return dead.Load()
				}
				d.before = func(at string) {
					if at == op && !done || dead.Load() {
						dead.Store(true)
						panic(http.ErrAbortHandler)
					}
				}
				work := func(dir string) {
					write(t, filepath.Join(dir, "b.bin"), "\x00\x01")
					write(t, filepath.Join(dir, "one.txt"), "1\n")
				}
				r := begin(t, dir, f.url, d.option(t))
				work(dir)
				if _, c := r.checkpoint(t); c.Pushed {
					t.Fatalf("Checkpoint() = %+v, want it not pushed", c)
				}
				d.mu.Lock()
				d.lose, d.before = nil, nil
				d.mu.Unlock()
				again := f.checkout(t, true)
				r = begin(t, again, f.url, d.option(t))
				work(again)
				if _, c := r.checkpoint(t); c.PushError != "" {
					t.Fatalf("Checkpoint() = %+v, want it pushed or nothing to push", c)
				}
				equal(t, "commits", git(t, f.dir, "rev-list", "--count", "main..ralph/work"), "1")
				equal(t, "files", files(t, f.dir, "ralph/work"), []string{"100644 a.txt", "100644 b.bin", "100644 one.txt", "100644 second.txt"})
			})
		}
	}
}

// An answer that gets lost in one attempt changes nothing.
func TestSignedAnswerLost(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"POST blobs", "POST trees", "POST commits", "POST refs", "PATCH refs"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			d := newGitData(t, f)
			var once atomic.Bool
			d.lose = func(at string) bool { return at == op && once.CompareAndSwap(false, true) }
			r := begin(t, dir, f.url, d.option(t))
			write(t, filepath.Join(dir, "b.bin"), "\x00\x01")
			r.pushed(t, f)
			write(t, filepath.Join(dir, "c.txt"), "c\n")
			r.pushed(t, f)
			equal(t, "commits", git(t, f.dir, "rev-list", "--count", "main..ralph/work"), "2")
		})
	}
}

// A personal token's commits are made and not signed; a forge that says nothing
// of how it stores them is asked for them.
func TestSignedUnverified(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		personal, silent bool
	}{{"personal token", true, false}, {"says nothing", false, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			d := newGitData(t, f)
			d.personal, d.silent = test.personal, test.silent
			r := begin(t, dir, f.url, d.option(t))
			for i := range 3 {
				write(t, filepath.Join(dir, "one.txt"), fmt.Sprintln(i))
				_, c := r.pushed(t, f)
				sameTree(t, r, f, c.SHA)
			}
			s := r.State()
			if !s.Signed || s.Verified == test.personal || hasNote(s.Notes, "does not call it verified (unsigned)") != test.personal {
				t.Errorf("State() = %+v, want verified = %t", s, !test.personal)
			}
			fetched := 0
			f.mu.Lock()
			fetched = f.posts
			f.mu.Unlock()
			if (fetched > 0) != test.silent {
				t.Errorf("%d fetches, want some only when the forge does not say how it stores a commit", fetched)
			}
		})
	}
}

// What the API cannot carry is left out, with a note, and everything else
// arrives.
func TestSignedLeavesOut(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	d := newGitData(t, f)
	r := begin(t, dir, f.url, d.option(t))
	write(t, filepath.Join(dir, "caf\xe9.txt"), "latin\n")
	if err := os.WriteFile(filepath.Join(dir, "big.bin"), bytes.Repeat([]byte("\x00abc"), 42_000_000/4), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "fine.txt"), "fine\n")
	_, c := r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 fine.txt", "100644 second.txt"})
	if s := r.State(); !hasNote(s.Notes, "big.bin") || !hasNote(s.Notes, "not UTF-8") {
		t.Errorf("State() = %+v, want notes of both files", s)
	}
	if _, err := os.Stat(filepath.Join(dir, "big.bin")); err != nil {
		t.Errorf("the work tree lost it: %v", err)
	}
}

// 39 MB arrive, and are never held in memory.
func TestSignedLargeFile(t *testing.T) {
	if !long {
		t.Skip("needs the tag long")
	}
	f, dir := workspace(t)
	d := newGitData(t, f)
	r := begin(t, dir, f.url, d.option(t))
	big, err := os.Create(filepath.Join(dir, "big.bin"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.CopyN(big, rand.NewChaCha8([32]byte{1}), 39_000_000)
	if err := errors.Join(err, big.Close()); err != nil {
		t.Fatal(err)
	}
	r.snapshot(t)
	runtime.GC()
	var before, peak runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	var most uint64
	go func() {
		defer close(done)
		for !d.finished() {
			runtime.ReadMemStats(&peak)
			most = max(most, peak.HeapInuse)
			time.Sleep(2 * time.Millisecond)
		}
	}()
	started := time.Now()
	_, c := r.pushed(t, f)
	took := time.Since(started)
	<-done
	sameTree(t, r, f, c.SHA)
	t.Logf("39 MB took %s, %d MiB more on the heap", took.Round(time.Millisecond), int64(most-before.HeapInuse)>>20)
	if more := int64(most) - int64(before.HeapInuse); more > 24<<20 {
		t.Errorf("%d MiB more on the heap, want it streamed", more>>20)
	}
}

func (d *gitData) finished() bool { return d.count("POST refs") > 0 }

func TestSignedRebaseIsRefused(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	d := newGitData(t, f)
	_, err := open(t, dir, f.url, d.option(t), func(o *repo.Options) { o.UpdateBase = repo.UpdateRebase })
	if err == nil || !strings.Contains(err.Error(), "use merge") {
		t.Errorf("Open() = %v, want it refused", err)
	}
}

// A later run goes on with the branch, and brings the base into it by a merge
// that the forge signs with both parents.
func TestSignedBranchIsContinued(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	d := newGitData(t, f)
	r := begin(t, dir, f.url, d.option(t))
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	_, first := r.pushed(t, f)
	somewhere := t.TempDir()
	git(t, somewhere, "clone", "-q", "-b", "main", f.dir, "x")
	somewhere = filepath.Join(somewhere, "x")
	write(t, filepath.Join(somewhere, "moved.txt"), "m\n")
	git(t, somewhere, "add", "-A")
	git(t, somewhere, "commit", "-qm", "the base moves")
	git(t, somewhere, "push", "-q", "origin", "main")

	again := f.checkout(t, true)
	r = begin(t, again, f.url, d.option(t), func(o *repo.Options) { o.UpdateBase = repo.UpdateMerge })
	write(t, filepath.Join(again, "two.txt"), "2\n")
	_, c := r.pushed(t, f)
	equal(t, "log", git(t, f.dir, "log", "--first-parent", "--format=%cn %s", "main.."+c.SHA),
		[]string{"GitHub ralph: iteration", "GitHub Merge branch 'main' into ralph/work", "GitHub ralph: iteration"})
	equal(t, "merge", git(t, f.dir, "log", "-1", "--format=%P", c.SHA+"^"), first.SHA+" "+git(t, f.dir, "rev-parse", "main"))
	sameTree(t, r, f, c.SHA)
}
