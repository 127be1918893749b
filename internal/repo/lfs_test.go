package repo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
)

func TestLFSObjectsArriveFirst(t *testing.T) {
	t.Parallel()
	for _, home := range []bool{false, true} {
		t.Run(fmt.Sprintf("sent to the git server %t", home), func(t *testing.T) {
			t.Parallel()
			l, dir := lfsWorkspace(t, true)
			l.atHome = home
			r := begin(t, dir, l.url)
			if err := r.CheckLFS(t.Context()); err != nil {
				t.Fatalf("CheckLFS() = %v", err)
			}
			l.set(func() { l.calls = nil })
			write(t, filepath.Join(dir, "new.bin"), "new content")
			write(t, filepath.Join(dir, "sub/copy.bin"), "new content")
			write(t, filepath.Join(dir, "empty.bin"), "")
			if err := os.Rename(filepath.Join(dir, "old.bin"), filepath.Join(dir, "moved.bin")); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, "new.bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			change, c := r.pushed(t, l.forge)
			if len(change.Notes) != 0 {
				t.Errorf("notes = %q, want none", change.Notes)
			}
			equal(t, "files", files(t, l.dir, c.SHA), []string{
				"100644 .gitattributes", "100644 a.txt", "100644 empty.bin", "100644 moved.bin", "100644 second.txt", "100644 sub/copy.bin", "100755 new.bin",
			})
			equal(t, "new.bin", git(t, l.dir, "show", c.SHA+":new.bin")+"\n", pointerTo("new content"))
			oid := oidOf("new content")
			equal(t, "calls", l.calls, []string{"batch", "put " + oid, "verify " + oid, "push"})
			equal(t, "refs", l.refs[len(l.refs)-1:], []string{"refs/heads/ralph/work"})
			if !l.has("new content") || l.leaked {
				t.Errorf("the server has the object: %t; the store saw the token: %t", l.has("new content"), l.leaked)
			}
			equal(t, "work tree", read(t, filepath.Join(dir, "new.bin")), "new content")
			equal(t, "status", git(t, dir, "status", "--porcelain"), "")

			// Once is enough, also for the agent's own commits.
			write(t, filepath.Join(dir, "third.bin"), "new content")
			write(t, filepath.Join(dir, "own.bin"), "own")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "agent: own")
			_, c = r.pushed(t, l.forge)
			if c.Own != 1 || !l.has("own") || l.count("put "+oid) != 1 {
				t.Errorf("Checkpoint() = %+v, object sent: %t, the first one %d times; want the agent's commit with its object", c, l.has("own"), l.count("put "+oid))
			}
		})
	}
}

// What an LFS server refuses stays in the work tree; everything else arrives.
func TestLFSRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, note string
		act        func(l *lfsForge)
		tries      int // of sending the object, over two checkpoints
	}{
		{"object refused", "over quota", func(l *lfsForge) { l.object = "over quota" }, 0},
		{"batch refused", "422 Unprocessable Entity: what the server says", func(l *lfsForge) { l.batch = 422 }, 0},
		{"no permission", "403 Forbidden", func(l *lfsForge) { l.batch = 403 }, 0},
		{"transfer refused", "413 Request Entity Too Large", func(l *lfsForge) { l.put = func(string) int { return 413 } }, 1},
		{"verify refused", "404 Not Found", func(l *lfsForge) { l.verify = 404 }, 1},
		{"storage full", "507 Insufficient Storage", func(l *lfsForge) { l.put = func(string) int { return 507 } }, 2},
		{"down", "503 Service Unavailable (tried 6 times)", func(l *lfsForge) { l.put = func(string) int { return 503 } }, 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, dir := lfsWorkspace(t, true)
			r := begin(t, dir, l.url)
			tt.act(l)
			write(t, filepath.Join(dir, "new.bin"), "new")
			write(t, filepath.Join(dir, "b.txt"), "b\n")
			_, c := r.pushed(t, l.forge)
			want := []string{"100644 .gitattributes", "100644 a.txt", "100644 b.txt", "100644 old.bin", "100644 second.txt"}
			equal(t, "files", files(t, l.dir, c.SHA), want)
			if notes := r.State().Notes; !hasNote(notes, `not published: "new.bin": Git LFS did not take it: `) || !hasNote(notes, tt.note) {
				t.Errorf("notes = %q, want %q", notes, tt.note)
			}
			equal(t, "status", git(t, dir, "status", "--porcelain"), "?? new.bin")
			write(t, filepath.Join(dir, "c.txt"), "c\n")
			_, c = r.pushed(t, l.forge)
			equal(t, "files", files(t, l.dir, c.SHA), slices.Insert(want, 3, "100644 c.txt"))
			if got := l.count("put "); got != tt.tries {
				t.Errorf("the object was sent %d times, want %d", got, tt.tries)
			}

			// The agent's own commits keep author and message.
			write(t, filepath.Join(dir, "d.txt"), "d\n")
			write(t, filepath.Join(dir, "own.bin"), "own")
			git(t, dir, "add", "d.txt", "own.bin")
			git(t, dir, "commit", "-qm", "agent: own")
			r.pushed(t, l.forge)
			equal(t, "log", git(t, l.dir, "log", "-1", "--format=%an: %s", "ralph/work^"), "Agent: agent: own")
			if got := git(t, l.dir, "ls-tree", "-r", "--name-only", "ralph/work"); strings.Contains(got, "own.bin") || !strings.Contains(got, "d.txt") {
				t.Errorf("files = %q, want d.txt and no own.bin", got)
			}
		})
	}
}

