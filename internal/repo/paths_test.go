package repo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/repotest"
	"github.com/org/ralph-action/internal/repo/worktree"
)

func addPaths(specs ...string) optionFunc {
	return func(o *repo.Options) { o.AddPaths = specs }
}

// Only what add-paths names is committed, as git add with the same pathspecs in
// the same folder would have it; the rest stays as it is.
func TestAddPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		folder string // of the run
		specs  []string
	}{
		{"a folder", "", []string{"docs"}},
		{"a file", "", []string{"gone.txt", "new.txt"}},
		{"wildcard over folders", "", []string{"*.md"}},
		{"glob", "", []string{":(glob)*.md"}},
		{"glob over folders", "", []string{":(glob)**/*.md", "run.sh"}},
		{"exclusion", "", []string{".", ":!docs", ":(exclude)*.txt"}},
		{"exclusions only", "", []string{":!docs"}},
		{"exclusions only, in a folder", "sub", []string{":!*.md"}},
		{"relative to the folder", "sub", []string{"*.md"}},
		{"the folder itself", "sub", []string{"."}},
		{"up from the folder", "sub", []string{"../docs", "./deep/"}},
		{"from the top", "sub", []string{":/docs", ":(top)new.txt"}},
		{"no wildcards", "", []string{":(literal)st*r.md"}},
		{"no wildcards in a folder", "sub", []string{":(literal)st*r.md"}},
		{"any case", "sub", []string{":(icase)*.MD"}},
		{"by attribute", "", []string{":(attr:mine)"}},
		{"a folder with wildcards in its name", "w[e]ird*", []string{"*.md"}},
		{"a file where a folder was", "", []string{":(glob)to-file"}},
		{"a folder where a file was", "", []string{"to-folder/x"}},
		{"nothing matches", "", []string{"no-such-thing"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.seed(t, map[string]string{
				"readme.md": "1\n", "st*r.md": "1\n", "star.md": "1\n", "gone.txt": "1\n", "run.sh": "1\n", "docs/a.md": "1\n", "docs/b.txt": "1\n",
				"sub/c.md": "1\n", "sub/st*r.md": "1\n", "sub/star.md": "1\n", "sub/d.txt": "1\n", "sub/deep/e.md": "1\n",
				"w[e]ird*/f.md": "1\n", "weirdo/f.md": "1\n", "to-file/x": "1\n", "to-folder": "1\n", ".gitattributes": "docs/b.txt mine\n",
			})
			dir := f.checkout(t, true)
			r := begin(t, filepath.Join(dir, tt.folder), f.url, addPaths(tt.specs...))
			err := errors.Join(os.Remove(filepath.Join(dir, "gone.txt")), os.RemoveAll(filepath.Join(dir, "to-file")), os.Remove(filepath.Join(dir, "to-folder")), os.Chmod(filepath.Join(dir, "run.sh"), 0o755))
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "to-file"), "2\n")
			write(t, filepath.Join(dir, "to-folder/x"), "2\n")
			for _, name := range []string{"readme.md", "st*r.md", "star.md", "new.txt", "docs/a.md", "docs/b.txt", "docs/new.md", "sub/c.md", "sub/st*r.md", "sub/star.md", "sub/d.txt", "sub/deep/e.md", "sub/new.md", "w[e]ird*/f.md", "weirdo/f.md"} {
				write(t, filepath.Join(dir, name), "2\n")
			}
			// git's own answer, in an index of its own.
			index := filepath.Join(t.TempDir(), "index")
			if err := os.WriteFile(index, []byte(read(t, filepath.Join(dir, ".git/index"))), 0o600); err != nil {
				t.Fatal(err)
			}
			specs := tt.specs
			if tt.name == "by attribute" {
				specs = []string{"docs/b.txt"} // git add takes attr since version 2.43 only
			}
			want, err := gitWith(filepath.Join(dir, tt.folder), index, append([]string{"add", "--"}, specs...)...)
			if err != nil && tt.name != "nothing matches" {
				t.Fatalf("git add: %v: %s", err, want)
			}
			if want, err = gitWith(dir, index, "write-tree"); err != nil {
				t.Fatal(err)
			}
			start := git(t, dir, "rev-parse", "HEAD")
			before := git(t, dir, "status", "--porcelain", "-uall", "-z")

			change, c := r.checkpoint(t)
			head := c.SHA
			if head == "" {
				head = "HEAD"
			}
			equal(t, "tree", files(t, dir, head), files(t, dir, want))
			if got := git(t, dir, "rev-parse", head+"^{tree}"); got != want {
				t.Errorf("tree = %s, want %s", got, want)
			}
			if (c.SHA != "") != c.Pushed || (c.SHA == "") != (tt.name == "nothing matches") {
				t.Errorf("Checkpoint() = %+v", c)
			}
			if !hasNote(change.Notes, "add-paths does not name it; it stays in the work tree as it is") {
				t.Errorf("notes = %q, want the rest named", change.Notes)
			}
			equal(t, "the work tree", status(t, dir, start), before)
			equal(t, "docs/new.md", read(t, filepath.Join(dir, "docs/new.md")), "2\n")

			// The folder is gone in the next iteration.
			if tt.folder != "" && len(tt.specs) == 1 && tt.specs[0] == "." {
				if err := os.RemoveAll(filepath.Join(dir, tt.folder)); err != nil {
					t.Fatal(err)
				}
				r.sandbox.Dir = dir
				_, c := r.pushed(t, f)
				for _, l := range files(t, f.dir, c.SHA) {
					if strings.HasPrefix(l, "100644 sub/") {
						t.Errorf("%s is still there", l)
					}
				}
			}
		})
	}
}

