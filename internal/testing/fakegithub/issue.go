package fakegithub

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// issue is an issue or a pull request; guarded by Forge.mu.
type issue struct {
	number      int
	title, body string
	state       string // open or closed
	author      *user
	locked      bool
	labels      []string
	assignees   []string
	milestone   int
	comments    []*comment
	pull        *pull // nil: an issue
}

type comment struct {
	id     int64
	author *user
	body   string
	edits  int
}

// withIssue finds the issue or pull request of a path.
func withIssue(next func(*call)) func(*call) {
	return func(c *call) {
		number, err := strconv.Atoi(c.r.PathValue("number"))
		if err != nil || number < 1 || number > len(c.repo.issues) {
			c.refuse(http.StatusNotFound, "Not Found")
			return
		}
		c.issue = c.repo.issues[number-1]
		next(c)
	}
}

func (r *Repository) add(one *issue) *issue {
	one.number, one.state = len(r.issues)+1, "open"
	r.issues = append(r.issues, one)
	return one
}

// NewIssue opens an issue and returns its number.
func (r *Repository) NewIssue(author, title, body string, labels ...string) int {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	return r.add(&issue{title: title, body: body, author: r.forge.userLocked(author), labels: labels}).number
}

// NewComment comments an issue or pull request and returns the comment's id.
func (r *Repository) NewComment(number int, author, body string) int64 {
	r.forge.mu.Lock()
	defer r.forge.mu.Unlock()
	one := &comment{id: r.forge.id(), author: r.forge.userLocked(author), body: body}
	r.issues[number-1].comments = append(r.issues[number-1].comments, one)
	return one.id
}

// Lock keeps everybody without write access from commenting.
func (r *Repository) Lock(number int) {
	r.forge.mu.Lock()
	r.issues[number-1].locked = true
	r.forge.mu.Unlock()
}

// CloseIssue closes an issue.
func (r *Repository) CloseIssue(number int) {
	r.forge.mu.Lock()
	r.issues[number-1].state = "closed"
	r.forge.mu.Unlock()
}

// association is what GitHub calls the relation of an author to a repository.
func (r *Repository) association(login string) string {
	switch {
	case strings.EqualFold(login, r.Owner):
		return "OWNER"
	case r.collaborator(login):
		return "COLLABORATOR"
	}
	return "NONE"
}

func (c *call) users(logins []string) []map[string]any {
	list := []map[string]any{}
	for _, login := range logins {
		list = append(list, c.f.userLocked(login).json(c.base))
	}
	return list
}

func (c *call) labels(names []string) []map[string]any {
	list := []map[string]any{}
	for i, name := range names {
		list = append(list, map[string]any{
			"id": 100 + i, "node_id": "LA_" + name, "name": name, "color": "ededed", "default": false, "description": "",
			"url": c.base + "/api/v3/repos/" + c.repo.FullName() + "/labels/" + name,
		})
	}
	return list
}

func (c *call) milestone(number int) any {
	title, ok := c.repo.milestones[number]
	if !ok {
		return nil
	}
	out := c.f.example("GET /repos/{owner}/{repo}/milestones/{milestone_number}", http.StatusOK)
	out["number"], out["title"], out["state"] = number, title, "open"
	return out
}

func (c *call) issueJSON(one *issue) map[string]any {
	out := c.f.example("GET /repos/{owner}/{repo}/issues/{issue_number}", http.StatusOK)
	c.common(out, one)
	out["comments"] = len(one.comments)
	if one.pull == nil {
		delete(out, "pull_request")
		out["html_url"] = fmt.Sprintf("%s/issues/%d", c.repo.URL(), one.number)
	} else {
		api := fmt.Sprintf("%s/api/v3/repos/%s/pulls/%d", c.base, c.repo.FullName(), one.number)
		html := fmt.Sprintf("%s/pull/%d", c.repo.URL(), one.number)
		out["pull_request"] = map[string]any{"url": api, "html_url": html, "diff_url": html + ".diff", "patch_url": html + ".patch"}
	}
	return out
}

