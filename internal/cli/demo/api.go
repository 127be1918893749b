package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// routes is the part of GitHub's REST and GraphQL API a pull request needs.
func (f *Forge) routes() *http.ServeMux {
	mux := http.NewServeMux()
	const repo = "/api/v3/repos/{owner}/{name}"
	mux.HandleFunc("GET /api/v3/user", f.getUser)
	mux.HandleFunc("GET "+repo, f.withRepository(f.getRepository))
	mux.HandleFunc("GET "+repo+"/branches/{branch...}", f.withRepository(f.getBranch))
	mux.HandleFunc("GET "+repo+"/git/ref/{ref...}", f.withRepository(f.getRef))
	mux.HandleFunc("GET "+repo+"/pulls", f.withRepository(f.listPulls))
	mux.HandleFunc("POST "+repo+"/pulls", f.withRepository(f.createPull))
	mux.HandleFunc("GET "+repo+"/pulls/{number}", f.withPull(f.getPull))
	mux.HandleFunc("PATCH "+repo+"/pulls/{number}", f.withPull(f.updatePull))
	mux.HandleFunc("POST "+repo+"/issues/{number}/labels", f.withPull(f.addLabels))
	mux.HandleFunc("POST /api/graphql", f.graphQL)
	mux.HandleFunc("POST /api/v3/graphql", f.graphQL)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		apiError(w, http.StatusNotFound, "Not Found")
	})
	return mux
}

func (f *Forge) withRepository(next func(http.ResponseWriter, *http.Request, *repository)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		repo := f.lookup(r.PathValue("owner"), r.PathValue("name"))
		if repo == nil {
			apiError(w, http.StatusNotFound, "Not Found")
			return
		}
		next(w, r, repo)
	}
}

func (f *Forge) withPull(next func(http.ResponseWriter, *http.Request, *repository, *pull)) http.HandlerFunc {
	return f.withRepository(func(w http.ResponseWriter, r *http.Request, repo *repository) {
		number, err := strconv.Atoi(r.PathValue("number"))
		if err == nil {
			f.mu.Lock()
			var found *pull
			if number >= 1 && number <= len(repo.pulls) {
				found = repo.pulls[number-1]
			}
			f.mu.Unlock()
			if found != nil {
				next(w, r, repo, found)
				return
			}
		}
		apiError(w, http.StatusNotFound, "Not Found")
	})
}

func (f *Forge) getUser(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"login": "ralph-demo", "id": 1, "type": "Bot"})
}

type repositoryJSON struct {
	ID            int64           `json:"id"`
	NodeID        string          `json:"node_id"`
	Name          string          `json:"name"`
	FullName      string          `json:"full_name"`
	Owner         map[string]any  `json:"owner"`
	Private       bool            `json:"private"`
	Archived      bool            `json:"archived"`
	HTMLURL       string          `json:"html_url"`
	URL           string          `json:"url"`
	CloneURL      string          `json:"clone_url"`
	DefaultBranch string          `json:"default_branch"`
	Permissions   map[string]bool `json:"permissions"`
}

func describe(repo *repository, base string) repositoryJSON {
	return repositoryJSON{
		ID:            repo.id,
		NodeID:        fmt.Sprintf("R_%d", repo.id),
		Name:          repo.name,
		FullName:      repo.fullName(),
		Owner:         map[string]any{"login": repo.owner, "type": "User"},
		Private:       true,
		HTMLURL:       base + "/" + repo.fullName(),
		URL:           base + "/api/v3/repos/" + repo.fullName(),
		CloneURL:      base + "/" + repo.fullName() + ".git",
		DefaultBranch: repo.defaultBranch,
		Permissions:   map[string]bool{"admin": false, "push": true, "pull": true},
	}
}

func (f *Forge) getRepository(w http.ResponseWriter, r *http.Request, repo *repository) {
	writeJSON(w, http.StatusOK, describe(repo, baseURL(r)))
}

func (f *Forge) getBranch(w http.ResponseWriter, r *http.Request, repo *repository) {
	name := r.PathValue("branch")
	sha := repo.branch(name)
	if sha == "" {
		apiError(w, http.StatusNotFound, "Branch not found")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"name":      name,
		"commit":    map[string]any{"sha": sha, "url": baseURL(r) + "/api/v3/repos/" + repo.fullName() + "/commits/" + sha},
		"protected": false,
	})
}

func (f *Forge) getRef(w http.ResponseWriter, r *http.Request, repo *repository) {
	name, isHead := strings.CutPrefix(r.PathValue("ref"), "heads/")
	sha := ""
	if isHead {
		sha = repo.branch(name)
	}
	if sha == "" {
		apiError(w, http.StatusNotFound, "Not Found")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"ref":    "refs/heads/" + name,
		"object": map[string]any{"type": "commit", "sha": sha},
	})
}

// addLabels takes both forms GitHub takes: a bare array and an object.
func (f *Forge) addLabels(w http.ResponseWriter, r *http.Request, _ *repository, p *pull) {
	var body struct {
		Labels []string `json:"labels"`
	}
	var raw json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&raw); err != nil || (json.Unmarshal(raw, &body) != nil && json.Unmarshal(raw, &body.Labels) != nil) {
		apiError(w, http.StatusBadRequest, "Problems parsing JSON")
		return
	}
	f.mu.Lock()
	p.addLabels(body.Labels)
	labels := labelsJSON(p.labels)
	f.mu.Unlock()
	writeJSON(w, http.StatusOK, labels)
}

func labelsJSON(names []string) []map[string]any {
	list := []map[string]any{}
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "color": "ededed"})
	}
	return list
}

// page cuts a list as GitHub does and sets the Link header.
func page[T any](w http.ResponseWriter, r *http.Request, list []T) []T {
	query := r.URL.Query()
	size := positive(query.Get("per_page"), 30, 100)
	number := positive(query.Get("page"), 1, 1<<30)
	last := max((len(list)+size-1)/size, 1)
	if number < last {
		link := func(n int, rel string) string {
			query.Set("page", strconv.Itoa(n))
			return fmt.Sprintf("<%s%s?%s>; rel=%q", baseURL(r), r.URL.EscapedPath(), query.Encode(), rel)
		}
		w.Header().Set("Link", link(number+1, "next")+", "+link(last, "last"))
	}
	from := min((number-1)*size, len(list))
	return list[from:min(from+size, len(list))]
}

func positive(text string, otherwise, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, most)
}

// baseURL is the forge's address as the client sees it.
func baseURL(r *http.Request) string {
	u := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}
