package forge

import (
	"errors"
	"net/url"
	"strings"
)

// maxCompare bounds a compare link, in bytes: servers refuse addresses beyond
// 8 KiB, and people have to copy it out of a log.
const maxCompare = 4000

// CompareURL is a link that opens the forge's form for this pull request, with
// title, labels and as much of the body filled in as fits a link.
func (c *Client) CompareURL(want PullRequest) string {
	link := c.serverURL.JoinPath(c.owner, c.name, "compare").String() + "/" + escapeBranch(want.Base) + "..." + escapeBranch(want.Head)
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
	body := []rune(want.Body)
	for len(body) > 0 && len(withBody(body)) > maxCompare {
		body = body[:min(len(body)/2, maxCompare)]
	}
	if len(body) == 0 {
		return link + "?" + query.Encode()
	}
	return withBody(body)
}

func escapeBranch(branch string) string {
	parts := strings.Split(branch, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// withCompare gives a refused pull request its way out.
func (c *Client) withCompare(err error, want PullRequest) error {
	var refused *PermissionError
	if errors.As(err, &refused) {
		refused.CompareURL = c.CompareURL(want)
	}
	return err
}
