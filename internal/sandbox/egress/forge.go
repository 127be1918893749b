package egress

import (
	"net/url"
	"strings"

	"github.com/org/ralph-action/internal/sandbox/hosts"
)

// Forge are the hosts from which a forge's repositories, files and releases are
// read. Of github.com these are not api.github.com and uploads.github.com, where
// a client could write with a token of its own (issues, gists, releases), nor
// gist.github.com. A push to github.com itself with somebody else's token is what
// cannot be told from a fetch. Another server is its own host, at the port of its
// address. None for what is no address.
func Forge(serverURL string) []string {
	u, err := url.Parse(serverURL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil
	}
	if strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), "github.com") {
		return []string{
			"github.com", "codeload.github.com", "raw.githubusercontent.com", "objects.githubusercontent.com",
			"release-assets.githubusercontent.com", "github-releases.githubusercontent.com", "media.githubusercontent.com",
			"github-cloud.githubusercontent.com", "github-cloud.s3.amazonaws.com", // the store of Git LFS
		}
	}
	r, err := hosts.Parse(u.Scheme + "://" + u.Host)
	if err != nil {
		return nil
	}
	return []string{r.String()}
}
