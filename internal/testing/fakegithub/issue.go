package fakegithub

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// maxText is how many characters the body of an issue, a pull request or a
// comment may have.
const maxText = 65536

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
func (r *Repository) Lock(number int) { r.locked(func() { r.issues[number-1].locked = true }) }

// CloseIssue closes an issue.
func (r *Repository) CloseIssue(number int) {
	r.locked(func() { r.issues[number-1].state = "closed" })
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

func (c *call) users(logins []string) []object {
	return list(logins, func(login string) object { return c.f.userLocked(login).json(c.base) })
}

func (c *call) labels(names []string) []object {
	return list(names, func(name string) object {
		return c.f.like("label", object{"name": name, "url": c.api("/labels/%s", name)})
	})
}

func (c *call) milestone(number int) any {
	title, ok := c.repo.milestones[number]
	if !ok {
		return nil
	}
	return c.f.like("milestone", object{"number": number, "title": title, "state": "open"})
}

func (c *call) issueJSON(one *issue) object {
	out := c.f.like("issue", c.common(one, "issues"))
	out["comments"] = len(one.comments)
	if one.pull == nil {
		delete(out, "pull_request")
		out["html_url"] = c.html("/issues/%d", one.number)
	} else {
		html := c.html("/pull/%d", one.number)
		out["pull_request"] = object{"url": c.api("/pulls/%d", one.number), "html_url": html, "diff_url": html + ".diff", "patch_url": html + ".patch"}
	}
	return out
}

// common is what issues and pull requests share.
func (c *call) common(one *issue, kind string) object {
	out := object{
		"id": c.repo.id*100000 + int64(one.number), "number": one.number, "title": one.title, "body": orNull(one.body), "state": one.state, "locked": one.locked,
		"user": one.author.json(c.base), "author_association": c.repo.association(one.author.login), "labels": c.labels(one.labels),
		"milestone": c.milestone(one.milestone), "assignees": c.users(one.assignees), "assignee": nil, "closed_at": nil,
		"url": c.api("/%s/%d", kind, one.number), "html_url": c.html("/pull/%d", one.number), "comments_url": c.api("/issues/%d/comments", one.number),
	}
	if len(one.assignees) > 0 {
		out["assignee"] = c.users(one.assignees)[0]
	}
	if one.state == "closed" {
		out["closed_at"] = stamp
	}
	return out
}

type issueChange struct {
	Title, Body, State *string
	Milestone          *int
	Labels, Assignees  []string
}

// updateIssue is where milestone, state, labels and assignees are set.
func (c *call) updateIssue(in issueChange) reply {
	if in.Milestone != nil {
		if _, ok := c.repo.milestones[*in.Milestone]; !ok {
			return refusal(http.StatusUnprocessableEntity, "Validation Failed", object{"value": *in.Milestone, "resource": "Issue", "field": "milestone", "code": "invalid"})
		}
		c.issue.milestone = *in.Milestone
	}
	set(&c.issue.title, in.Title)
	set(&c.issue.body, in.Body)
	set(&c.issue.state, in.State)
	if in.Labels != nil {
		c.issue.labels = in.Labels
	}
	if in.Assignees != nil {
		c.issue.assignees = nil
		c.repo.assign(c.issue, in.Assignees)
	}
	return ok(c.issueJSON(c.issue))
}

// set changes what was given.
func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// assign passes over who may not be assigned, without a word, as GitHub does.
func (r *Repository) assign(one *issue, logins []string) {
	for _, login := range logins {
		if r.collaborator(login) && len(one.assignees) < 10 {
			one.assignees = union(one.assignees, []string{r.forge.userLocked(login).login})
		}
	}
}

func (c *call) addAssignees(in struct{ Assignees []string }) reply {
	c.repo.assign(c.issue, in.Assignees)
	return created(c.issueJSON(c.issue))
}

// addLabels makes labels that do not exist.
func (c *call) addLabels(in struct{ Labels []string }) reply {
	if slices.ContainsFunc(in.Labels, func(label string) bool { return label == "" || len(label) > 50 }) {
		return invalid("Label", "name", "invalid")
	}
	c.issue.labels = union(c.issue.labels, in.Labels)
	return ok(c.labels(c.issue.labels))
}

func (c *call) react(in struct{ Content string }) reply {
	return created(object{
		"id": c.f.id(), "node_id": "RE_1", "user": c.f.userLocked(c.token.Login).json(c.base), "content": in.Content, "created_at": stamp,
	})
}

func (c *call) listMilestones() reply {
	all := []any{}
	for number := range c.repo.milestones {
		all = append(all, c.milestone(number))
	}
	return ok(page(c, all))
}

func (c *call) getMilestone() reply {
	number, err := strconv.Atoi(c.r.PathValue("number"))
	one := c.milestone(number)
	if err != nil || one == nil {
		return notFound()
	}
	return ok(one)
}

// union is a list with what it lacks of another, whatever the case of letters.
func union(have, more []string) []string {
	for _, one := range more {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, one) }) {
			have = append(have, one)
		}
	}
	return have
}
