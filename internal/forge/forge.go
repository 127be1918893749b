// Package forge talks to the forge's API: what the token may do, pull requests,
// their drafts, labels and people, comments. GitHub, GitHub Enterprise Server and forges with a
// compatible API (Gitea, Forgejo) are served by the same code. It is the only
// user of go-github.
//
// Answers of the API are foreign: they are bounded, cleaned before they are
// quoted, and never decide where the token goes.
package forge

import (
	"sync"

	"github.com/org/ralph-action/internal/forge/api"
	"github.com/org/ralph-action/internal/forge/gitdata"
	"github.com/org/ralph-action/internal/lib/secret"
)

// Options say where the forge is and how to talk to it.
type Options = api.Options

// PermissionError means that the token, or a setting of the repository, does
// not allow what was tried.
type PermissionError = api.PermissionError

// Client talks to one repository. Its methods may be called from several
// goroutines at a time.
type Client struct {
	*gitdata.Signer
	api   *api.Client
	token secret.String

	mu      sync.Mutex
	kind    TokenKind      // of the token, as far as it is known
	login   string         // who it acts as; empty: not known
	asked   bool           // the forge was asked for it
	nodes   map[int]string // GraphQL ids of the pull requests that were seen
	network string         // full name of the root of the repository's forks; empty: not known
	parent  string         // full name of what the repository is a fork of; empty: none, or not known
}

// New checks the options; it does not talk to the forge.
func New(o Options) (*Client, error) {
	a, err := api.New(o)
	if err != nil {
		return nil, err
	}
	c := &Client{Signer: gitdata.New(a), api: a, token: o.Token, kind: KindOf(o.Token), nodes: map[int]string{}}
	a.Lifetime = c.lifetime
	return c, nil
}