// A server that is back takes what it had not taken.
func TestLFSRetried(t *testing.T) {
	t.Parallel()
	l, dir := lfsWorkspace(t, true)
	r := begin(t, dir, l.url)
	n := 0
	l.put = func(string) int { n++; return map[bool]int{true: 503, false: 200}[n == 1 || n > 2 && n < 9] }
	write(t, filepath.Join(dir, "one.bin"), "one")
	_, c := r.pushed(t, l.forge)
	equal(t, "one.bin", git(t, l.dir, "show", c.SHA+":one.bin")+"\n", pointerTo("one"))

	write(t, filepath.Join(dir, "two.bin"), "two")
	if _, c := r.checkpoint(t); c.SHA != "" || c.PushError != "" {
		t.Errorf("Checkpoint() = %+v, want nothing: the only file could not be sent", c)
	}
	write(t, filepath.Join(dir, "b.txt"), "b\n")
	_, c = r.pushed(t, l.forge)
	equal(t, "two.bin", git(t, l.dir, "show", c.SHA+":two.bin")+"\n", pointerTo("two"))
	if !l.has("two") {
		t.Error("the server lacks the object of two.bin")
	}
}

func TestLFSDangling(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		act  func(t *testing.T, l *lfsForge, dir string)
		want bool // x.bin is published
		note string
	}{
		{"written by hand", func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, "x.bin"), pointerTo("nobody has this"))
		}, false, `"x.bin": a Git LFS pointer without its file`},
		{"on the server", func(t *testing.T, l *lfsForge, dir string) {
			l.set(func() { l.objects[oidOf("there")] = "there" })
			write(t, filepath.Join(dir, "x.bin"), pointerTo("there"))
		}, true, ""},
		{"a pointer of the base", func(t *testing.T, l *lfsForge, dir string) {
			l.set(func() { l.batch = 500 })
			write(t, filepath.Join(dir, "x.bin"), pointerTo("old"))
		}, true, ""},
		{"other content", func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, "x.bin"), "right")
			oid := oidOf("right")
			write(t, filepath.Join(dir, ".git/lfs/objects", oid[:2], oid[2:4], oid), "wrong")
			write(t, filepath.Join(dir, "x.bin"), pointerTo("right"))
		}, false, "not the content it is named by"},
		{"a link to somewhere else", func(t *testing.T, _ *lfsForge, dir string) {
			secret := filepath.Join(t.TempDir(), "secret")
			write(t, secret, "secret")
			oid := oidOf("secret")
			write(t, filepath.Join(dir, ".git/lfs/objects", oid[:2], oid[2:4], "x"), "")
			if err := os.Symlink(secret, filepath.Join(dir, ".git/lfs/objects", oid[:2], oid[2:4], oid)); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "x.bin"), pointerTo("secret"))
		}, false, "without its file"},
		{"the filter fails", func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".git/lfs-broken"), "")
			write(t, filepath.Join(dir, "x.bin"), "raw")
		}, false, "git-lfs made no pointer of it"},
		{"tracked from now on", func(t *testing.T, _ *lfsForge, dir string) {
			write(t, filepath.Join(dir, ".gitattributes"), "*.dat filter=lfs -text\n")
			write(t, filepath.Join(dir, "x.bin"), "plain now")
			write(t, filepath.Join(dir, "x.dat"), pointerTo("nobody has this"))
		}, true, `"x.dat": a Git LFS pointer`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, dir := lfsWorkspace(t, true)
			r := begin(t, dir, l.url)
			tt.act(t, l, dir)
			write(t, filepath.Join(dir, "b.txt"), "b\n")
			change, c := r.pushed(t, l.forge)
			notes := append(change.Notes, r.State().Notes...)
			if got := slices.Contains(files(t, l.dir, c.SHA), "100644 x.bin"); got != tt.want {
				t.Errorf("x.bin is published: %t, want %t; notes %q", got, tt.want, notes)
			}
			if tt.note == "" && len(notes) != 0 || !hasNote(append(notes, ""), tt.note) {
				t.Errorf("notes = %q, want %q", notes, tt.note)
			}
			for _, content := range []string{"secret", "wrong"} {
				if l.has(content) {
					t.Errorf("the server was sent %q", content)
				}
			}
		})
	}
}

