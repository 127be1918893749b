package demo

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// maxBody bounds the body of one API request.
const maxBody = 4 << 20

// Forge is a GitHub-compatible server: git over smart HTTP and what one run
// needs of the REST and GraphQL API, in one http.Handler. Git stands at
// /OWNER/NAME.git, the REST API at /api/v3 and GraphQL at /api/graphql, as on
// GitHub Enterprise Server.
//
// It is made for loopback: one token may do everything.
type Forge struct {
	dir   string
	token string
	api   *http.ServeMux

	mu           sync.Mutex
	repositories map[string]*repository // by lower-case owner/name
}

type repository struct {
	gitserver.Repository
	id            int
	owner, name   string
	defaultBranch string
	pulls         []*pull
}

func (r *repository) fullName() string { return r.owner + "/" + r.name }

// pull is guarded by Forge.mu.
type pull struct {
	PullRequest
	node     string
	headRepo *repository
}

// PullRequest is a copy of a pull request as the forge holds it.
type PullRequest struct {
	Number         int
	Title          string
	Body           string
	Head           string // branch
	HeadRepository string // owner/name
	HeadSHA        string
	Base           string // branch
	Draft          bool
	State          string // open or closed
	Labels         []string
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
	f := &Forge{dir: dir, token: token, repositories: map[string]*repository{}}
	f.api = f.routes()
	return f, nil
}

// CreateRepository makes an empty repository.
func (f *Forge) CreateRepository(owner, name, defaultBranch string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	git, err := gitserver.Init(filepath.Join(f.dir, owner, name+".git"), defaultBranch)
	if err != nil {
		return fmt.Errorf("demo forge: %w", err)
	}
	f.repositories[key(owner, name)] = &repository{Repository: git, id: len(f.repositories) + 1, owner: owner, name: name, defaultBranch: defaultBranch}
	return nil
}

// Commit puts a commit on a branch, which is created if it does not exist, and
// returns its id. files is the whole tree, by slash-separated path.
func (f *Forge) Commit(owner, name, branch, message string, files map[string]gitserver.File) (string, error) {
	repo := f.lookup(owner, name)
	if repo == nil {
		return "", fmt.Errorf("demo forge: no repository %s/%s", owner, name)
	}
	sha, err := repo.Commit(branch, message, files)
	if err != nil {
		return "", fmt.Errorf("demo forge: %w", err)
	}
	return sha, nil
}

// PullRequests lists the pull requests of a repository, oldest first.
func (f *Forge) PullRequests(owner, name string) []PullRequest {
	repo := f.lookup(owner, name)
	if repo == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []PullRequest
	for _, p := range repo.pulls {
		one := p.PullRequest
		one.HeadSHA, one.Labels = p.headRepo.Branch(p.Head), slices.Clone(p.Labels)
		list = append(list, one)
	}
	return list
}

// lookup finds a repository; names are compared as GitHub does, without case.
func (f *Forge) lookup(owner, name string) *repository {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.repositories[key(owner, name)]
}

func key(owner, name string) string { return strings.ToLower(owner + "/" + name) }

// ServeHTTP serves git and the API.
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	_, password, _ := r.BasicAuth()
	asked, isGit := gitserver.ParseRequest(r)
	switch repo := f.lookup(asked.Owner, asked.Name); {
	case !isGit && (!f.tokenIs(token) || !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "token")):
		send(w, refused(http.StatusUnauthorized, "Bad credentials"))
	case !isGit:
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		f.api.ServeHTTP(w, r)
	case !f.tokenIs(password):
		w.Header().Set("WWW-Authenticate", `Basic realm="ralph demo"`)
		http.Error(w, "Invalid username or token.", http.StatusUnauthorized)
	case repo == nil:
		http.Error(w, "Repository not found.", http.StatusNotFound)
	default:
		repo.Serve(w, r, asked)
	}
}

func (f *Forge) tokenIs(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(f.token)) == 1
}

// object is an object of JSON.
type object = map[string]any

// answer is what a route answers.
type answer struct {
	status int
	body   any
}

func ok(body any) answer { return answer{http.StatusOK, body} }

func refused(status int, message string, details ...object) answer {
	body := object{"message": message, "documentation_url": "https://docs.github.com/rest", "status": fmt.Sprint(status)}
	if len(details) > 0 {
		body["errors"] = details
	}
	return answer{status, body}
}

