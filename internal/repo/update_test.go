package repo_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

func updates(how repo.Update) optionFunc {
	return func(o *repo.Options) { o.UpdateBase = how }
}

// people commits on the work branch of the forge as somebody else.
func people(t *testing.T, f *forge, name string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "clone", "-q", "-b", "ralph/work", f.dir, "x")
	dir = filepath.Join(dir, "x")
	write(t, filepath.Join(dir, name), "p\n")
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "user.name=x", "commit", "-qm", "a person: "+name)
	git(t, dir, "push", "-q", "origin", "ralph/work")
	return git(t, dir, "rev-parse", "HEAD")
}

func TestBaseMoved(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		kind   string
		how    repo.Update
		work   string // a file the run writes; "": it finds nothing to do
		people bool   // somebody else committed on the branch
		want   []string
	}{
		{"none", "shallow", repo.UpdateNone, "y.txt", true, []string{"y.txt", "people.txt", "x.txt"}},
		{"merge", "shallow", repo.UpdateMerge, "y.txt", true, []string{"y.txt", "Merge branch 'main' into ralph/work", "people.txt", "x.txt"}},
		{"merge, nothing to do", "shallow", repo.UpdateMerge, "", true, []string{"Merge branch 'main' into ralph/work", "people.txt", "x.txt"}},
		{"merge in a full clone", "full", repo.UpdateMerge, "y.txt", false, []string{"y.txt", "Merge branch 'main' into ralph/work", "x.txt"}},
		{"merge without blobs", "blob:none", repo.UpdateMerge, "y.txt", false, []string{"y.txt", "Merge branch 'main' into ralph/work", "x.txt"}},
		{"rebase", "shallow", repo.UpdateRebase, "y.txt", false, []string{"y.txt", "x.txt"}},
		{"rebase, nothing to do", "shallow", repo.UpdateRebase, "", false, []string{"x.txt"}},
		{"rebase in a full clone", "full", repo.UpdateRebase, "y.txt", false, []string{"y.txt", "x.txt"}},
		{"rebase without trees", "tree:0", repo.UpdateRebase, "y.txt", false, []string{"y.txt", "x.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n"})
			f.night(t, "shallow", "x.txt", "x\n", says("x.txt\n\nRalph-Run: 1\n"))
			if tt.people {
				people(t, f, "people.txt")
			}
			was := git(t, f.dir, "rev-parse", "ralph/work")
			main := onMain(t, seed, "dir/b.txt", "b2\n")
			dir := f.clone(t, tt.kind)
			r := begin(t, dir, f.url, updates(tt.how), says("y.txt\n\nRalph-Run: 2\n"))
			if !r.start.Resumed || r.start.Updated != (tt.how != repo.UpdateNone) || r.start.Conflict != "" {
				t.Fatalf("Begin() = %+v, want resumed and updated", r.start)
			}
			equal(t, "status", git(t, dir, "status", "--porcelain"), "")
			b := "b\n"
			if notes := strings.Join(r.start.Notes, "\n"); strings.Contains(notes, "main has moved: ") != (tt.how != repo.UpdateNone) {
				t.Errorf("Begin() notes %q, want the update told", notes)
			}
			if tt.how != repo.UpdateNone {
				b = "b2\n"
			}
			equal(t, "what the agent sees", read(t, filepath.Join(dir, "dir/b.txt")), b)
			equal(t, "on the server until the first push", git(t, f.dir, "rev-parse", "ralph/work"), was)
			if tt.work != "" {
				write(t, filepath.Join(dir, tt.work), "y\n")
				r.pushed(t, f)
			} else if err := r.Push(t.Context()); err != nil {
				t.Fatalf("Push() = %v", err)
			}
			s := r.State()
			if !s.Pushed || s.HeadSHA == "" || s.HeadSHA != s.Tip {
				t.Errorf("State() = %+v, want the update pushed", s)
			}
			log := git(t, f.dir, "log", "--first-parent", "--format=%s", "main..ralph/work")
			if tt.how == repo.UpdateNone {
				log = git(t, f.dir, "log", "--first-parent", "--format=%s", was+"^^..ralph/work")
			}
			for i, w := range tt.want {
				if lines := strings.Split(log, "\n"); i >= len(lines) || !strings.Contains(lines[i], w) {
					t.Errorf("log = %q, want %q", log, tt.want)
				}
			}
			if _, err := tryGit(f.dir, "merge-base", "--is-ancestor", was, "ralph/work"); (err == nil) == (tt.how == repo.UpdateRebase) {
				t.Errorf("the old tip is below the new: %v", err == nil)
			}
			if tt.how != repo.UpdateNone {
				git(t, f.dir, "merge-base", "--is-ancestor", main, "ralph/work")
			}
			ahead(t, r, true)
			// The next run has nothing to update, and pushes nothing.
			r = begin(t, f.clone(t, tt.kind), f.url, updates(tt.how))
			if tt.how != repo.UpdateNone && r.start.Updated {
				t.Errorf("Begin() again = %+v, want nothing to update", r.start)
			}
		})
	}
}