// status is what git status says against a commit with nothing staged.
func status(t *testing.T, dir, against string) string {
	t.Helper()
	index := filepath.Join(t.TempDir(), "index")
	if out, err := gitWith(dir, index, "read-tree", against); err != nil {
		t.Fatal(out)
	}
	branch := git(t, dir, "symbolic-ref", "HEAD")
	git(t, dir, "update-ref", "--no-deref", "HEAD", git(t, dir, "rev-parse", against))
	out, err := gitWith(dir, index, "status", "--porcelain", "-uall", "-z")
	git(t, dir, "symbolic-ref", "HEAD", branch)
	if err != nil {
		t.Fatal(out)
	}
	return out
}

// gitWith is git with an index of its own.
func gitWith(dir, index string, args ...string) (string, error) {
	g := &repotest.Sandbox{Dir: dir}
	var out strings.Builder
	err := g.Git(context.Background(), worktree.Command{Args: args, Env: []string{"GIT_INDEX_FILE=" + index}, Stdout: &out})
	return strings.TrimSuffix(out.String(), "\n"), err
}

func TestAddPathsIsChecked(t *testing.T) {
	t.Parallel()
	_, dir := workspace(t)
	for _, tt := range []struct{ spec, want string }{
		{"", "is no pathspec"},
		{":", "is no pathspec"},
		{"a\nb", "is no pathspec"},
		{":(nonsense)a", "Invalid pathspec magic 'nonsense'"},
		{":(glob", "Missing ')'"},
		{":%a", "Unimplemented pathspec magic '%'"},
		{"../a", "outside repository"},
		{"/etc", "outside repository"},
		{":(glob,literal)a", "incompatible"},
		{strings.Repeat("long/", 20_000), "more than 65536"},
	} {
		if _, err := open(t, dir, "", addPaths("a.txt", tt.spec)); err == nil || !strings.Contains(err.Error(), "add-paths") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open(add-paths %.20q) = %v, want %q", tt.spec, err, tt.want)
		}
	}
}

