package forge

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-github/v60/github"
)

// addLabels adds labels and removes none. What fails is a warning.
func (c *Client) addLabels(ctx context.Context, number int, labels []string) []string {
	var wanted []string
	for _, label := range labels {
		label = strings.TrimSpace(label)
		if label != "" && !slices.ContainsFunc(wanted, func(have string) bool { return strings.EqualFold(have, label) }) {
			wanted = append(wanted, label)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	// The object form: GitHub takes a bare array as well, Gitea does not.
	request := struct {
		Labels []string `json:"labels"`
	}{wanted}
	var now []*github.Label
	if err := c.call(ctx, http.MethodPost, c.path("/issues/%d/labels", number), request, &now); err != nil {
		return []string{c.explain(fmt.Sprintf("add labels to #%d", number), "pull-requests: write (or issues: write)", err).Error()}
	}
	// GitHub creates a label that does not exist; Gitea leaves it out without a word.
	var missing []string
	for _, label := range wanted {
		if !slices.ContainsFunc(now, func(have *github.Label) bool { return strings.EqualFold(have.GetName(), label) }) {
			missing = append(missing, fmt.Sprintf("%q", label))
		}
	}
	if len(missing) > 0 {
		return []string{fmt.Sprintf("add labels to #%d in %s: not added: %s: create them in the repository first", number, c.where(), strings.Join(missing, ", "))}
	}
	return nil
}
