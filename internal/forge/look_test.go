package forge_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
)

// What is due after a run that added nothing.
func TestLook(t *testing.T) {
	t.Parallel()
	h := newHub(t, appToken)
	ctx := t.Context()
	tip := h.repo.Branch("ralph/x")
	look := func(what string, open, closed int, merged, due bool) {
		t.Helper()
		h.sent.reset()
		found, err := h.client.Look(ctx, "ralph/x", "main", "")
		if err != nil || found.Open.Number != open || found.Closed.Number != closed || found.Closed.Merged != merged || found.Due(h.repo.Branch("ralph/x")) != due {
			t.Errorf("%s: Look() = %+v, %v; due %v; want open #%d, closed #%d, merged %v, due %v", what, found, err, found.Due(tip), open, closed, merged, due)
		}
		if calls := h.sent.calls; len(calls) != 1 {
			t.Errorf("%s: %d calls, want 1: %v", what, len(calls), calls)
		}
	}
	look("pushed, and killed before the pull request", 0, 0, false, true)
	first, _, err := h.client.Upsert(ctx, wanted())
	if err != nil {
		t.Fatal(err)
	}
	look("open", 1, 0, false, false)
	closed, err := h.client.Close(ctx, first)
	if err != nil || closed.Operation != ralph.OperationClosed || closed.Number != 1 || h.repo.Pulls()[0].State != "closed" {
		t.Errorf("Close() = %+v, %v", closed, err)
	}
	look("closed by a person at this tip", 0, 1, false, false)
	h.commit(t, h.repo, "ralph/x", "three")
	look("closed, and pushed to since", 0, 1, false, true)
	again, _, err := h.client.Upsert(ctx, wanted())
	if err != nil || again.Number != 2 || again.Operation != ralph.OperationCreated {
		t.Errorf("Upsert(after close) = %+v, %v, want #2 created", again, err)
	}
	look("open again", 2, 0, false, false)
	if found, err := h.client.Look(ctx, "ralph/x", "main", ""); err != nil || found.Due("") {
		t.Errorf("Due(no tip) = true, %v", err)
	}
}

