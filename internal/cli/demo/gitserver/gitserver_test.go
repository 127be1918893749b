package gitserver_test

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

func TestBranch(t *testing.T) {
	t.Parallel()
	r, err := gitserver.Init(filepath.Join(t.TempDir(), "r.git"), "main")
	if err != nil {
		t.Fatal(err)
	}
	sha, err := r.Commit("a/b", "first", map[string]gitserver.File{"x/y": {Content: "z"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a/b": sha, "a": "", "main": "", "../heads/a/b": "", "": ""} {
		if got := r.Branch(name); got != want {
			t.Errorf("Branch(%q) = %q, want %q", name, got, want)
		}
	}
	if kind, _, err := r.Object(sha); kind != "commit" || err != nil {
		t.Errorf("Object(%s) = %q, %v, want a commit", sha, kind, err)
	}
	if _, _, err := r.Object("../x"); err == nil {
		t.Error("Object(../x) = nil error, want one")
	}
}

// Git fetches and pushes, in either version of its protocol, also what is too large for
// one request of a known length (http.postBuffer, 1 MB), or long enough to be compressed.
func TestServe(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0", "2"} {
		t.Run("protocol "+version, func(t *testing.T) {
			t.Parallel()
			r, err := gitserver.Init(filepath.Join(t.TempDir(), "r.git"), "main")
			if err != nil {
				t.Fatal(err)
			}
			if _, err = r.Commit("main", "first", map[string]gitserver.File{"a": {Content: "a"}}); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				asked, ok := gitserver.ParseRequest(req)
				if !ok {
					http.NotFound(w, req)
					return
				}
				r.Serve(w, req, asked)
			}))
			defer server.Close()
			dir := t.TempDir()
			git := func(args ...string) {
				t.Helper()
				cmd := exec.Command("git", append([]string{"-c", "protocol.version=" + version, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
				cmd.Dir = dir
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %q: %v\n%s", args, err, out)
				}
			}
			git("clone", "-q", server.URL+"/octo/work.git", "clone")
			large := make([]byte, 2<<20)
			_, _ = rand.Read(large)
			if err := os.WriteFile(filepath.Join(dir, "clone", "large"), large, 0o600); err != nil {
				t.Fatal(err)
			}
			git("-C", "clone", "add", "large")
			git("-C", "clone", "commit", "-q", "-m", "large")
			git("-C", "clone", "push", "-q", "origin", "main")
			git("clone", "-q", "--bare", server.URL+"/octo/work", "again")
			clone := gitserver.Repository{Dir: filepath.Join(dir, "clone", ".git")}
			for range 30 { // enough commits for the next fetch to send more than 1 KB
				if _, err := clone.Commit("main", "mine", nil); err != nil {
					t.Fatal(err)
				}
			}
			if _, err = r.Commit("main", "theirs", map[string]gitserver.File{"b": {Content: "b"}}); err != nil {
				t.Fatal(err)
			}
			git("-C", "clone", "fetch", "-q")
			if got, err := os.ReadFile(filepath.Join(dir, "again", "HEAD")); err != nil || !bytes.Equal(got, []byte("ref: refs/heads/main\n")) {
				t.Errorf("HEAD of a clone = %q, %v, want main", got, err)
			}
			git("-C", "clone", "merge-base", "--is-ancestor", "main~30", "origin/main")
			git("-C", "again", "cat-file", "-e", "main:large")
		})
	}
}
