package forge

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"
)

// addLabels adds labels and removes none; it makes no call when they are all
// there. What fails is a warning.
func (c *Client) addLabels(ctx context.Context, have *github.PullRequest, labels []string) []string {
	var missing []string
	for _, label := range labels {
		label = strings.TrimSpace(label)
		if label != "" && !contains(missing, label) && !hasLabel(have.Labels, label) {
			missing = append(missing, label)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	operation := fmt.Sprintf("add labels to #%d", have.GetNumber())
	// The object form: GitHub takes a bare array as well, Gitea does not.
	request := map[string][]string{"labels": missing}
	var now []*github.Label
	if err := c.api.Call(ctx, http.MethodPost, c.api.Path("/issues/%d/labels", have.GetNumber()), request, &now); err != nil {
		return []string{c.api.Explain(operation, "pull-requests: write (or issues: write)", err).Error()}
	}
	// GitHub creates a label that does not exist; Gitea leaves it out without a word.
	missing = slices.DeleteFunc(missing, func(label string) bool { return hasLabel(now, label) })
	if len(missing) > 0 {
		return []string{fmt.Sprintf("%s in %s: not added: %s: create them in the repository first", operation, c.api.Where(), quoted(missing))}
	}
	return nil
}

func hasLabel(list []*github.Label, name string) bool {
	return slices.ContainsFunc(list, func(have *github.Label) bool { return strings.EqualFold(have.GetName(), name) })
}
