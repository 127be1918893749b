package fakegithub

import (
	"fmt"
	"net/http"
	"slices"
)

func (c *call) commentJSON(one *issue, said *comment) map[string]any {
	api := c.base + "/api/v3/repos/" + c.repo.FullName()
	return map[string]any{
		"id": said.id, "node_id": fmt.Sprintf("IC_%d", said.id), "url": fmt.Sprintf("%s/issues/comments/%d", api, said.id),
		"html_url": fmt.Sprintf("%s/issues/%d#issuecomment-%d", c.repo.URL(), one.number, said.id), "issue_url": fmt.Sprintf("%s/issues/%d", api, one.number),
		"body": said.body, "user": said.author.json(c.base), "created_at": stamp, "updated_at": stamp, "author_association": c.repo.association(said.author.login),
		"performed_via_github_app": nil,
	}
}

func (f *Forge) listComments(c *call) {
	list := []map[string]any{}
	for _, said := range c.issue.comments {
		list = append(list, c.commentJSON(c.issue, said))
	}
	c.answer(http.StatusOK, page(c, list))
}

func (c *call) commentBody() (string, bool) {
	var in struct{ Body string }
	if !c.read(&in) {
		return "", false
	}
	switch {
	case in.Body == "":
		c.invalid("IssueComment", "body", "missing_field")
		return "", false
	case len([]rune(in.Body)) > 65536:
		c.custom("IssueComment", "body is too long (maximum is 65536 characters)")
		return "", false
	}
	return in.Body, true
}

func (f *Forge) createComment(c *call) {
	body, ok := c.commentBody()
	if !ok {
		return
	}
	if c.issue.locked && !c.repo.collaborator(c.token.Login) {
		c.refuse(http.StatusForbidden, "Unable to create comment because issue is locked.")
		return
	}
	said := &comment{id: f.id(), author: f.userLocked(c.token.Login), body: body}
	c.issue.comments = append(c.issue.comments, said)
	c.answer(http.StatusCreated, c.commentJSON(c.issue, said))
}

// comment finds the comment of a path; nil: it refused.
func (c *call) comment() *comment {
	for _, one := range c.repo.issues {
		for _, said := range one.comments {
			if fmt.Sprint(said.id) == c.r.PathValue("id") {
				c.issue = one
				return said
			}
		}
	}
	c.refuse(http.StatusNotFound, "Not Found")
	return nil
}

func (f *Forge) getComment(c *call) {
	if said := c.comment(); said != nil {
		c.answer(http.StatusOK, c.commentJSON(c.issue, said))
	}
}

func (f *Forge) updateComment(c *call) {
	said := c.comment()
	if said == nil {
		return
	}
	body, ok := c.commentBody()
	if !ok {
		return
	}
	said.body = body
	said.edits++
	c.answer(http.StatusOK, c.commentJSON(c.issue, said))
}

func (f *Forge) deleteComment(c *call) {
	said := c.comment()
	if said == nil {
		return
	}
	c.issue.comments = slices.DeleteFunc(c.issue.comments, func(one *comment) bool { return one == said })
	c.w.WriteHeader(http.StatusNoContent)
}
