//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A comment on somebody's pull request starts a run on its branch. What the
// person wrote about it stays, and the record of the run is a comment of ours.
func TestPublishPullComment(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	e := r.listen(t)
	ann := r.newAccount(t, "ann")
	r.collaborator(t, ann.Name, "write")
	before := r.pushFile(t, r.clone(t, "main"), "feature", "ann.txt", "ann")
	var p pull
	if _, err := r.callAs("token "+ann.Token, http.MethodPost, "/repos/"+r.Name+"/pulls", map[string]any{"head": "feature", "base": "main", "title": "Ann's work", "body": "By hand."}, &p); err != nil {
		t.Fatal(err)
	}
	if _, err := r.callAs("token "+ann.Token, http.MethodPost, fmt.Sprintf("/repos/%s/issues/%d/comments", r.Name, p.Number), map[string]any{"body": "/ralph add a test"}, nil); err != nil {
		t.Fatal(err)
	}
	body := e.next(t, "issue_comment", "add a test")
	for run, file := range []string{"one.txt", "two.txt"} {
		j := onEvent(t, r, "issue_comment", body, "cat >asked.txt\necho x >"+file+done)
		j.Env["GITHUB_RUN_ID"] = fmt.Sprint(51 + run)
		j.must(t, 0, "completed").outputs(t, map[string]string{"branch": "feature", "pull-request-operation": "updated", "pull-request-number": fmt.Sprint(p.Number)})
	}
	if got := r.tree(t, "feature"); !slices.Contains(got, "ann.txt") || !slices.Contains(got, "one.txt") || !slices.Contains(got, "two.txt") {
		t.Errorf("files = %q, want ann.txt, one.txt and two.txt", got)
	}
	if got := git(t, r.Seed, "merge-base", "origin/feature", before); got != before {
		t.Errorf("ann's commit %s is not in the branch", before)
	}
	wants(t, "the prompt", r.content(t, "feature", "asked.txt"), "add a test", "Ann's work")
	ps := r.pulls(t)
	if len(ps) != 1 || ps[0].Title != "Ann's work" || ps[0].Body != "By hand." || ps[0].Draft {
		t.Errorf("pull requests = %+v, want ann's one with her words", ps)
	}
	comments := r.comments(t, p.Number)
	if len(comments) != 2 || !strings.Contains(comments[1].Body, "/actions/runs/52") {
		t.Errorf("comments = %+v, want ann's, and one of ours about run 52", comments)
	}
}

// A pull request that was closed without a merge is not opened again: new work
// on the branch that was left makes a new one, and a night without work none.
func TestPublishClosedPull(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	newNight(t, r, writes("one.txt", "one")).must(t, 0, "completed")
	if _, err := r.call(http.MethodPatch, "/repos/"+r.Name+"/pulls/1", map[string]any{"state": "closed"}, nil); err != nil {
		t.Fatal(err)
	}
	idle := newNight(t, r, "cat >/dev/null"+done)
	idle.Inputs["on-incomplete"] = "succeed"
	idle.must(t, 0, "max-iterations").outputs(t, map[string]string{"pull-request-operation": "none", "pull-request-number": ""})
	newNight(t, r, writes("two.txt", "two")).must(t, 0, "completed").outputs(t, map[string]string{"pull-request-operation": "created", "pull-request-number": "2"})
	ps := r.pulls(t)
	if len(ps) != 2 || ps[0].State != "open" || ps[1].State != "closed" {
		t.Errorf("pull requests = %+v, want a new one beside the closed one", ps)
	}
}

// Each value of draft, on forges whose drafts are a matter of the title.
func TestPublishDrafts(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	for i, c := range []struct {
		draft string
		done  bool
		title string
	}{
		{"true", true, "WIP: Add mul"},        // created as a draft
		{"true", true, "WIP: Add mul"},        // left as it is
		{"auto", true, "Add mul"},             // ready
		{"auto", false, "WIP: Add mul"},       // not complete
		{"false", false, "Add mul"},           // never
		{"always-true", true, "WIP: Add mul"}, // after every run
	} {
		j := newNight(t, r, fmt.Sprintf("cat >/dev/null\necho %d >file\necho Working.", i)+map[bool]string{true: done, false: "\n"}[c.done])
		j.Inputs["draft"], j.Inputs["title"], j.Inputs["max-iterations"], j.Inputs["on-incomplete"] = c.draft, "Add mul", "1", "succeed"
		if res := j.runHere(t); res.Code != 0 {
			t.Fatalf("night %d: exit code %d", i, res.Code)
		}
		ps := r.pulls(t)
		if len(ps) != 1 || ps[0].Title != c.title || ps[0].Draft != strings.HasPrefix(c.title, "WIP") {
			t.Errorf("night %d, draft: %s, done: %t: %+v, want one called %s", i, c.draft, c.done, ps, c.title)
		}
	}
}

// The repository of an organization: its teams are asked by their names.
func TestPublishTeam(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	ann := r.newAccount(t, "ann")
	org := fmt.Sprintf("org-%d", r.repos.Add(1))
	if _, err := r.call(http.MethodPost, "/orgs", map[string]any{"username": org}, nil); err != nil {
		t.Fatal(err)
	}
	var team struct {
		ID int `json:"id"`
	}
	if _, err := r.call(http.MethodPost, "/orgs/"+org+"/teams", map[string]any{
		"name": "core", "permission": "write", "includes_all_repositories": true, "units": []string{"repo.code", "repo.pulls", "repo.issues"},
	}, &team); err != nil {
		t.Fatal(err)
	}
	if _, err := r.call(http.MethodPut, fmt.Sprintf("/teams/%d/members/%s", team.ID, ann.Name), nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.call(http.MethodPost, "/repos/"+r.Name+"/transfer", map[string]any{"new_owner": org}, nil); err != nil {
		t.Fatal(err)
	}
	old := r.Name
	r.Name = org + r.Name[strings.Index(r.Name, "/"):]
	j := newNight(t, r, writes("one.txt", "one"))
	j.Inputs["team-reviewers"], j.Inputs["reviewers"] = org+"/core,nobody", ann.Name
	res := j.must(t, 0, "completed")
	wants(t, "summary", res.Summary, `team "nobody"`)
	var p struct {
		Teams []struct {
			Name string `json:"name"`
		} `json:"requested_reviewers_teams"`
	}
	if _, err := r.call(http.MethodGet, "/repos/"+r.Name+"/pulls/1", nil, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Teams) != 1 || p.Teams[0].Name != "core" {
		t.Errorf("teams = %+v, want core", p.Teams)
	}
	if got := r.people(t, 1).String(); got != "labels= assignees= reviewers="+ann.Name+" milestone=" {
		t.Errorf("people: %s", got)
	}

	// Under its old name the repository is found, and the run says the new one.
	r.Name = old
	j = newNight(t, r, writes("two.txt", "two"))
	wants(t, "log", j.must(t, 2, "invalid").Log, "is now called "+org)
	j.untouched(t, "two.txt")
}
