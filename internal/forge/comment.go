package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// CommentRef is a comment of ours on the forge; the zero CommentRef is none.
type CommentRef struct {
	ID  int64
	URL string
}

// maxCommentPages bounds the search for a comment: 1,000 on GitHub.
const maxCommentPages = 10

// commentPermission is what commenting takes.
const commentPermission = "issues: write (or pull-requests: write below a pull request)"

var markerPattern = lazyregexp.New(`^<!-- [A-Za-z0-9 ._:/#-]{1,100} -->$`)

// Comment writes a comment below an issue or pull request, or writes the one anew
// that stands there already: have, or, when that is none, the one that
// FindComment finds. A comment that somebody deleted is made again. marker is an
// HTML comment of one line, such as RecordMarker; it is put in front of body, and
// the end of what is longer than 65,536 characters is cut off. Writing have anew
// costs one call, a new comment three. An error leaves the rest of publishing as it
// is: what it says is a warning.
func (c *Client) Comment(ctx context.Context, issue int, marker, body string, have CommentRef) (CommentRef, error) {
	if have.ID == 0 {
		found, err := c.FindComment(ctx, issue, marker)
		if err != nil {
			return CommentRef{}, err
		}
		have = found
	}
	if !strings.HasPrefix(body, marker) {
		body = marker + "\n" + body
	}
	body = marked(marker, body)
	if have.ID != 0 {
		ref, err := c.editComment(ctx, have, body)
		if err == nil {
			return ref, nil
		}
		if code := api.Status(err); code != http.StatusNotFound && (code != http.StatusForbidden || api.Locked(c.api.Said(err))) {
			return have, c.api.Explain(fmt.Sprintf("update the comment on #%d", issue), commentPermission, err)
		}
		// It was deleted, or is another's by now.
	}
	first := have.ID == 0
	ref, err := c.postComment(ctx, issue, body)
	if api.Lost(err) {
		found, findErr := c.FindComment(ctx, issue, marker)
		switch {
		case findErr != nil:
			err = findErr
		case found.ID != 0 && found.ID != have.ID:
			return found, nil
		default:
			ref, err = c.postComment(ctx, issue, body)
		}
	}
	if err != nil {
		return CommentRef{}, c.api.Explain(fmt.Sprintf("comment on #%d", issue), commentPermission, err)
	}
	if first {
		ref = c.oneOf(ctx, issue, marker, body, ref)
	}
	return ref, nil
}

// oneOf leaves one comment where two runs wrote their first at the same time: the
// older one, which takes the body of the one that was just made. What fails here
// leaves both.
func (c *Client) oneOf(ctx context.Context, issue int, marker, body string, made CommentRef) CommentRef {
	first, err := c.FindComment(ctx, issue, marker)
	if err != nil || first.ID == 0 || first.ID >= made.ID {
		return made
	}
	if _, err := c.editComment(ctx, first, body); err != nil {
		return made
	}
	if err := c.api.Call(ctx, http.MethodDelete, c.api.Path("/issues/comments/%d", made.ID), nil, nil); err != nil {
		return made
	}
	return first
}

func (c *Client) postComment(ctx context.Context, issue int, body string) (CommentRef, error) {
	var made github.IssueComment
	err := c.api.CallOnce(ctx, http.MethodPost, c.api.Path("/issues/%d/comments", issue), map[string]string{"body": body}, &made)
	if err == nil && made.GetID() == 0 {
		err = errors.New("the answer names no comment")
	}
	return c.commentRef(&made, issue), err
}

func (c *Client) editComment(ctx context.Context, have CommentRef, body string) (CommentRef, error) {
	return have, c.api.Call(ctx, http.MethodPatch, c.api.Path("/issues/comments/%d", have.ID), map[string]string{"body": body}, nil)
}

// FindComment is our comment that begins with the marker; the zero CommentRef
// when there is none. A comment counts as ours when a bot wrote it, or the user
// whom the token acts as: what a stranger wrote is never taken over, whatever it
// begins with. The first and the newest comments are looked at, a thousand in
// all. It costs one call for up to a hundred comments.
func (c *Client) FindComment(ctx context.Context, issue int, marker string) (CommentRef, error) {
	if !markerPattern.MatchString(marker) {
		return CommentRef{}, fmt.Errorf("the marker of a comment is %q: want an HTML comment of one line", marker)
	}
	page := 1
	for range maxCommentPages {
		var list []*github.IssueComment
		resp, err := c.api.Exchange(ctx, http.MethodGet, c.api.Path("/issues/%d/comments?page=%d&per_page=100", issue, page), nil, &list)
		if err != nil {
			return CommentRef{}, c.api.Explain(fmt.Sprintf("read the comments on #%d", issue), "issues: read", err)
		}
		for _, one := range list {
			if one.GetID() > 0 && strings.HasPrefix(strings.TrimSpace(one.GetBody()), marker) && c.ours(ctx, one.GetUser()) {
				return c.commentRef(one, issue), nil
			}
		}
		// They come oldest first: after the first page, from the newest backwards.
		if page == 1 {
			page = resp.LastPage
		} else {
			page--
		}
		if page <= 1 {
			break
		}
	}
	return CommentRef{}, nil
}

// giteaActions is the id of the user whom jobs of Gitea and Forgejo act as.
const giteaActions = -2

// ours reports whether a user is a bot, or the one the token acts as.
func (c *Client) ours(ctx context.Context, user *github.User) bool {
	if strings.EqualFold(user.GetType(), "Bot") || user.GetID() == giteaActions {
		return true
	}
	if login := c.Identify(ctx).Login; login != "" {
		return strings.EqualFold(login, user.GetLogin())
	}
	// A token of Gitea's without read:user does not tell whose it is. Who may write
	// here is no stranger.
	may, err := c.Permission(ctx, user.GetLogin())
	return err == nil && may.CanWrite()
}

func (c *Client) commentRef(one *github.IssueComment, issue int) CommentRef {
	address := c.api.ServerURL.JoinPath(c.api.Owner, c.api.Name, "issues", fmt.Sprint(issue))
	address.Fragment = fmt.Sprintf("issuecomment-%d", one.GetID())
	return CommentRef{ID: one.GetID(), URL: c.onForge(one.GetHTMLURL(), address.String())}
}
