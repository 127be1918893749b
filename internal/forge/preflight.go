package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/google/go-github/v60/github"

	"github.com/org/ralph-action/internal/forge/api"
)

// Facts is what the pre-flight learned.
type Facts struct {
	DefaultBranch string
	Base          string // the base that was asked for, else the default branch
	Private       bool
	// CanPush reports whether the forge says that the token may push: an installation token,
	// such as GITHUB_TOKEN, is not told what it may do.
	CanPush bool

	Token Identity
	// Workflows says whether the token may push changes of .github/workflows. An
	// App's and a fine-grained token do not tell.
	Workflows Answer
	// AutoMerge says whether the repository allows it. Those who may not push are
	// not told.
	AutoMerge Answer
}

// Ask is what Preflight looks at.
type Ask struct {
	Base string // of the pull request; empty: the default branch
	// Likely is the default branch as far as the caller knows: with it, or with Base,
	// nothing has to be waited for, and a Base that it is needs no question of its own.
	Likely       string
	PullRequests bool // the token has to be able to open them
	Milestone    int  // has to exist; 0: none
}

// Preflight finds out, before anything is spent, that the repository can be
// reached under this name, that the base branch exists and that the token may
// push, and what else is asked, as far as the forge tells. It costs one call, one
// for each thing that is asked, one more for another base than the default branch,
// for the token of an installation, which may be GITHUB_TOKEN, and when the answer
// seems to deny pushing. They are made side by side; an error about the repository
// is the only one then.
func (c *Client) Preflight(ctx context.Context, ask Ask) (Facts, error) {
	ctx, cancel := context.WithCancel(ctx)
	var asked sync.WaitGroup
	defer func() { cancel(); asked.Wait() }()
	beside := func(when bool, f func() error) (wait func() error) {
		if !when {
			return func() error { return nil }
		}
		done := make(chan error, 1)
		asked.Go(func() { done <- f() })
		return func() error { return <-done }
	}
	likely := cmp.Or(ask.Base, ask.Likely)
	base := beside(ask.Base != "" && ask.Base != ask.Likely, func() error { return c.readBase(ctx, ask.Base) })
	opens := beside(likely != "" && ask.PullRequests, func() error { return c.ProbePullRequest(ctx, likely) })
	milestone := beside(ask.Milestone > 0, func() error { return c.CheckMilestone(ctx, ask.Milestone) })
	identified := beside(c.Identity().Kind == TokenInstallation && c.api.HasGraphQL(), func() error { c.Identify(ctx); return nil })

	repository, facts, err := c.readRepository(ctx)
	if err != nil {
		return Facts{}, err
	}
	facts.Base = cmp.Or(ask.Base, facts.DefaultBranch)
	if facts.Base == "" {
		return facts, fmt.Errorf("base: %s has no default branch: push a first commit, or name the base branch", c.api.Where())
	}
	if err := c.checkPush(ctx, repository.Permissions, &facts); err != nil {
		return facts, err
	}
	if facts.Base == ask.Likely && facts.Base != facts.DefaultBranch { // the default branch is another one than was thought
		base = beside(true, func() error { return c.readBase(ctx, facts.Base) })
	}
	if facts.Base != likely {
		opens = beside(ask.PullRequests, func() error { return c.ProbePullRequest(ctx, facts.Base) })
	}
	if err := errors.Join(c.explainBase(facts, base()), milestone(), opens()); err != nil {
		return facts, err
	}
	_ = identified() // who it is says Identity
	if c.Identity().Kind == TokenInstallation {
		facts.Token = c.Identity()
		if facts.Token.JobToken() == Yes {
			facts.Workflows = No // GITHUB_TOKEN cannot be given the permission
		}
	}
	return facts, nil
}

// readRepository asks for the repository and refuses one to which nothing can be
// pushed.
func (c *Client) readRepository(ctx context.Context) (*github.Repository, Facts, error) {
	repository := new(github.Repository)
	resp, err := c.api.Exchange(ctx, http.MethodGet, c.api.Path(""), nil, repository)
	if err != nil {
		return nil, Facts{}, c.api.Explain("read the repository", "contents: read", err)
	}
	now := c.api.Clean(repository.GetFullName())
	switch {
	case now != "" && !strings.EqualFold(now, c.api.Repository()):
		return nil, Facts{}, fmt.Errorf("the repository %s is now called %s: use that name", c.api.Where(), now)
	case repository.GetArchived() || repository.GetDisabled():
		return nil, Facts{}, fmt.Errorf("push to %s: the repository is archived or disabled, so nothing can be published: unarchive it, or run with push: false", c.api.Where())
	}
	list, stated := scopes(c.Identity().Kind, resp.Header)
	c.mu.Lock()
	c.parent = repository.GetParent().GetFullName()
	c.network = cmp.Or(repository.GetSource().GetFullName(), repository.GetParent().GetFullName(), repository.GetFullName())
	if stated && c.kind == TokenUnknown {
		c.kind = TokenClassic // made before there were prefixes
	}
	c.mu.Unlock()
	facts := Facts{DefaultBranch: repository.GetDefaultBranch(), Private: repository.GetPrivate(), Token: c.Identity()}
	if stated {
		facts.Workflows = answerOf(contains(list, "workflow"))
		if err := c.checkScopes(list, facts.Private); err != nil {
			return nil, facts, err
		}
	}
	if repository.AllowAutoMerge != nil {
		facts.AutoMerge = answerOf(*repository.AllowAutoMerge)
	}
	return repository, facts, nil
}