// GitHub looks at pointers that no attribute calls so, too.
func TestUnknownLFSObjects(t *testing.T) {
	t.Parallel()
	for _, many := range []bool{false, true} {
		t.Run(fmt.Sprintf("many %t", many), func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			listed := oidOf("one") + `\n    ` + oidOf("two")
			if many {
				listed = oidOf("one") + `\n    ...`
			}
			hook := filepath.Join(f.dir, "hooks/pre-receive")
			write(t, hook, `#!/bin/sh
while read -r old new ref; do
	git grep -q "oid sha256:" "$new" || continue
	printf 'error: GH008: Your push referenced at least 2 unknown Git LFS objects:\n    `+listed+`\nTry to push them with git lfs push --all.\n' >&2
	exit 1
done
`)
			if err := os.Chmod(hook, 0o755); err != nil {
				t.Fatal(err)
			}
			r := begin(t, dir, f.url)
			write(t, filepath.Join(dir, "one"), pointerTo("one"))
			write(t, filepath.Join(dir, "two"), pointerTo("two"))
			write(t, filepath.Join(dir, "b.txt"), "b\n")
			want := []string{"100644 a.txt", "100644 b.txt", "100644 second.txt"}
			_, c := r.pushed(t, f)
			equal(t, "files", files(t, f.dir, c.SHA), want)
			write(t, filepath.Join(dir, "c.txt"), "c\n")
			change, c := r.pushed(t, f)
			equal(t, "files", files(t, f.dir, c.SHA), slices.Insert(want, 2, "100644 c.txt"))
			if got := f.pushes(); got != 3 || !hasNote(change.Notes, `"one", "two": the server refuses a Git LFS pointer`) {
				t.Errorf("%d pushes, notes %q; want one refused push and the files named", got, change.Notes)
			}
		})
	}
}

// A file that takes longer than half of the time there is does not keep the rest
// from arriving: a cancelled run has seconds.
func TestLFSLeavesTimeForTheRest(t *testing.T) {
	t.Parallel()
	l, dir := lfsWorkspace(t, true)
	r := begin(t, dir, l.url)
	wait := make(chan struct{})
	t.Cleanup(func() { close(wait) })
	l.hold = wait
	write(t, filepath.Join(dir, "slow.bin"), "slow")
	write(t, filepath.Join(dir, "b.txt"), "b\n")
	r.snapshot(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	c, err := r.commit(ctx, ralph.Iteration{Number: 1})
	if err != nil || !c.Pushed {
		t.Fatalf("Checkpoint() = %+v, %v, want a push in time", c, err)
	}
	if got := files(t, l.dir, c.SHA); !slices.Contains(got, "100644 b.txt") || slices.Contains(got, "100644 slow.bin") {
		t.Errorf("files = %q, want b.txt and no slow.bin", got)
	}
	if !hasNote(r.State().Notes, `"slow.bin": Git LFS did not take it: `) || !hasNote(r.State().Notes, "no time left for large files") {
		t.Errorf("notes = %q, want the file named", r.State().Notes)
	}
}

// The token for pushing is the one that sends objects.
func TestLFSWithThePushToken(t *testing.T) {
	t.Parallel()
	l, dir := lfsWorkspace(t, true)
	l.pusher = "ghs_forPushingAlone"
	r := begin(t, dir, l.url, func(o *repo.Options) { o.PushToken = secret.New(l.pusher) })
	if err := r.CheckLFS(t.Context()); err != nil {
		t.Errorf("CheckLFS() = %v", err)
	}
	write(t, filepath.Join(dir, "x.bin"), "x")
	r.checkpoint(t)
	if !l.has("x") {
		t.Errorf("the server has no object; notes %q", r.State().Notes)
	}
}

// Objects of commits that were made here before the run go with them.
func TestLFSBeforeTheRun(t *testing.T) {
	t.Parallel()
	l, dir := lfsWorkspace(t, true)
	write(t, filepath.Join(dir, "before.bin"), "before")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "before")
	r := begin(t, dir, l.url)
	write(t, filepath.Join(dir, "b.txt"), "b\n")
	r.pushed(t, l.forge)
	if !l.has("before") {
		t.Error("the server lacks the object of before.bin")
	}
}
