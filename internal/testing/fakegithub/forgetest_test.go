package fakegithub_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

const token, person = "ghs_0123456789abcdefghijklmnopqrstuvwxyz", "ghp_0123456789abcdefghijklmnopqrstuvwxyz"

type world struct {
	*testing.T
	forge *fakegithub.Forge
	repo  *fakegithub.Repository
	main  string
}

func newWorld(t *testing.T, o fakegithub.Options) world {
	t.Helper()
	f := fakegithub.New(t, o)
	f.AddToken(fakegithub.Token{Value: token})
	f.AddToken(fakegithub.Token{Value: person, Login: "alice", Rights: fakegithub.Workflow()})
	r, err := f.NewRepository("octo", "work")
	if err != nil {
		t.Fatal(err)
	}
	r.SetPermission("alice", "write")
	r.SetPermission("bob", "write")
	sha, err := r.Commit("main", "first", map[string]gitserver.File{"README.md": {Content: "hello\n"}, "bin/run.sh": {Content: "#!/bin/sh\n", Executable: true}})
	if err != nil {
		t.Fatal(err)
	}
	return world{t, f, r, sha}
}

// ask sends one request to the API and returns the status and the answer.
func (w world) ask(token, method, path string, in any) (int, map[string]any) {
	w.Helper()
	status, raw, _ := w.raw(token, method, path, in)
	var out map[string]any
	var list []any
	if json.Unmarshal(raw, &list) == nil {
		out = map[string]any{"list": list}
	} else {
		_ = json.Unmarshal(raw, &out)
	}
	return status, out
}

func (w world) raw(token, method, path string, in any) (int, []byte, http.Header) {
	w.Helper()
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			w.Fatal(err)
		}
		body = bytes.NewReader(raw)
	}
	target := w.forge.APIURL() + path
	if path == "/graphql" {
		target = w.forge.GraphQLURL()
	}
	req, err := http.NewRequestWithContext(w.Context(), method, target, body)
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	return resp.StatusCode, raw, resp.Header
}

// must asks and wants a status.
func (w world) must(want int, method, path string, in any) map[string]any {
	w.Helper()
	status, out := w.ask(token, method, path, in)
	if status != want {
		w.Fatalf("%s %s = %d %v, want %d", method, path, status, out, want)
	}
	return out
}

const repo = "/repos/octo/work"

// commit makes a commit on a new branch through the API.
func (w world) commit(branch, path, content string) string {
	w.Helper()
	tree := w.must(201, "POST", repo+"/git/trees", map[string]any{"base_tree": w.main, "tree": []any{map[string]any{"path": path, "mode": "100644", "type": "blob", "content": content}}})
	made := w.must(201, "POST", repo+"/git/commits", map[string]any{"message": "add " + path, "tree": tree["sha"], "parents": []string{w.main}})
	w.must(201, "POST", repo+"/git/refs", map[string]any{"ref": "refs/heads/" + branch, "sha": made["sha"]})
	return made["sha"].(string)
}

