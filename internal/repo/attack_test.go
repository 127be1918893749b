package repo_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // git's own
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/repo/credentials"
	"github.com/org/ralph-action/internal/repo/repotest"
	"github.com/org/ralph-action/internal/repo/worktree"
)

// forge a loose object: any content under the name of another.
func doctor(t *testing.T, dir, id, kind string, change func(content string) string) {
	t.Helper()
	content := change(git(t, dir, "cat-file", kind, id) + "\n")
	packs, _ := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
	for _, p := range packs {
		moved := filepath.Join(t.TempDir(), "pack")
		if err := os.Rename(p, moved); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(moved)
		if err != nil {
			t.Fatal(err)
		}
		g := &repotest.Sandbox{Dir: dir}
		if err := g.Git(t.Context(), worktree.Command{Args: []string{"unpack-objects", "-q"}, Stdin: f}); err != nil {
			t.Fatal(err)
		}
		f.Close()
		_ = os.Remove(strings.TrimSuffix(p, ".pack") + ".idx")
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = fmt.Fprintf(z, "%s %d\x00%s", kind, len(content), content)
	z.Close()
	file := filepath.Join(dir, ".git/objects", id[:2], id[2:])
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o444); err != nil {
		t.Fatal(err)
	}
}

// An agent of an earlier run wrote into the objects of a workspace that is kept: a
// commit of the base seems to stand on what is on the branch. Somebody else's
// commits there are not lost.
func TestDoctoredAncestorsLoseNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		act  func(t *testing.T, dir, below, theirs string)
	}{
		{"object under a false name", func(t *testing.T, dir, below, theirs string) {
			doctor(t, dir, below, "commit", func(c string) string {
				tree, rest, _ := strings.Cut(c, "\n")
				return tree + "\nparent " + theirs + "\n" + rest[strings.Index(rest, "author "):]
			})
		}},
		{"graft", func(t *testing.T, dir, below, theirs string) {
			write(t, filepath.Join(dir, ".git/info/grafts"), below+" "+theirs+"\n")
		}},
		{"replacement", func(t *testing.T, dir, below, theirs string) {
			git(t, dir, "replace", "--graft", below, theirs)
		}},
		{"commit graph", func(t *testing.T, dir, below, theirs string) {
			git(t, dir, "replace", "--graft", below, theirs)
			git(t, dir, "-c", "core.useReplaceRefs=true", "commit-graph", "write", "--reachable")
			forgeCommitGraph(t, dir, below, theirs)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": "a\n"})
			for _, name := range []string{"b.txt", "c.txt"} {
				write(t, filepath.Join(seed, name), "x\n")
				commitAll(t, seed, name)
			}
			git(t, seed, "push", "-q", "origin", "HEAD:main")
			git(t, seed, "checkout", "-q", "-b", "ralph/work", "HEAD~2")
			write(t, filepath.Join(seed, "theirs.txt"), "theirs\n")
			theirs := commitAll(t, seed, "somebody's work")
			git(t, seed, "push", "-q", "origin", "ralph/work")
			dir := filepath.Join(t.TempDir(), "work")
			git(t, filepath.Dir(dir), "clone", "-q", f.dir, dir)
			tt.act(t, dir, git(t, dir, "rev-parse", "HEAD~1"), theirs)

			r, err := open(t, dir, f.url)
			if err == nil {
				_, err = r.Begin(t.Context())
			}
			if err == nil {
				write(t, filepath.Join(dir, "x.txt"), "x\n")
				_, c := r.checkpoint(t)
				t.Logf("Checkpoint() = %+v, notes %q", c, r.State().Notes)
			} else {
				t.Logf("it fails closed: %v", err)
			}
			if out, err := tryGit(f.dir, "merge-base", "--is-ancestor", theirs, "ralph/work"); err != nil {
				t.Errorf("somebody's commit is not on the branch any more: %s\n%s", out, git(t, f.dir, "log", "--oneline", "--graph", "--all"))
			}
		})
	}
}

// forgeCommitGraph makes the commit graph say that a commit has another parent
// (gitformat-commit-graph: CDAT holds 36 bytes for each commit, the first parent's
// place at 20).
func forgeCommitGraph(t *testing.T, dir, commit, parent string) {
	t.Helper()
	file := filepath.Join(dir, ".git/objects/info/commit-graph")
	b := []byte(read(t, file))
	chunks := map[string]int{}
	for i := range int(b[6]) {
		at := 8 + 12*i
		chunks[string(b[at:at+4])] = int(b[at+8])<<24 | int(b[at+9])<<16 | int(b[at+10])<<8 | int(b[at+11])
	}
	n := int(b[chunks["OIDF"]+255*4+2])<<8 | int(b[chunks["OIDF"]+255*4+3])
	place := func(id string) int {
		for i := range n {
			if fmt.Sprintf("%x", b[chunks["OIDL"]+20*i:chunks["OIDL"]+20*i+20]) == id {
				return i
			}
		}
		t.Fatalf("%s is not in the commit graph", id)
		return 0
	}
	at := chunks["CDAT"] + 36*place(commit)
	to := place(parent)
	b[at+20], b[at+21], b[at+22], b[at+23] = 0, 0, byte(to>>8), byte(to)
	b[at+28], b[at+29], b[at+30] = 0, 0, 0x10 // a generation above all others
	sum := sha1.Sum(b[:len(b)-20])
	copy(b[len(b)-20:], sum[:])
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o444); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "replace", "-d", commit)
}

