package repo_test

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/branchname"
	"github.com/org/ralph-action/internal/repo/publish"
	"github.com/org/ralph-action/internal/repo/remote"
)

// only refuses everybody but the holder of one token, for one service or all.
func (f *forge) only(allowed func(token string, push bool) bool) {
	f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
		_, pass, _ := req.BasicAuth()
		push := strings.Contains(req.URL.String(), "git-receive-pack")
		if !allowed(pass, push) {
			http.Error(w, "no", http.StatusForbidden)
			return true
		}
		f.serve(w, req)
		return true
	})
}

func TestPushToken(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	f.only(func(pass string, push bool) bool { return push == (pass == "ci") })
	r := begin(t, dir, f.url, func(o *repo.Options) { o.PushToken = secret.New("ci") })
	if err := r.Branch().CanPush(t.Context()); err != nil {
		t.Errorf("CanPush() = %v", err)
	}
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
	// The error names the input the token came from.
	f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
		http.Error(w, "expired", http.StatusUnauthorized)
		return true
	})
	if err := r.Branch().CanPush(t.Context()); err == nil || !strings.Contains(err.Error(), "ci-token") {
		t.Errorf("CanPush() with an expired token = %v, want ci-token named", err)
	}
	f.only(func(pass string, push bool) bool { return push == (pass == "ci") })
	// What somebody else pushed is read with the other one.
	somebody(t, f, "y.txt", "y\n")
	write(t, filepath.Join(dir, "z.txt"), "z\n")
	r.pushed(t, f)
}

// The token expires in the middle of the run.
func TestTokenExpires(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
	f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
		http.Error(w, "expired", http.StatusUnauthorized)
		return true
	})
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	_, c := r.checkpoint(t)
	if c.Pushed || !strings.Contains(c.PushError, "expired") {
		t.Errorf("Checkpoint() = %+v, want an error that names the token", c)
	}
	equal(t, "kept in the workspace", git(t, dir, "show", "ralph/work:y.txt"), "y")
	if s := r.State(); s.Pushed || s.HeadSHA != c.SHA {
		t.Errorf("State() = %+v, want the commit, not pushed", s)
	}
}

// The repository is renamed while the run is under way.
func TestRenamedMeanwhile(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	var renamed bool
	var mu sync.Mutex
	f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(req.URL.Path, "/moved/") {
			req.URL.Path = strings.Replace(req.URL.Path, "/moved/", "/owner/", 1)
			f.serve(w, req)
			return true
		}
		if renamed {
			http.Redirect(w, req, strings.Replace(req.URL.String(), "/owner/", "/moved/", 1), http.StatusMovedPermanently)
		}
		return renamed
	})
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
	mu.Lock()
	renamed = true
	mu.Unlock()
	write(t, filepath.Join(dir, "y.txt"), "y\n")
	r.pushed(t, f)
}

func TestPushToFork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind string
		behind     int  // commits of the base that the fork lacks
		own        bool // the fork's main has a commit of its own
	}{
		{"in step, shallow", "shallow", 0, false},
		{"in step, full", "full", 0, false},
		{"behind, shallow", "shallow", 2, false},
		{"behind, full", "full", 2, false},
		{"behind, without blobs", "blob:none", 2, false},
		{"with commits of its own, shallow", "shallow", 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			leave(t, tt.name, "in step, full", "behind, full", "in step, shallow")
			f := newForge(t)
			seed := f.seed(t, map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n"})
			fork := newForge(t)
			git(t, seed, "push", "-q", fork.dir, "main")
			if tt.own {
				side := t.TempDir()
				git(t, side, "clone", "-q", fork.dir, "x")
				write(t, filepath.Join(side, "x/fork.txt"), "f\n")
				git(t, filepath.Join(side, "x"), "add", "-A")
				git(t, filepath.Join(side, "x"), "commit", "-qm", "the fork's own")
				git(t, filepath.Join(side, "x"), "push", "-q", "origin", "main")
			}
			for i := range tt.behind {
				onMain(t, seed, fmt.Sprintf("dir/m%d.txt", i), "m\n")
			}
			f.only(func(pass string, push bool) bool { return pass == "base" && !push })
			fork.only(func(pass string, push bool) bool { return pass == "fork" })
			into := func(o *repo.Options) {
				o.Remote, o.Token = fork.url, secret.New("fork")
				o.BaseRemote, o.BaseToken = f.url, secret.New("base")
			}
			dir := f.clone(t, tt.kind)
			r := begin(t, dir, fork.url, into)
			if r.start.Base != "main" || r.start.Resumed {
				t.Errorf("Begin() = %+v, want a new branch", r.start)
			}
			if err := r.Branch().CanPush(t.Context()); err != nil {
				t.Errorf("CanPush() = %v", err)
			}
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			r.pushed(t, fork)
			ahead(t, r, true)
			if out, err := tryGit(f.dir, "rev-parse", "-q", "--verify", "ralph/work"); err == nil {
				t.Errorf("the base's repository has the branch at %s", out)
			}
			// The next night goes on with it, whatever happened to the base.
			onMain(t, seed, "later.txt", "l\n")
			dir = f.clone(t, tt.kind)
			r = begin(t, dir, fork.url, into)
			if !r.start.Resumed || len(r.start.Messages) != 1 {
				t.Errorf("second night: Begin() = %+v, want resumed with one message", r.start)
			}
			write(t, filepath.Join(dir, "y.txt"), "y\n")
			r.pushed(t, fork)
			equal(t, "y.txt", git(t, fork.dir, "show", "ralph/work:y.txt"), "y")
			// Merged in one commit, the branch starts again.
			git(t, seed, "fetch", "-q", fork.dir, "ralph/work")
			git(t, seed, "merge", "-q", "--squash", "FETCH_HEAD")
			git(t, seed, "commit", "-qm", "squashed")
			git(t, seed, "push", "-q", "origin", "main")
			dir = f.clone(t, tt.kind)
			r = begin(t, dir, fork.url, into)
			if !r.start.Restarted {
				t.Errorf("third night: Begin() = %+v, want a new start", r.start)
			}
			write(t, filepath.Join(dir, "z.txt"), "z\n")
			r.pushed(t, fork)
			if err := r.Branch().DeleteBranch(t.Context()); !errors.Is(err, publish.ErrHasChanges) {
				t.Errorf("DeleteBranch() = %v, want it refused", err)
			}
		})
	}
}

