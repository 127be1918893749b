package repo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/remote"
)

// somebody pushes a commit to the work branch of the forge.
func somebody(t *testing.T, f *forge, name, content string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "clone", "-q", "-b", "ralph/work", f.dir, "x")
	dir = filepath.Join(dir, "x")
	write(t, filepath.Join(dir, name), content)
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "somebody: "+name)
	git(t, dir, "push", "-q", "origin", "ralph/work")
	return git(t, dir, "rev-parse", "HEAD")
}

func TestSomebodyElsePushes(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
	theirs := somebody(t, f, "theirs/t.txt", "t\n")
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "agent: two")
	write(t, filepath.Join(dir, "three.txt"), "3\n")
	_, c := r.pushed(t, f)
	equal(t, "log", git(t, f.dir, "log", "--format=%an: %s", theirs+".."+c.SHA), []string{"octo: ralph: iteration", "Agent: agent: two"})
	git(t, f.dir, "merge-base", "--is-ancestor", theirs, c.SHA)
	want := []string{"100644 a.txt", "100644 one.txt", "100644 second.txt", "100644 theirs/t.txt", "100644 three.txt", "100644 two.txt"}
	equal(t, "files", files(t, f.dir, c.SHA), want)

	// The next checkpoints stand on it, and on what comes later.
	write(t, filepath.Join(dir, "four.txt"), "4\n")
	_, c = r.pushed(t, f)
	somebody(t, f, "more.txt", "m\n")
	write(t, filepath.Join(dir, "one.txt"), "1 again\n")
	_, c = r.pushed(t, f)
	equal(t, "files", files(t, f.dir, c.SHA), sorted(append(want, "100644 four.txt", "100644 more.txt")))
	equal(t, "commits", git(t, f.dir, "rev-list", "--count", "main..ralph/work"), "7")
	if s := r.State(); s.Branch != "ralph/work" || s.HeadSHA != c.SHA || !s.Pushed {
		t.Errorf("State() = %+v, want %s pushed on ralph/work", s, c.SHA)
	}
}

func TestSomebodyElseChangesTheSameFile(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
	theirs := somebody(t, f, "one.txt", "theirs\n")
	write(t, filepath.Join(dir, "one.txt"), "ours\n")
	_, c := r.checkpoint(t)
	s := r.State()
	if !c.Pushed || !strings.HasPrefix(s.Branch, "ralph/work-") || !hasNote(s.Notes, `"one.txt"`) {
		t.Fatalf("Checkpoint() = %+v, State() = %+v, want it pushed to a branch of its own", c, s)
	}
	equal(t, "their branch", git(t, f.dir, "rev-parse", "ralph/work"), theirs)
	equal(t, "our branch", git(t, f.dir, "show", s.Branch+":one.txt"), "ours")
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	r.pushed(t, f)
	if got := r.State().Branch; got != s.Branch {
		t.Errorf("branch of the next checkpoint = %s, want %s", got, s.Branch)
	}
}

// A branch that keeps moving is caught up with as long as there is time.
func TestBranchKeepsMoving(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
	const moves = 3
	var n atomic.Int32
	f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
		if strings.HasSuffix(req.URL.Path, "/git-receive-pack") && n.Add(1) <= moves {
			somebody(t, f, fmt.Sprintf("t%d.txt", n.Load()), "t\n")
		}
		return false
	})
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	_, c := r.pushed(t, f)
	if s := r.State(); s.Branch != "ralph/work" {
		t.Errorf("State() = %+v, want the work on the branch itself", s)
	}
	equal(t, "commits", git(t, f.dir, "rev-list", "--count", "main.."+c.SHA), fmt.Sprint(moves+2))
}

func TestBranchDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
	git(t, f.dir, "update-ref", "-d", "refs/heads/ralph/work")
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	r.pushed(t, f)
}

// A push that failed is made good by the next one, and by Push.
func TestPushFaults(t *testing.T) {
	t.Parallel()
	once := func(answer func(w http.ResponseWriter)) func() func(http.ResponseWriter, *http.Request) bool {
		return func() func(http.ResponseWriter, *http.Request) bool {
			var n atomic.Int32
			return func(w http.ResponseWriter, req *http.Request) bool {
				if !strings.HasSuffix(req.URL.Path, "/git-receive-pack") || n.Add(1) > 1 {
					return false
				}
				answer(w)
				return true
			}
		}
	}
	for _, tt := range []struct {
		name  string
		fault func() func(http.ResponseWriter, *http.Request) bool
	}{
		{"500", once(func(w http.ResponseWriter) { http.Error(w, "oops", 500) })},
		{"429 with Retry-After", once(func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); http.Error(w, "slow down", 429) })},
		{"403 of the secondary limit", once(func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); http.Error(w, "slow down", 403) })},
		{"reset", once(func(w http.ResponseWriter) { panic(http.ErrAbortHandler) })},
		{"empty answer", once(func(w http.ResponseWriter) { w.WriteHeader(200) })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			r := begin(t, dir, f.url)
			f.setFault(tt.fault())
			write(t, filepath.Join(dir, "one.txt"), "1\n")
			r.pushed(t, f)
		})
	}
}