func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Every answer is checked against GitHub's description by the forge itself.
func TestPullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakegithub.Options{})
	w.commit("work", "a.txt", "a")
	w.repo.AddMilestone(3, "next")
	made := w.must(201, "POST", repo+"/pulls", map[string]any{"title": "T", "head": "work", "base": "main", "draft": true})
	if made["number"] != 1.0 || made["draft"] != true {
		t.Errorf("created %v, want #1, a draft", made["number"])
	}
	w.must(422, "POST", repo+"/pulls", map[string]any{"title": "T", "head": "work", "base": "main"})
	w.must(422, "POST", repo+"/pulls", map[string]any{"title": "T", "head": "main", "base": "main"})
	w.must(200, "POST", repo+"/issues/1/labels", map[string]any{"labels": []string{"night"}})
	w.must(201, "POST", repo+"/issues/1/assignees", map[string]any{"assignees": []string{"bob", "nobody"}})
	w.must(201, "POST", repo+"/pulls/1/requested_reviewers", map[string]any{"reviewers": []string{"bob"}})
	w.must(422, "POST", repo+"/pulls/1/requested_reviewers", map[string]any{"reviewers": []string{"nobody"}})
	w.must(200, "PATCH", repo+"/issues/1", map[string]any{"milestone": 3})
	w.must(422, "PATCH", repo+"/issues/1", map[string]any{"milestone": 99})
	w.must(200, "PATCH", repo+"/pulls/1", map[string]any{"title": "U", "body": "B"})
	w.must(200, "POST", "/graphql", map[string]any{"query": "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }", "variables": map[string]any{"id": made["node_id"]}})
	w.must(200, "GET", repo+"/pulls?head=octo:work&state=open&base=main", nil)
	p := w.repo.Pulls()[0]
	if got, want := fmt.Sprint(p.Title, p.Body, p.Draft, p.Labels, p.Assignees, p.Reviewers, p.Milestone, len(p.Commits)), "UBfalse [night] [bob] [bob] 3 1"; got != want {
		t.Errorf("pull request = %s, want %s", got, want)
	}
	if _, err := w.repo.SquashMerge(1); err != nil {
		t.Fatal(err)
	}
	out := w.must(200, "GET", repo+"/pulls?state=all", nil)
	if one := out["list"].([]any)[0].(map[string]any); one["merged_at"] == nil || one["state"] != "closed" {
		t.Errorf("merged: %v %v, want a date and closed", one["merged_at"], one["state"])
	}
	// The branch goes: an open pull request of it is closed.
	w.commit("other", "b.txt", "b")
	w.must(201, "POST", repo+"/pulls", map[string]any{"title": "T", "head": "other", "base": "main"})
	w.must(204, "DELETE", repo+"/git/refs/heads/other", nil)
	if p := w.repo.Pulls()[1]; p.State != "closed" || p.Merged {
		t.Errorf("#2 = %s, merged %v, want closed", p.State, p.Merged)
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakegithub.Options{})
	w.repo.NewIssue("alice", "Broken", "It is.", "bug")
	id := w.repo.NewComment(1, "alice", "/ralph fix it")
	w.forge.AddUser("carol")
	for path, want := range map[string]int{
		repo: 200, repo + "/branches/main": 200, repo + "/branches/none": 404, repo + "/git/ref/heads/main": 200, repo + "/git/matching-refs/heads/m": 200,
		repo + "/git/commits/" + w.main: 200, repo + "/git/trees/main?recursive=1": 200, repo + "/commits/main": 200, repo + "/compare/main...main": 200,
		repo + "/issues/1": 200, repo + "/issues/2": 404, repo + "/issues/1/comments": 200, repo + "/issues/1/labels": 200, repo + "/milestones": 200,
		repo + "/issues/comments/" + fmt.Sprint(id): 200, repo + "/collaborators/alice/permission": 200, repo + "/collaborators/carol/permission": 200,
		repo + "/collaborators/nobody/permission": 404, "/users/alice": 200, "/installation/repositories": 200, "/user": 403, "/rate_limit": 200,
		repo + "/commits/main/check-runs": 200, repo + "/commits/main/pulls": 200, repo + "/commits/main/statuses": 200, repo + "/branches": 200, repo + "/commits": 200, repo + "/milestones/9": 404, repo + "/commits/main/status": 200, repo + "/actions/runs": 200, "/repos/octo/none": 404,
	} {
		if status, out := w.ask(token, "GET", path, nil); status != want {
			t.Errorf("GET %s = %d %v, want %d", path, status, out, want)
		}
	}
	for login, want := range map[string]string{"octo": "admin", "alice": "write", "carol": "none"} {
		if out := w.must(200, "GET", repo+"/collaborators/"+login+"/permission", nil); out["permission"] != want {
			t.Errorf("permission of %s = %v, want %s", login, out["permission"], want)
		}
	}
	made := w.must(201, "POST", repo+"/issues/1/comments", map[string]any{"body": "started"})
	w.must(200, "PATCH", repo+"/issues/comments/"+fmt.Sprint(int64(made["id"].(float64))), map[string]any{"body": "done"})
	if c := w.repo.Comments(1); len(c) != 2 || c[1].Body != "done" || c[1].Edits != 1 || c[1].Author != "github-actions[bot]" {
		t.Errorf("comments = %+v, want the second edited once", c)
	}
}

