package forge

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/go-github/v60/github"
)

// Pull is a pull request as an event's reader needs it. Refs are the forge's own
// words, still to be validated by who uses them.
type Pull struct {
	Open    bool
	HeadRef string // branch, in HeadRepository
	// HeadRepository is where the head lies, owner/name; empty when it is gone.
	HeadRepository string
	BaseRef        string
}

// IssueClosed reports whether an issue is closed. It costs one call.
func (c *Client) IssueClosed(ctx context.Context, number int) (bool, error) {
	operation := fmt.Sprintf("read issue #%d", number)
	var found github.Issue
	if err := c.api.Call(ctx, http.MethodGet, c.api.Path("/issues/%d", number), nil, &found); err != nil {
		return false, c.api.Explain(operation, "issues: read", err)
	}
	return found.GetState() == "closed", nil
}

// Pull reads a pull request. It costs one call.
func (c *Client) Pull(ctx context.Context, number int) (Pull, error) {
	operation := fmt.Sprintf("read pull request #%d", number)
	var found github.PullRequest
	if err := c.api.Call(ctx, http.MethodGet, c.api.Path("/pulls/%d", number), nil, &found); err != nil {
		return Pull{}, c.api.Explain(operation, "pull-requests: read", err)
	}
	head, base := found.GetHead(), found.GetBase()
	if found.GetNumber() != number || !shaPattern.MatchString(head.GetSHA()) || head.GetRef() == "" || base.GetRef() == "" {
		return Pull{}, fmt.Errorf("%s in %s: the answer is not what the API promises", operation, c.api.Where())
	}
	return Pull{
		Open: found.GetState() == "open", HeadRef: head.GetRef(), HeadRepository: head.GetRepo().GetFullName(), BaseRef: base.GetRef(),
	}, nil
}
