package demo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo"
	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

const token = "demo-token"

func newForge(t *testing.T) (*demo.Forge, string) {
	t.Helper()
	forge, err := demo.NewForge(t.TempDir(), token)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(forge)
	t.Cleanup(server.Close)
	return forge, server.URL
}

func create(t *testing.T, forge *demo.Forge, owner, name string) string {
	t.Helper()
	if err := forge.CreateRepository(owner, name, "main"); err != nil {
		t.Fatal(err)
	}
	return "/" + owner + "/" + name + ".git"
}

func commit(t *testing.T, forge *demo.Forge, owner, branch, content string) string {
	t.Helper()
	sha, err := forge.Commit(owner, "greet", branch, "Set "+content+"\n\nWith a body.", map[string]gitserver.File{"a/b.txt": {Content: content}, "a.sh": {Content: "#!/bin/sh\n", Executable: true}})
	if err != nil {
		t.Fatal(err)
	}
	return sha
}

// git runs git without the machine's configuration.
func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@localhost")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func mustGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := git(t, dir, args...)
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func withUser(address, user string) string { return strings.Replace(address, "://", "://"+user+"@", 1) }

// branch is the tip of a branch as the server tells it.
func branch(t *testing.T, address, name string) string {
	t.Helper()
	sha, _, _ := strings.Cut(mustGit(t, t.TempDir(), "ls-remote", withUser(address, "x-access-token:"+token), "refs/heads/"+name), "\t")
	return sha
}

func TestGitOverHTTP(t *testing.T) {
	t.Parallel()
	forge, base := newForge(t)
	path := create(t, forge, "octo", "greet")
	seed := commit(t, forge, "octo", "main", "one")

	work := filepath.Join(t.TempDir(), "work")
	mustGit(t, t.TempDir(), "clone", "-q", withUser(base, "x-access-token:"+token)+path, work)
	if got := mustGit(t, work, "rev-parse", "HEAD"); got != seed {
		t.Errorf("clone's HEAD = %s, want %s", got, seed)
	}
	mustGit(t, work, "fsck", "--strict")
	if info, err := os.Stat(filepath.Join(work, "a.sh")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("Stat(a.sh) = %v, %v, want an executable file", info, err)
	}

	// Larger than git's buffer, so that it comes chunked.
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for i := range big {
		big[i] ^= byte(i * 7 >> 3)
	}
	if err := os.WriteFile(filepath.Join(work, "big"), big, 0o600); err != nil {
		t.Fatal(err)
	}
	mustGit(t, work, "checkout", "-q", "-b", "ralph/one")
	mustGit(t, work, "add", "-A")
	mustGit(t, work, "commit", "-q", "-m", "Add big")
	mustGit(t, work, "-c", "http.postBuffer=1", "push", "-q", "origin", "ralph/one")
	if got, want := branch(t, base+path, "ralph/one"), mustGit(t, work, "rev-parse", "HEAD"); got != want {
		t.Errorf("Branch(ralph/one) = %q, want %q", got, want)
	}
	mustGit(t, t.TempDir(), "clone", "-q", "--depth=1", "-b", "ralph/one", withUser(base, "x-access-token:"+token)+"/octo/greet", "shallow")
}