// common is what issues and pull requests share.
func (c *call) common(out map[string]any, one *issue) {
	out["id"], out["number"] = c.repo.id*100000+int64(one.number), one.number
	out["title"], out["body"], out["state"], out["locked"] = one.title, one.body, one.state, one.locked
	if one.body == "" {
		out["body"] = nil
	}
	out["user"], out["author_association"] = one.author.json(c.base), c.repo.association(one.author.login)
	out["labels"], out["milestone"] = c.labels(one.labels), c.milestone(one.milestone)
	assignees := c.users(one.assignees)
	out["assignees"], out["assignee"] = assignees, nil
	if len(assignees) > 0 {
		out["assignee"] = assignees[0]
	}
	out["closed_at"] = nil
	if one.state == "closed" {
		out["closed_at"] = stamp
	}
	api := fmt.Sprintf("%s/api/v3/repos/%s", c.base, c.repo.FullName())
	kind := "issues"
	if _, isPull := out["head"]; isPull {
		kind = "pulls"
	}
	out["url"] = fmt.Sprintf("%s/%s/%d", api, kind, one.number)
	out["html_url"] = fmt.Sprintf("%s/pull/%d", c.repo.URL(), one.number)
	out["comments_url"] = fmt.Sprintf("%s/issues/%d/comments", api, one.number)
}

func (f *Forge) getIssue(c *call) { c.answer(http.StatusOK, c.issueJSON(c.issue)) }

// updateIssue is where milestone, state, labels and assignees are set.
func (f *Forge) updateIssue(c *call) {
	var in struct {
		Title, Body, State *string
		Milestone          *int
		Labels, Assignees  []string
	}
	if !c.read(&in) {
		return
	}
	if in.Milestone != nil {
		if _, ok := c.repo.milestones[*in.Milestone]; !ok {
			c.refuse(http.StatusUnprocessableEntity, "Validation Failed", map[string]any{"value": *in.Milestone, "resource": "Issue", "field": "milestone", "code": "invalid"})
			return
		}
		c.issue.milestone = *in.Milestone
	}
	for _, set := range []struct{ to, from *string }{{&c.issue.title, in.Title}, {&c.issue.body, in.Body}, {&c.issue.state, in.State}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	if in.Labels != nil {
		c.issue.labels = in.Labels
	}
	if in.Assignees != nil {
		c.issue.assignees = nil
		c.repo.assign(c.issue, in.Assignees)
	}
	c.answer(http.StatusOK, c.issueJSON(c.issue))
}

// assign passes over who may not be assigned, without a word, as GitHub does.
func (r *Repository) assign(one *issue, logins []string) {
	for _, login := range logins {
		same := func(have string) bool { return strings.EqualFold(have, login) }
		if r.collaborator(login) && !slices.ContainsFunc(one.assignees, same) && len(one.assignees) < 10 {
			one.assignees = append(one.assignees, r.forge.userLocked(login).login)
		}
	}
}

func (f *Forge) addAssignees(c *call) {
	var in struct{ Assignees []string }
	if !c.read(&in) {
		return
	}
	c.repo.assign(c.issue, in.Assignees)
	c.answer(http.StatusCreated, c.issueJSON(c.issue))
}

func (f *Forge) getLabels(c *call) { c.answer(http.StatusOK, page(c, c.labels(c.issue.labels))) }

// addLabels makes labels that do not exist.
func (f *Forge) addLabels(c *call) {
	var in struct{ Labels []string }
	if !c.read(&in) {
		return
	}
	for _, label := range in.Labels {
		if label == "" || len(label) > 50 {
			c.invalid("Label", "name", "invalid")
			return
		}
		if !slices.ContainsFunc(c.issue.labels, func(have string) bool { return strings.EqualFold(have, label) }) {
			c.issue.labels = append(c.issue.labels, label)
		}
	}
	c.answer(http.StatusOK, c.labels(c.issue.labels))
}

func (f *Forge) react(c *call) {
	var in struct{ Content string }
	if !c.read(&in) {
		return
	}
	c.answer(http.StatusCreated, map[string]any{
		"id": f.id(), "node_id": "RE_1", "user": f.userLocked(c.token.Login).json(c.base), "content": in.Content, "created_at": stamp,
	})
}

func (f *Forge) listMilestones(c *call) {
	list := []any{}
	for number := range c.repo.milestones {
		list = append(list, c.milestone(number))
	}
	c.answer(http.StatusOK, page(c, list))
}

func (f *Forge) getMilestone(c *call) {
	number, err := strconv.Atoi(c.r.PathValue("number"))
	one := c.milestone(number)
	if err != nil || one == nil {
		c.refuse(http.StatusNotFound, "Not Found")
		return
	}
	c.answer(http.StatusOK, one)
}