// checkScopes refuses a classic token without the scope that pushing takes. The
// permissions of the answer are those of its owner, whatever the scopes.
func (c *Client) checkScopes(list []string, private bool) error {
	if contains(list, "repo") || contains(list, "public_repo") && !private {
		return nil
	}
	has, lacks := "no scopes", "repo"
	if len(list) > 0 {
		has = "the scopes " + c.api.Clean(strings.Join(list, ", "))
	}
	if !private {
		lacks += " (public_repo will do for a public repository)"
	}
	return fmt.Errorf("push to %s: not permitted: github-token has %s and lacks %s: give it the scope, or give another token", c.api.Where(), has, lacks)
}

// CheckFork finds out, before anything is spent, that pull requests can go from a
// fork into this repository, and that the fork's token may push to it, as far as
// the forge tells. fork is a client for the fork, with the token that pushes.
// Forks of forks and siblings will do. It costs one call, two when the answer
// seems to deny pushing, and one more when this repository was not looked at
// before.
func (c *Client) CheckFork(ctx context.Context, fork *Client) error {
	if strings.EqualFold(fork.api.Repository(), c.api.Repository()) {
		return fmt.Errorf("push-to-fork: %s is the repository itself: leave it empty, or name a fork", c.api.Where())
	}
	repository, facts, err := fork.readRepository(ctx)
	if err != nil {
		return fmt.Errorf("push-to-fork: %w", err)
	}
	if c.root() == "" {
		if _, _, err := c.readRepository(ctx); err != nil {
			return err
		}
	}
	// Gitea names the parent and not the root.
	if !strings.EqualFold(fork.parent, c.api.Repository()) && (c.root() == "" || !strings.EqualFold(fork.root(), c.root())) {
		return fmt.Errorf("push-to-fork: %s is no fork of %s: a pull request needs one", fork.api.Where(), c.api.Repository())
	}
	if err := fork.checkPush(ctx, repository.Permissions, &facts); err != nil {
		return fmt.Errorf("push-to-fork: %w", err)
	}
	return nil
}

// root is the full name of the root of the repository's forks.
func (c *Client) root() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.network
}

// CheckMilestone finds out that a milestone exists, before anything is spent. It
// costs one call.
func (c *Client) CheckMilestone(ctx context.Context, number int) error {
	err := c.api.Call(ctx, http.MethodGet, c.api.Path("/milestones/%d", number), nil, nil)
	switch api.Status(err) {
	case http.StatusNotFound:
		return fmt.Errorf("milestone: %s has no milestone %d: give the number at the end of its address (%s), or leave it out; a token that may not see it gets the same answer and needs issues: read",
			c.api.Where(), number, c.api.ServerURL.JoinPath(c.api.Owner, c.api.Name, "milestones"))
	case http.StatusForbidden:
		return nil // who may not read it may still set it; if not, that is a warning
	}
	if err != nil {
		return c.api.Explain(fmt.Sprintf("read milestone %d", number), "issues: read", err)
	}
	return nil
}

// checkPush reads the permissions of the repository's answer. They are those
// of the token's user, so they are missing, or all false, when the token
// belongs to an installation, which has none.
func (c *Client) checkPush(ctx context.Context, permissions map[string]bool, facts *Facts) error {
	switch {
	case permissions["push"]:
		facts.CanPush = true
		return nil
	case !permissions["pull"]:
		return nil
	}
	// Readable and not writable. Only an installation token may ask this:
	err := c.api.Call(ctx, http.MethodGet, "installation/repositories?per_page=1", nil, nil)
	switch {
	case err == nil:
		return nil
	case api.Status(err) == 0:
		return c.api.Explain("ask whether the token is an installation's", "contents: read", err)
	}
	return &PermissionError{Operation: "push to " + c.api.Where(), Permission: "contents: write", Message: "permissions.push is false"}
}

// renamedError is a base branch that has another name now.
type renamedError struct{ now string }

func (e renamedError) Error() string { return "it is now called " + e.now }

func (c *Client) readBase(ctx context.Context, base string) error {
	var branch github.Branch
	err := c.api.Call(ctx, http.MethodGet, c.api.Path("/branches/%s", url.PathEscape(base)), nil, &branch)
	if err == nil && branch.GetName() != base {
		return renamedError{branch.GetName()} // GitHub redirects the old name of a renamed branch
	}
	return err
}

// explainBase says what an error of readBase means.
func (c *Client) explainBase(facts Facts, err error) error {
	var renamed renamedError
	switch {
	case err == nil:
		return nil
	case api.Status(err) == http.StatusNotFound:
		return fmt.Errorf("base: %s has no branch %q: name a branch that exists there, for example %q", c.api.Where(), facts.Base, facts.DefaultBranch)
	case errors.As(err, &renamed):
		return fmt.Errorf("base: branch %q of %s is now called %q: use that name", facts.Base, c.api.Where(), c.api.Clean(renamed.now))
	}
	return c.api.Explain(fmt.Sprintf("read the base branch %q", facts.Base), "contents: read", err)
}

// ProbePullRequest asks whether the token may open pull requests, without
// opening one: it proposes a pull request from the base into itself, which a
// forge refuses as invalid when the token may open pull requests, and as
// forbidden when not. It costs one call. No error is no proof: a forge may
// look at the proposal before it looks at the token.
func (c *Client) ProbePullRequest(ctx context.Context, base string) error {
	title := "ralph pre-flight"
	proposal := github.NewPullRequest{Title: &title, Head: &base, Base: &base}
	err := c.api.Call(ctx, http.MethodPost, c.api.Path("/pulls"), proposal, nil)
	switch api.Status(err) {
	case http.StatusUnprocessableEntity, http.StatusConflict:
		return nil
	}
	if err == nil {
		return errors.New("the forge opened a pull request from " + base + " into itself: it is not compatible with GitHub's API")
	}
	return c.api.Explain("open pull requests", "pull-requests: write", err)
}
