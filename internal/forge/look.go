package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
	"github.com/org/ralph-action/internal/ralph"
)

const (
	// maxPages bounds the search for an open pull request: 10,000 on GitHub.
	maxPages = 100
	// lookPages bounds the search for a closed one, which a forge that does not
	// filter may make long.
	lookPages = 10
)

// branches is the way of a pull request. No base: any. repository is the head's,
// owner/name; empty: our own.
type branches struct{ head, base, repository string }

// Found is what has become of a branch's pull requests to one base.
type Found struct {
	Open   ralph.PullRequest // Number 0: none is open
	Closed ClosedPullRequest // the newest one when none is open; Number 0: none

	have *github.PullRequest // the open one
}

// History is what has become of a branch's pull requests, the newest first.
type History struct {
	Open   []OpenPullRequest
	Closed []ClosedPullRequest
}

// OpenPullRequest is one that is open. Its body is foreign.
type OpenPullRequest struct {
	ralph.PullRequest
	Base string // branch
	Body string

	have *github.PullRequest
}

// ClosedPullRequest is one that was closed or merged.
type ClosedPullRequest struct {
	Number  int
	Base    string // branch
	Body    string // foreign
	HeadSHA string // tip of its branch when it was closed; empty: not known
	// Follows reports whether HeadSHA is what the branch holds now, as Gitea has it.
	Follows bool
	Merged  bool
}

// To is what concerns one base.
func (h History) To(base string) Found {
	found := Found{Open: ralph.PullRequest{Operation: ralph.OperationNone}}
	for _, one := range h.Open {
		if one.Base == base {
			found.Open, found.have = one.PullRequest, one.have
			return found
		}
	}
	for _, one := range h.Closed {
		if one.Base == base {
			found.Closed = one
			break
		}
	}
	return found
}

// Due reports whether a branch with this tip should have a pull request and has none:
// there never was one, or the last one was closed at another tip, as when a run
// pushed and was ended before it made one. Who closes a pull request at this
// very tip has seen it, and is not asked again. Forges that let a closed pull
// request follow its branch (Gitea) give that answer for every tip, unless it was
// merged.
func (f Found) Due(tip string) bool {
	return f.Open.Number == 0 && tip != "" && (f.Closed.Number == 0 || f.Closed.HeadSHA != tip || f.Closed.Merged && f.Closed.Follows)
}

// Stale reports whether the open pull request is ours and does not tell of tip, the last
// commit of ours on its branch, tells of a run as going on, or is a draft still although
// the work is complete: the run that pushed it was ended before it came to that.
func (f Found) Stale(tip string, draft bool) bool {
	p := f.have
	return p != nil && !foreign(p) &&
		(len(tip) >= 7 && !strings.Contains(p.GetBody(), tip[:7]) || strings.Contains(p.GetBody(), UnderWayMark) || p.GetDraft() && !draft)
}

// Look finds the pull requests of a branch to a base, open or closed.
// headRepository is the fork it lies in, owner/name; empty: this repository. It
// costs one call, where the forge filters and there are less than a hundred.
func (c *Client) Look(ctx context.Context, head, base, headRepository string) (Found, error) {
	h, err := c.history(ctx, branches{head, base, headRepository})
	return h.To(base), err
}

// History finds the pull requests of a branch to whatever base, as Look does.
func (c *Client) History(ctx context.Context, head, headRepository string) (History, error) {
	return c.history(ctx, branches{head: head, repository: headRepository})
}

func (c *Client) history(ctx context.Context, way branches) (History, error) {
	var h History
	all, err := c.pulls(ctx, "all", way, lookPages, func(p *github.PullRequest) bool {
		if p.GetState() == "open" {
			h.Open = append(h.Open, c.open(p))
		} else {
			h.Closed = append(h.Closed, c.closed(p))
		}
		return len(h.Open) > 0
	})
	if err != nil || all || len(h.Open) > 0 {
		return h, err
	}
	open, err := c.find(ctx, way, nil)
	if err == nil && open != nil {
		h.Open = append(h.Open, c.open(open))
	}
	return h, err
}

func (c *Client) open(p *github.PullRequest) OpenPullRequest {
	return OpenPullRequest{PullRequest: c.record(p, ralph.OperationNone), Base: p.GetBase().GetRef(), Body: p.GetBody(), have: p}
}

func (c *Client) closed(p *github.PullRequest) ClosedPullRequest {
	return ClosedPullRequest{
		Number: p.GetNumber(), Base: p.GetBase().GetRef(), Body: p.GetBody(),
		HeadSHA: p.GetHead().GetSHA(), Follows: p.GetNodeID() == "", Merged: p.GetMerged() || p.MergedAt != nil,
	}
}

