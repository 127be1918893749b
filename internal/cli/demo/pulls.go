package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

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
	Commits        []Commit // what head has and base has not, newest first
}

// pull is guarded by Forge.mu.
type pull struct {
	number      int
	title, body string
	head        string
	headRepo    *repository
	base        string
	draft       bool
	state       string
	labels      []string
}

func (p *pull) addLabels(names []string) {
	for _, name := range names {
		if !slices.ContainsFunc(p.labels, func(have string) bool { return strings.EqualFold(have, name) }) {
			p.labels = append(p.labels, name)
		}
	}
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
		sha := p.headRepo.branch(p.head)
		list = append(list, PullRequest{
			Number: p.number, Title: p.title, Body: p.body,
			Head: p.head, HeadRepository: p.headRepo.fullName(), HeadSHA: sha, Base: p.base,
			Draft: p.draft, State: p.state, Labels: slices.Clone(p.labels),
			Commits: p.headRepo.commitsBetween(repo.branch(p.base), sha),
		})
	}
	return list
}

type sideJSON struct {
	Label string         `json:"label"`
	Ref   string         `json:"ref"`
	SHA   string         `json:"sha"`
	Repo  repositoryJSON `json:"repo"`
}

type pullJSON struct {
	ID      int64            `json:"id"`
	NodeID  string           `json:"node_id"`
	Number  int              `json:"number"`
	State   string           `json:"state"`
	Title   string           `json:"title"`
	Body    string           `json:"body"`
	Draft   bool             `json:"draft"`
	URL     string           `json:"url"`
	HTMLURL string           `json:"html_url"`
	User    map[string]any   `json:"user"`
	Labels  []map[string]any `json:"labels"`
	Head    sideJSON         `json:"head"`
	Base    sideJSON         `json:"base"`
}

func pullNode(repo *repository, p *pull) string { return fmt.Sprintf("PR_%d_%d", repo.id, p.number) }

// describePull is called with f.mu held.
func describePull(repo *repository, p *pull, base string) pullJSON {
	side := func(of *repository, branch string) sideJSON {
		return sideJSON{Label: of.owner + ":" + branch, Ref: branch, SHA: of.branch(branch), Repo: describe(of, base)}
	}
	return pullJSON{
		ID: repo.id*100000 + int64(p.number), NodeID: pullNode(repo, p), Number: p.number, State: p.state,
		Title: p.title, Body: p.body, Draft: p.draft,
		URL:     fmt.Sprintf("%s/api/v3/repos/%s/pulls/%d", base, repo.fullName(), p.number),
		HTMLURL: fmt.Sprintf("%s/%s/pull/%d", base, repo.fullName(), p.number),
		User:    map[string]any{"login": "ralph-demo", "type": "Bot"},
		Labels:  labelsJSON(p.labels),
		Head:    side(p.headRepo, p.head), Base: side(repo, p.base),
	}
}

func (f *Forge) getPull(w http.ResponseWriter, r *http.Request, repo *repository, p *pull) {
	f.mu.Lock()
	answer := describePull(repo, p, baseURL(r))
	f.mu.Unlock()
	writeJSON(w, http.StatusOK, answer)
}

// listPulls filters by head (owner:branch), base and state, newest first.
// A head without an owner is ignored, as GitHub ignores it.
func (f *Forge) listPulls(w http.ResponseWriter, r *http.Request, repo *repository) {
	query := r.URL.Query()
	state := query.Get("state")
	if state == "" {
		state = "open"
	}
	headOwner, head, byHead := strings.Cut(query.Get("head"), ":")
	base := query.Get("base")
	list := []pullJSON{}
	f.mu.Lock()
	for _, p := range slices.Backward(repo.pulls) {
		switch {
		case state != "all" && p.state != state:
		case base != "" && p.base != base:
		case byHead && (p.head != head || !strings.EqualFold(p.headRepo.owner, headOwner)):
		default:
			list = append(list, describePull(repo, p, baseURL(r)))
		}
	}
	f.mu.Unlock()
	writeJSON(w, http.StatusOK, page(w, r, list))
}

func unprocessable(w http.ResponseWriter, details ...validationError) {
	apiError(w, http.StatusUnprocessableEntity, "Validation Failed", details...)
}

func custom(message string) validationError {
	return validationError{Resource: "PullRequest", Code: "custom", Message: message}
}

func invalid(field string) validationError {
	return validationError{Resource: "PullRequest", Field: field, Code: "invalid"}
}