// A forge that filters nothing, has pages, and calls a deleted branch by its
// label, as Gitea does.
func TestLookUnfiltered(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	repo := `"repo":{"id":1,"full_name":"octo/greet"}`
	entry := func(number int, state, ref, label, more string) string {
		return fmt.Sprintf(`{"number":%d,"state":%q,"head":{"ref":%q,"label":%q,"sha":"abc",%s},"base":{"ref":"main",%s}%s}`, number, state, ref, label, repo, repo, more)
	}
	page := func(list, next string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if next != "" {
				w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=%s>; rel="next"`, r.Host, r.URL.Path, next))
			}
			answer(200, "["+list+"]")(w, r)
		}
	}
	l.fault("GET", "/pulls", 1, page(entry(9, "closed", "other", "other", "")+","+entry(8, "closed", "refs/pull/8/head", "ralph/x", `,"merged":true`), "2"))
	l.fault("GET", "/pulls", 1, page(entry(3, "open", "ralph/y", "ralph/y", "")+","+entry(2, "closed", "ralph/x", "ralph/x", ""), ""))
	found, err := l.client.Look(t.Context(), "ralph/x", "main", "")
	if err != nil || found.Open.Number != 0 || found.Closed.Number != 8 || !found.Closed.Merged || found.Closed.HeadSHA != "abc" {
		t.Errorf("Look() = %+v, %v, want #8 merged", found, err)
	}
	l.fault("GET", "/pulls", 10, page(entry(9, "closed", "ralph/x", "ralph/x", ""), "2"))
	l.fault("GET", "/pulls", 1, page(entry(1, "open", "ralph/x", "ralph/x", ""), ""))
	if found, err := l.client.Look(t.Context(), "ralph/x", "main", ""); err != nil || found.Open.Number != 1 || found.Closed.Number != 0 {
		t.Errorf("Look(an old open one) = %+v, %v, want #1 open", found, err)
	}
}

// Two forks of one owner have a branch of the same name each, and one of them has
// the owner of the repository itself.
func TestSiblingForks(t *testing.T) {
	t.Parallel()
	h := newHub(t, personalToken)
	ctx := t.Context()
	for i, name := range []string{"maria/greet", "maria/greet-2", "octo/greet-3"} {
		owner, short, _ := strings.Cut(name, "/")
		fork, err := h.repo.Fork(owner, short)
		if err != nil {
			t.Fatal(err)
		}
		fork.SetPermission("maria", "write")
		h.commit(t, fork, "ralph/x", "by "+name)
		if err := h.client.CheckFork(ctx, h.as(t, personalToken, name)); err != nil {
			t.Errorf("CheckFork(%s) = %v", name, err)
		}
		want := wanted()
		want.HeadRepository, want.MaintainerCanModify, want.Title = name, i > 0, "from "+name
		for step, operation := range []ralph.Operation{ralph.OperationCreated, ralph.OperationUpdated} {
			done, warnings, err := h.client.Upsert(ctx, want)
			if err != nil || len(warnings) > 0 || done.Number != i+1 || done.Operation != operation {
				t.Errorf("%s step %d: Upsert() = %+v, %q, %v, want #%d %s", name, step, done, warnings, err, i+1, operation)
			}
		}
		found, err := h.client.Look(ctx, "ralph/x", "main", name)
		if err != nil || found.Open.Number != i+1 {
			t.Errorf("Look(%s) = %+v, %v, want #%d", name, found, err, i+1)
		}
	}
	own, _, err := h.client.Upsert(ctx, wanted())
	if err != nil || own.Number != 4 || own.Operation != ralph.OperationCreated {
		t.Errorf("Upsert(the repository's own branch) = %+v, %v, want #4 created", own, err)
	}
	for i, pr := range h.repo.Pulls() {
		want := []string{"maria/greet", "maria/greet-2", "octo/greet-3", "octo/greet"}[i]
		if pr.HeadRepository != want || pr.MaintainerCanModify != (i == 1 || i == 2) {
			t.Errorf("#%d is %+v, want it from %s", pr.Number, pr, want)
		}
	}
}

func TestCheckFork(t *testing.T) {
	t.Parallel()
	h := newHub(t, personalToken)
	if _, err := h.NewRepository("maria", "other"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.repo.Fork("ann", "greet"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, fork string
		wants      []string
	}{
		{"itself", "octo/greet", []string{"push-to-fork: octo/greet at", "is the repository itself"}},
		{"no fork", "maria/other", []string{"push-to-fork: maria/other at", "is no fork of octo/greet: a pull request needs one"}},
		{"not there", "maria/greet", []string{"push-to-fork: read the repository in maria/greet at", "not found (404)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkError(t, "CheckFork", h.client.CheckFork(t.Context(), h.as(t, personalToken, test.fork)), test.wants...)
		})
	}
}

// The token may not write to the fork: then maintainers cannot be allowed to,
// and the pull request is made without.
func TestForkCollaboration(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	fork, err := h.repo.Fork("maria", "greet")
	if err != nil {
		t.Fatal(err)
	}
	h.commit(t, fork, "ralph/x", "from the fork")
	h.on("POST", "/pulls", 1, jsonAnswer(422, `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","field":"fork_collab","message":"fork_collab Fork collab can't be granted by someone without permission"}]}`))
	want := wanted()
	want.HeadRepository, want.MaintainerCanModify = "maria/greet", true
	done, warnings, err := h.client.Upsert(t.Context(), want)
	if err != nil || done.Operation != ralph.OperationCreated || len(warnings) != 1 ||
		warnings[0] != "those who maintain octo/greet cannot push to the branch: github-token may not write to maria/greet and so may not allow it; with maintainer-can-modify: false nobody tries" {
		t.Errorf("Upsert() = %+v, %q, %v", done, warnings, err)
	}
	if pr := h.repo.Pulls()[0]; pr.MaintainerCanModify {
		t.Errorf("the pull request is %+v, want it without", pr)
	}
}

// A pull request that a person described keeps title, body and state; the record
// is one comment, updated in place.
func TestDescribedBySomebodyElse(t *testing.T) {
	t.Parallel()
	h := newHub(t, appToken)
	ctx := t.Context()
	maria := h.as(t, personalToken, "octo/greet")
	theirs := forge.PullRequest{Title: "Mine", Body: "x", Head: "ralph/x", Base: "main", Draft: true}
	if _, _, err := maria.Upsert(ctx, theirs); err != nil {
		t.Fatal(err)
	}
	h.patch(t, 1, `{"body":"I wrote this."}`)
	for step, record := range []string{"first", "second"} {
		want := everything()
		want.Record = record
		done, warnings, err := h.client.Upsert(ctx, want)
		if err != nil || len(warnings) > 0 || !done.Foreign || !done.Draft || done.Operation != ralph.OperationUpdated || done.Number != 1 {
			t.Errorf("step %d: Upsert() = %+v, %q, %v, want #1 left as it is", step, done, warnings, err)
		}
		pr := h.repo.Pulls()[0]
		if pr.Title != "Mine" || pr.Body != "I wrote this." || !pr.Draft || len(pr.Labels) != 2 {
			t.Errorf("step %d: the pull request is %+v, want its words kept", step, pr)
		}
		if len(pr.Comments) != 1 || pr.Comments[0].Body != forge.RecordMarker+"\n"+record || pr.Comments[0].Author != "night-shift[bot]" {
			t.Errorf("step %d: comments = %+v, want one with %q", step, pr.Comments, record)
		}
	}
	// Nobody described one without a body.
	h.patch(t, 1, `{"body":""}`)
	done, _, err := h.client.Upsert(ctx, wanted())
	if pr := h.repo.Pulls()[0]; err != nil || done.Foreign || pr.Title != "Fix greet" || !strings.HasPrefix(pr.Body, forge.Marker) {
		t.Errorf("Upsert(empty body) = %+v, %v; the pull request is %+v", done, err, pr)
	}
}

// A comment that cannot be written is a warning.
func TestDescribedBySomebodyElseAndLocked(t *testing.T) {
	t.Parallel()
	h := newHub(t, appToken)
	if _, _, err := h.as(t, personalToken, "octo/greet").Upsert(t.Context(), wanted()); err != nil {
		t.Fatal(err)
	}
	h.patch(t, 1, `{"body":"I wrote this."}`)
	h.repo.Lock(1)
	done, warnings, err := h.client.Upsert(t.Context(), wanted())
	if err != nil || !done.Foreign || len(warnings) != 1 || !strings.Contains(warnings[0], `the conversation is locked (the forge says "Unable to create comment because issue is locked."): unlock it, or give a token that may write there`) {
		t.Errorf("Upsert() = %+v, %q, %v, want one warning", done, warnings, err)
	}
}

// patch changes a pull request as somebody with the personal token.
func (h *hub) patch(t *testing.T, number int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, fmt.Sprintf("%s/repos/octo/greet/pulls/%d", h.APIURL(), number), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+personalToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("PATCH = %d", resp.StatusCode)
	}
}