func TestSignedCommits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakegithub.Options{})
	blob := w.must(201, "POST", repo+"/git/blobs", map[string]any{"content": base64.StdEncoding.EncodeToString([]byte{0, 255}), "encoding": "base64"})
	tree := w.must(201, "POST", repo+"/git/trees", map[string]any{"base_tree": w.main, "tree": []any{
		map[string]any{"path": "data/x.bin", "mode": "100644", "type": "blob", "sha": blob["sha"]},
		map[string]any{"path": "link", "mode": "120000", "type": "blob", "content": "README.md"},
		map[string]any{"path": "module", "mode": "160000", "type": "commit", "sha": strings.Repeat("1", 40)},
		map[string]any{"path": "bin/run.sh", "mode": "100755", "type": "blob", "sha": nil},
	}})
	w.must(422, "POST", repo+"/git/trees", map[string]any{"tree": []any{map[string]any{"path": ".git/config", "mode": "100644", "type": "blob", "content": "x"}}})
	in := map[string]any{"message": "m", "tree": tree["sha"], "parents": []string{w.main}}
	made := w.must(201, "POST", repo+"/git/commits", in)
	if verified := made["verification"].(map[string]any)["verified"]; verified != true {
		t.Errorf("verified = %v, want true", verified)
	}
	in["author"] = map[string]any{"name": "A", "email": "a@example.com"}
	if verified := w.must(201, "POST", repo+"/git/commits", in)["verification"].(map[string]any)["verified"]; verified != false {
		t.Errorf("verified with an author = %v, want false", verified)
	}
	w.must(422, "PATCH", repo+"/git/refs/heads/none", map[string]any{"sha": made["sha"]})
	w.must(200, "PATCH", repo+"/git/refs/heads/main", map[string]any{"sha": made["sha"]})
	w.must(422, "PATCH", repo+"/git/refs/heads/main", map[string]any{"sha": w.main})
	dir := t.TempDir()
	if out, err := git(t, dir, "--git-dir", w.repo.Dir, "ls-tree", "-r", "main"); err != nil || !strings.Contains(out, "160000 commit 1111") || strings.Contains(out, "run.sh") || !strings.Contains(out, "120000 blob") {
		t.Errorf("ls-tree: %v\n%s", err, out)
	}
	if out, err := git(t, dir, "--git-dir", w.repo.Dir, "fsck", "--no-dangling"); err != nil {
		t.Errorf("fsck: %v\n%s", err, out)
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakegithub.Options{})
	dir := filepath.Join(t.TempDir(), "clone")
	clone := func(token string) string {
		return strings.Replace(w.forge.URL, "://", "://x-access-token:"+token+"@", 1) + "/octo/work"
	}
	if out, err := git(t, t.TempDir(), "clone", "-q", clone(token), dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := git(t, dir, append([]string{"-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return out
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if out, err := git(t, dir, args...); err == nil || !strings.Contains(out, want) {
			t.Errorf("git %v: %v, %q, want %q", args, err, out, want)
		}
	}
	run("commit", "-q", "--allow-empty", "-m", "one")
	run("push", "-q", "origin", "HEAD:refs/heads/work")
	w.repo.Protect("main")
	refused("GH006: Protected branch update failed for refs/heads/main", "push", "origin", "HEAD:main")
	run("-c", "core.hooksPath=/dev/null", "checkout", "-q", "-b", "flow")
	if out, err := git(t, dir, "config", "user.name", "A"); err != nil {
		t.Fatal(out)
	}
	run("config", "user.email", "a@example.com")
	if out, err := exec.Command("sh", "-c", "mkdir -p '"+dir+"/.github/workflows' && echo x >'"+dir+"/.github/workflows/ci.yml'").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	run("add", "-A")
	run("commit", "-q", "-m", "flow")
	refused("refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission", "push", "origin", "flow")
	run("push", "-q", clone(person), "flow")
	w.forge.ExpireToken(token, 0)
	refused("", "push", "origin", "HEAD:refs/heads/late")
	w.forge.AddToken(fakegithub.Token{Value: token})
	w.repo.Rename("renamed")
	run("fetch", "-q", "origin")
	if status, _, header := w.raw(token, "GET", repo, nil); status != 301 || !strings.Contains(header.Get("Location"), "/repositories/") {
		t.Errorf("renamed: %d %s, want 301 to /repositories/ID", status, header.Get("Location"))
	}
	w.repo.Archive()
	refused("403", "push", strings.Replace(clone(token), "/work", "/renamed", 1), "HEAD:refs/heads/late")
}

func TestHooksAndLimits(t *testing.T) {
	t.Parallel()
	limits := fakegithub.Limits{ContentMinute: 2, Speed: 60}
	w := newWorld(t, fakegithub.Options{Limits: &limits})
	w.repo.NewIssue("alice", "I", "")
	var seen []string
	w.forge.Before(func(r *http.Request) { seen = append(seen, "before "+r.Method) })
	w.forge.After(func(r *http.Request) {
		seen = append(seen, fmt.Sprint("after ", r.Method, " ", len(w.repo.Comments(1))))
	})
	for range 2 {
		w.must(201, "POST", repo+"/issues/1/comments", map[string]any{"body": "x"})
	}
	status, _, header := w.raw(token, "POST", repo+"/issues/1/comments", map[string]any{"body": "x"})
	if status != 403 || header.Get("Retry-After") != "1" {
		t.Errorf("third comment: %d, Retry-After %q, want 403 and 1", status, header.Get("Retry-After"))
	}
	if got, want := strings.Join(seen, ", "), "before POST, after POST 1, before POST, after POST 2, before POST, after POST 2"; got != want {
		t.Errorf("hooks = %s, want %s", got, want)
	}
	if n := w.forge.Count("POST", repo+"/issues/*"); n != 3 {
		t.Errorf("Count = %d, want 3", n)
	}
	if n := len(w.forge.Writes()); n != 2 {
		t.Errorf("Writes = %d, want 2", n)
	}
}

func TestLogsLieElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakegithub.Options{})
	w.repo.SetCI(func(_ string, asked int) []fakegithub.Check {
		if asked == 1 {
			return []fakegithub.Check{{Name: "test", Workflow: "CI", Status: "in_progress"}}
		}
		return []fakegithub.Check{{Name: "test", Workflow: "CI", Status: "completed", Conclusion: "failure", Log: "it broke"}, {Name: "lint", Status: "queued"}}
	})
	w.must(200, "GET", repo+"/commits/main/check-runs", nil)
	out := w.must(200, "GET", repo+"/commits/main/check-runs", nil)
	if out["total_count"] != 2.0 {
		t.Fatalf("%v checks, want 2", out["total_count"])
	}
	runs := w.must(200, "GET", repo+"/actions/runs?head_sha="+w.main, nil)["workflow_runs"].([]any)
	id := int64(runs[0].(map[string]any)["id"].(float64))
	w.must(200, "GET", fmt.Sprintf("%s/actions/runs/%d", repo, id), nil)
	jobs := w.must(200, "GET", fmt.Sprintf("%s/actions/runs/%d/jobs", repo, id), nil)["jobs"].([]any)
	one := int64(jobs[0].(map[string]any)["id"].(float64))
	w.must(200, "GET", fmt.Sprintf("%s/actions/jobs/%d", repo, one), nil)
	status, _, header := w.raw(token, "GET", fmt.Sprintf("%s/actions/jobs/%d/logs", repo, one), nil)
	if status != 302 || strings.HasPrefix(header.Get("Location"), w.forge.URL) {
		t.Fatalf("logs: %d %s, want 302 to another server", status, header.Get("Location"))
	}
	resp, err := (&http.Client{}).Get(header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "it broke" {
		t.Errorf("log = %q, %v", text, err)
	}
	if n, tokens := w.forge.Logs(); n != 1 || len(tokens) != 0 {
		t.Errorf("Logs = %d, %v, want 1 without a token", n, tokens)
	}
}

func TestForks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fakegithub.Options{})
	var forks []*fakegithub.Repository
	for _, name := range []string{"one", "two"} {
		fork, err := w.repo.Fork("alice", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fork.Commit("work", "of "+name, map[string]gitserver.File{name: {Content: name}}); err != nil {
			t.Fatal(err)
		}
		forks = append(forks, fork)
	}
	for i, fork := range forks {
		status, out := w.ask(person, "POST", repo+"/pulls", map[string]any{"title": "T", "head": "alice:work", "head_repo": fork.Name, "base": "main"})
		if status != 201 || out["number"] != float64(i+1) {
			t.Errorf("pull request from %s: %d %v", fork.FullName(), status, out["message"])
		}
	}
	if n := len(w.must(200, "GET", repo+"/pulls?head=alice:work", nil)["list"].([]any)); n != 2 {
		t.Errorf("%d pull requests of alice:work, want both forks'", n)
	}
}