func TestGitRefuses(t *testing.T) {
	t.Parallel()
	forge, base := newForge(t)
	path := create(t, forge, "octo", "greet")
	commit(t, forge, "octo", "main", "one")
	for _, test := range []struct{ name, address, want string }{
		{"no token", base + path, "could not read Username"},
		{"wrong token", withUser(base, "x-access-token:wrong") + path, "Authentication failed"},
		{"no repository", withUser(base, "x:"+token) + "/octo/other.git", "not found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out, err := git(t, t.TempDir(), "ls-remote", test.address)
			if err == nil || !strings.Contains(out, test.want) {
				t.Errorf("git ls-remote = %q, %v, want an error with %q", out, err, test.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if _, err := demo.NewForge(t.TempDir(), ""); err == nil {
		t.Error("NewForge(no token) = nil error, want one")
	}
	if _, err := demo.NewForge("relative", token); err == nil {
		t.Error("NewForge(relative path) = nil error, want one")
	}
	forge, _ := newForge(t)
	create(t, forge, "octo", "greet")
	if _, err := forge.Commit("octo", "greet", "main", "m", map[string]gitserver.File{"../x": {}}); err == nil {
		t.Error("Commit(../x) = nil error, want one")
	}
	if _, err := forge.Commit("octo", "nothing", "main", "m", nil); err == nil {
		t.Error("Commit(unknown repository) = nil error, want one")
	}
}

// call sends one API request and decodes the answer.
func call(t *testing.T, method, address, body string, out any) (int, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			t.Fatalf("%s %s: %v in %s", method, address, err, raw)
		}
	}
	return resp.StatusCode, resp.Header
}

type answer struct {
	Message string
	Errors  []struct{ Field, Code, Message string }
	Number  int
	NodeID  string `json:"node_id"`
	Title   string
	Draft   bool
	State   string
	HTMLURL string `json:"html_url"`
	Head    struct {
		Label, Ref, SHA string
		Repo            struct {
			FullName string `json:"full_name"`
		}
	}
}

func (a answer) text() string {
	text := a.Message
	for _, e := range a.Errors {
		text += "; " + e.Field + " " + e.Code + " " + e.Message
	}
	return text
}

func TestPullRequests(t *testing.T) {
	t.Parallel()
	forge, base := newForge(t)
	create(t, forge, "octo", "greet")
	create(t, forge, "fork", "greet")
	commit(t, forge, "octo", "main", "one")
	commit(t, forge, "octo", "same", "one")
	commit(t, forge, "octo", "ralph/x", "one")
	sha := commit(t, forge, "octo", "ralph/x", "two")
	commit(t, forge, "fork", "ralph/x", "three")
	pulls := base + "/api/v3/repos/octo/greet/pulls"

	for _, test := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"no json", `{`, 400, "parsing"},
		{"no head", `{"title":"t","head":"nothing","base":"main"}`, 422, "head invalid"},
		{"no base", `{"title":"t","head":"ralph/x","base":"nothing"}`, 422, "base invalid"},
		{"same", `{"title":"t","head":"same","base":"main"}`, 422, "No commits between main and same"},
		{"itself", `{"title":"t","head":"main","base":"main"}`, 422, "No commits between main and main"},
	} {
		var got answer
		if status, _ := call(t, "POST", pulls, test.body, &got); status != test.status || !strings.Contains(got.text(), test.want) {
			t.Errorf("%s: POST = %d %q, want %d %q", test.name, status, got.text(), test.status, test.want)
		}
	}

	var made answer
	if status, _ := call(t, "POST", pulls, `{"title":"t","body":"b","head":"ralph/x","base":"main","draft":true}`, &made); status != 201 || made.Number != 1 || !made.Draft ||
		made.Head.Label != "octo:ralph/x" || made.Head.SHA != sha || made.HTMLURL != base+"/octo/greet/pull/1" {
		t.Errorf("POST = %d %+v, want 201 and draft #1 of octo:ralph/x", status, made)
	}
	var again answer
	if status, _ := call(t, "POST", pulls, `{"title":"t","head":"octo:ralph/x","base":"main"}`, &again); status != 422 || !strings.Contains(again.text(), "A pull request already exists for octo:ralph/x.") {
		t.Errorf("second POST = %d %q, want 422", status, again.text())
	}
	if status, _ := call(t, "POST", pulls, `{"title":"of a fork","head":"fork:ralph/x","base":"main"}`, nil); status != 201 {
		t.Errorf("POST of a fork = %d, want 201", status)
	}

	call(t, "POST", base+"/api/v3/repos/octo/greet/issues/1/labels", `{"labels":["a","b"]}`, nil)
	call(t, "POST", base+"/api/v3/repos/octo/greet/issues/1/labels", `{"labels":["B","c"]}`, nil)
	call(t, "POST", base+"/api/graphql", fmt.Sprintf(`{"query":"mutation { markPullRequestReadyForReview }","variables":{"id":%q}}`, made.NodeID), nil)
	call(t, "PATCH", pulls+"/1", `{"title":"new"}`, nil)
	var list []answer
	call(t, "GET", pulls+"?head=fork:ralph/x", "", &list)
	if len(list) != 1 || list[0].Number != 2 || list[0].Head.Repo.FullName != "fork/greet" {
		t.Errorf("GET head=fork:ralph/x = %+v, want #2", list)
	}

	got := forge.PullRequests("octo", "greet")
	if len(got) != 2 {
		t.Fatalf("PullRequests() = %+v, want two", got)
	}
	first := got[0]
	if first.Title != "new" || first.Body != "b" || first.Draft || first.State != "open" || first.Head != "ralph/x" || first.HeadSHA != sha || !slices.Equal(first.Labels, []string{"a", "b", "c"}) {
		t.Errorf("PullRequests()[0] = %+v", first)
	}
}

