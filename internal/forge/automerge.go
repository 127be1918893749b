package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
	"github.com/org/ralph-action/internal/ralph"
)

// AutoMerge asks the forge to merge a pull request by itself, once everything
// that the base branch requires is met. method is MERGE, SQUASH or REBASE; empty
// leaves it to the forge. It costs one call, and none when it was asked before. An
// error says what to do, and leaves the pull request as it is: nothing here ever
// merges.
func (c *Client) AutoMerge(ctx context.Context, pr ralph.PullRequest, method string) (ralph.PullRequest, error) {
	if pr.AutoMerge {
		return pr, nil
	}
	operation := fmt.Sprintf("turn on auto-merge for #%d", pr.Number)
	switch method {
	case "", "MERGE", "SQUASH", "REBASE":
	default:
		return pr, fmt.Errorf("%s in %s: there is no way to merge called %q: want MERGE, SQUASH or REBASE", operation, c.api.Where(), method)
	}
	if !c.api.HasGraphQL() {
		return pr, fmt.Errorf("%s in %s: the forge has no GraphQL API, by which it is asked: set GITHUB_GRAPHQL_URL, or turn it on by hand", operation, c.api.Where())
	}
	node, err := c.node(ctx, pr.Number)
	if err != nil {
		return pr, c.api.Explain(operation, "pull-requests: read", err)
	}
	if node == "" {
		return pr, fmt.Errorf("%s in %s: the forge has no auto-merge in the way of GitHub: turn it on by hand", operation, c.api.Where())
	}
	declare, give := "", ""
	variables := map[string]any{"id": node}
	if method != "" {
		declare, give = ", $method: PullRequestMergeMethod!", ", mergeMethod: $method"
		variables["method"] = method
	}
	query := "mutation($id: ID!" + declare + ") { enablePullRequestAutoMerge(input: {pullRequestId: $id" + give + "}) { pullRequest { autoMergeRequest { enabledAt } } } }"
	var data struct {
		Enable struct {
			PullRequest struct {
				Request *struct{} `json:"autoMergeRequest"`
			} `json:"pullRequest"`
		} `json:"enablePullRequestAutoMerge"`
	}
	if err := c.api.GraphQL(ctx, query, variables, &data); err != nil {
		return pr, c.explainAutoMerge(operation, err)
	}
	if data.Enable.PullRequest.Request == nil {
		return pr, fmt.Errorf("%s in %s: the forge took it and changed nothing: turn it on by hand", operation, c.api.Where())
	}
	pr.AutoMerge = true
	return pr, nil
}

// node is the GraphQL id of a pull request; empty where there are none.
func (c *Client) node(ctx context.Context, number int) (string, error) {
	c.mu.Lock()
	id, seen := c.nodes[number]
	c.mu.Unlock()
	if seen {
		return id, nil
	}
	have := new(github.PullRequest)
	err := c.api.Call(ctx, http.MethodGet, c.api.Path("/pulls/%d", number), nil, have)
	if err == nil {
		c.remember(have)
	}
	return have.GetNodeID(), err
}

// explainAutoMerge knows GitHub's refusals by their words: there is nothing else
// to tell them by.
func (c *Client) explainAutoMerge(operation string, err error) error {
	var refused *api.GraphQLError
	if !errors.As(err, &refused) || refused.Kind == "FORBIDDEN" {
		return c.api.ExplainGraphQL(operation, "contents: write and pull-requests: write", err)
	}
	settings := c.api.ServerURL.JoinPath(c.api.Owner, c.api.Name, "settings").String()
	because := func(reason string) error {
		return fmt.Errorf("%s in %s: the forge refused it (%q): %s", operation, c.api.Where(), refused.Said, reason)
	}
	for _, known := range []struct{ words, reason string }{
		{"Auto merge is not allowed", "turn on \"Allow auto-merge\" under Settings > General > Pull Requests (" + settings + ")"},
		{"clean status", "nothing is pending, it can be merged right now: merge it by hand, ralph never merges; to have something to wait for, require checks or reviews on the base branch"},
		{"unstable status", "what the base branch requires is met, and checks that it does not require have failed or are running: require them, or merge it by hand, ralph never merges"},
		{"has_hooks status", "nothing is pending, it can be merged right now: merge it by hand, ralph never merges"},
		{"dirty status", "it has conflicts with the base branch: resolve them first"},
		{"draft", "it is a draft: mark it ready first"},
		{"Protected branch rules not configured", "auto-merge waits for what the base branch requires, and that requires nothing: protect it with checks or reviews"},
		{"Merge method", "the repository does not allow this way to merge: choose another, or allow it under Settings > General > Pull Requests (" + settings + ")"},
		{"not allowed on this repository", "the repository does not allow this way to merge: choose another, or allow it under Settings > General > Pull Requests (" + settings + ")"},
	} {
		if strings.Contains(refused.Said, known.words) {
			return because(known.reason)
		}
	}
	return because("see Settings > General > Pull Requests (" + settings + ") and what the base branch requires")
}
