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
)

// What arrives on the server is what git add -A, git commit and git push would
// have brought there, object by object.
func TestPublishedAsByGit(t *testing.T) {
	t.Parallel()
	chmod := func(t *testing.T, path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	link := func(t *testing.T, to, path string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(to, path)); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	rename := func(t *testing.T, from, to string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(from, to)); err != nil {
			t.Fatal(err)
		}
	}
	f := newForge(t)
	seed := f.seed(t, map[string]string{"plain.sh": "plain\n", "run.sh": "run\n", "folder/one": "1\n", "folder/two": "2\n", "é.txt": "e\n", "windows.txt": "a\r\nb\r\n", "tracked.log": "t\n"})
	chmod(t, seed+"/run.sh", 0o755)
	link(t, "plain.sh", seed+"/link")
	git(t, seed, "add", "-A")
	git(t, seed, "commit", "-qm", "third")
	git(t, seed, "push", "-q", "origin", "main")
	t.Cleanup(func() { git(t, f.dir, "fsck", "--strict", "--no-dangling") })
	for i, tt := range []struct {
		name string
		act  func(t *testing.T, dir string)
		want []string // lines among those of git ls-tree
	}{
		{"made executable", func(t *testing.T, dir string) { chmod(t, dir+"/plain.sh", 0o755) }, []string{"100755 plain.sh"}},
		{"no longer executable", func(t *testing.T, dir string) { chmod(t, dir+"/run.sh", 0o644) }, []string{"100644 run.sh"}},
		{"odd permissions", func(t *testing.T, dir string) {
			chmod(t, dir+"/plain.sh", 0o600)
			write(t, dir+"/new.sh", "new\n")
			chmod(t, dir+"/new.sh", 0o711)
		}, []string{"100644 plain.sh", "100755 new.sh"}},
		{"links", func(t *testing.T, dir string) {
			link(t, "plain.sh", dir+"/to-file")
			link(t, "folder", dir+"/to-folder")
			link(t, "../..", dir+"/deep/up")
			link(t, "nowhere", dir+"/dangling")
			link(t, "/etc/hostname", dir+"/outside")
			link(t, "self", dir+"/self")
			link(t, "ünïcode target", dir+"/linked")
		}, []string{"120000 to-file", "120000 to-folder", "120000 deep/up", "120000 dangling", "120000 outside", "120000 self", "120000 linked"}},
		{"a link that points elsewhere", func(t *testing.T, dir string) { link(t, "run.sh", dir+"/link") }, []string{"120000 link"}},
		{"unicode names", func(t *testing.T, dir string) {
			for i, name := range []string{"ü-composed", "u\u0308-decomposed", "日本語/ファイル", "🙂 emoji 👩\u200d💻", "عربي", "quote'\"quote", " leading space", "trailing space ", "-leading-dash", `back\slash`, "a:b", "$(id)", "`id`", "%d", "#hash", "!bang", ":(glob)x", "*", "[a]", "..dots", "~tilde", "CON", "é/e\u0301"} {
				write(t, filepath.Join(dir, name), fmt.Sprintf("%d\n", i))
			}
		}, []string{"100644 ü-composed", "100644 u\u0308-decomposed", "100644 🙂 emoji 👩\u200d💻", "100644 -leading-dash", `100644 back\slash`, "100644  leading space", "100644 *"}},
		{"from composed to decomposed", func(t *testing.T, dir string) { rename(t, dir+"/é.txt", dir+"/e\u0301.txt") }, []string{"100644 e\u0301.txt"}},
		{"case only", func(t *testing.T, dir string) {
			rename(t, dir+"/plain.sh", dir+"/Plain.SH")
			rename(t, dir+"/folder", dir+"/Folder")
		}, []string{"100644 Plain.SH", "100644 Folder/one"}},
		{"deletions", func(t *testing.T, dir string) { remove(t, dir+"/folder"); remove(t, dir+"/link") }, nil},
		{"renames", func(t *testing.T, dir string) {
			rename(t, dir+"/folder", dir+"/moved/deeper")
			rename(t, dir+"/run.sh", dir+"/bin/run")
		}, []string{"100644 moved/deeper/one", "100755 bin/run"}},
		{"renamed and changed", func(t *testing.T, dir string) {
			rename(t, dir+"/folder/one", dir+"/two")
			write(t, dir+"/two", "changed\n")
		}, []string{"100644 two"}},
		{"file to folder", func(t *testing.T, dir string) { remove(t, dir+"/plain.sh"); write(t, dir+"/plain.sh/x", "x") }, []string{"100644 plain.sh/x"}},
		{"folder to file", func(t *testing.T, dir string) { remove(t, dir+"/folder"); write(t, dir+"/folder", "x") }, []string{"100644 folder"}},
		{"file to link", func(t *testing.T, dir string) { link(t, "folder", dir+"/plain.sh") }, []string{"120000 plain.sh"}},
		{"folder to link", func(t *testing.T, dir string) {
			rename(t, dir+"/folder", dir+"/real")
			link(t, "real", dir+"/folder")
		}, []string{"120000 folder", "100644 real/one"}},
		{"link to file", func(t *testing.T, dir string) { remove(t, dir+"/link"); write(t, dir+"/link", "plain.sh") }, []string{"100644 link"}},
		{"link to folder", func(t *testing.T, dir string) { remove(t, dir+"/link"); write(t, dir+"/link/x", "x") }, []string{"100644 link/x"}},
		{"empty files", func(t *testing.T, dir string) { write(t, dir+"/empty", ""); write(t, dir+"/folder/one", "") }, []string{"100644 empty"}},
		{"line ends", func(t *testing.T, dir string) {
			write(t, dir+"/.gitattributes", "*.txt text\n*.crlf text eol=crlf\n*.lf text eol=lf\n*.bin -text\n*.auto text=auto\n*.utf16 text working-tree-encoding=UTF-16LE\n*.id ident\n")
			for _, name := range []string{"x.txt", "x.crlf", "x.lf", "x.bin", "x.auto", "x.none"} {
				write(t, filepath.Join(dir, name), "one\r\ntwo\r\nthree\n")
			}
			write(t, dir+"/x.utf16", "a\x00\n\x00")
			write(t, dir+"/x.id", "$Id: 1234 $\n")
			write(t, dir+"/windows.txt", "changed\r\nnow\r\n")
		}, []string{"100644 x.crlf", "100644 x.utf16"}},
		{"attributes alone change", func(t *testing.T, dir string) { write(t, dir+"/.gitattributes", "windows.txt text\n") }, []string{"100644 .gitattributes"}},
		{"export-ignore", func(t *testing.T, dir string) {
			write(t, dir+"/.gitattributes", "internal export-ignore\n*.gen linguist-generated\n")
			write(t, dir+"/internal/x", "x")
			write(t, dir+"/x.gen", "x")
		}, []string{"100644 internal/x", "100644 x.gen"}},
		{"ignored", func(t *testing.T, dir string) {
			write(t, dir+"/.gitignore", "*.log\n!keep.log\n/out/\n")
			for _, name := range []string{"a.log", "keep.log", "out/x", "deep/out/x", "tracked.log"} {
				write(t, filepath.Join(dir, name), "x")
			}
		}, []string{"100644 keep.log", "100644 deep/out/x"}},
		{"1,000 files", func(t *testing.T, dir string) {
			for i := range 1000 {
				write(t, filepath.Join(dir, fmt.Sprintf("many/%d/%d.txt", i%37, i)), fmt.Sprintf("file %d\n", i))
			}
		}, []string{"100644 many/0/0.txt", "100644 many/0/999.txt"}},
		{"39 MB in one file", func(t *testing.T, dir string) {
			write(t, dir+"/big.dat", strings.Repeat("thirteen bytes\x00\n", 39<<20/16+1)[:39<<20])
		}, []string{"100644 big.dat"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			leave(t, tt.name, "1,000 files", "39 MB in one file")
			dir := f.checkout(t, true)
			ours, theirs := fmt.Sprintf("ralph/%d", i), fmt.Sprintf("by-git/%d", i)
			r := begin(t, dir, f.url, func(o *repo.Options) { o.Branch = ours })
			tt.act(t, dir)
			if _, c := r.checkpoint(t); !c.Pushed {
				t.Fatalf("Checkpoint() = %+v, want a pushed commit", c)
			}
			plain := f.checkout(t, true)
			tt.act(t, plain)
			git(t, plain, "add", "-A")
			git(t, plain, "commit", "-qm", "by git")
			git(t, plain, "push", "-q", "file://"+f.dir, "HEAD:refs/heads/"+theirs)

			equal(t, "files", files(t, f.dir, ours), files(t, f.dir, theirs))
			equal(t, "tree", git(t, f.dir, "rev-parse", ours+"^{tree}"), git(t, f.dir, "rev-parse", theirs+"^{tree}"))
			equal(t, "status", git(t, dir, "status", "--porcelain"), "")
			got := files(t, f.dir, ours)
			for _, want := range tt.want {
				// ls-tree quotes quotes and backslashes.
				quoted := strings.NewReplacer(`\`, `\\`).Replace(want)
				if mode, name, ok := strings.Cut(quoted, " "); ok && strings.Contains(name, `\`) {
					quoted = mode + ` "` + name + `"`
				}
				if !slices.Contains(got, quoted) {
					t.Errorf("files = %q, want %q among them", got, quoted)
				}
			}
		})
	}
}

// The pointer to a submodule moves with a commit in it and with git submodule
// update; a repository that is new is left out.
func TestSubmodulesAsByGit(t *testing.T) {
	t.Parallel()
	inner := newForge(t).seed(t, map[string]string{"i.txt": "i\n"})
	first := git(t, inner, "rev-parse", "HEAD")
	g := newForge(t)
	seed := g.seed(t, map[string]string{"a.txt": "a\n"})
	git(t, seed, "submodule", "add", "-q", inner, "sub")
	git(t, seed, "submodule", "add", "-q", inner, "gone")
	git(t, seed, "commit", "-qm", "submodules")
	git(t, seed, "push", "-q", "origin", "main")
	write(t, filepath.Join(inner, "i.txt"), "i2\n")
	git(t, inner, "commit", "-qam", "second")
	second := git(t, inner, "rev-parse", "HEAD")

	r := begin(t, seed, g.url)
	git(t, seed, "submodule", "update", "-q", "--remote", "sub")
	git(t, seed, "rm", "-q", "-f", "gone")
	git(t, seed, "init", "-q", "-b", "main", "new")
	write(t, filepath.Join(seed, "new/x"), "x")
	git(t, filepath.Join(seed, "new"), "add", "-A")
	git(t, filepath.Join(seed, "new"), "commit", "-qm", "new")
	change, c := r.pushed(t, g)
	equal(t, "sub", git(t, g.dir, "rev-parse", c.SHA+":sub"), second)
	equal(t, "files", files(t, g.dir, c.SHA), []string{"100644 .gitmodules", "100644 a.txt", "100644 second.txt", "160000 sub"})
	if len(change.Notes) != 1 || !hasNote(change.Notes, `"new": a repository`) {
		t.Errorf("notes = %q, want the new repository named", change.Notes)
	}
	// Back again, with dirt in it that is nobody's to commit.
	git(t, filepath.Join(seed, "sub"), "checkout", "-q", first)
	write(t, filepath.Join(seed, "sub/dirt"), "dirt")
	_, c = r.pushed(t, g)
	equal(t, "sub", git(t, g.dir, "rev-parse", c.SHA+":sub"), first)
}

// Commits of the agent's own arrive as they are: the empty one, the merge, the
// signed-off one, the one with an encoding of its own.
func TestOwnCommitsAsByGit(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "agent: empty")
	empty := git(t, dir, "rev-parse", "HEAD")
	_, c := r.checkpoint(t) // it arrives with the next change
	equal(t, "HEAD", c.SHA, git(t, dir, "rev-parse", "HEAD"))
	equal(t, "empty", git(t, dir, "rev-parse", c.SHA+"^"), empty)
	git(t, dir, "checkout", "-q", "-b", "side")
	write(t, filepath.Join(dir, "side.txt"), "s\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-s", "-m", "agent: side\n\nWhy: ünïcode 🙂\n")
	git(t, dir, "checkout", "-q", "ralph/work")
	write(t, filepath.Join(dir, "main.txt"), "m\n")
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "-m", "agent: main")
	git(t, dir, "merge", "-q", "--no-ff", "-m", "agent: merge", "side")
	git(t, dir, "commit", "-q", "--allow-empty", "--allow-empty-message", "-m", "")
	want := git(t, dir, "rev-list", "HEAD")
	_, c = r.pushed(t, f)
	equal(t, "commits", git(t, f.dir, "rev-list", c.SHA+"^", "^main"), strings.Split(want, "\n")[:strings.Count(want, "\n")])
}

// What google-github-actions/auth leaves in the workspace is never staged, is
// named once, and is no part of the agent's commits either.
func TestCredentialsStayHere(t *testing.T) {
	t.Parallel()
	for _, include := range []bool{false, true} {
		t.Run(fmt.Sprintf("include-dirty %t", include), func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			const name = "gha-creds-0123456789abcdef.json"
			write(t, filepath.Join(dir, name), `{"private_key": "SECRET"}`)
			r := begin(t, dir, f.url, func(o *repo.Options) { o.IncludeDirty = include })
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			change, c := r.pushed(t, f)
			want := []string{"100644 a.txt", "100644 second.txt", "100644 x.txt"}
			equal(t, "files", files(t, f.dir, c.SHA), want)
			if len(r.start.Dirty) != 0 || !hasNote(change.Notes, `"`+name+`": credentials`) {
				t.Errorf("dirty %q, notes %q, want the file named once", r.start.Dirty, change.Notes)
			}
			if _, err := tryGit(dir, "cat-file", "-e", git(t, dir, "hash-object", name)); err == nil {
				t.Error("the file was staged")
			}
			write(t, filepath.Join(dir, "y.txt"), "y\n")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "-qm", "agent: all of it")
			change, c = r.pushed(t, f)
			equal(t, "files", files(t, f.dir, c.SHA), append(want, "100644 y.txt"))
			if c.Own != 0 || !hasNote(change.Notes, "credentials") {
				t.Errorf("Checkpoint() = %+v, notes %q, want the agent's commit left out", c, change.Notes)
			}
			if out, err := tryGit(f.dir, "cat-file", "-e", git(t, dir, "hash-object", name)); err == nil {
				t.Errorf("the server has the credentials: %s", out)
			}
			equal(t, "here", read(t, filepath.Join(dir, name)), `{"private_key": "SECRET"}`)
		})
	}
}

// A repository in a sub-folder of another one (checkout with a path): the outer
// one is not touched.
func TestRepositoryInASubFolder(t *testing.T) {
	t.Parallel()
	f, outer := workspace(t)
	inner := newForge(t)
	inner.seed(t, map[string]string{"i.txt": "i\n", "docs/i.md": "i\n"})
	dir := filepath.Join(outer, "checked/out")
	if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o755), os.Rename(inner.checkout(t, false), dir)); err != nil {
		t.Fatal(err)
	}
	before := git(t, outer, "status", "--porcelain", "-uall")
	r := begin(t, filepath.Join(dir, "docs"), inner.url, addPaths("."))
	write(t, filepath.Join(dir, "docs/new.md"), "new\n")
	write(t, filepath.Join(dir, "aside.txt"), "aside\n")
	write(t, filepath.Join(outer, "a.txt"), "not ours\n")
	_, c := r.pushed(t, inner)
	equal(t, "files", files(t, inner.dir, c.SHA), []string{"100644 docs/i.md", "100644 docs/new.md", "100644 i.txt", "100644 second.txt"})
	equal(t, "outer", git(t, outer, "status", "--porcelain", "-uall"), " M a.txt\n"+before)
	if _, err := tryGit(f.dir, "rev-parse", "-q", "--verify", "ralph/work"); err == nil {
		t.Error("the outer repository's server has a branch of ours")
	}
}
