// Package forge talks to the forge's API: what the token may do, pull requests,
// their drafts, labels and people, comments. GitHub, GitHub Enterprise Server and forges with a
// compatible API (Gitea, Forgejo) are served by the same code. It is the only
// user of go-github.
//
// Answers of the API are foreign: they are bounded, cleaned before they are
// quoted, and never decide where the token goes.
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
	api        rest
	apiURL     *url.URL
	serverURL  *url.URL
	graphQLURL string // empty: none
	owner      string
	name       string
	token      secret.String
	transport  *transport
	backoff    time.Duration

	mu      sync.Mutex
	kind    TokenKind      // of the token, as far as it is known
	login   string         // who it acts as; empty: not known
	asked   bool           // the forge was asked for it
	nodes   map[int]string // GraphQL ids of the pull requests that were seen
	network string         // full name of the root of the repository's forks; empty: not known
	parent  string         // full name of what the repository is a fork of; empty: none, or not known
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
	if !repositoryPattern.MatchString(o.Repository) || strings.Trim(owner, ".") == "" || strings.Trim(name, ".") == "" {
		repositoryErr = fmt.Errorf("GITHUB_REPOSITORY is %q: want owner/name", o.Repository)
	}
	if err := errors.Join(apiErr, serverErr, graphQLErr, repositoryErr, checkToken(o.Token)); err != nil {
		return nil, err
	}

	c := &Client{apiURL: api, serverURL: server, owner: owner, name: name, token: o.Token, kind: KindOf(o.Token), nodes: map[int]string{}}
	c.backoff = cmp.Or(o.Backoff, time.Second)
	c.transport = &transport{
		next:    o.Transport,
		token:   o.Token,
		origins: map[string]bool{origin(api): true},
		log:     o.Log,
		timeout: cmp.Or(o.RequestTimeout, 30*time.Second),
		backoff: c.backoff,
	}
	if c.transport.next == nil {
		c.transport.next = http.DefaultTransport
	}
	if graphQL != nil {
		c.graphQLURL = graphQL.String()
		c.transport.origins[origin(graphQL)] = true
		c.transport.graphQL = c.graphQLURL
	}
	c.api = rest{
		http:      &http.Client{Transport: c.transport, CheckRedirect: c.transport.checkRedirect},
		base:      api.JoinPath("/"),
		userAgent: cmp.Or(o.UserAgent, "ralph-action"),
	}
	return c, nil
}

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

func origin(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

// path is an API path below the repository.
func (c *Client) path(format string, args ...any) string {
	return "repos/" + c.owner + "/" + c.name + fmt.Sprintf(format, args...)
}

// call sends one request and decodes the answer into out, which may be nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	_, err := c.exchange(ctx, method, path, in, out)
	return err
}

// exchange is call for those who need more of the answer than its body: the
// next page, a header.
func (c *Client) exchange(ctx context.Context, method, path string, in, out any) (*response, error) {
	req, err := c.api.newRequest(ctx, method, path, in)
	if err != nil {
		return nil, err
	}
	return c.api.do(req, out)
}

// repository is owner/name.
func (c *Client) repository() string { return c.owner + "/" + c.name }

// where names the repository in errors.
func (c *Client) where() string { return c.repository() + " at " + c.apiURL.Host }
