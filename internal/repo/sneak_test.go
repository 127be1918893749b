package repo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sneak is a way to get the marker to the server.
type sneak struct {
	name string
	act  func(t *testing.T, r *run)
	// passed over: nothing of it is published, and the rest is.
	passed bool
}

func commitAll(t testing.TB, dir, message string) string {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", message)
	return git(t, dir, "rev-parse", "HEAD")
}

// raw stores any bytes as an object.
func raw(t testing.TB, dir, kind, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "object")
	write(t, file, content)
	return git(t, dir, "hash-object", "-t", kind, "--literally", "-w", file)
}

func rawCommit(t testing.TB, dir, tree, headers, message string) string {
	t.Helper()
	const who = "Agent <agent@example.com> 1700000000 +0000"
	return raw(t, dir, "commit", "tree "+tree+"\nparent "+git(t, dir, "rev-parse", "HEAD")+"\nauthor "+who+"\ncommitter "+who+"\n"+headers+"\n"+message+"\n")
}

var sneaks = []sneak{
	{name: "content", act: func(t *testing.T, r *run) { write(t, filepath.Join(r.dir, "x.txt"), marker) }},
	{name: "name", act: func(t *testing.T, r *run) { write(t, filepath.Join(r.dir, marker), "x") }},
	{name: "name of a folder", act: func(t *testing.T, r *run) { write(t, filepath.Join(r.dir, marker, "x"), "x") }},
	{name: "target of a link", act: func(t *testing.T, r *run) {
		if err := os.Symlink("to/"+marker, filepath.Join(r.dir, "link")); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "committed and removed", act: func(t *testing.T, r *run) {
		write(t, filepath.Join(r.dir, "x.txt"), marker)
		commitAll(t, r.dir, "one")
		write(t, filepath.Join(r.dir, "x.txt"), "harmless")
		commitAll(t, r.dir, "two")
	}},
	{name: "name committed and removed", act: func(t *testing.T, r *run) {
		write(t, filepath.Join(r.dir, marker), "x")
		commitAll(t, r.dir, "one")
		if err := os.Remove(filepath.Join(r.dir, marker)); err != nil {
			t.Fatal(err)
		}
		commitAll(t, r.dir, "two")
	}},
	{name: "message", act: func(t *testing.T, r *run) { commitAll(t, r.dir, "one\n\n"+marker) }},
	{name: "author", act: func(t *testing.T, r *run) {
		git(t, r.dir, "-c", "user.name=x", "commit", "-q", "--allow-empty", "--author", marker+" <a@example.com>", "-m", "one")
	}},
	{name: "header", act: func(t *testing.T, r *run) {
		git(t, r.dir, "update-ref", "HEAD", rawCommit(t, r.dir, git(t, r.dir, "rev-parse", "HEAD^{tree}"), "gpgsig "+marker+"\n more\n", "one"))
	}},
	{name: "encoding", act: func(t *testing.T, r *run) {
		git(t, r.dir, "update-ref", "HEAD", rawCommit(t, r.dir, git(t, r.dir, "rev-parse", "HEAD^{tree}"), "encoding "+marker+"\n", "one"))
	}},
	{name: "side branch", act: func(t *testing.T, r *run) {
		git(t, r.dir, "checkout", "-q", "-b", "side")
		write(t, filepath.Join(r.dir, "x.txt"), marker)
		commitAll(t, r.dir, "one")
		if err := os.Remove(filepath.Join(r.dir, "x.txt")); err != nil {
			t.Fatal(err)
		}
		commitAll(t, r.dir, "two")
		git(t, r.dir, "checkout", "-q", "ralph/work")
		write(t, filepath.Join(r.dir, "y.txt"), "y")
		commitAll(t, r.dir, "three")
		git(t, r.dir, "merge", "-q", "-m", "merge", "side")
	}},
	{name: "merge that brings what no parent has", act: func(t *testing.T, r *run) {
		git(t, r.dir, "checkout", "-q", "-b", "side")
		write(t, filepath.Join(r.dir, "x.txt"), "x")
		commitAll(t, r.dir, "one")
		git(t, r.dir, "checkout", "-q", "ralph/work")
		git(t, r.dir, "merge", "-q", "--no-ff", "--no-commit", "side")
		write(t, filepath.Join(r.dir, "evil.txt"), marker)
		commitAll(t, r.dir, "merge")
		if err := os.Remove(filepath.Join(r.dir, "evil.txt")); err != nil {
			t.Fatal(err)
		}
		commitAll(t, r.dir, "two")
	}},
	{name: "octopus", act: func(t *testing.T, r *run) {
		for _, b := range []string{"b1", "b2", "b3"} {
			git(t, r.dir, "checkout", "-q", "-b", b, "ralph/work")
			write(t, filepath.Join(r.dir, b+".txt"), b)
			if b == "b3" {
				write(t, filepath.Join(r.dir, "x.txt"), marker)
				commitAll(t, r.dir, "held")
				if err := os.Remove(filepath.Join(r.dir, "x.txt")); err != nil {
					t.Fatal(err)
				}
			}
			commitAll(t, r.dir, b)
		}
		git(t, r.dir, "checkout", "-q", "ralph/work")
		git(t, r.dir, "merge", "-q", "-m", "octopus", "b1", "b2", "b3")
	}},
	{name: "detached head", act: func(t *testing.T, r *run) {
		git(t, r.dir, "checkout", "-q", "--detach")
		write(t, filepath.Join(r.dir, "x.txt"), marker)
		commitAll(t, r.dir, "one")
		git(t, r.dir, "rm", "-q", "x.txt")
		commitAll(t, r.dir, "two")
	}},
	{name: "another branch checked out", act: func(t *testing.T, r *run) {
		git(t, r.dir, "checkout", "-q", "-b", "own")
		commitAll(t, r.dir, marker)
	}},
	{name: "root commit merged in", act: func(t *testing.T, r *run) {
		git(t, r.dir, "checkout", "-q", "--orphan", "alone")
		write(t, filepath.Join(r.dir, "a.txt"), marker)
		commitAll(t, r.dir, "root")
		git(t, r.dir, "checkout", "-q", "ralph/work")
		git(t, r.dir, "merge", "-q", "-s", "ours", "--allow-unrelated-histories", "-m", "merge", "alone")
	}},
	{name: "amend of the checkpoint", passed: true, act: func(t *testing.T, r *run) {
		write(t, filepath.Join(r.dir, "y.txt"), "y")
		git(t, r.dir, "add", "-A")
		git(t, r.dir, "commit", "-q", "--amend", "-m", marker)
	}},
	{name: "tag", passed: true, act: func(t *testing.T, r *run) {
		write(t, filepath.Join(r.dir, "y.txt"), "y")
		commitAll(t, r.dir, "one")
		git(t, r.dir, "tag", "-a", "-m", marker, "v1")
		git(t, r.dir, "notes", "add", "-m", marker)
	}},
	{name: "nested repository", passed: true, act: func(t *testing.T, r *run) {
		sub := filepath.Join(r.dir, "nested")
		write(t, filepath.Join(sub, "x.txt"), marker)
		git(t, sub, "init", "-q")
		commitAll(t, sub, marker)
		write(t, filepath.Join(r.dir, "y.txt"), "y")
	}},
	{name: "replaced object", act: func(t *testing.T, r *run) {
		write(t, filepath.Join(r.dir, "x.txt"), marker)
		bad := commitAll(t, r.dir, "one")
		git(t, r.dir, "reset", "-q", "--hard", "HEAD~")
		write(t, filepath.Join(r.dir, "x.txt"), "harmless")
		good := commitAll(t, r.dir, "one")
		git(t, r.dir, "update-ref", "HEAD", bad)
		git(t, r.dir, "replace", bad, good)
	}},
	{name: "replaced blob", act: func(t *testing.T, r *run) {
		write(t, filepath.Join(r.dir, "x.txt"), marker)
		commitAll(t, r.dir, "one")
		good := raw(t, r.dir, "blob", "harmless")
		git(t, r.dir, "replace", git(t, r.dir, "rev-parse", "HEAD:x.txt"), good)
	}},
	{name: "graft", act: func(t *testing.T, r *run) {
		below := git(t, r.dir, "rev-parse", "HEAD")
		write(t, filepath.Join(r.dir, "x.txt"), marker)
		commitAll(t, r.dir, "one")
		git(t, r.dir, "rm", "-q", "x.txt")
		top := commitAll(t, r.dir, "two")
		write(t, filepath.Join(r.dir, ".git/info/grafts"), top+" "+below+"\n")
		write(t, filepath.Join(r.dir, "y.txt"), "y")
	}},
	{name: "shallow", passed: true, act: func(t *testing.T, r *run) {
		write(t, filepath.Join(r.dir, "x.txt"), marker)
		commitAll(t, r.dir, "one")
		git(t, r.dir, "rm", "-q", "x.txt")
		top := commitAll(t, r.dir, "two")
		write(t, filepath.Join(r.dir, ".git/shallow"), top+"\n")
		write(t, filepath.Join(r.dir, "y.txt"), "y")
	}},
	{name: "name of an empty folder", passed: true, act: func(t *testing.T, r *run) {
		git(t, r.dir, "update-ref", "HEAD", rawCommit(t, r.dir, mktree(t, r.dir, "040000 tree "+emptyTreeID+"\tz"+marker), "", "one"))
		write(t, filepath.Join(r.dir, "y.txt"), "y")
	}},
	{name: "name of a folder of empty folders", passed: true, act: func(t *testing.T, r *run) {
		inner := raw(t, r.dir, "tree", "")
		outer := mktreeOnly(t, r.dir, "040000 tree "+inner+"\t"+marker)
		git(t, r.dir, "update-ref", "HEAD", rawCommit(t, r.dir, mktree(t, r.dir, "040000 tree "+outer+"\tz"), "", "one"))
		write(t, filepath.Join(r.dir, "y.txt"), "y")
	}},
	{name: "a commit as a file", passed: true, act: func(t *testing.T, r *run) {
		hidden := rawCommit(t, r.dir, git(t, r.dir, "rev-parse", "HEAD^{tree}"), "", marker)
		git(t, r.dir, "update-ref", "HEAD", rawCommit(t, r.dir, mktree(t, r.dir, "100644 blob "+hidden+"\tz"), "", "one"))
		write(t, filepath.Join(r.dir, "y.txt"), "y")
	}},
	{name: "a tag as a file", passed: true, act: func(t *testing.T, r *run) {
		git(t, r.dir, "tag", "-a", "-m", marker, "v1")
		git(t, r.dir, "update-ref", "HEAD", rawCommit(t, r.dir, mktree(t, r.dir, "100644 blob "+git(t, r.dir, "rev-parse", "v1")+"\tz"), "", "one"))
		write(t, filepath.Join(r.dir, "y.txt"), "y")
	}},
}

const emptyTreeID = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// mktree is HEAD's tree with an entry more, as git ls-tree prints it.
func mktree(t testing.TB, dir, line string) string {
	t.Helper()
	return mktreeOnly(t, dir, git(t, dir, "ls-tree", "HEAD")+"\n"+line)
}

func mktreeOnly(t testing.TB, dir, lines string) string {
	t.Helper()
	var items []string
	for l := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		meta, name, _ := strings.Cut(l, "\t")
		f := strings.Fields(meta)
		id := make([]byte, 20)
		if _, err := fmt.Sscanf(f[2], "%x", &id); err != nil {
			t.Fatal(err)
		}
		items = append(items, strings.TrimPrefix(f[0], "0")+" "+name+"\x00"+string(id))
	}
	return raw(t, dir, "tree", strings.Join(items, ""))
}
