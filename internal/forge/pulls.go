package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/ralph"
)

const (
	// maxBody is GitHub's limit for the body of a pull request, in characters.
	maxBody = 65536
	// maxTitle leaves room for a draft's prefix below the 255 of Gitea and the
	// 256 of GitHub.
	maxTitle = 250
	// maxPages bounds the search for an open pull request: 10,000 on GitHub.
	maxPages = 100
)

// PullRequest is what a pull request should be.
type PullRequest struct {
	Title string // one line; longer than 250 characters is cut
	Body  string // at most 65,536 characters
	Head  string // branch of this repository
	Base  string // branch
	Draft bool
	// NewDraft applies Draft to a pull request that is created only: an existing
	// one stays draft or ready as it is.
	NewDraft bool
	Labels   []string // added, never removed
}

// Upsert creates the pull request, or updates title and body of the open one
// with the same head and base, and brings draft state and labels to what is
// wanted. Failures of the last two are warnings, each with what to do. An
// error means that there is no pull request, or an old one that was not
// updated: *PermissionError, ErrNoCommits, or another.
func (c *Client) Upsert(ctx context.Context, want PullRequest) (ralph.PullRequest, []string, error) {
	want.Title = oneLine(want.Title)
	if err := check(want); err != nil {
		return ralph.PullRequest{}, nil, err
	}
	have, err := c.find(ctx, want.Head, want.Base)
	if err != nil {
		return ralph.PullRequest{}, nil, c.withCompare(err, want)
	}
	operation := ralph.OperationUpdated
	var warnings []string
	if have == nil {
		have, operation, warnings, err = c.create(ctx, want)
	} else {
		have, err = c.update(ctx, have, want)
	}
	if err != nil {
		return ralph.PullRequest{}, warnings, c.withCompare(err, want)
	}
	if want.NewDraft && operation == ralph.OperationUpdated {
		want.Draft = have.GetDraft()
	}
	have, more := c.matchDraft(ctx, have, want)
	warnings = append(warnings, more...)
	warnings = append(warnings, c.addLabels(ctx, have.GetNumber(), want.Labels)...)
	return c.record(have, operation), warnings, nil
}

// Find is the open pull request with this head and base; its Number is 0 when
// there is none.
func (c *Client) Find(ctx context.Context, head, base string) (ralph.PullRequest, error) {
	have, err := c.find(ctx, head, base)
	if err != nil || have == nil {
		return ralph.PullRequest{Operation: ralph.OperationNone}, err
	}
	return c.record(have, ralph.OperationNone), nil
}

func check(want PullRequest) error {
	switch {
	case want.Title == "":
		return errors.New("title: the pull request needs one")
	case want.Head == "" || want.Base == "":
		return errors.New("the pull request needs a head and a base branch")
	case want.Head == want.Base:
		return fmt.Errorf("branch %q is its own base: a pull request needs two branches", want.Head)
	}
	if n := utf8.RuneCountInString(want.Body); n > maxBody {
		return fmt.Errorf("body: %d characters, and the forge takes at most %d", n, maxBody)
	}
	return nil
}

// find pages through the open pull requests. GitHub filters by head owner and
// branch, which two forks of one owner share, and other forges do not filter
// at all: so each is compared in full.
func (c *Client) find(ctx context.Context, head, base string) (*github.PullRequest, error) {
	query := url.Values{"state": {"open"}, "head": {c.owner + ":" + head}, "base": {base}, "per_page": {"100"}}
	for page := 1; page <= maxPages; page++ {
		query.Set("page", fmt.Sprint(page))
		req, err := c.api.NewRequest(http.MethodGet, c.path("/pulls?%s", query.Encode()), nil)
		if err != nil {
			return nil, err
		}
		var list []*github.PullRequest
		resp, err := c.api.Do(ctx, req, &list)
		if err != nil {
			return nil, c.explain("look for an open pull request", "pull-requests: read", err)
		}
		for _, one := range list {
			if one != nil && one.GetNumber() > 0 && sameBranches(one, head, base) {
				return one, nil
			}
		}
		if resp.NextPage == 0 || len(list) == 0 {
			return nil, nil //nolint:nilnil // none is an answer, not an error
		}
	}
	return nil, fmt.Errorf("look for an open pull request in %s: gave up after %d pages", c.where(), maxPages)
}

// sameBranches says that a pull request goes from head to base inside one
// repository. A fork that was deleted has no repository any more.
func sameBranches(p *github.PullRequest, head, base string) bool {
	from, to := p.GetHead(), p.GetBase()
	if p.GetState() != "open" || from.GetRef() != head || to.GetRef() != base || from.Repo == nil || to.Repo == nil {
		return false
	}
	if from.Repo.GetID() != 0 && to.Repo.GetID() != 0 {
		return from.Repo.GetID() == to.Repo.GetID()
	}
	return strings.EqualFold(from.Repo.GetFullName(), to.Repo.GetFullName()) && from.Repo.GetFullName() != ""
}