// What the base holds is what its id says: a doctored tree or blob of it in the
// workspace never becomes part of what is published.
func TestDoctoredBaseObjects(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"blob", "tree"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.seed(t, map[string]string{"a.txt": "a\n", "d/b.txt": "b\n"})
			dir := f.checkout(t, true)
			i := newInspector()
			r := begin(t, dir, f.url, i.option)
			evil := raw(t, dir, "blob", "evil\n")
			if kind == "blob" {
				doctor(t, dir, git(t, dir, "rev-parse", "HEAD:d/b.txt"), "blob", func(string) string { return "evil\n" })
			} else {
				id := make([]byte, 20)
				_, _ = fmt.Sscanf(evil, "%x", &id)
				doctor(t, dir, git(t, dir, "rev-parse", "HEAD:d"), "tree", func(string) string { return "100644 b.txt\x00" + string(id) })
			}
			write(t, filepath.Join(dir, "d/c.txt"), "c\n")
			if c, err := r.Snapshot(t.Context()); err == nil {
				_, _ = r.commit(t.Context(), iteration(1))
				t.Logf("Snapshot() = %+v", c)
			}
			if out, err := tryGit(f.dir, "show", "ralph/work:d/b.txt"); err == nil && out != "b" && !i.ids[evil] {
				t.Errorf("d/b.txt on the branch = %q, and nobody saw it", out)
			}
		})
	}
}

// A repository that is planted in the work tree, and in the index as a submodule,
// is in the index no more after a checkpoint: a later git status does not go there.
func TestPlantedRepositoryLeavesTheIndex(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	log := filepath.Join(t.TempDir(), "log")
	nested := filepath.Join(dir, "nested")
	write(t, filepath.Join(nested, "n.txt"), "n\n")
	git(t, nested, "init", "-q")
	commitAll(t, nested, "inside")
	git(t, dir, "-c", "advice.addEmbeddedRepo=false", "add", "nested")
	git(t, nested, "config", "core.fsmonitor", "echo outside=$RALPH_TEST_INSIDE >>"+log+"; false")
	r.checkpoint(t)
	if s := git(t, dir, "ls-files", "-s", "nested"); s != "" {
		t.Errorf("the index holds %q", s)
	}
	_ = os.Remove(log)
	git(t, dir, "status", "--porcelain")
	if b, err := os.ReadFile(log); err == nil {
		t.Errorf("git status ran a program of the planted repository: %s", b)
	}
}

// The repository changes its kind while the agent works.
func TestGitFolderIsSwappedMidRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		act  func(dir string) error
	}{
		{"a file in its place", func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, ".was")), os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: .was\n"), 0o600))
		}},
		{"a link in its place", func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, ".git"), filepath.Join(dir, ".was")), os.Symlink(".was", filepath.Join(dir, ".git")))
		}},
		{"HEAD is a pipe", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, ".git/HEAD")), syscall.Mkfifo(filepath.Join(dir, ".git/HEAD"), 0o600))
		}},
		{"the index is a link", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, ".git/index")), os.Symlink("/etc/passwd", filepath.Join(dir, ".git/index")))
		}},
		{"packed-refs leads elsewhere", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, ".git/packed-refs"), []byte("0123456789012345678901234567890123456789 refs/heads/ralph/work\n"), 0o600)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			i := newInspector()
			r := begin(t, dir, f.url, i.option)
			r.sandbox.Env = append(r.sandbox.Env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
			if err := tt.act(dir); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			if tt.name == "HEAD is a pipe" {
				// git itself would wait for it: only the owner's side is asked.
				if _, err := credentials.Stash(dir, t.TempDir()); err != nil {
					t.Logf("Hide() = %v", err)
				}
				return
			}
			if _, err := r.Snapshot(t.Context()); err != nil {
				t.Logf("it fails closed: %v", err)
				return
			}
			_, _ = r.commit(t.Context(), iteration(1))
			if out, err := tryGit(f.dir, "rev-parse", "-q", "--verify", "refs/heads/ralph/work"); err == nil {
				i.arrived(t, f.dir, "main")
				equal(t, "x.txt", git(t, f.dir, "show", out+":x.txt"), "x")
			}
		})
	}
}
