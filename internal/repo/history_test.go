package repo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
)

// clones are the ways a runner or a person has a repository: all of it, as
// actions/checkout leaves it, or with objects left out.
var clones = []string{"full", "shallow", "blob:none", "tree:0"}

// clone makes one of them; the branch main is checked out.
func (f *forge) clone(t testing.TB, kind string) string {
	t.Helper()
	if kind == "shallow" {
		return f.checkout(t, true)
	}
	top := t.TempDir()
	args := []string{"clone", "-q"}
	if kind != "full" {
		f.config(t, "uploadpack.allowFilter", "true")
		args = append(args, "--filter="+kind)
	}
	git(t, top, append(args, "file://"+f.dir, "x")...)
	dir := filepath.Join(top, "x")
	// What is left out cannot be fetched later: the token is not there.
	git(t, dir, "remote", "set-url", "origin", f.url)
	return dir
}

// night is a run that writes one file and publishes it.
func (f *forge) night(t testing.TB, kind, name, content string, change ...optionFunc) *run {
	t.Helper()
	dir := f.clone(t, kind)
	r := begin(t, dir, f.url, change...)
	write(t, filepath.Join(dir, name), content)
	r.pushed(t, f)
	return r
}

// onMain commits on main and pushes it.
func onMain(t testing.TB, seed, name, content string) string {
	t.Helper()
	write(t, filepath.Join(seed, name), content)
	git(t, seed, "add", "-A")
	git(t, seed, "commit", "-qm", "main: "+name)
	git(t, seed, "push", "-q", "-f", "origin", "main")
	return git(t, seed, "rev-parse", "HEAD")
}

func squash(t testing.TB, seed string) string {
	t.Helper()
	git(t, seed, "fetch", "-q", "origin")
	git(t, seed, "merge", "-q", "--squash", "origin/ralph/work")
	git(t, seed, "commit", "-qm", "squashed (#1)")
	git(t, seed, "push", "-q", "origin", "main")
	return git(t, seed, "rev-parse", "HEAD")
}

func ahead(t testing.TB, r *run, want bool) {
	t.Helper()
	if got, err := r.Branch().Ahead(t.Context()); err != nil || got != want {
		t.Errorf("Ahead() = %v, %v, want %v; notes %q", got, err, want, r.State().Notes)
	}
}

// proposed are the files a pull request from the branch into main would show.
func proposed(t testing.TB, f *forge, branch string) []string {
	t.Helper()
	s := git(t, f.dir, "diff", "--name-only", "main..."+branch)
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func TestSquashMergedBranch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind string
		moved      bool // main, before and after the merge
		filter     bool // the server leaves out what is not asked for
	}{
		{"shallow", "shallow", false, false},
		{"shallow, main moved", "shallow", true, false},
		{"shallow, main moved, filters", "shallow", true, true},
		{"full, main moved", "full", true, false},
		{"without blobs, main moved", "blob:none", true, true},
		{"without trees, main moved", "tree:0", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			leave(t, tt.name, "shallow, main moved", "full, main moved", "without blobs, main moved")
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": "a\n", "keep/old.txt": "old\n", "keep/deep/er.txt": "e\n"})
			f.night(t, "shallow", "keep/night1.txt", "1\n")
			f.night(t, "shallow", "a.txt", "a\nb\n")
			if tt.moved {
				onMain(t, seed, "keep/deep/er.txt", "e2\n")
			}
			squash(t, seed)
			if tt.moved {
				onMain(t, seed, "other.txt", "o\n")
			}
			f.config(t, "uploadpack.allowFilter", fmt.Sprint(tt.filter))
			was := git(t, f.dir, "rev-parse", "ralph/work")
			main := git(t, f.dir, "rev-parse", "main")
			squashedNight(t, f, tt.kind, was, main)

			// The branch has changes again: the next night goes on with them.
			r := begin(t, f.clone(t, tt.kind), f.url)
			if !r.start.Resumed || r.start.Restarted {
				t.Errorf("third night: Begin() = %+v, want resumed", r.start)
			}
			if n := count(r.start.Messages, "Ralph-Iteration: 1"); n != 1 {
				t.Errorf("third night: Begin().Messages = %q, want one of an iteration", r.start.Messages)
			}
			ahead(t, r, true)
		})
	}
}

