package repo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/inspection"
)

// seeing inspects and objects to nothing.
func seeing(o *repo.Options) {
	o.Inspect = func(context.Context, inspection.Request) ([]ralph.Finding, error) { return nil, nil }
}

func TestLinksStayInTheTree(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n", "d/e/f.txt": "f\n"})
	seed := filepath.Join(t.TempDir(), "seed")
	git(t, filepath.Dir(seed), "clone", "-q", f.dir, seed)
	symlink(t, "/etc", filepath.Join(seed, "to-etc"))
	symlink(t, "../../outside", filepath.Join(seed, "d/old"))
	symlink(t, "e", filepath.Join(seed, "d/fine"))
	commitAll(t, seed, "links of before")
	git(t, seed, "push", "-q", "origin", "HEAD:main")
	for _, tt := range []struct {
		name, path, target string
		want               string // of the finding; empty: none
	}{
		{"a file", "l", "a.txt", ""},
		{"a folder", "l", "d/e", ""},
		{"up and down", "d/l", "../a.txt", ""},
		{"to the top", "d/l", "..", ""},
		{"nothing there yet", "l", "build/out", ""},
		{"to itself", "l", "l", ""},
		{"through a link that stays", "l", "d/fine/f.txt", ""},
		{"name like git's", "l", ".gitignore", ""},
		{"absolute", "l", "/etc/passwd", "a place on the machine"},
		{"above the top", "l", "../x", "out of the repository"},
		{"above the top from a folder", "d/e/l", "../../../x", "out of the repository"},
		{"down and up", "l", "d/../../x", "out of the repository"},
		{"by what is not there", "l", "nothing/../../x", "out of the repository"},
		{"through a link that leaves", "l", "to-etc/passwd", `a place on the machine (an absolute path), through "to-etc"`},
		{"a link to such a link", "l", "to-etc", "a place on the machine"},
		{"through a relative one", "l", "d/old", `out of the repository, through "d/old"`},
		{"up out of a link", "l", "d/fine/../../../x", "out of the repository"},
		{"git's folder", "l", ".git/config", "git's own directory"},
		{"git's folder, from below", "d/l", "../.git/hooks/pre-commit", "git's own directory"},
		{"in capitals", "l", ".GIT/config", "git's own directory"},
		{"as Windows calls it", "l", "GIT~1/config", "git's own directory"},
		{"with a dot", "l", ".git./config", "git's own directory"},
		{"as HFS+ reads it", "l", ".g\u200cit/config", "git's own directory"},
		{"backslashes", "l", `..\..\x`, "out of the repository"},
		{"a drive", "l", `C:\Windows`, "a drive of Windows"},
		{"a long one", "l", strings.Repeat("a/", 2047) + "b", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := f.checkout(t, true)
			r := begin(t, dir, f.url, seeing, func(o *repo.Options) { o.Push = false })
			symlink(t, tt.target, filepath.Join(dir, tt.path))
			change := r.snapshot(t)
			c, err := r.commit(t.Context(), ralph.Iteration{Number: 1})
			if tt.want == "" {
				if len(change.Findings) != 0 || err != nil || c.SHA == "" {
					t.Errorf("Findings = %v, Checkpoint() = %+v, %v, want none and a commit", change.Findings, c, err)
				}
				return
			}
			if len(change.Findings) != 1 || err == nil {
				t.Fatalf("Findings = %v, Checkpoint() = %v, want one that blocks", change.Findings, err)
			}
			if g := change.Findings[0]; g.Kind != ralph.FindingLink || g.Severity != ralph.Block || g.Path != tt.path || !strings.Contains(g.Text, tt.want) || !strings.Contains(g.Text, "make it relative") {
				t.Errorf("Findings = %+v, want %q", g, tt.want)
			}
		})
	}
}

func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// Links of before are left alone, and judged when they change. One in a commit of
// the agent's is found although the next commit removes it.
func TestLinksThatChange(t *testing.T) {
	t.Parallel()
	f, seed := workspace(t)
	symlink(t, "/etc", filepath.Join(seed, "old"))
	symlink(t, "a.txt", filepath.Join(seed, "fine"))
	git(t, seed, "config", "http.extraheader", "Authorization: Basic eC1hY2Nlc3MtdG9rZW46Z2hzXzAxMjM0NTY3ODlhYmNkZWZUT0tFTg==")
	commitAll(t, seed, "links of before")
	git(t, seed, "push", "-q", "origin", "HEAD:main")
	for _, tt := range []struct {
		name string
		act  func(dir string)
		want string // path of the finding
	}{
		{"beside it", func(dir string) { write(t, filepath.Join(dir, "x.txt"), "x") }, ""},
		{"gone", func(dir string) { git(t, dir, "rm", "-q", "old") }, ""},
		{"leads elsewhere", func(dir string) {
			git(t, dir, "rm", "-q", "old")
			symlink(t, "/usr", filepath.Join(dir, "old"))
		}, "old"},
		{"moved", func(dir string) { git(t, dir, "mv", "old", "new") }, "new"},
		{"a link that was fine", func(dir string) {
			git(t, dir, "rm", "-q", "fine")
			symlink(t, "../a.txt", filepath.Join(dir, "fine"))
		}, "fine"},
		{"in place of a file", func(dir string) {
			git(t, dir, "rm", "-q", "a.txt")
			symlink(t, "/a.txt", filepath.Join(dir, "a.txt"))
		}, "a.txt"},
		{"committed and removed", func(dir string) {
			symlink(t, "/usr", filepath.Join(dir, "l"))
			commitAll(t, dir, "one")
			git(t, dir, "rm", "-q", "l")
			commitAll(t, dir, "two")
		}, "l"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := f.checkout(t, true)
			r := begin(t, dir, f.url, seeing, func(o *repo.Options) { o.Push = false })
			tt.act(dir)
			found := r.snapshot(t).Findings
			if tt.want == "" && len(found) != 0 || tt.want != "" && (len(found) != 1 || found[0].Path != tt.want || found[0].Severity != ralph.Block) {
				t.Errorf("Findings = %+v, want one for %q", found, tt.want)
			}
		})
	}
}

// A submodule that moves is named; a repository that is new in the work tree is
// left out, with a note, and blocks nothing.
func TestRepositoriesInTheTree(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	git(t, seed, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("a", 40)+",module")
	git(t, seed, "commit", "-qm", "a module")
	git(t, seed, "push", "-q", "origin", "main")
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url, seeing)
	git(t, dir, "update-index", "--cacheinfo", "160000,"+strings.Repeat("b", 40)+",module")
	git(t, dir, "commit", "-qm", "moved")
	nested := filepath.Join(dir, "nested")
	write(t, filepath.Join(nested, "x.txt"), "x")
	git(t, nested, "init", "-q")
	commitAll(t, nested, "inside")
	change, c := r.pushed(t, f)
	if len(change.Findings) != 1 || change.Findings[0].Path != "module" || change.Findings[0].Severity != ralph.Flag {
		t.Errorf("Findings = %+v, want the module named", change.Findings)
	}
	if !hasNote(change.Notes, "a repository inside the work tree") {
		t.Errorf("notes = %q, want the new repository named", change.Notes)
	}
	for _, l := range files(t, f.dir, c.SHA) {
		if strings.Contains(l, "nested") {
			t.Errorf("%s was published", l)
		}
	}
}