// A web page in place of an answer passes, or is named.
func TestWebPageForGit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pages int32
		asked int32
		fails bool
	}{{pages: 2, asked: 3}, {pages: 1000, asked: 3, fails: true}} {
		f, dir := workspace(t)
		var n atomic.Int32
		f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
			if !strings.HasSuffix(req.URL.Path, "/info/refs") || n.Add(1) > tt.pages {
				return false
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>We are back soon.</html>")
			return true
		})
		r, err := open(t, dir, f.url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Begin(t.Context())
		if tt.fails != (err != nil) || tt.fails && !strings.Contains(err.Error(), "a web page") {
			t.Errorf("Begin() after %d web pages = %v, want an error that names them: %v", tt.pages, err, tt.fails)
		}
		if n.Load() != tt.asked {
			t.Errorf("%d requests, want %d", n.Load(), tt.asked)
		}
	}
}

// The push arrives, its answer does not.
func TestPushAnswerLost(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	var n atomic.Int32
	f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
		if !strings.HasSuffix(req.URL.Path, "/git-receive-pack") || n.Add(1) > 1 {
			return false
		}
		f.serve(httptest.NewRecorder(), req)
		panic(http.ErrAbortHandler)
	})
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	_, c := r.pushed(t, f)
	equal(t, "commits", git(t, f.dir, "rev-list", "--count", "main.."+c.SHA), "2")
}

func TestPushPermissions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"401", 401, "", "github-token"},
		{"403", 403, "Write access to repository not granted.", "contents: write"},
		{"404", 404, "Repository not found.", "contents: write"},
		{"workflow in the status", 403, "refusing to allow a GitHub App to create or update workflow `.github/workflows/x.yml` without `workflows` permission", "workflows: write"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			r := begin(t, dir, f.url)
			f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
				http.Error(w, tt.body, tt.status)
				return true
			})
			write(t, filepath.Join(dir, "one.txt"), "1\n")
			_, c := r.checkpoint(t)
			if c.SHA == "" || c.Pushed || !strings.Contains(c.PushError, tt.want) {
				t.Errorf("Checkpoint() = %+v, want a commit with PushError naming %q", c, tt.want)
			}
			err := r.Push(t.Context())
			if p, ok := errors.AsType[*remote.PermissionError](err); !ok || !strings.Contains(p.Error(), tt.want) {
				t.Errorf("Push() = %v, want *PermissionError naming %q", err, tt.want)
			}
			if _, ok := errors.AsType[*remote.PermissionError](r.Branch().CanPush(t.Context())); !ok {
				t.Errorf("CanPush() = %v, want *PermissionError", err)
			}
			f.setFault(nil)
			if err := r.Push(t.Context()); err != nil || !r.State().Pushed {
				t.Errorf("Push() = %v, state %+v, want it pushed", err, r.State())
			}
			equal(t, "server", git(t, f.dir, "rev-parse", "ralph/work"), c.SHA)
		})
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, hook string
		check      func(err error) bool
		want       string
	}{
		{"hook", "echo 'our rule 7'; exit 1", func(err error) bool { _, ok := errors.AsType[*remote.RejectedError](err); return ok }, "our rule 7"},
		{"protected", "echo 'error: GH006: Protected branch update failed for refs/heads/x.' >&2; exit 1", func(err error) bool {
			e, ok := errors.AsType[*remote.RejectedError](err)
			return ok && e.Protected
		}, "GH006"},
		{"workflow", "echo 'refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission'; exit 1", func(err error) bool {
			e, ok := errors.AsType[*remote.PermissionError](err)
			return ok && e.Path == ".github/workflows/ci.yml"
		}, "workflows: write"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, dir := workspace(t)
			r := begin(t, dir, f.url)
			hook := filepath.Join(f.dir, "hooks/pre-receive")
			write(t, hook, "#!/bin/sh\n"+tt.hook+"\n")
			if err := os.Chmod(hook, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "one.txt"), "1\n")
			_, c := r.checkpoint(t)
			if c.Pushed || !strings.Contains(c.PushError, tt.want) {
				t.Errorf("Checkpoint() = %+v, want PushError with %q", c, tt.want)
			}
			if err := r.Push(t.Context()); !tt.check(err) {
				t.Errorf("Push() = %#v, want another type", err)
			}
		})
	}
}

