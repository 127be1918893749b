package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/go-github/v60/github"
)

// Facts is what the pre-flight learned.
type Facts struct {
	DefaultBranch string
	Base          string // the base that was asked for, else the default branch
	Private       bool
	// CanPush counts only when CanPushKnown: an installation token, such as
	// GITHUB_TOKEN, is not told what it may do.
	CanPush, CanPushKnown bool
}

// Preflight finds out, before anything is spent, that the repository can be
// reached, that the base branch exists (empty: the default branch) and that
// the token may push, as far as the forge tells. It costs two calls, three
// when the answer seems to deny pushing.
func (c *Client) Preflight(ctx context.Context, base string) (Facts, error) {
	var repository github.Repository
	if err := c.call(ctx, http.MethodGet, c.path(""), nil, &repository); err != nil {
		return Facts{}, c.explain("read the repository", "contents: read", err)
	}
	facts := Facts{DefaultBranch: repository.GetDefaultBranch(), Base: base, Private: repository.GetPrivate()}
	if facts.Base == "" {
		facts.Base = facts.DefaultBranch
	}
	if facts.Base == "" {
		return facts, fmt.Errorf("base: %s has no default branch: push a first commit, or name the base branch", c.where())
	}
	if repository.GetArchived() || repository.GetDisabled() {
		return facts, fmt.Errorf("push to %s: the repository is archived or disabled, so nothing can be published: unarchive it, or run with push: false", c.where())
	}
	if err := c.checkPush(ctx, repository.Permissions, &facts); err != nil {
		return facts, err
	}
	return facts, c.checkBase(ctx, facts)
}

// checkPush reads the permissions of the repository's answer. They are those
// of the token's user, so they are missing, or all false, when the token
// belongs to an installation, which has none.
func (c *Client) checkPush(ctx context.Context, permissions map[string]bool, facts *Facts) error {
	switch {
	case permissions["push"]:
		facts.CanPush, facts.CanPushKnown = true, true
		return nil
	case !permissions["pull"]:
		return nil
	}
	// Readable and not writable. Only an installation token may ask this:
	err := c.call(ctx, http.MethodGet, "installation/repositories?per_page=1", nil, nil)
	switch {
	case err == nil:
		return nil
	case status(err) == 0:
		return c.explain("ask whether the token is an installation's", "contents: read", err)
	}
	facts.CanPushKnown = true
	return &PermissionError{Operation: "push to " + c.where(), Permission: "contents: write", Message: "permissions.push is false"}
}

func (c *Client) checkBase(ctx context.Context, facts Facts) error {
	var branch github.Branch
	err := c.call(ctx, http.MethodGet, c.path("/branches/%s", url.PathEscape(facts.Base)), nil, &branch)
	switch {
	case status(err) == http.StatusNotFound && facts.Base == facts.DefaultBranch:
		return fmt.Errorf("base: %s has no branch %q although it is the default branch: push a first commit", c.where(), facts.Base)
	case status(err) == http.StatusNotFound:
		return fmt.Errorf("base: %s has no branch %q: name a branch that exists there, for example %q", c.where(), facts.Base, facts.DefaultBranch)
	case err != nil:
		return c.explain(fmt.Sprintf("read the base branch %q", facts.Base), "contents: read", err)
	case branch.GetName() != facts.Base:
		// GitHub redirects the old name of a renamed branch.
		return fmt.Errorf("base: branch %q of %s is now called %q: use that name", facts.Base, c.where(), c.transport.clean(branch.GetName()))
	}
	return nil
}

// ProbePullRequest asks whether the token may open pull requests, without
// opening one: it proposes a pull request from the base into itself, which a
// forge refuses as invalid when the token may open pull requests, and as
// forbidden when not. It costs one call. No error is no proof: a forge may
// look at the proposal before it looks at the token.
func (c *Client) ProbePullRequest(ctx context.Context, base string) error {
	title := "ralph pre-flight"
	proposal := github.NewPullRequest{Title: &title, Head: &base, Base: &base}
	err := c.call(ctx, http.MethodPost, c.path("/pulls"), proposal, nil)
	switch status(err) {
	case http.StatusUnprocessableEntity, http.StatusConflict:
		return nil
	}
	if err == nil {
		return errors.New("the forge opened a pull request from " + base + " into itself: it is not compatible with GitHub's API")
	}
	return c.explain("open pull requests", "pull-requests: write", err)
}
