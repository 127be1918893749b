package forge

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/org/ralph-action/internal/forge/api"
)

// ErrNoCommits means that the head branch holds nothing the base has not.
var ErrNoCommits = errors.New("there are no commits between base and head")

// explainCreate is explain for a pull request that could not be created: it
// names the branch that is missing.
func (c *Client) explainCreate(operation string, want PullRequest, err error) error {
	full := c.api.Explain(operation, "pull-requests: write", err)
	said := c.api.Said(err)
	switch {
	case api.Status(err) == http.StatusNotFound: // Gitea's answer
		return fmt.Errorf("%w; or one of the branches is not there any more", full)
	case api.Status(err) != http.StatusUnprocessableEntity:
		return full
	case strings.Contains(said, "base invalid"):
		return fmt.Errorf("%w: the base branch %q is not there any more: restore it, or name another", full, want.Base)
	case strings.Contains(said, "head invalid"), strings.Contains(said, "head_repo invalid"):
		if want.HeadRepository != "" {
			return fmt.Errorf("%w: %s has no branch %q, or is no fork of %s that the token may see", full, want.HeadRepository, want.Head, c.api.Repository())
		}
		return fmt.Errorf("%w: the branch %q is not there any more", full, want.Head)
	}
	return full
}

// lifetime says how long an installation's token lives, when it is one.
func (c *Client) lifetime() string {
	if i := c.Identity(); i.Kind == TokenInstallation && i.JobToken() != Yes {
		return "; an App's token is valid for one hour, GITHUB_TOKEN until the job ends"
	}
	return ""
}

// alreadyExists recognises the race between looking for a pull request and
// creating it: GitHub answers 422 with this text, Gitea 409.
func (c *Client) alreadyExists(err error) bool {
	code := api.Status(err)
	if code != http.StatusUnprocessableEntity && code != http.StatusConflict {
		return false
	}
	said := c.api.Said(err)
	return strings.Contains(said, "pull request already exists") || strings.Contains(said, "Pull request already exists")
}

// noCommits recognises an empty pull request: "No commits between main and x"
// on GitHub, "no changes between the head and the base" on Gitea.
func (c *Client) noCommits(err error) bool {
	said := c.api.Said(err)
	return api.Status(err) == http.StatusUnprocessableEntity &&
		(strings.Contains(said, "No commits between") || strings.Contains(said, "no changes between"))
}

// noCollaboration recognises that the token may not let maintainers push to the
// fork, because it may not itself.
func (c *Client) noCollaboration(err error) bool {
	return api.Status(err) == http.StatusUnprocessableEntity && strings.Contains(c.api.Said(err), "Fork collab can't be granted")
}

// noDrafts recognises a repository whose plan has no drafts.
func (c *Client) noDrafts(err error) bool {
	return api.Status(err) == http.StatusUnprocessableEntity && strings.Contains(c.api.Said(err), "Draft pull requests are not supported")
}
