package forge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-github/v60/github"
)

// draftPrefix marks a draft on forges whose drafts are a matter of the title
// (Gitea and Forgejo know it by default), and where drafts cannot be had.
const draftPrefix = "WIP: "

func draftTitle(title string) string {
	if strings.HasPrefix(strings.ToUpper(title), strings.TrimSpace(draftPrefix)) {
		return title
	}
	return draftPrefix + title
}

// PlainTitle is a title without the words that mark a draft.
func PlainTitle(title string) string {
	if n := len(strings.TrimSpace(draftPrefix)); len(title) >= n && strings.EqualFold(title[:n], strings.TrimSpace(draftPrefix)) {
		return strings.TrimSpace(title[n:])
	}
	return title
}

// draftsByTitle reports whether the forge's drafts are a matter of the title. GitHub
// converts drafts through GraphQL, by node id; an answer without one comes
// from a forge that has no such thing.
func draftsByTitle(p *github.PullRequest) bool { return p.GetNodeID() == "" }

// matchDraft converts between draft and ready. What cannot be converted is
// marked in the title and is a warning: the pull request itself is there.
func (c *Client) matchDraft(ctx context.Context, have *github.PullRequest, want PullRequest) (*github.PullRequest, []string) {
	if have.GetDraft() == want.Draft {
		return have, nil
	}
	var warnings []string
	if !draftsByTitle(have) {
		err := c.convert(ctx, have, want.Draft)
		if err == nil {
			have.Draft = &want.Draft
			return have, nil
		}
		warnings = append(warnings, err.Error())
	}
	if !want.Draft {
		if draftsByTitle(have) {
			warnings = append(warnings, fmt.Sprintf("pull request #%d in %s is still a draft although its title does not say so: mark it ready by hand", have.GetNumber(), c.api.Where()))
		}
		return have, warnings
	}
	if draftTitle(have.GetTitle()) == have.GetTitle() {
		return have, warnings
	}
	marked, err := c.patch(ctx, have, draftTitle(want.Title), nil)
	if err != nil {
		return have, append(warnings, err.Error())
	}
	return marked, warnings
}

// convert changes the draft state, which the REST API cannot.
func (c *Client) convert(ctx context.Context, have *github.PullRequest, draft bool) error {
	operation, mutation := fmt.Sprintf("mark pull request #%d ready for review", have.GetNumber()), "markPullRequestReadyForReview"
	if draft {
		operation, mutation = fmt.Sprintf("convert pull request #%d to a draft", have.GetNumber()), "convertPullRequestToDraft"
	}
	// Found out by others the hard way: the mutations ask for contents, too.
	const permission = "contents: write and pull-requests: write"
	query := "mutation($id: ID!) { " + mutation + "(input: {pullRequestId: $id}) { pullRequest { isDraft } } }"
	var data map[string]struct {
		PullRequest struct {
			IsDraft *bool `json:"isDraft"`
		} `json:"pullRequest"`
	}
	if err := c.api.GraphQL(ctx, query, map[string]any{"id": have.GetNodeID()}, &data); err != nil {
		return c.api.ExplainGraphQL(operation, permission, err)
	}
	if is := data[mutation].PullRequest.IsDraft; is == nil || *is != draft {
		return fmt.Errorf("%s in %s: the forge took it and changed nothing: do it by hand", operation, c.api.Where())
	}
	return nil
}

// ConvertToDraft makes the open pull request a draft, if it is ours and none: a draft is
// never merged, whatever the forge was asked for. It costs one call, or none.
func (c *Client) ConvertToDraft(ctx context.Context, found Found) error {
	if found.have == nil || foreign(found.have) || found.have.GetDraft() {
		return nil
	}
	have, warnings := c.matchDraft(ctx, found.have, PullRequest{Title: found.have.GetTitle(), Draft: true})
	if !have.GetDraft() && draftTitle(have.GetTitle()) != have.GetTitle() {
		return errors.New(strings.Join(warnings, "; "))
	}
	return nil
}