// create opens the pull request. One that appeared since it was looked for is
// updated; when it is word for word ours, it is our own, whose answer was lost.
func (c *Client) create(ctx context.Context, want PullRequest) (*github.PullRequest, ralph.Operation, []string, error) {
	have, err := c.post(ctx, want, want.Title, want.Draft)
	var warnings []string
	if c.noDrafts(err) {
		warnings = append(warnings, fmt.Sprintf("%s has no draft pull requests (its plan lacks them): the title says %q instead", c.where(), strings.TrimSpace(draftPrefix)))
		want.Title = draftTitle(want.Title)
		have, err = c.post(ctx, want, want.Title, false)
		have.NodeID = nil // so that nobody tries to convert it
	}
	switch {
	case err == nil:
		return have, ralph.OperationCreated, warnings, nil
	case c.noCommits(err):
		return nil, ralph.OperationNone, warnings, fmt.Errorf("create the pull request %s -> %s in %s: %w", want.Head, want.Base, c.where(), ErrNoCommits)
	case !c.alreadyExists(err):
		return nil, ralph.OperationNone, warnings, c.explain(fmt.Sprintf("create the pull request %s -> %s", want.Head, want.Base), "pull-requests: write", err)
	}
	have, findErr := c.find(ctx, want.Head, want.Base)
	switch {
	case findErr != nil:
		return nil, ralph.OperationNone, warnings, findErr
	case have == nil:
		return nil, ralph.OperationNone, warnings, c.explain(fmt.Sprintf("create the pull request %s -> %s", want.Head, want.Base), "pull-requests: write", err)
	case have.GetTitle() == want.Title && have.GetBody() == want.Body:
		return have, ralph.OperationCreated, warnings, nil
	}
	have, err = c.update(ctx, have, want)
	return have, ralph.OperationUpdated, warnings, err
}

func (c *Client) post(ctx context.Context, want PullRequest, title string, draft bool) (*github.PullRequest, error) {
	have := new(github.PullRequest)
	err := c.call(ctx, http.MethodPost, c.path("/pulls"), github.NewPullRequest{
		Title: &title, Body: &want.Body, Head: &want.Head, Base: &want.Base, Draft: &draft,
	}, have)
	if err == nil && have.GetNumber() <= 0 {
		err = errors.New("the answer names no pull request")
	}
	return have, err
}

func (c *Client) update(ctx context.Context, have *github.PullRequest, want PullRequest) (*github.PullRequest, error) {
	title := want.Title
	if want.Draft && draftsByTitle(have) {
		title = draftTitle(title)
	}
	return c.patch(ctx, have, title, &want.Body)
}

// patch sets the title and, unless nil, the body.
func (c *Client) patch(ctx context.Context, have *github.PullRequest, title string, body *string) (*github.PullRequest, error) {
	change := struct {
		Title string  `json:"title"`
		Body  *string `json:"body,omitempty"`
	}{title, body}
	now := new(github.PullRequest)
	err := c.call(ctx, http.MethodPatch, c.path("/pulls/%d", have.GetNumber()), change, now)
	if err != nil {
		return nil, c.explain(fmt.Sprintf("update pull request #%d", have.GetNumber()), "pull-requests: write", err)
	}
	if now.GetNumber() != have.GetNumber() {
		return nil, fmt.Errorf("update pull request #%d in %s: the answer is about another one", have.GetNumber(), c.where())
	}
	return now, nil
}

func (c *Client) record(p *github.PullRequest, operation ralph.Operation) ralph.PullRequest {
	return ralph.PullRequest{Number: p.GetNumber(), URL: c.link(p), Draft: p.GetDraft(), Operation: operation}
}

// link is the web address of a pull request: the forge's own when it lies on
// the forge, else the one GitHub would use.
func (c *Client) link(p *github.PullRequest) string {
	u, err := url.Parse(p.GetHTMLURL())
	if err == nil && origin(u) == origin(c.serverURL) && u.User == nil {
		return u.String()
	}
	return c.serverURL.JoinPath(c.owner, c.name, "pull", fmt.Sprint(p.GetNumber())).String()
}

// oneLine makes one line of a title and cuts it to what forges take.
func oneLine(title string) string {
	title = strings.Join(strings.Fields(title), " ")
	if runes := []rune(title); len(runes) > maxTitle {
		return strings.TrimSpace(string(runes[:maxTitle-1])) + "…"
	}
	return title
}
