package fakegithub

import (
	"slices"
	"unicode/utf8"
)

func (c *call) commentJSON(said *comment) object {
	return c.f.like("comment", object{
		"id": said.id, "url": c.api("/issues/comments/%d", said.id), "html_url": c.html("/issues/%d#issuecomment-%d", c.issue.number, said.id),
		"issue_url": c.api("/issues/%d", c.issue.number), "body": said.body, "user": said.author.json(c.base), "author_association": c.repo.association(said.author.login),
	})
}

// commentBody is what a comment is made or edited with.
type commentBody struct{ Body string }

// refused says what is wrong with a body; status 0: nothing is.
func (b commentBody) refused() reply {
	switch {
	case b.Body == "":
		return invalid("IssueComment", "body", "missing_field")
	case utf8.RuneCountInString(b.Body) > maxText:
		return custom("IssueComment", "body is too long (maximum is 65536 characters)")
	}
	return reply{}
}

func (c *call) createComment(in commentBody) reply {
	if no := in.refused(); no.status != 0 {
		return no
	}
	if c.issue.locked && !c.repo.collaborator(c.token.Login) {
		return forbidden("Unable to create comment because issue is locked.")
	}
	said := &comment{id: c.f.id(), author: c.f.userLocked(c.token.Login), body: in.Body}
	c.issue.comments = append(c.issue.comments, said)
	return created(c.commentJSON(said))
}

func (c *call) updateComment(in commentBody) reply {
	if no := in.refused(); no.status != 0 {
		return no
	}
	c.said.body = in.Body
	c.said.edits++
	return ok(c.commentJSON(c.said))
}

func (c *call) deleteComment() reply {
	c.issue.comments = slices.DeleteFunc(c.issue.comments, func(one *comment) bool { return one == c.said })
	return deleted()
}
