package demo

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxBody bounds the body of one API request.
const maxBody = 4 << 20

// Forge is a GitHub-compatible server: git over smart HTTP and the
// pull-request part of the REST and GraphQL API, in one http.Handler. Git
// stands at /OWNER/NAME.git, the REST API at /api/v3 and GraphQL at
// /api/graphql, as on GitHub Enterprise Server.
//
// It is made for loopback: one token may do everything.
type Forge struct {
	dir   string
	token string
	api   *http.ServeMux

	mu           sync.Mutex
	repositories map[string]*repository // by lower-case owner/name
	nextID       int64
	faults       []*fault
	calls        []string
}

type repository struct {
	id            int64
	owner, name   string
	defaultBranch string
	dir           string // the bare repository
	pulls         []*pull
}

func (r *repository) fullName() string { return r.owner + "/" + r.name }

type fault struct {
	match func(*http.Request) bool
	left  int // below 0: for ever
	do    http.HandlerFunc
}

// NewForge returns a forge without repositories. Bare repositories will live in
// dir/OWNER/NAME.git, dir being absolute; token is what every request must
// carry.
func NewForge(dir, token string) (*Forge, error) {
	if token == "" {
		return nil, errors.New("demo forge: the token is empty")
	}
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("demo forge: %q is no absolute path", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("demo forge: %w", err)
	}
	f := &Forge{dir: dir, token: token, repositories: map[string]*repository{}}
	f.api = f.routes()
	return f, nil
}

// Fault makes the next requests that match be answered by do instead; times
// below 0 means for ever. Faults are tried in the order in which they were
// added. do may call ServeHTTP of the forge, to lose an answer after the deed.
func (f *Forge) Fault(match func(*http.Request) bool, times int, do http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault{match: match, left: times, do: do})
}

// Calls lists the requests so far as "METHOD path", in order of arrival.
func (f *Forge) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// ServeHTTP serves git and the API.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	f.mu.Unlock()

	isAPI := strings.HasPrefix(r.URL.Path, "/api/")
	if isAPI {
		// Read at once: net/http notices a client that went away only after
		// the body was read.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			apiError(w, http.StatusRequestEntityTooLarge, "Request body too large or cut short")
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if do := f.takeFault(r); do != nil {
		do(w, r)
		return
	}
	switch {
	case isAPI && !f.apiAuthorized(r):
		apiError(w, http.StatusUnauthorized, "Bad credentials")
	case isAPI:
		f.api.ServeHTTP(w, r)
	default:
		f.serveGit(w, r)
	}
}

func (f *Forge) takeFault(r *http.Request) http.HandlerFunc {
	f.mu.Lock()
	faults := slices.Clone(f.faults)
	f.mu.Unlock()
	for _, one := range faults {
		if !one.match(r) {
			continue
		}
		f.mu.Lock()
		armed := one.left != 0
		if one.left > 0 {
			one.left--
		}
		f.mu.Unlock()
		if armed {
			return one.do
		}
	}
	return nil
}

func (f *Forge) apiAuthorized(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "token") {
		return false
	}
	return f.tokenIs(token)
}

func (f *Forge) tokenIs(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(f.token)) == 1
}

var repositoryName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// lookup finds a repository; names are compared as GitHub does, without case.
func (f *Forge) lookup(owner, name string) *repository {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.repositories[key(owner, name)]
}

func key(owner, name string) string { return strings.ToLower(owner + "/" + name) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that went away cannot be told
}

// validationError is one entry of the errors of a 422 answer.
type validationError struct {
	Resource string `json:"resource"`
	Field    string `json:"field,omitempty"`
	Code     string `json:"code"`
	Message  string `json:"message,omitempty"`
}

func apiError(w http.ResponseWriter, status int, message string, details ...validationError) {
	answer := map[string]any{
		"message":           message,
		"documentation_url": "https://docs.github.com/rest",
		"status":            fmt.Sprint(status),
	}
	if len(details) > 0 {
		answer["errors"] = details
	}
	writeJSON(w, status, answer)
}