// invalid is a 422 about one field, or with a message of its own.
func invalid(name, value string) answer {
	detail := object{"resource": "PullRequest", "code": "custom", name: value}
	if name == "field" {
		detail["code"] = "invalid"
	}
	return refused(http.StatusUnprocessableEntity, "Validation Failed", detail)
}

func send(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.body) // a client that went away cannot be told
}

// call is one question to the API, answered with Forge.mu held.
type call struct {
	r    *http.Request
	base string // the forge's address as the client sees it
	repo *repository
	pull *pull
}

func (c *call) read(into any) bool { return json.NewDecoder(c.r.Body).Decode(into) == nil }

// routes is the part of GitHub's REST and GraphQL API that a pull request needs.
func (f *Forge) routes() *http.ServeMux {
	mux := http.NewServeMux()
	const repo = "/api/v3/repos/{owner}/{name}"
	for pattern, do := range map[string]func(*call) answer{
		"GET /api/v3/user":                         func(*call) answer { return ok(object{"login": "ralph-demo", "id": 1, "type": "Bot"}) },
		"GET " + repo:                              func(c *call) answer { return ok(c.repo.json(c.base)) },
		"GET " + repo + "/branches/{branch...}":    getBranch,
		"GET " + repo + "/pulls":                   listPulls,
		"POST " + repo + "/pulls":                  f.createPull,
		"GET " + repo + "/pulls/{number}":          func(c *call) answer { return ok(c.pull.json(c)) },
		"PATCH " + repo + "/pulls/{number}":        updatePull,
		"POST " + repo + "/issues/{number}/labels": addLabels,
		"POST /api/graphql":                        f.graphQL,
		"/":                                        func(*call) answer { return refused(http.StatusNotFound, "Not Found") },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			f.mu.Lock()
			defer f.mu.Unlock()
			c := &call{r: r, base: "http://" + r.Host}
			if owner := r.PathValue("owner"); owner != "" {
				c.repo = f.repositories[key(owner, r.PathValue("name"))]
			}
			number, err := strconv.Atoi(r.PathValue("number"))
			if err == nil && c.repo != nil && number >= 1 && number <= len(c.repo.pulls) {
				c.pull = c.repo.pulls[number-1]
			}
			if c.repo == nil && strings.Contains(pattern, repo) || c.pull == nil && strings.Contains(pattern, "{number}") {
				send(w, refused(http.StatusNotFound, "Not Found"))
				return
			}
			send(w, do(c))
		})
	}
	return mux
}

func (r *repository) json(base string) object {
	html := base + "/" + r.fullName()
	return object{
		"id": r.id, "node_id": fmt.Sprintf("R_%d", r.id), "name": r.name, "full_name": r.fullName(), "owner": object{"login": r.owner, "type": "User"},
		"private": true, "archived": false, "html_url": html, "url": base + "/api/v3/repos/" + r.fullName(), "clone_url": html + ".git",
		"default_branch": r.defaultBranch, "permissions": object{"admin": false, "push": true, "pull": true},
	}
}

func getBranch(c *call) answer {
	name := c.r.PathValue("branch")
	sha := c.repo.Branch(name)
	if sha == "" {
		return refused(http.StatusNotFound, "Branch not found")
	}
	return ok(object{"name": name, "commit": object{"sha": sha}, "protected": false})
}

func (p *pull) json(c *call) object {
	side := func(of *repository, branch string) object {
		return object{"label": of.owner + ":" + branch, "ref": branch, "sha": of.Branch(branch), "repo": of.json(c.base)}
	}
	return object{
		"id": p.Number, "node_id": p.node, "number": p.Number, "state": p.State, "title": p.Title, "body": p.Body, "draft": p.Draft,
		"url":      fmt.Sprintf("%s/api/v3/repos/%s/pulls/%d", c.base, c.repo.fullName(), p.Number),
		"html_url": fmt.Sprintf("%s/%s/pull/%d", c.base, c.repo.fullName(), p.Number),
		"user":     object{"login": "ralph-demo", "type": "Bot"}, "labels": labels(p.Labels),
		"head": side(p.headRepo, p.Head), "base": side(c.repo, p.Base),
	}
}