// A branch of the same name as the base is one of the fork's.
func TestForkBranchNamedAsBase(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	fork := newForge(t)
	git(t, seed, "push", "-q", fork.dir, "main:other")
	dir := f.checkout(t, true)
	r := begin(t, dir, fork.url, func(o *repo.Options) {
		o.BaseRemote, o.BaseToken, o.Branch = f.url, secret.New(token), "main"
	})
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, fork)
}

func TestDeleteBranch(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	first := f.night(t, "shallow", "x.txt", "x\n")
	if err := first.Branch().DeleteBranch(t.Context()); !errors.Is(err, publish.ErrHasChanges) {
		t.Errorf("DeleteBranch() with changes = %v, want ErrHasChanges", err)
	}
	squash(t, seed)
	r := begin(t, f.checkout(t, true), f.url)
	theirs := somebody(t, f, "late.txt", "l\n")
	if err := r.Branch().DeleteBranch(t.Context()); !errors.Is(err, remote.ErrNotFastForward) {
		t.Errorf("DeleteBranch() of a branch that moved = %v, want ErrNotFastForward", err)
	}
	equal(t, "branch", git(t, f.dir, "rev-parse", "ralph/work"), theirs)
	onMain(t, seed, "late.txt", "l\n")
	r = begin(t, f.checkout(t, true), f.url)
	if err := r.Branch().DeleteBranch(t.Context()); err != nil {
		t.Errorf("DeleteBranch() = %v", err)
	}
	if out, err := tryGit(f.dir, "rev-parse", "-q", "--verify", "refs/heads/ralph/work"); err == nil {
		t.Errorf("the branch is still at %s", out)
	}
	if s := r.State(); s.Tip != "" {
		t.Errorf("State() = %+v, want no tip", s)
	}
	if err := r.Branch().DeleteBranch(t.Context()); err != nil {
		t.Errorf("DeleteBranch() again = %v", err)
	}
	ahead(t, r, false)
}

// Many runs push to one branch at once, and all of their work is on it.
func TestManyPushToOneBranch(t *testing.T) {
	t.Parallel()
	runs := 8
	if long {
		runs = 32
	}
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	all := make([]*run, runs)
	for i := range all {
		dir := f.checkout(t, true)
		all[i] = begin(t, dir, f.url, func(o *repo.Options) { o.RetryDelay = 100 * time.Millisecond })
		write(t, filepath.Join(dir, fmt.Sprintf("run%d.txt", i)), "r\n")
		all[i].snapshot(t)
	}
	var wg sync.WaitGroup
	for i, r := range all {
		wg.Go(func() {
			c, err := r.commit(t.Context(), ralph.Iteration{Number: 1})
			if err != nil || !c.Pushed || r.State().Branch != "ralph/work" {
				t.Errorf("run %d: Checkpoint() = %+v, %v, %+v, want it on the branch", i, c, err, r.State())
			}
		})
	}
	wg.Wait()
	equal(t, "commits", git(t, f.dir, "rev-list", "--count", "main..ralph/work"), fmt.Sprint(runs))
	if got := len(files(t, f.dir, "ralph/work")); got != runs+2 {
		t.Errorf("files on the branch = %d, want %d", got, runs+2)
	}
	equal(t, "branches", git(t, f.dir, "for-each-ref", "--format=%(refname:short)", "refs/heads"), []string{"main", "ralph/work"})
	git(t, f.dir, "fsck", "--strict", "--no-dangling")
}

func TestBranchSuffix(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url, func(o *repo.Options) { o.BranchSuffix = branchname.SuffixCommit })
	equal(t, "Start.Branch", r.start.Branch, "ralph/work-"+git(t, f.dir, "rev-parse", "main")[:7])
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
}

// The branch of the fork stands on commits that the base's server never saw: it
// is continued, and nobody waits for an answer that cannot come.
func TestForkBranchOfItsOwnHistory(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	fork := newForge(t)
	git(t, seed, "push", "-q", fork.dir, "main")
	git(t, seed, "checkout", "-q", "-b", "ralph/work")
	for i := range 3 {
		write(t, filepath.Join(seed, fmt.Sprintf("f%d.txt", i)), "f\n")
		git(t, seed, "add", "-A")
		git(t, seed, "commit", "-qm", "the fork's own")
	}
	git(t, seed, "push", "-q", fork.dir, "ralph/work", "ralph/work~1:refs/heads/main")
	git(t, seed, "checkout", "-q", "main")
	onMain(t, seed, "m.txt", "m\n")
	dir := f.checkout(t, true)
	r := begin(t, dir, fork.url, func(o *repo.Options) {
		o.BaseRemote, o.BaseToken, o.RetryDelay = f.url, secret.New(token), time.Hour
	})
	if !r.start.Resumed {
		t.Errorf("Begin() = %+v, want resumed", r.start)
	}
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, fork)
	ahead(t, r, true)
}
