package forge

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/org/ralph-action/internal/forge/api"
)

// maxContents bounds a file that is read through the API, in bytes.
const maxContents = 1 << 20

// File reads a file of a branch or commit. ok is false when there is no file of
// that name. An error says what the token needs, or that it is more than 1 MiB.
// GET /repos/{owner}/{repo}/contents/{path}, of GitHub and Gitea.
func (c *Client) File(ctx context.Context, path, ref string) (data []byte, ok bool, err error) {
	var answer struct {
		Type, Encoding, Content string
		Size                    int64
	}
	operation := fmt.Sprintf("read %s of %s", c.api.Clean(path), c.api.Clean(ref))
	err = c.api.Call(ctx, http.MethodGet, c.api.Path("/contents/%s", api.EscapePath(path))+"?ref="+url.QueryEscape(ref), nil, &answer)
	switch {
	case api.Status(err) == http.StatusNotFound:
		return nil, false, nil
	case err != nil:
		return nil, false, c.api.Explain(operation, "contents: read", err)
	case answer.Type != "file":
		return nil, false, nil
	case answer.Encoding != "base64" || answer.Size > maxContents:
		return nil, false, fmt.Errorf("%s in %s: it has %d bytes; at most %d are read", operation, c.api.Where(), answer.Size, maxContents)
	}
	data, err = base64.StdEncoding.DecodeString(strings.ReplaceAll(answer.Content, "\n", ""))
	if err != nil {
		return nil, false, fmt.Errorf("%s in %s: the answer is not Base64", operation, c.api.Where())
	}
	return data, true, nil
}