// squashedNight is a run after the branch was squash-merged.
func squashedNight(t *testing.T, f *forge, kind, was, main string) {
	t.Helper()
	dir := f.clone(t, kind)
	r := begin(t, dir, f.url)
	if !r.start.Restarted || r.start.Resumed || len(r.start.Messages) != 0 || !hasNote(r.start.Notes, "in main already") {
		t.Fatalf("Begin() = %+v, want a new start from main", r.start)
	}
	equal(t, "files", files(t, dir, "HEAD"), files(t, f.dir, main))
	equal(t, "status", git(t, dir, "status", "--porcelain"), "")

	// Nothing new: nothing is pushed, nothing is to be proposed.
	if _, c := r.checkpoint(t); c.SHA != "" {
		t.Errorf("Checkpoint() = %+v, want none", c)
	}
	if err := r.Push(t.Context()); err != nil {
		t.Errorf("Push() = %v", err)
	}
	equal(t, "branch", git(t, f.dir, "rev-parse", "ralph/work"), was)
	if s := r.State(); s.HeadSHA != "" || s.Tip != was {
		t.Errorf("State() = %+v, want no head and the tip %s", s, was)
	}
	ahead(t, r, false)

	write(t, filepath.Join(dir, "y.txt"), "y\n")
	_, c := r.pushed(t, f)
	git(t, f.dir, "merge-base", "--is-ancestor", was, c.SHA)
	git(t, f.dir, "merge-base", "--is-ancestor", main, c.SHA)
	equal(t, "proposed", proposed(t, f, c.SHA), []string{"y.txt"})
	if kind == "full" || kind == "shallow" {
		git(t, dir, "fsck", "--no-dangling")
	}
	ahead(t, r, true)
}

// says makes the message of checkpoints.
func says(message string) optionFunc {
	return func(o *repo.Options) { o.Message = func(ralph.Iteration, []ralph.File) string { return message } }
}

func count(list []string, part string) (n int) {
	for _, s := range list {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// Somebody pushes on the squash-merged branch while the run starts it again.
func TestRestartedBranchMoves(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	f.night(t, "shallow", "x.txt", "1\n")
	main := squash(t, seed)
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url)
	theirs := somebody(t, f, "late.txt", "l\n")
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	_, c := r.pushed(t, f)
	git(t, f.dir, "merge-base", "--is-ancestor", theirs, c.SHA)
	git(t, f.dir, "merge-base", "--is-ancestor", main, c.SHA)
	equal(t, "proposed", proposed(t, f, c.SHA), []string{"late.txt", "y.txt"})
}

// What the base has gained decides: a part of it is not enough.
func TestWhatTheBaseGained(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		base  func(t *testing.T, seed string)
		again bool // the work starts from the base
		ahead bool
	}{
		{"nothing", func(*testing.T, string) {}, false, true},
		{"another file", func(t *testing.T, seed string) { onMain(t, seed, "z.txt", "z\n") }, false, true},
		{"the same change", func(t *testing.T, seed string) {
			write(t, filepath.Join(seed, "x.txt"), "x\n")
			onMain(t, seed, "y.txt", "y\n")
		}, true, false},
		{"a part of it", func(t *testing.T, seed string) { onMain(t, seed, "x.txt", "x\n") }, false, true},
		{"the same file, otherwise", func(t *testing.T, seed string) {
			write(t, filepath.Join(seed, "x.txt"), "other\n")
			onMain(t, seed, "y.txt", "y\n")
		}, false, true},
		{"forced back, then the same change", func(t *testing.T, seed string) {
			// What main gave up is on the branch alone now.
			git(t, seed, "reset", "-q", "--hard", "HEAD~1")
			write(t, filepath.Join(seed, "x.txt"), "x\n")
			onMain(t, seed, "y.txt", "y\n")
		}, false, true},
		{"amended and forced, with the same change", func(t *testing.T, seed string) {
			git(t, seed, "commit", "-q", "--amend", "-m", "second, in other words")
			write(t, filepath.Join(seed, "x.txt"), "x\n")
			onMain(t, seed, "y.txt", "y\n")
		}, true, false},
		{"forced to another history", func(t *testing.T, seed string) {
			git(t, seed, "reset", "-q", "--hard", "HEAD~1")
			onMain(t, seed, "z.txt", "z\n")
		}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": "a\n"})
			dir := f.checkout(t, true)
			r := begin(t, dir, f.url)
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			r.pushed(t, f)
			write(t, filepath.Join(dir, "y.txt"), "y\n")
			_, c := r.pushed(t, f)
			ahead(t, r, true)
			tt.base(t, seed)

			// The run that is under way sees it with its next push.
			write(t, filepath.Join(dir, "y.txt"), "y\n")
			r = begin(t, f.checkout(t, true), f.url)
			if r.start.Restarted != tt.again || r.start.Resumed == tt.again {
				t.Errorf("Begin() = %+v, want restarted %v", r.start, tt.again)
			}
			if s := r.State(); s.Tip != c.SHA {
				t.Errorf("State() = %+v, want the tip %s", s, c.SHA)
			}
			// A branch that an earlier run pushed, which died before the pull request.
			ahead(t, r, tt.ahead)
		})
	}
}