func TestRebaseRefusesPeoplesCommits(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	f.night(t, "shallow", "x.txt", "x\n", says("x\n\nRalph-Run: 1\n"))
	theirs := people(t, f, "people.txt")
	onMain(t, seed, "b.txt", "b\n")
	r, err := open(t, f.checkout(t, true), f.url, updates(repo.UpdateRebase))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), theirs[:7]) || !strings.Contains(err.Error(), "not ralph's") {
		t.Errorf("Begin() = %v, want the commit of somebody else named", err)
	}
	equal(t, "branch", git(t, f.dir, "rev-parse", "ralph/work"), theirs)
}

// Somebody pushes after the branch was rebased here and before it is pushed:
// their commit stays, and the work is put on top of it.
func TestRebaseIsALease(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	f.night(t, "shallow", "x.txt", "x\n", says("x\n\nRalph-Run: 1\n"))
	onMain(t, seed, "b.txt", "b\n")
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url, updates(repo.UpdateRebase))
	theirs := people(t, f, "people.txt")
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	_, c := r.pushed(t, f)
	equal(t, "parent", git(t, f.dir, "rev-parse", c.SHA+"^"), theirs)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 people.txt", "100644 second.txt", "100644 x.txt", "100644 y.txt"})
}

func TestUpdateConflict(t *testing.T) {
	t.Parallel()
	for _, how := range []repo.Update{repo.UpdateMerge, repo.UpdateRebase} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": "a\n"})
			f.night(t, "shallow", "a.txt", "ours\n", says("x\n\nRalph-Run: 1\n"))
			was := git(t, f.dir, "rev-parse", "ralph/work")
			onMain(t, seed, "a.txt", "theirs\n")
			r := begin(t, f.checkout(t, true), f.url, updates(how))
			if r.start.Conflict != "a.txt" || r.start.Updated || r.start.HeadSHA != was || !hasNote(r.start.Notes, `"a.txt"`) {
				t.Errorf("Begin() = %+v, want the conflict named and the branch as it was", r.start)
			}
		})
	}
}

// What the base gained of our commits is not in the rebased branch; a commit
// that was empty from the beginning is, as ours are on top of the agent's own.
func TestRebaseDropsWhatTheBaseHas(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url, says("one\n\nRalph-Run: 1\n"))
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
	git(t, dir, "-c", "user.name=x", "commit", "-q", "--allow-empty", "-m", "empty\n\nRalph-Run: 1")
	r.pushed(t, f)
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "two\n\nRalph-Run: 1")
	r.pushed(t, f)
	onMain(t, seed, "one.txt", "1\n")
	r = begin(t, f.checkout(t, true), f.url, updates(repo.UpdateRebase))
	if err := r.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "log", git(t, f.dir, "log", "--format=%s", "main..ralph/work"), []string{"one", "two", "one", "empty"})
}

// A new branch starts at the base when that has moved past the checkout.
func TestNewBranchIsBroughtToTheBase(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := f.checkout(t, true)
	main := onMain(t, seed, "b.txt", "b\n")
	r := begin(t, dir, f.url, updates(repo.UpdateMerge))
	if !r.start.Updated || r.start.HeadSHA != main {
		t.Fatalf("Begin() = %+v, want a start from %s", r.start, main)
	}
	equal(t, "b.txt", read(t, filepath.Join(dir, "b.txt")), "b\n")
	if err := r.Push(t.Context()); err != nil || r.State().Tip != "" {
		t.Errorf("Push() = %v, %+v, want nothing pushed before there is work", err, r.State())
	}
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, c := r.pushed(t, f)
	equal(t, "parent", git(t, f.dir, "rev-parse", c.SHA+"^"), main)
}

// A branch that merged main now and then has one point where it left it.
func TestMergedMainBefore(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"shallow", "full"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			leave(t, kind, "full")
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": "a\n"})
			f.night(t, "shallow", "x.txt", "x\n")
			onMain(t, seed, "b.txt", "b\n")
			f.night(t, "shallow", "y.txt", "y\n", updates(repo.UpdateMerge))
			onMain(t, seed, "b.txt", "b2\n")
			f.night(t, "shallow", "y.txt", "y2\n", updates(repo.UpdateMerge))
			equal(t, "proposed", proposed(t, f, "ralph/work"), []string{"x.txt", "y.txt"})
			squash(t, seed)
			r := begin(t, f.clone(t, kind), f.url)
			if !r.start.Restarted {
				t.Errorf("Begin() = %+v, want a new start", r.start)
			}
		})
	}
}

func TestUpdateBaseIsChecked(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	_, err := open(t, dir, f.url, updates("force"))
	if err == nil || !slices.ContainsFunc([]string{`"force"`}, func(s string) bool { return strings.Contains(err.Error(), s) }) {
		t.Errorf("Open() = %v, want the value named", err)
	}
}