// MergedWith finds the pull requests that brought a commit into a base, from
// whatever branch. It costs one call. A forge that does not tell has none.
func (c *Client) MergedWith(ctx context.Context, sha string) ([]ClosedPullRequest, error) {
	var list []*github.PullRequest
	err := c.api.Call(ctx, http.MethodGet, c.api.Path("/commits/%s/pulls?per_page=100", url.PathEscape(sha)), nil, &list)
	switch api.Status(err) {
	case http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity:
		return nil, nil
	}
	if err != nil {
		return nil, c.api.Explain("read the pull requests of "+sha, "pull-requests: read", err)
	}
	var merged []ClosedPullRequest
	for _, p := range list {
		if one := c.closed(p); p.GetState() != "open" && one.Merged && one.Number > 0 {
			merged = append(merged, one)
		}
	}
	return merged, nil
}

// find pages through the open pull requests. One to another base counts when same,
// unless nil, accepts its body, and none goes to this one.
func (c *Client) find(ctx context.Context, way branches, same func(body string) bool) (*github.PullRequest, error) {
	base := way.base
	if same != nil {
		way.base = ""
	}
	var have, other *github.PullRequest
	all, err := c.pulls(ctx, "open", way, maxPages, func(p *github.PullRequest) bool {
		switch {
		case p.GetState() != "open" || have != nil:
		case base == "" || p.GetBase().GetRef() == base:
			have = p
		case other == nil && same(p.GetBody()):
			other = p
		}
		return have != nil
	})
	if have == nil {
		have = other
	}
	if err == nil && have == nil && !all {
		err = fmt.Errorf("look for an open pull request in %s: gave up after %d pages", c.api.Where(), maxPages)
	}
	return have, err
}

// pulls shows the pull requests of a branch, newest first, until visit has seen
// enough at the end of a page, or most pages were read; all says that there are no
// more. Without a base in way, those to all bases are shown. GitHub filters
// by head owner and branch, which two forks of one owner share, and other forges
// do not filter at all: so each is compared in full.
func (c *Client) pulls(ctx context.Context, state string, way branches, most int, visit func(*github.PullRequest) bool) (all bool, err error) {
	owner := c.api.Owner
	if way.repository != "" {
		owner, _, _ = strings.Cut(way.repository, "/")
	}
	query := url.Values{"state": {state}, "head": {owner + ":" + way.head}, "sort": {"created"}, "direction": {"desc"}, "per_page": {"100"}}
	if way.base != "" {
		query.Set("base", way.base)
	}
	for page := 1; page <= most; page++ {
		query.Set("page", fmt.Sprint(page))
		var list []*github.PullRequest
		resp, err := c.api.Exchange(ctx, http.MethodGet, c.api.Path("/pulls?%s", query.Encode()), nil, &list)
		if err != nil {
			what := "look for an open pull request"
			if state != "open" {
				what = "look for pull requests"
			}
			return false, c.api.Explain(what, "pull-requests: read", err)
		}
		enough := false
		for _, one := range list {
			if one != nil && one.GetNumber() > 0 && c.goes(one, way) {
				c.remember(one)
				enough = visit(one)
			}
		}
		switch {
		case resp.NextPage == 0 || len(list) == 0:
			return true, nil
		case enough:
			return false, nil
		}
	}
	return false, nil
}

// goes reports whether a pull request goes this way. A fork that was deleted has no
// repository any more; nor has a branch that was deleted a name on Gitea, but
// its label.
func (c *Client) goes(p *github.PullRequest, way branches) bool {
	from, to := p.GetHead(), p.GetBase()
	head := from.GetRef()
	if strings.HasPrefix(head, "refs/pull/") {
		head = from.GetLabel()
	}
	if head != way.head || way.base != "" && to.GetRef() != way.base || from.Repo == nil || to.Repo == nil {
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
	return c.onForge(p.GetHTMLURL(), c.api.ServerURL.JoinPath(c.api.Owner, c.api.Name, "pull", fmt.Sprint(p.GetNumber())).String())
}

// onForge is a link the forge gave, when it lies on the forge, else another.
func (c *Client) onForge(link, otherwise string) string {
	u, err := url.Parse(link)
	if err == nil && api.Origin(u) == api.Origin(c.api.ServerURL) && u.User == nil {
		return u.String()
	}
	return otherwise
}