func TestAPIAnswers(t *testing.T) {
	t.Parallel()
	forge, base := newForge(t)
	create(t, forge, "octo", "greet")
	commit(t, forge, "octo", "feature/a", "one")
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/v3/user", "", 200, `"login":"ralph-demo"`},
		{"GET", "/api/v3/repos/octo/greet", "", 200, `"default_branch":"main"`},
		{"GET", "/api/v3/repos/OCTO/greet", "", 200, `"push":true`},
		{"GET", "/api/v3/repos/octo/none", "", 404, "Not Found"},
		{"GET", "/api/v3/repos/octo/greet/branches/feature%2Fa", "", 200, `"name":"feature/a"`},
		{"GET", "/api/v3/repos/octo/greet/branches/feature/a", "", 200, `"name":"feature/a"`},
		{"GET", "/api/v3/repos/octo/greet/branches/main", "", 404, "Branch not found"},
		{"GET", "/api/v3/repos/octo/greet/pulls/7", "", 404, "Not Found"},
		{"PATCH", "/api/v3/repos/octo/greet/pulls/x", "", 404, "Not Found"},
		{"GET", "/api/v3/nothing", "", 404, "Not Found"},
		{"POST", "/api/graphql", `{"query":"{ viewer { login } }"}`, 200, "knows nothing else"},
		{"POST", "/api/graphql", `{"query":"convertPullRequestToDraft","variables":{"id":"PR_9"}}`, 200, "NOT_FOUND"},
	} {
		var raw json.RawMessage
		status, header := call(t, test.method, base+test.path, test.body, &raw)
		if status != test.status || !strings.Contains(string(raw), test.want) || !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
			t.Errorf("%s %s = %d %s, want %d with %s", test.method, test.path, status, raw, test.status, test.want)
		}
	}
	resp, err := http.Get(base + "/api/v3/user")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("GET user without a token = %d, want 401", resp.StatusCode)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	forge, base := newForge(t)
	create(t, forge, "octo", "greet")
	commit(t, forge, "octo", "main", "one")
	commit(t, forge, "octo", "x", "two")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			req, err := http.NewRequest(http.MethodPost, base+"/api/v3/repos/octo/greet/pulls", strings.NewReader(`{"title":"t","head":"x","base":"main"}`))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "token "+token)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			forge.PullRequests("octo", "greet")
		})
	}
	group.Wait()
	if got := forge.PullRequests("octo", "greet"); len(got) != 1 {
		t.Errorf("PullRequests() = %+v, want one", got)
	}
}

// What git has to serve HTTP itself is not in every installation, nor in our images.
func TestGitWithoutItsServer(t *testing.T) { //nolint:paralleltest // git finds its parts by the environment
	core := t.TempDir()
	from := mustGit(t, core, "--exec-path")
	parts, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if part.Name() == "git-http-backend" {
			continue
		}
		if err := os.Symlink(filepath.Join(from, part.Name()), filepath.Join(core, part.Name())); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_EXEC_PATH", core)
	if out, err := git(t, core, "http-backend"); err == nil || !strings.Contains(out, "not a git command") {
		t.Fatalf("git http-backend = %q, %v, want that there is none", out, err)
	}
	forge, base := newForge(t)
	path := create(t, forge, "octo", "greet")
	seed := commit(t, forge, "octo", "main", "one")
	for _, protocol := range []string{"0", "1", "2"} {
		work := filepath.Join(t.TempDir(), "work")
		mustGit(t, t.TempDir(), "-c", "protocol.version="+protocol, "clone", "-q", withUser(base, "x-access-token:"+token)+path, work)
		if got := mustGit(t, work, "rev-parse", "HEAD"); got != seed {
			t.Errorf("protocol %s: clone's HEAD = %s, want %s", protocol, got, seed)
		}
		mustGit(t, work, "commit", "-q", "--allow-empty", "-m", "more")
		mustGit(t, work, "-c", "protocol.version="+protocol, "push", "-q", "origin", "HEAD:refs/heads/v"+protocol)
		if got, want := branch(t, base+path, "v"+protocol), mustGit(t, work, "rev-parse", "HEAD"); got != want {
			t.Errorf("protocol %s: pushed %q, want %q", protocol, got, want)
		}
	}
}
