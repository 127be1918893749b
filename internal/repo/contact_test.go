package repo_test

import (
	"context"
	"errors"
	"net/http"
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

// offers reports whether a request asks what a service offers.
func offers(req *http.Request, service string) bool {
	return strings.HasSuffix(req.URL.Path, "/info/refs") && req.URL.Query().Get("service") == service
}

// dial begins to talk to a forge by the token of the tests' repositories.
func dial(t *testing.T, f *forge, change ...optionFunc) *repo.Contact {
	t.Helper()
	o := repo.Options{Remote: f.url, Token: secret.New(token), Push: true, RetryDelay: time.Millisecond}
	for _, c := range change {
		c(&o)
	}
	c, err := repo.Dial(t.Context(), o)
	if err != nil {
		t.Fatalf("Dial() = %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

// A contact's answers serve a run once: each service is asked for its branches one
// time until something is pushed.
func TestContactAnswersOnce(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	var reads, writes atomic.Int32
	f.setFault(func(_ http.ResponseWriter, req *http.Request) bool {
		if offers(req, "git-upload-pack") {
			reads.Add(1)
		}
		if offers(req, "git-receive-pack") {
			writes.Add(1)
		}
		return false
	})
	c := dial(t, f)
	r := begin(t, dir, f.url, func(o *repo.Options) { o.Contact = c })
	if err := r.Branch().CanPush(t.Context()); err != nil {
		t.Fatalf("CanPush() = %v", err)
	}
	if reads.Load() != 1 || writes.Load() != 1 {
		t.Errorf("asked %d times for reading and %d for writing, want once each", reads.Load(), writes.Load())
	}
	if err := r.Branch().CanPush(t.Context()); err != nil || writes.Load() != 2 {
		t.Errorf("the second CanPush() = %v after %d questions, want one of its own", err, writes.Load())
	}
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
}

// The answer to a contact by another token, or with another server, is not used.
func TestContactOfAnother(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	c := dial(t, f, func(o *repo.Options) { o.Token = secret.New("wrong") })
	begin(t, dir, f.url, func(o *repo.Options) { o.Contact = c })
}

// What the server refuses a contact is said where the answer is needed.
func TestContactIsRefused(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	wrong := func(o *repo.Options) { o.Token = secret.New("wrong") }
	c := dial(t, f, wrong)
	r, err := open(t, dir, f.url, wrong, func(o *repo.Options) { o.Contact = c })
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	var perm *remote.PermissionError
	if _, err := r.Begin(t.Context()); !errors.As(err, &perm) {
		t.Errorf("Begin() = %v, want what is wrong with the token", err)
	}
	if _, err := repo.Dial(t.Context(), repo.Options{Remote: "ext::sh -c x"}); err == nil {
		t.Error("Dial() of no address = nil")
	}
}

// A server that does not answer keeps neither the end of a contact nor one who has
// no time left.
func TestContactHangs(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	f.setFault(func(_ http.ResponseWriter, req *http.Request) bool { <-req.Context().Done(); return true })
	c := dial(t, f)
	r, err := open(t, dir, f.url, func(o *repo.Options) { o.Contact = c })
	if err != nil {
		t.Fatalf("Open() = %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.Branch().CanPush(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("CanPush() = %v, want that its time is over", err)
	}
	c.Close() // returns
}

// willPush begins a run that knows what the server offers to a push.
func willPush(t *testing.T) (*forge, string, *run) {
	t.Helper()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	if err := r.Branch().CanPush(t.Context()); err != nil {
		t.Fatalf("CanPush() = %v", err)
	}
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	r.pushed(t, f)
	write(t, filepath.Join(dir, "two.txt"), "2\n")
	return f, dir, r
}

// A push that assumes the branch where it was is refused by a server where it is
// elsewhere, and goes on top of what is there: nothing is overwritten.
func TestAssumedPushIsRefused(t *testing.T) {
	t.Parallel()
	f, _, r := willPush(t)
	theirs := somebody(t, f, "theirs.txt", "t\n")
	var pushes atomic.Int32
	f.setFault(func(_ http.ResponseWriter, req *http.Request) bool {
		if strings.HasSuffix(req.URL.Path, "/git-receive-pack") {
			pushes.Add(1)
		}
		return false
	})
	_, c := r.pushed(t, f)
	if pushes.Load() != 2 {
		t.Errorf("%d pushes, want one that is refused and one that arrives", pushes.Load())
	}
	git(t, f.dir, "merge-base", "--is-ancestor", theirs, c.SHA)
	equal(t, "files", files(t, f.dir, c.SHA), []string{"100644 a.txt", "100644 one.txt", "100644 second.txt", "100644 theirs.txt", "100644 two.txt"})

	// The branch is made by somebody else before the first push of a run.
	f, dir := workspace(t)
	r = begin(t, dir, f.url)
	if err := r.Branch().CanPush(t.Context()); err != nil {
		t.Fatalf("CanPush() = %v", err)
	}
	git(t, f.dir, "branch", "ralph/work", "main")
	theirs = somebody(t, f, "theirs.txt", "t\n")
	write(t, filepath.Join(dir, "one.txt"), "1\n")
	_, c = r.pushed(t, f)
	git(t, f.dir, "merge-base", "--is-ancestor", theirs, c.SHA)
}

// Once a push has arrived, a server that does not say where the branches are keeps
// nobody waiting; the next push finds out.
func TestPushArrivesBesideAHangingQuestion(t *testing.T) {
	t.Parallel()
	f, dir, r := willPush(t)
	f.setFault(func(_ http.ResponseWriter, req *http.Request) bool {
		if offers(req, "git-receive-pack") {
			<-req.Context().Done()
			return true
		}
		return false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r.snapshot(t)
	c, err := r.commit(ctx, ralph.Iteration{Number: 1})
	if err != nil || !c.Pushed {
		t.Fatalf("Checkpoint() = %+v, %v; want it pushed", c, err)
	}
	if ctx.Err() != nil {
		t.Error("the push waited for the answer until its time was over")
	}
	f.setFault(nil)
	if err := os.Remove(filepath.Join(dir, "one.txt")); err != nil {
		t.Fatal(err)
	}
	r.pushed(t, f)
}