func labels(names []string) []object {
	list := []object{}
	for _, name := range names {
		list = append(list, object{"name": name, "color": "ededed"})
	}
	return list
}

// listPulls filters by head (owner:branch), base and state, newest first.
func listPulls(c *call) answer {
	query := c.r.URL.Query()
	owner, head, byHead := strings.Cut(query.Get("head"), ":")
	list := []object{}
	for _, p := range slices.Backward(c.repo.pulls) {
		state, base := query.Get("state"), query.Get("base")
		if (state == "all" || state == p.State || state == "" && p.State == "open") && (base == "" || base == p.Base) &&
			(!byHead || head == p.Head && strings.EqualFold(owner, p.headRepo.owner)) {
			list = append(list, p.json(c))
		}
	}
	return ok(list)
}

func (f *Forge) createPull(c *call) answer {
	var in struct {
		Title, Body, Head, Base string
		HeadRepo                string `json:"head_repo"`
		Draft                   bool
	}
	if !c.read(&in) {
		return refused(http.StatusBadRequest, "Problems parsing JSON")
	}
	from, head := c.repo, in.Head
	if owner, branch, ok := strings.Cut(in.Head, ":"); ok {
		name := c.repo.name
		if in.HeadRepo != "" {
			name = path.Base(in.HeadRepo) // GitHub takes the name and owner/name
		}
		from, head = f.repositories[key(owner, name)], branch
	}
	base := c.repo.Branch(in.Base)
	switch {
	case from == nil || from.Branch(head) == "":
		return invalid("field", "head")
	case base == "":
		return invalid("field", "base")
	case from.Branch(head) == base:
		return invalid("message", fmt.Sprintf("No commits between %s and %s", in.Base, in.Head))
	}
	for _, p := range c.repo.pulls {
		if p.State == "open" && p.headRepo == from && p.Head == head && p.Base == in.Base {
			return invalid("message", fmt.Sprintf("A pull request already exists for %s:%s.", from.owner, head))
		}
	}
	number := len(c.repo.pulls) + 1
	p := &pull{headRepo: from, node: fmt.Sprintf("PR_%d_%d", c.repo.id, number), PullRequest: PullRequest{
		Number: number, Title: in.Title, Body: in.Body, Head: head, HeadRepository: from.fullName(), Base: in.Base, Draft: in.Draft, State: "open",
	}}
	c.repo.pulls = append(c.repo.pulls, p)
	return answer{http.StatusCreated, p.json(c)}
}

func updatePull(c *call) answer {
	if !c.read(&struct{ Title, Body, State, Base *string }{&c.pull.Title, &c.pull.Body, &c.pull.State, &c.pull.Base}) {
		return refused(http.StatusBadRequest, "Problems parsing JSON")
	}
	return ok(c.pull.json(c))
}

func addLabels(c *call) answer {
	var in struct{ Labels []string }
	if !c.read(&in) {
		return refused(http.StatusBadRequest, "Problems parsing JSON")
	}
	for _, name := range in.Labels {
		if !slices.ContainsFunc(c.pull.Labels, func(have string) bool { return strings.EqualFold(have, name) }) {
			c.pull.Labels = append(c.pull.Labels, name)
		}
	}
	return ok(labels(c.pull.Labels))
}

// graphQL knows the two mutations that turn a pull request into a draft and
// back, with the id in the variable "id".
func (f *Forge) graphQL(c *call) answer {
	var in struct {
		Query     string
		Variables struct{ ID string }
	}
	if !c.read(&in) {
		return refused(http.StatusBadRequest, "Problems parsing JSON")
	}
	for mutation, draft := range map[string]bool{"convertPullRequestToDraft": true, "markPullRequestReadyForReview": false} {
		for _, repo := range f.repositories {
			for _, p := range repo.pulls {
				if strings.Contains(in.Query, mutation) && p.node == in.Variables.ID {
					p.Draft = draft
					return ok(object{"data": object{mutation: object{"pullRequest": object{"id": p.node, "isDraft": draft}}}})
				}
			}
		}
	}
	return ok(object{"data": nil, "errors": []object{{"type": "NOT_FOUND", "message": "the demo's forge converts its own pull requests to drafts and back, and knows nothing else"}}})
}