// The base gains our change while the run is under way.
func TestBaseGainsOurChangeMeanwhile(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := f.checkout(t, true)
	r := begin(t, dir, f.url)
	onMain(t, seed, "x.txt", "x\n")
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
	ahead(t, r, false)
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	r.pushed(t, f)
	ahead(t, r, true)
}

// Work that is undone again, and commits without a change, are nothing to
// propose.
func TestNothingToPropose(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	ahead(t, r, false)
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "agent: empty")
	// A branch of nothing but empty commits is not made.
	if _, c := r.checkpoint(t); c.Pushed || c.PushError != "" {
		t.Errorf("Checkpoint() = %+v, want it kept here", c)
	}
	if s := r.State(); s.HeadSHA != "" || s.Tip != "" || s.Pushed {
		t.Errorf("State() = %+v, want nothing published", s)
	}
	ahead(t, r, false)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, c := r.pushed(t, f)
	equal(t, "subject", git(t, f.dir, "log", "-1", "--format=%s", c.SHA+"^^"), "agent: empty")
	ahead(t, r, true)
	if err := os.Remove(filepath.Join(dir, "x.txt")); err != nil {
		t.Fatal(err)
	}
	r.pushed(t, f)
	ahead(t, r, false)
}

func TestBaseDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	git(t, f.dir, "update-ref", "-d", "refs/heads/main")
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, c := r.checkpoint(t)
	if !c.Pushed {
		t.Errorf("Checkpoint() = %+v, want it pushed", c)
	}
	if _, err := r.Branch().Ahead(t.Context()); err == nil || !strings.Contains(err.Error(), "main") {
		t.Errorf("Ahead() = %v, want the base named", err)
	}
}

func TestMessagesOfTheBranch(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	f.night(t, "shallow", "x.txt", "1\n")
	second := f.night(t, "shallow", "x.txt", "2\n", says("second\n\nRalph-Iteration: 2\n"))
	want := []string{"second\n\nRalph-Iteration: 2\n", "ralph: iteration\n\nRalph-Iteration: 1\n"}
	if slices.Contains(second.start.Messages, want[0]) || !slices.Contains(second.start.Messages, want[1]) {
		t.Errorf("second night: Messages = %q, want the first night's", second.start.Messages)
	}
	for _, kind := range clones {
		t.Run(kind, func(t *testing.T) {
			r := begin(t, f.clone(t, kind), f.url)
			equal(t, "Messages", sorted(r.start.Messages), sorted(want))
		})
	}
	// The branch itself is checked out, and it is not counted what main has.
	git(t, seed, "fetch", "-q", "origin")
	git(t, seed, "checkout", "-q", "ralph/work")
	r := begin(t, seed, f.url)
	equal(t, "Messages with the branch checked out", sorted(r.start.Messages), sorted(want))
	if !r.start.Resumed || r.start.Base != "main" {
		t.Errorf("Begin() = %+v, want resumed", r.start)
	}
	// Locally, without a server.
	r = begin(t, seed, "", func(o *repo.Options) { o.DefaultBranch = "" })
	equal(t, "Messages locally", sorted(r.start.Messages), sorted(want))
	git(t, seed, "checkout", "-q", "main")
	r = begin(t, seed, "")
	equal(t, "Messages locally on main", sorted(r.start.Messages), sorted(want))
}

// What the pre-flight asks of the server: the branches, and the branch where
// there is one. Only when the base has moved since the branch left it, the
// commit at which it did.
func TestRequestsOfBegin(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	requests := func(dir string) int {
		t.Helper()
		f.mu.Lock()
		before := len(f.tokens)
		f.mu.Unlock()
		begin(t, dir, f.url)
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.tokens) - before
	}
	if got := requests(f.checkout(t, true)); got != 1 {
		t.Errorf("a new branch: %d requests, want 1", got)
	}
	f.night(t, "shallow", "x.txt", "x\n")
	if got := requests(f.checkout(t, true)); got != 2 {
		t.Errorf("a branch that goes on: %d requests, want 2", got)
	}
	onMain(t, seed, "m.txt", "m\n")
	if got := requests(f.checkout(t, true)); got != 3 {
		t.Errorf("a branch whose base has moved: %d requests, want 3", got)
	}
	if got := requests(f.clone(t, "full")); got != 2 {
		t.Errorf("a branch whose base has moved, in a full clone: %d requests, want 2", got)
	}
}
