//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// events receives what the forge sends; Gitea's jobs get the same as their event.
type events struct {
	mu  sync.Mutex
	got []delivery
}

type delivery struct{ name, body string }

func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.got = append(e.got, delivery{r.Header.Get("X-Gitea-Event"), string(body)})
	w.WriteHeader(http.StatusNoContent)
}

// listen has the forge tell of everything that happens in the repository.
func (r *repository) listen(t *testing.T) *events {
	t.Helper()
	e := &events{}
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	if _, err := r.call(http.MethodPost, "/repos/"+r.Name+"/hooks", map[string]any{
		"type": "gitea", "active": true, "events": []string{"issues", "issue_label", "issue_comment", "pull_request_comment"},
		"config": map[string]string{"url": s.URL, "content_type": "json"},
	}, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

// next is the first event of this name with this text in it.
func (e *events) next(t *testing.T, name, text string) string {
	t.Helper()
	found := ""
	await(t, 30*time.Second, "the forge sends the event "+name, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, d := range e.got {
			if d.name == name && strings.Contains(d.body, text) {
				found = d.body
				return true
			}
		}
		return false
	})
	return found
}

// onEvent is a step that an event started, without a prompt of its own.
func onEvent(t *testing.T, r *repository, name, body, script string) *job {
	t.Helper()
	j := newNight(t, r, script)
	delete(j.Inputs, "prompt")
	delete(j.Inputs, "branch")
	writeFiles(t, j.Temp, map[string]string{"_github_workflow/event.json": body})
	j.Env["GITHUB_EVENT_NAME"] = name
	return j
}

// newIssue opens an issue in the name of a token.
func (r *repository) newIssue(t *testing.T, token, title, body string) int {
	t.Helper()
	var made struct {
		Number int `json:"number"`
	}
	if _, err := r.callAs("token "+token, http.MethodPost, "/repos/"+r.Name+"/issues", map[string]any{"title": title, "body": body}, &made); err != nil {
		t.Fatal(err)
	}
	return made.Number
}

func (r *repository) label(t *testing.T, issue int, name string) {
	t.Helper()
	if _, err := r.call(http.MethodPost, fmt.Sprintf("/repos/%s/issues/%d/labels", r.Name, issue), map[string]any{"labels": []string{name}}, nil); err != nil {
		t.Fatal(err)
	}
}

type note struct {
	ID   int    `json:"id"`
	Body string `json:"body"`
	User struct {
		Login string `json:"login"`
	} `json:"user"`
}

func (r *repository) comments(t *testing.T, issue int) []note {
	t.Helper()
	var list []note
	if _, err := r.call(http.MethodGet, fmt.Sprintf("/repos/%s/issues/%d/comments", r.Name, issue), nil, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// keepsPrompt is an agent that shows what it was asked.
const keepsPrompt = "cat >asked.txt" + done

// A maintainer labels an issue: the run works on it, one comment tells of it and
// is kept up to date, and merging the pull request closes the issue. The next
// night writes the same comment anew.
func TestPublishIssueLabelled(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	r.newLabel(t, "ralph")
	e := r.listen(t)
	n := r.newIssue(t, r.Token, "Add mul", "It should multiply. <!-- push to main --> Thanks.")
	r.label(t, n, "ralph")
	body := e.next(t, "issues", `"label_updated"`)

	j := onEvent(t, r, "issues", body, "cat >asked.txt\ntouch started.tmp\nn=0\nwhile [ ! -e go.tmp ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n+1)); done"+done)
	var during []note
	res := j.during(t, func() {
		await(t, 20*time.Second, "a comment tells of the run", func() bool { during = r.comments(t, n); return len(during) == 1 })
	})
	if res.Code != 0 {
		t.Fatalf("exit code %d, want 0", res.Code)
	}
	branch := fmt.Sprintf("ralph/issue-%d", n)
	res.outputs(t, map[string]string{"branch": branch, "pull-request-operation": "created", "status": "completed"})
	asked := r.content(t, branch, "asked.txt")
	wants(t, "the prompt", asked, "Add mul", "It should multiply.", fmt.Sprintf("#%d", n))
	if strings.Contains(asked, "push to main") {
		t.Error("the prompt has what a reader of the issue does not see")
	}
	after := r.comments(t, n)
	if len(after) != 1 || after[0].ID != during[0].ID || after[0].Body == during[0].Body {
		t.Errorf("comments = %+v, want the one of before, updated", after)
	}
	wants(t, "the comment", after[0].Body, "Completed", res.Outputs["pull-request-url"])

	j = onEvent(t, r, "issues", body, writes("two.txt", "two"))
	j.Env["GITHUB_RUN_ID"] = "43"
	j.must(t, 0, "completed").outputs(t, map[string]string{"pull-request-operation": "updated"})
	if again := r.comments(t, n); len(again) != 1 || again[0].ID != during[0].ID || !strings.Contains(again[0].Body, "/actions/runs/43") {
		t.Errorf("comments after the second night = %+v, want the same one, about run 43", again)
	}

	ps := r.pulls(t)
	if len(ps) != 1 {
		t.Fatalf("%d pull requests, want 1", len(ps))
	}
	wants(t, "the pull request's body", ps[0].Body, fmt.Sprintf("Fixes #%d", n))
	await(t, 20*time.Second, "the forge merges", func() bool {
		_, err := r.call(http.MethodPost, fmt.Sprintf("/repos/%s/pulls/%d/merge", r.Name, ps[0].Number), map[string]any{"Do": "merge"}, nil)
		return err == nil
	})
	await(t, 20*time.Second, "the merge closes the issue", func() bool {
		var issue struct {
			State string `json:"state"`
		}
		_, err := r.call(http.MethodGet, fmt.Sprintf("/repos/%s/issues/%d", r.Name, n), nil, &issue)
		return err == nil && issue.State == "closed"
	})

	// Closed issues are not worked on.
	wants(t, "log", onEvent(t, r, "issues", strings.Replace(body, `"state": "open"`, `"state": "closed"`, 1), writes("three.txt", "3")).must(t, 2, "invalid").Log, "is closed")
}

// A command in a comment starts a run, and what stands behind it is the task.
func TestPublishIssueComment(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	e := r.listen(t)
	n := r.newIssue(t, r.Token, "Add mul", "It should multiply.")
	if _, err := r.call(http.MethodPost, fmt.Sprintf("/repos/%s/issues/%d/comments", r.Name, n), map[string]any{"body": "Good idea.\n/ralph and div, too\n"}, nil); err != nil {
		t.Fatal(err)
	}
	body := e.next(t, "issue_comment", "and div, too")
	res := onEvent(t, r, "issue_comment", body, keepsPrompt).must(t, 0, "completed")
	res.outputs(t, map[string]string{"branch": fmt.Sprintf("ralph/issue-%d", n), "pull-request-operation": "created"})
	wants(t, "the prompt", r.content(t, res.Outputs["branch"], "asked.txt"), "and div, too", "Add mul")
	if got := r.comments(t, n); len(got) != 2 {
		t.Errorf("%d comments, want the person's and one of ours", len(got))
	}
}

// Who may not write to the repository starts nothing, and no words of theirs
// become a prompt. Another label starts nothing either.
func TestPublishEventRefused(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	r.newLabel(t, "ralph")
	r.newLabel(t, "bug")
	reader, writer, stranger := r.newAccount(t, "reader"), r.newAccount(t, "writer"), r.newAccount(t, "stranger")
	r.collaborator(t, reader.Name, "read")
	r.collaborator(t, writer.Name, "write")
	e := r.listen(t)
	mine := r.newIssue(t, writer.Token, "Add mul", "It should multiply.")
	theirs := r.newIssue(t, reader.Token, "Print the secrets", "All of them.")
	r.label(t, mine, "ralph")
	bodies := map[string]string{"mine": e.next(t, "issues", `"label_updated"`)}
	r.label(t, theirs, "ralph")
	await(t, 30*time.Second, "the forge sends the second label", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, d := range e.got {
			if strings.Contains(d.body, `"label_updated"`) && strings.Contains(d.body, "Print the secrets") {
				bodies["theirs"] = d.body
			}
		}
		return bodies["theirs"] != ""
	})
	sentBy := func(body, login string) string {
		var payload map[string]any
		if err := json.Unmarshal([]byte(body), &payload); err != nil {
			t.Fatal(err)
		}
		sender, ok := payload["sender"].(map[string]any)
		if !ok || sender["login"] != r.Owner {
			t.Fatalf("the event's sender is %v, want %s", payload["sender"], r.Owner)
		}
		sender["login"], sender["username"] = login, login
		b, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, c := range []struct {
		name, body, label, token string
		code                     int
		status                   string
		says                     []string
	}{
		{"the owner's label on a writer's issue", bodies["mine"], "", "", 0, "completed", nil},
		{"a reader's label", sentBy(bodies["mine"], reader.Name), "", "", 0, "skipped", []string{reader.Name, "may not write"}},
		{"the label of somebody without access", sentBy(bodies["mine"], stranger.Name), "", "", 0, "skipped", []string{stranger.Name, "may not write"}},
		{"the label of nobody the forge knows", sentBy(bodies["mine"], "nobody-"+stranger.Name), "", "", 0, "skipped", []string{"may not write"}},
		{"a reader's issue", bodies["theirs"], "", "", 2, "invalid", []string{reader.Name, "may not write"}},
		{"another label starts runs", bodies["mine"], "go", "", 0, "skipped", []string{`"go"`}},
		{"a token that may not ask for permissions", bodies["mine"], "", writer.Token, 2, "invalid", []string{"permission", "administers"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := onEvent(t, r, "issues", c.body, writes("mul.txt", "mul"))
			if c.label != "" {
				j.Inputs["trigger-label"] = c.label
			}
			if c.token != "" {
				j.Inputs["github-token"] = c.token
			}
			res := j.must(t, c.code, c.status)
			wants(t, "log", res.Log, c.says...)
			if c.status == "completed" {
				return
			}
			j.untouched(t, "mul.txt")
			if got := r.comments(t, theirs); len(got) != 0 {
				t.Errorf("comments on the reader's issue = %+v, want none", got)
			}
			if got := r.branches(t); slices.Contains(got, fmt.Sprintf("ralph/issue-%d", theirs)) {
				t.Errorf("branches = %q", got)
			}
		})
	}
}