func TestHangingServer(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	free := make(chan struct{})
	t.Cleanup(func() { close(free) })
	f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
		select {
		case <-free:
		case <-req.Context().Done():
		}
		return true
	})
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.snapshot(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	c, err := r.commit(ctx, ralph.Iteration{Number: 1})
	if err != nil || c.SHA == "" || c.Pushed || c.PushError == "" {
		t.Errorf("Checkpoint() = %+v, %v, want an unpushed commit", c, err)
	}
	if d := time.Since(begun); d > time.Minute {
		t.Errorf("Checkpoint() took %s, want about its deadline", d)
	}
	equal(t, "workspace", git(t, dir, "rev-parse", "ralph/work"), c.SHA)
	f.setFault(nil)
	if err := r.Push(t.Context()); err != nil {
		t.Errorf("Push() = %v, want nil", err)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		leaked.Store(req.Header.Get("Authorization") != "")
	}))
	t.Cleanup(other.Close)
	// Renamed on the same host: followed, and the push goes to the new place.
	f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
		if !strings.HasPrefix(req.URL.Path, "/old/") {
			return false
		}
		http.Redirect(w, req, strings.Replace(req.URL.String(), "/old/", "/owner/", 1), http.StatusMovedPermanently)
		return true
	})
	r := begin(t, dir, strings.Replace(f.url, "/owner/", "/old/", 1))
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
	f.setFault(func(w http.ResponseWriter, req *http.Request) bool {
		http.Redirect(w, req, other.URL+req.URL.Path, http.StatusMovedPermanently)
		return true
	})
	if err := r.Branch().CanPush(t.Context()); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("CanPush() across hosts = %v, want it refused", err)
	}
	if leaked.Load() {
		t.Error("the token went to another host")
	}
}

// Commits made before the run, by a step of the same job, are published too.
func TestLocalCommitsBeforeTheRun(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	write(t, filepath.Join(dir, "step.txt"), "s\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "by a step")
	local := git(t, dir, "rev-parse", "HEAD")
	r := begin(t, dir, f.url)
	if !hasNote(r.start.Notes, "1 commit(s) made here") {
		t.Errorf("Begin().Notes = %q, want the local commit said", r.start.Notes)
	}
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	_, c := r.pushed(t, f)
	equal(t, "parent", git(t, f.dir, "rev-parse", c.SHA+"^"), local)
}

func TestBlobFromOldHistory(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	write(t, filepath.Join(seed, "a.txt"), "changed\n")
	git(t, seed, "commit", "-qam", "change")
	git(t, seed, "push", "-q", "origin", "main")
	git(t, seed, "repack", "-adqb")
	git(t, seed, "commit-graph", "write", "--reachable")
	r := begin(t, seed, f.url)
	write(t, filepath.Join(seed, "a.txt"), "a\n") // as two commits ago
	write(t, filepath.Join(seed, "copy.txt"), "second\n")
	_, c := r.pushed(t, f)
	equal(t, "a.txt", git(t, f.dir, "show", c.SHA+":a.txt"), "a")
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	empty := t.TempDir()
	git(t, empty, "init", "-q")
	sha256 := t.TempDir()
	git(t, sha256, "init", "-q", "--object-format=sha256")
	reftable := f.checkout(t, true)
	git(t, reftable, "config", "core.repositoryFormatVersion", "1")
	git(t, reftable, "config", "extensions.refStorage", "reftable")
	merging := f.checkout(t, true)
	write(t, filepath.Join(merging, ".git/MERGE_HEAD"), git(t, merging, "rev-parse", "HEAD")+"\n")
	for _, tt := range []struct {
		name, dir, want string
		change          optionFunc
	}{
		{"no repository", t.TempDir(), "not a git repository", nil},
		{"empty repository", empty, "no commit yet", nil},
		{"sha256", sha256, "sha256 repositories are not supported", nil},
		{"reftable", reftable, "reftable repositories are not supported", nil},
		{"unfinished merge", merging, "MERGE_HEAD", nil},
		{"bad branch", f.checkout(t, true), `branch "a..b": the name of a branch cannot hold`, func(o *repo.Options) { o.Branch = "a..b" }},
		{"bad remote", f.checkout(t, true), "not an http or https URL", func(o *repo.Options) { o.Remote = "ext::sh -c x" }},
		{"remote with credentials", f.checkout(t, true), "holds credentials", func(o *repo.Options) { o.Remote = "https://u:p@example.com/x" }},
	} {
		var changes []optionFunc
		if tt.change != nil {
			changes = append(changes, tt.change)
		}
		_, err := open(t, tt.dir, f.url, changes...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open(%s) = %v, want %q", tt.name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "u:p@") {
			t.Errorf("Open(%s) = %v, shows credentials", tt.name, err)
		}
	}
}

func TestBeginRefuses(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	for _, tt := range []struct {
		name, want string
		remote     string
		change     optionFunc
	}{
		{"base unknown", "name the base branch", f.url, func(o *repo.Options) { o.DefaultBranch = "" }},
		{"base missing on the server", `"nope" does not exist on`, f.url, func(o *repo.Options) { o.Base = "nope" }},
		{"base missing here", `"nope" does not exist here`, "", func(o *repo.Options) { o.Base = "nope" }},
		{"branch is base", `both "main"`, f.url, func(o *repo.Options) { o.Branch = "main" }},
		{"token refused", "github-token", f.url, func(o *repo.Options) { o.Token = secret.New("wrong") }},
	} {
		dir := f.checkout(t, true)
		r, err := open(t, dir, tt.remote, tt.change)
		if err != nil {
			t.Fatalf("Open(%s) = %v", tt.name, err)
		}
		if _, err := r.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Begin(%s) = %v, want %q", tt.name, err, tt.want)
		}
	}
}
