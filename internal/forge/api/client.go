// Package api sends requests to the API of a forge, with the token and to nobody
// else, waits for its limits, tries again what may pass, and says what its
// refusals mean. It knows nothing of what is asked for.
package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/secret"
)

// Options say where the forge is and how to talk to it.
type Options struct {
	APIURL     string // GITHUB_API_URL, e.g. https://api.github.com
	ServerURL  string // GITHUB_SERVER_URL, for links, e.g. https://github.com
	GraphQLURL string // GITHUB_GRAPHQL_URL; empty: the forge has none
	Repository string // owner/name
	Token      secret.String
	UserAgent  string // empty: ralph-action

	Transport http.RoundTripper // nil: http.DefaultTransport
	Log       func(string)      // one line per wait; nil: silent

	// RequestTimeout bounds one attempt, the body of the answer included.
	// 0 means 30 s.
	RequestTimeout time.Duration
	// Backoff is the wait before the first retry; it doubles. 0 means 1 s.
	Backoff time.Duration
}

// Client talks to one repository. Its methods may be called from several
// goroutines at a time.
type Client struct {
	URL         *url.URL // of the API
	ServerURL   *url.URL // for links
	Owner, Name string
	Backoff     time.Duration
	// Lifetime is added to the advice about a token that was refused; nil: nothing is.
	Lifetime func() string

	UserAgent string

	graphQLURL string // empty: none
	transport  *transport
	http       *http.Client
	base       *url.URL // URL with a slash at its end
}

var repositoryPattern = lazyregexp.New(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// New checks the options; it does not talk to the forge.
func New(o Options) (*Client, error) {
	api, apiErr := parseURL("GITHUB_API_URL", o.APIURL)
	server, serverErr := parseURL("GITHUB_SERVER_URL", o.ServerURL)
	var graphQL *url.URL
	var graphQLErr error
	if o.GraphQLURL != "" {
		graphQL, graphQLErr = parseURL("GITHUB_GRAPHQL_URL", o.GraphQLURL)
	}
	owner, name, _ := strings.Cut(o.Repository, "/")
	var repositoryErr error
	if !ValidRepository(o.Repository) {
		repositoryErr = fmt.Errorf("GITHUB_REPOSITORY is %q: want owner/name", o.Repository)
	}
	if err := errors.Join(apiErr, serverErr, graphQLErr, repositoryErr, checkToken(o.Token)); err != nil {
		return nil, err
	}

	c := &Client{URL: api, ServerURL: server, Owner: owner, Name: name, Backoff: cmp.Or(o.Backoff, time.Second)}
	c.transport = &transport{
		next: o.Transport, token: o.Token, origins: map[string]bool{Origin(api): true}, log: o.Log,
		timeout: cmp.Or(o.RequestTimeout, 30*time.Second), backoff: c.Backoff,
	}
	if c.transport.next == nil {
		c.transport.next = http.DefaultTransport
	}
	if graphQL != nil {
		c.graphQLURL = graphQL.String()
		c.transport.origins[Origin(graphQL)] = true
		c.transport.graphQL = c.graphQLURL
	}
	c.http = &http.Client{Transport: c.transport, CheckRedirect: c.transport.checkRedirect}
	c.base, c.UserAgent = api.JoinPath("/"), cmp.Or(o.UserAgent, "ralph-action")
	return c, nil
}

// ValidRepository reports whether a name is of the form owner/name.
func ValidRepository(name string) bool {
	owner, rest, _ := strings.Cut(name, "/")
	return repositoryPattern.MatchString(name) && strings.Trim(owner, ".") != "" && strings.Trim(rest, ".") != ""
}

// HasGraphQL reports whether the forge has a GraphQL API.
func (c *Client) HasGraphQL() bool { return c.graphQLURL != "" }

// Transport is what requests go through that are not for the forge, without the token.
func (c *Client) Transport() http.RoundTripper { return c.transport.next }

// Unfollowed is a GET whose redirect is an answer. The body is in memory.
func (c *Client) Unfollowed(ctx context.Context, path string) (*http.Response, error) {
	req, err := c.NewRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.transport.RoundTrip(req)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = checkStatus(resp)
	}
	return resp, err
}

// Clean makes foreign text fit for one line of ours: no token, no control
// characters, bounded.
func (c *Client) Clean(text string) string { return c.transport.clean(text) }

func parseURL(name, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// The value is not shown: it may hold a password.
		return nil, fmt.Errorf("%s is no plain http or https address: want one like https://api.github.com, without user, password or query", name)
	}
	return u, nil
}

// checkToken never shows the token.
func checkToken(token secret.String) error {
	if !token.IsSet() {
		return errors.New("github-token is empty: give a token with contents: write and pull-requests: write, in a workflow ${{ github.token }}")
	}
	for _, r := range token.Reveal() {
		if r <= ' ' || r > '~' {
			return errors.New("github-token has a space, a line break or another character no token has: check how the secret was stored")
		}
	}
	return nil
}

// Origin is the part of an address that tells one server from another.
func Origin(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

// Path is an API path below the repository.
func (c *Client) Path(format string, args ...any) string {
	return "repos/" + c.Owner + "/" + c.Name + fmt.Sprintf(format, args...)
}

// EscapePath escapes the parts of a path, such as a branch or a file.
func EscapePath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "/")
}

// Call sends one request and decodes the answer into out, which may be nil.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	_, err := c.Exchange(ctx, method, path, in, out)
	return err
}

// Exchange is Call for those who need more of the answer than its body: the
// next page, a header.
func (c *Client) Exchange(ctx context.Context, method, path string, in, out any) (*Response, error) {
	req, err := c.NewRequest(ctx, method, path, in)
	if err != nil {
		return nil, err
	}
	return c.Do(req, out)
}

// Repository is owner/name.
func (c *Client) Repository() string { return c.Owner + "/" + c.Name }

// Where names the repository in errors.
func (c *Client) Where() string { return c.Repository() + " at " + c.URL.Host }
