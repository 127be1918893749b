//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// pullPeople is what a pull request says of people.
type pullPeople struct {
	pull
	Assignees []struct {
		Login string `json:"login"`
	} `json:"assignees"`
	Reviewers []struct {
		Login string `json:"login"`
	} `json:"requested_reviewers"`
	Milestone *struct {
		Title string `json:"title"`
	} `json:"milestone"`
}

func (r *repository) people(t *testing.T, number int) pullPeople {
	t.Helper()
	var p pullPeople
	if _, err := r.call(http.MethodGet, fmt.Sprintf("/repos/%s/pulls/%d", r.Name, number), nil, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p pullPeople) String() string {
	var labels, assignees, reviewers []string
	for _, l := range p.Labels {
		labels = append(labels, l.Name)
	}
	for _, a := range p.Assignees {
		assignees = append(assignees, a.Login)
	}
	for _, a := range p.Reviewers {
		reviewers = append(reviewers, a.Login)
	}
	slices.Sort(labels)
	slices.Sort(assignees)
	slices.Sort(reviewers)
	milestone := ""
	if p.Milestone != nil {
		milestone = p.Milestone.Title
	}
	return fmt.Sprintf("labels=%s assignees=%s reviewers=%s milestone=%s", strings.Join(labels, ","), strings.Join(assignees, ","), strings.Join(reviewers, ","), milestone)
}

func (r *repository) newMilestone(t *testing.T, title string) int {
	t.Helper()
	var made struct {
		ID int `json:"id"`
	}
	if _, err := r.call(http.MethodPost, "/repos/"+r.Name+"/milestones", map[string]any{"title": title}, &made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// The first night in a private repository gets half way: a draft, with labels,
// people and a milestone. The second one goes on and completes it: the same pull
// request, ready.
func TestPublishTwoNights(t *testing.T) {
	t.Parallel()
	r := forge(t).newRepository(t, program)
	r.newLabel(t, "night")
	r.newLabel(t, "ralph")
	ann, bob := r.newAccount(t, "ann"), r.newAccount(t, "bob")
	r.collaborator(t, ann.Name, "write")
	r.collaborator(t, bob.Name, "write")
	inputs := map[string]string{
		"labels": "night,ralph,unheard-of", "assignees": ann.Name + ",nobody-" + ann.Name, "reviewers": bob.Name, "milestone": fmt.Sprint(r.newMilestone(t, "next")),
		"title": "Add mul", "max-iterations": "1", "on-incomplete": "succeed",
	}
	night := func(id string, agent string) *job {
		j := newNight(t, r, agent)
		j.Env["GITHUB_RUN_ID"] = id
		for name, value := range inputs {
			j.Inputs[name] = value
		}
		return j
	}

	first := night("41", "cat >/dev/null\necho half >one\necho 'Half is there.'\n").must(t, 0, "max-iterations")
	first.outputs(t, map[string]string{"pull-request-operation": "created", "pull-request-number": "1", "pull-request-branch": "ralph/mul",
		"pull-request-url": r.URL + "/" + r.Name + "/pulls/1", "pull-request-head-sha": r.fetch(t, "ralph/mul")})
	p := r.people(t, 1)
	if !p.Draft || p.Title != "WIP: Add mul" {
		t.Errorf("first night: draft %t, title %q; want a draft, WIP: Add mul", p.Draft, p.Title)
	}
	want := fmt.Sprintf("labels=night,ralph assignees=%s reviewers=%s milestone=next", ann.Name, bob.Name)
	if p.String() != want {
		t.Errorf("first night: %s, want %s", p, want)
	}
	for where, text := range map[string]string{"log": first.Log, "summary": first.Summary} {
		wants(t, where, text, `unheard-of`, "nobody-"+ann.Name)
	}

	second := night("42", writes("two", "whole")).must(t, 0, "completed")
	second.outputs(t, map[string]string{"pull-request-operation": "updated", "pull-request-number": "1", "pull-request-head-sha": r.fetch(t, "ralph/mul")})
	p = r.people(t, 1)
	if p.Draft || p.Title != "Add mul" || len(r.pulls(t)) != 1 || p.String() != want {
		t.Errorf("second night: draft %t, title %q, %d pull requests, %s; want one, ready, Add mul, %s", p.Draft, p.Title, len(r.pulls(t)), p, want)
	}
	wants(t, "body", p.Body, "Completed", "/actions/runs/42", "/actions/runs/41")
	if got := r.subjects(t, "ralph/mul"); !slices.Equal(got, []string{"Add one", "Add two"}) {
		t.Errorf("commits = %q, want those of both nights", got)
	}
	if got := r.tree(t, "ralph/mul"); !slices.Contains(got, "one") || !slices.Contains(got, "two") {
		t.Errorf("files = %q, want one and two", got)
	}

	// A third night does nothing.
	third := night("43", "cat >/dev/null"+done).must(t, 0, "max-iterations")
	third.outputs(t, map[string]string{"pull-request-operation": "none", "pull-request-number": "1"})
	t.Logf("first %s, second %s, third %s", first.Took, second.Took, third.Took)
}
