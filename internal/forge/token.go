package forge

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
)

// TokenKind says what a token is, as far as its beginning tells.
type TokenKind string

// The kinds of tokens.
const (
	TokenUnknown      TokenKind = ""             // another forge's, or made before there were prefixes
	TokenInstallation TokenKind = "installation" // the job's GITHUB_TOKEN, or a GitHub App's
	TokenApp          TokenKind = "app"          // the latter, as is known by other means than its beginning
	TokenClassic      TokenKind = "classic"      // personal, with scopes
	TokenFineGrained  TokenKind = "fine-grained" // personal, with permissions
	TokenOAuth        TokenKind = "oauth"        // an OAuth App's, for a person; with scopes
	TokenAppUser      TokenKind = "app-user"     // a GitHub App's, for a person
)

// KindOf reads the kind of a token from its prefix, as GitHub's "About
// authentication to GitHub" lists them.
func KindOf(token secret.String) TokenKind {
	for _, one := range []struct {
		prefix string
		kind   TokenKind
	}{
		{"ghs_", TokenInstallation}, {"ghp_", TokenClassic}, {"github_pat_", TokenFineGrained},
		{"gho_", TokenOAuth}, {"ghu_", TokenAppUser},
	} {
		if strings.HasPrefix(token.Reveal(), one.prefix) {
			return one.kind
		}
	}
	return TokenUnknown
}

// Answer is an answer that may be missing.
type Answer int

// The answers.
const (
	Unknown Answer = iota
	Yes
	No
)

func answerOf(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// Identity is who a token acts as.
type Identity struct {
	Kind  TokenKind
	Login string // empty: not known
}

// jobLogin is the App behind the GITHUB_TOKEN of every job.
const jobLogin = "github-actions[bot]"

// JobToken says whether it is the job's own GITHUB_TOKEN, whose pushes and pull
// requests start no workflows.
func (i Identity) JobToken() Answer {
	switch {
	case i.Login != "":
		return answerOf(i.Login == jobLogin)
	case i.Kind == TokenInstallation, i.Kind == TokenUnknown:
		return Unknown
	}
	return No
}

// String names the token in a sentence.
func (i Identity) String() string {
	of := ""
	if i.Login != "" {
		of = " of " + i.Login
	}
	switch {
	case i.JobToken() == Yes:
		return "the job's GITHUB_TOKEN"
	case i.Kind == TokenInstallation, i.Kind == TokenApp:
		return "an App's token" + of
	case i.Kind == TokenClassic, i.Kind == TokenFineGrained:
		return "a personal token" + of
	case i.Kind == TokenOAuth, i.Kind == TokenAppUser:
		return "an App's token for a person" + of
	}
	return "a token" + of
}

// Pusher is who pushes with ci-token, or, when that is not set, with the
// client's own token. It asks nobody: a job has one GITHUB_TOKEN, so when the
// client has it, another installation's token is an App's.
func (c *Client) Pusher(ciToken secret.String) Identity {
	own, kind := c.Identity(), KindOf(ciToken)
	switch {
	case !ciToken.IsSet() || ciToken.Reveal() == c.token.Reveal():
		return own
	case kind == TokenInstallation && own.JobToken() == Yes:
		return Identity{Kind: TokenApp}
	}
	return Identity{Kind: kind}
}

// identifyLimit bounds the question who the token acts as: nothing hangs on it.
const identifyLimit = 10 * time.Second

// Identify asks the forge who the token acts as. It costs one call, once, and
// two where the first is of no use; no answer is an identity without a login. An
// installation's token may not ask for its user, but GraphQL's viewer tells it.
func (c *Client) Identify(ctx context.Context) Identity {
	c.mu.Lock()
	asked := c.asked
	c.asked = true
	c.mu.Unlock()
	if !asked {
		ctx, cancel := context.WithTimeout(ctx, identifyLimit)
		defer cancel()
		login := c.askLogin(ctx)
		c.mu.Lock()
		if login != "" {
			c.login = login
		}
		c.mu.Unlock()
	}
	return c.Identity()
}

// Identity is who the token acts as, as far as it is known by now: from
// Identify, or from a pull request that it opened. It asks nobody.
func (c *Client) Identity() Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Identity{c.kind, c.login}
}

func (c *Client) askLogin(ctx context.Context) string {
	kind := c.Identity().Kind
	if kind != TokenInstallation {
		var user struct {
			Login string `json:"login"`
		}
		if err := c.api.Call(ctx, http.MethodGet, "user", nil, &user); err == nil && user.Login != "" {
			return c.api.Clean(user.Login)
		}
	}
	var data struct {
		Viewer struct {
			Login string `json:"login"`
		} `json:"viewer"`
	}
	if kind == TokenUnknown || c.api.GraphQL(ctx, "query { viewer { login } }", nil, &data) != nil {
		return ""
	}
	return c.api.Clean(data.Viewer.Login)
}

// opened learns from a pull request that the token made who it acts as.
func (c *Client) opened(login string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.login == "" && login != "" {
		c.login, c.asked = c.api.Clean(login), true
	}
}

// scopes are those of a classic or OAuth token, which GitHub tells with every
// answer. stated is false for other tokens, which have none.
func scopes(kind TokenKind, h http.Header) (list []string, stated bool) {
	raw, there := h["X-Oauth-Scopes"]
	for _, one := range strings.Split(strings.Join(raw, ","), ",") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	// Empty, it may also come with a token that has permissions instead.
	return list, len(list) > 0 || there && (kind == TokenClassic || kind == TokenOAuth)
}

// WhoStartsCI is the sentence about which workflows start for what was
// published: push is whose token pushed the branch, open whose made the pull
// request, did what became of it. It is empty where nothing is known, as on
// forges other than GitHub.
func (c *Client) WhoStartsCI(push, open Identity, did ralph.Operation) string {
	byPush, byOpen := push.JobToken(), open.JobToken()
	if did != ralph.OperationCreated {
		byOpen = byPush // an update of title and body starts nothing
	}
	approve := ""
	if host := c.api.ServerURL.Hostname(); host == "github.com" || strings.HasSuffix(host, ".ghe.com") {
		approve = "; those on pull_request wait in the pull request until somebody with write access approves them"
	}
	switch {
	case push.Kind == TokenUnknown:
		return ""
	case byPush == Unknown:
		return "Workflows start for an App's token; if it is the job's GITHUB_TOKEN that pushed, none starts by itself: then give ci-token, an App's or a personal token used for the push alone."
	case byPush == Yes && byOpen == No:
		return "The pull request was opened with " + open.String() + ", which starts workflows on pull_request. The branch was pushed with the job's GITHUB_TOKEN, whose pushes start none: give ci-token, an App's or a personal token used for the push alone."
	case byPush == Yes:
		return "No workflow starts by itself: the branch was pushed with the job's GITHUB_TOKEN, whose pushes and pull requests start none" + approve + ". To have them start, give ci-token, an App's or a personal token used for the push alone."
	case byOpen == Yes:
		return "The branch was pushed with " + push.String() + ", which starts workflows on push. The pull request was opened with the job's GITHUB_TOKEN, so those on pull_request start with the next push" + approve + "."
	}
	return "The branch was pushed with " + push.String() + ", so workflows start as for anybody's push."
}
