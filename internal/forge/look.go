package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/ralph"
)

const (
	// maxPages bounds the search for an open pull request: 10,000 on GitHub.
	maxPages = 100
	// lookPages bounds the search for a closed one, which a forge that does not
	// filter may make long.
	lookPages = 10
)

// branches is the way of a pull request.
type branches struct{ head, base, repository string } // owner/name of the head's; empty: our own

// Find is the open pull request with this head and base; its Number is 0 when
// there is none.
func (c *Client) Find(ctx context.Context, head, base string) (ralph.PullRequest, error) {
	have, err := c.find(ctx, branches{head: head, base: base})
	if err != nil || have == nil {
		return ralph.PullRequest{Operation: ralph.OperationNone}, err
	}
	return c.record(have, ralph.OperationNone), nil
}

// Found is what has become of a branch's pull requests.
type Found struct {
	Open   ralph.PullRequest // Number 0: none is open
	Closed ClosedPullRequest // the newest one when none is open; Number 0: none

	have *github.PullRequest // the open one
}

// ClosedPullRequest is one that was closed or merged.
type ClosedPullRequest struct {
	Number  int
	URL     string
	HeadSHA string // tip of its branch when it was closed; empty: not known
	Merged  bool
}

// Due says that a branch with this tip should have a pull request and has none:
// there never was one, or the last one was closed at another tip, as when a run
// pushed and was ended before it made one. Who closes a pull request at this
// very tip has seen it, and is not asked again. Forges that let a closed pull
// request follow its branch (Gitea) give that answer for every tip.
func (f Found) Due(tip string) bool {
	return f.Open.Number == 0 && tip != "" && (f.Closed.Number == 0 || f.Closed.HeadSHA != tip)
}

// Stale says that the open pull request is ours and does not tell of tip, the last
// commit of ours on its branch, or is a draft still although the work is complete:
// the run that pushed it was ended before it came to that.
func (f Found) Stale(tip string, draft bool) bool {
	p := f.have
	return p != nil && !foreign(p) && (len(tip) >= 7 && !strings.Contains(p.GetBody(), tip[:7]) || p.GetDraft() && !draft)
}

// Look finds the pull requests of a branch, open or closed. headRepository is
// the fork it lies in, owner/name; empty: this repository. It costs one call,
// where the forge filters and there are less than a hundred.
func (c *Client) Look(ctx context.Context, head, base, headRepository string) (Found, error) {
	way := branches{head, base, headRepository}
	found := Found{Open: ralph.PullRequest{Operation: ralph.OperationNone}}
	all, err := c.pulls(ctx, "all", way, lookPages, func(p *github.PullRequest) bool {
		switch {
		case p.GetState() == "open":
			found.set(c, p)
			return true
		case found.Closed.Number == 0:
			found.Closed = ClosedPullRequest{Number: p.GetNumber(), URL: c.link(p), HeadSHA: p.GetHead().GetSHA(), Merged: p.GetMerged() || p.MergedAt != nil}
		}
		return false
	})
	if err != nil || all || found.Open.Number != 0 {
		return found, err
	}
	open, err := c.find(ctx, way)
	if err == nil && open != nil {
		found.set(c, open)
	}
	return found, err
}

func (f *Found) set(c *Client, open *github.PullRequest) {
	f.Open, f.Closed, f.have = c.record(open, ralph.OperationNone), ClosedPullRequest{}, open
}

// find pages through the open pull requests.
func (c *Client) find(ctx context.Context, way branches) (*github.PullRequest, error) {
	var have *github.PullRequest
	all, err := c.pulls(ctx, "open", way, maxPages, func(p *github.PullRequest) bool {
		if p.GetState() == "open" {
			have = p
		}
		return have != nil
	})
	if err == nil && have == nil && !all {
		err = fmt.Errorf("look for an open pull request in %s: gave up after %d pages", c.where(), maxPages)
	}
	return have, err
}

// pulls shows the pull requests of a branch, newest first, until visit has seen
// enough or most pages were read; all says that there are no more. GitHub filters
// by head owner and branch, which two forks of one owner share, and other forges
// do not filter at all: so each is compared in full.
func (c *Client) pulls(ctx context.Context, state string, way branches, most int, visit func(*github.PullRequest) bool) (all bool, err error) {
	owner := c.owner
	if way.repository != "" {
		owner, _, _ = strings.Cut(way.repository, "/")
	}
	query := url.Values{"state": {state}, "head": {owner + ":" + way.head}, "base": {way.base}, "sort": {"created"}, "direction": {"desc"}, "per_page": {"100"}}
	for page := 1; page <= most; page++ {
		query.Set("page", fmt.Sprint(page))
		var list []*github.PullRequest
		resp, err := c.exchange(ctx, http.MethodGet, c.path("/pulls?%s", query.Encode()), nil, &list)
		if err != nil {
			what := "look for an open pull request"
			if state != "open" {
				what = "look for pull requests"
			}
			return false, c.explain(what, "pull-requests: read", err)
		}
		for _, one := range list {
			if one != nil && one.GetNumber() > 0 && c.goes(one, way) {
				c.remember(one)
				if visit(one) {
					return false, nil
				}
			}
		}
		if resp.NextPage == 0 || len(list) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// goes says that a pull request goes this way. A fork that was deleted has no
// repository any more; nor has a branch that was deleted a name on Gitea, but
// its label.
func (c *Client) goes(p *github.PullRequest, way branches) bool {
	from, to := p.GetHead(), p.GetBase()
	head := from.GetRef()
	if strings.HasPrefix(head, "refs/pull/") {
		head = from.GetLabel()
	}
	if head != way.head || to.GetRef() != way.base || from.Repo == nil || to.Repo == nil {
		return false
	}
	if way.repository != "" {
		return strings.EqualFold(from.Repo.GetFullName(), way.repository)
	}
	if from.Repo.GetID() != 0 && to.Repo.GetID() != 0 {
		return from.Repo.GetID() == to.Repo.GetID()
	}
	return strings.EqualFold(from.Repo.GetFullName(), to.Repo.GetFullName()) && from.Repo.GetFullName() != ""
}

// remember keeps the GraphQL id of a pull request.
func (c *Client) remember(p *github.PullRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[p.GetNumber()] = p.GetNodeID()
}

func (c *Client) record(p *github.PullRequest, operation ralph.Operation) ralph.PullRequest {
	return ralph.PullRequest{
		Number: p.GetNumber(), URL: c.link(p), Draft: p.GetDraft(), Operation: operation,
		Foreign: foreign(p), AutoMerge: p.AutoMerge != nil,
	}
}

// link is the web address of a pull request: the forge's own when it lies on
// the forge, else the one GitHub would use.
func (c *Client) link(p *github.PullRequest) string {
	return c.onForge(p.GetHTMLURL(), c.serverURL.JoinPath(c.owner, c.name, "pull", fmt.Sprint(p.GetNumber())).String())
}

// onForge is a link the forge gave, when it lies on the forge, else another.
func (c *Client) onForge(link, otherwise string) string {
	u, err := url.Parse(link)
	if err == nil && origin(u) == origin(c.serverURL) && u.User == nil {
		return u.String()
	}
	return otherwise
}