func (f *Forge) createPull(w http.ResponseWriter, r *http.Request, repo *repository) {
	var in struct {
		Title    string `json:"title"`
		Body     string `json:"body"`
		Head     string `json:"head"`
		HeadRepo string `json:"head_repo"`
		Base     string `json:"base"`
		Draft    bool   `json:"draft"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		apiError(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	headRepo, head := repo, in.Head
	if owner, branch, ok := strings.Cut(in.Head, ":"); ok {
		name := repo.name
		if in.HeadRepo != "" {
			name = path.Base(in.HeadRepo) // GitHub takes the name and owner/name
		}
		headRepo, head = f.lookup(owner, name), branch
	}
	baseSHA := repo.branch(in.Base)
	switch {
	case in.Title == "":
		unprocessable(w, validationError{Resource: "PullRequest", Field: "title", Code: "missing_field"})
		return
	case utf8.RuneCountInString(in.Body) > 65536:
		unprocessable(w, custom("body is too long (maximum is 65536 characters)"))
		return
	case headRepo == nil || headRepo.branch(head) == "":
		unprocessable(w, invalid("head"))
		return
	case baseSHA == "":
		unprocessable(w, invalid("base"))
		return
	case len(headRepo.commitsBetween(baseSHA, headRepo.branch(head))) == 0:
		unprocessable(w, custom(fmt.Sprintf("No commits between %s and %s", in.Base, in.Head)))
		return
	}
	f.mu.Lock()
	for _, p := range repo.pulls {
		if p.state == "open" && p.headRepo == headRepo && p.head == head && p.base == in.Base {
			f.mu.Unlock()
			unprocessable(w, custom(fmt.Sprintf("A pull request already exists for %s:%s.", headRepo.owner, head)))
			return
		}
	}
	p := &pull{number: len(repo.pulls) + 1, title: in.Title, body: in.Body, head: head, headRepo: headRepo, base: in.Base, draft: in.Draft, state: "open"}
	repo.pulls = append(repo.pulls, p)
	answer := describePull(repo, p, baseURL(r))
	f.mu.Unlock()
	w.Header().Set("Location", answer.URL)
	writeJSON(w, http.StatusCreated, answer)
}

func (f *Forge) updatePull(w http.ResponseWriter, r *http.Request, repo *repository, p *pull) {
	var in struct {
		Title, Body, State, Base *string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		apiError(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	switch {
	case in.Body != nil && utf8.RuneCountInString(*in.Body) > 65536:
		unprocessable(w, custom("body is too long (maximum is 65536 characters)"))
		return
	case in.State != nil && *in.State != "open" && *in.State != "closed":
		unprocessable(w, invalid("state"))
		return
	case in.Base != nil && repo.branch(*in.Base) == "":
		unprocessable(w, invalid("base"))
		return
	}
	f.mu.Lock()
	for _, set := range []struct{ to, from *string }{{&p.title, in.Title}, {&p.body, in.Body}, {&p.state, in.State}, {&p.base, in.Base}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	answer := describePull(repo, p, baseURL(r))
	f.mu.Unlock()
	writeJSON(w, http.StatusOK, answer)
}

// graphQL knows the two mutations that turn a pull request into a draft and
// back, with the id in the variable "id".
func (f *Forge) graphQL(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Query     string `json:"query"`
		Variables struct {
			ID string `json:"id"`
		} `json:"variables"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		apiError(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	mutation, draft := "", false
	switch {
	case strings.Contains(in.Query, "convertPullRequestToDraft"):
		mutation, draft = "convertPullRequestToDraft", true
	case strings.Contains(in.Query, "markPullRequestReadyForReview"):
		mutation = "markPullRequestReadyForReview"
	default:
		graphQLError(w, "undefinedField", "the demo forge knows convertPullRequestToDraft and markPullRequestReadyForReview only")
		return
	}
	f.mu.Lock()
	found := false
	for _, repo := range f.repositories {
		for _, p := range repo.pulls {
			if pullNode(repo, p) == in.Variables.ID {
				p.draft, found = draft, true
			}
		}
	}
	f.mu.Unlock()
	if !found {
		graphQLError(w, "NOT_FOUND", fmt.Sprintf("Could not resolve to a node with the global id of '%s'", in.Variables.ID))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"data": map[string]any{
		mutation: map[string]any{"pullRequest": map[string]any{"id": in.Variables.ID, "isDraft": draft}},
	}})
}

func graphQLError(w http.ResponseWriter, kind, message string) {
	writeJSON(w, http.StatusOK, map[string]any{
		"data":   nil,
		"errors": []map[string]any{{"type": kind, "message": message}},
	})
}