// What stays out is not the agent's to commit either, and comes when it is asked
// for.
func TestAddPathsAndTheAgentsCommits(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url, addPaths("docs"))
	write(t, filepath.Join(dir, "docs/a.md"), "a\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: docs")
	change, c := r.pushed(t, f)
	if c.Own != 1 || len(change.Notes) != 0 {
		t.Errorf("Checkpoint() = %+v, notes %q, want the agent's commit", c, change.Notes)
	}
	write(t, filepath.Join(dir, "docs/b.md"), "b\n")
	write(t, filepath.Join(dir, "a.txt"), "changed\n")
	write(t, filepath.Join(dir, "-new 'ü'.txt"), "new\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: everything")
	change, c = r.pushed(t, f)
	if c.Own != 0 || !hasNote(change.Notes, `published as one: they change "-new 'ü'.txt", which add-paths does not name`) || !hasNote(change.Notes, `"-new 'ü'.txt", "a.txt": add-paths`) {
		t.Errorf("Checkpoint() = %+v, notes %q, want one commit without the others", c, change.Notes)
	}
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 docs/a.md", "100644 docs/b.md", "100644 second.txt"})
	equal(t, "a.txt", git(t, f.dir, "show", c.SHA+":a.txt"), "a")
	equal(t, "status", git(t, dir, "status", "--porcelain", "-z"), " M a.txt\x00?? -new 'ü'.txt\x00")
}

// 32 files that stay out make one short note.
func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url, addPaths("docs"))
	for i := range 32 {
		write(t, filepath.Join(dir, strings.Repeat("x", 200)+string(rune('a'+i))), "x")
	}
	notes := r.snapshot(t).Notes
	if len(notes) != 1 || len(notes[0]) > 1200 || !strings.Contains(notes[0], "and 27 more") {
		t.Errorf("notes = %q, want one that is short", notes)
	}
}

// One commit at the end, the agent's own content included.
func TestSquash(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url, func(o *repo.Options) { o.Squash = true })
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: one")
	if c := r.snapshot(t); c.Files != 1 || !c.SinceStart || len(c.Notes) != 0 {
		t.Errorf("Snapshot() = %+v, want one file and no notes", c)
	}
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: two")
	write(t, filepath.Join(dir, "three.txt"), "3\n")
	change, c := r.pushed(t, f)
	if c.Own != 0 || c.Files != 3 || change.Files != 3 {
		t.Errorf("Checkpoint() = %+v of %+v, want three files and no commit of the agent's", c, change)
	}
	equal(t, "log", git(t, f.dir, "log", "--format=%an: %s", "main..ralph/work"), "octo: ralph: iteration")
	equal(t, "status", git(t, dir, "status", "--porcelain"), "")
	equal(t, "HEAD", git(t, dir, "rev-parse", "HEAD"), c.SHA)
}

// The last snapshot that could be taken is what a run ends with, though the
// agent left a merge behind later. The merge is not touched.
func TestCheckpointBesideAnUnfinishedMerge(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.snapshot(t)
	git(t, dir, "checkout", "-q", "-b", "other")
	write(t, filepath.Join(dir, "a.txt"), "theirs\n")
	git(t, dir, "commit", "-qam", "theirs")
	git(t, dir, "checkout", "-q", "ralph/work")
	write(t, filepath.Join(dir, "a.txt"), "ours\n")
	git(t, dir, "commit", "-qam", "ours")
	_, _ = tryGit(dir, "merge", "other")
	if _, err := r.Snapshot(t.Context()); err == nil {
		t.Fatal("Snapshot() of a merge = nil, want an error")
	}
	before := git(t, dir, "status", "--porcelain")
	c, err := r.commit(t.Context(), ralph.Iteration{Number: 1})
	if err != nil || !c.Pushed {
		t.Fatalf("Checkpoint() = %+v, %v, want what was there before the merge", c, err)
	}
	if got := files(t, f.dir, c.SHA); !slices.Contains(got, "100644 x.txt") {
		t.Errorf("files = %q, want x.txt", got)
	}
	equal(t, "status", git(t, dir, "status", "--porcelain"), before)
	if _, err := os.Stat(filepath.Join(dir, ".git/MERGE_HEAD")); err != nil || !hasNote(r.State().Notes, "not brought to the checkpoint") {
		t.Errorf("MERGE_HEAD: %v, notes %q, want the merge as it was, and that said", err, r.State().Notes)
	}
}
