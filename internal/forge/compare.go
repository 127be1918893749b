package forge

import (
	"errors"
	"net/url"
	"strings"

	"github.com/org/ralph-action/internal/forge/api"
)

// maxCompare bounds a compare link, in bytes: servers refuse addresses beyond
// 8 KiB, and people have to copy it out of a log.
const maxCompare = 4000

// CompareURL is a link that opens the forge's form for this pull request, with
// title, labels and as much of the body filled in as fits a link.
func (c *Client) CompareURL(want PullRequest) string {
	link := c.api.ServerURL.JoinPath(c.api.Owner, c.api.Name, "compare").String() + "/" + api.EscapePath(want.Base) + "..." + c.compareFork(want.HeadRepository) + api.EscapePath(want.Head)
	query := url.Values{"quick_pull": {"1"}}
	if title := oneLine(want.Title); title != "" {
		query.Set("title", title)
	}
	if len(want.Labels) > 0 {
		query.Set("labels", strings.Join(want.Labels, ","))
	}
	withBody := func(runes []rune) string {
		full := url.Values{"body": {string(runes)}}
		for name, values := range query {
			full[name] = values
		}
		return link + "?" + full.Encode()
	}
	// With the marker in front: who opens it by the link gives it to later runs.
	var body []rune
	if text := strings.TrimPrefix(strings.ReplaceAll(want.Body, Marker, ""), "\n"); text != "" {
		body = []rune(Marker + "\n" + text)
	}
	for len(body) > 0 && len(withBody(body)) > maxCompare {
		body = body[:min(len(body)/2, maxCompare)]
	}
	if len(body) <= len(Marker) {
		return link + "?" + query.Encode()
	}
	return withBody(body)
}

// compareFork names the fork of a branch: by its owner, and where its name is
// another, by that, too.
func (c *Client) compareFork(repository string) string {
	owner, name, ok := strings.Cut(repository, "/")
	switch {
	case !ok || strings.EqualFold(repository, c.api.Repository()):
		return ""
	case strings.EqualFold(name, c.api.Name):
		return url.PathEscape(owner) + ":"
	}
	return url.PathEscape(owner) + ":" + url.PathEscape(name) + ":"
}

// withCompare gives a refused pull request its way out.
func (c *Client) withCompare(err error, want PullRequest) error {
	var refused *PermissionError
	if errors.As(err, &refused) {
		refused.CompareURL = c.CompareURL(want)
	}
	return err
}
