package fakegithub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// call is one question to the API while it is answered; f.mu is held.
type call struct {
	f     *Forge
	w     http.ResponseWriter // for headers
	r     *http.Request
	base  string // the forge's address as the client sees it
	token *Token

	// What the path names; nil: nothing of the kind.
	repo  *Repository
	issue *issue
	said  *comment
	run   *run
	job   *job
}

// object is an object of JSON.
type object = map[string]any

// reply is what a route answers. A nil body is none.
type reply struct {
	status int
	body   any
}

func ok(body any) reply      { return reply{http.StatusOK, body} }
func created(body any) reply { return reply{http.StatusCreated, body} }
func deleted() reply         { return reply{status: http.StatusNoContent} }

const documentation = "https://docs.github.com/rest"

func refusal(status int, message string, details ...object) reply {
	body := object{"message": message, "documentation_url": documentation, "status": fmt.Sprint(status)}
	if len(details) > 0 {
		body["errors"] = details
	}
	return reply{status, body}
}

func notFound() reply { return refusal(http.StatusNotFound, "Not Found") }

func forbidden(message string) reply { return refusal(http.StatusForbidden, message) }

func unprocessable(message string) reply { return refusal(http.StatusUnprocessableEntity, message) }

// broken is a failure of the forge's own.
func broken(err error) reply { return refusal(http.StatusInternalServerError, err.Error()) }

// invalid is a 422 about one field.
func invalid(resource, field, code string) reply {
	return refusal(http.StatusUnprocessableEntity, "Validation Failed", object{"resource": resource, "field": field, "code": code})
}

// custom is a 422 in words.
func custom(resource, message string) reply {
	return refusal(http.StatusUnprocessableEntity, "Validation Failed", object{"resource": resource, "code": "custom", "message": message})
}

func (a reply) send(w http.ResponseWriter) {
	if a.body != nil {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	w.WriteHeader(a.status)
	if a.body != nil {
		_ = json.NewEncoder(w).Encode(a.body) // a client that went away cannot be told
	}
}

// route is one operation, with the right an installation needs for it.
type route struct {
	pattern string // below /repos/{owner}/{name}, or from the root with a leading "="
	right   string // "contents:write"; empty: whoever sees the repository
	do      func(*call) reply
}

// with decodes the body for a route.
func with[T any](do func(*call, T) reply) func(*call) reply {
	return func(c *call) reply {
		var in T
		if json.Unmarshal(Body(c.r), &in) != nil {
			return refusal(http.StatusBadRequest, "Problems parsing JSON")
		}
		return do(c, in)
	}
}

// match reports whether a path is the route's, and sets the names in it. Go's own
// ServeMux refuses two patterns that GitHub has: /issues/comments/{id} and
// /issues/{number}/labels.
func (o route) match(r *http.Request) bool {
	pattern, isRoot := strings.CutPrefix(o.pattern, "= ")
	method, pattern, _ := strings.Cut(pattern, " ")
	if !isRoot {
		pattern = "/repos/{owner}/{name}" + pattern
	}
	want, have := strings.Split(pattern, "/"), strings.Split(r.URL.EscapedPath(), "/")
	last := len(want) - 1
	if strings.HasSuffix(pattern, "...}") && len(have) > len(want) {
		have = append(have[:last:last], strings.Join(have[last:], "/"))
	}
	if method != r.Method || len(have) != len(want) {
		return false
	}
	values := map[string]string{}
	for i, part := range want {
		value, err := url.PathUnescape(have[i])
		isName := strings.HasPrefix(part, "{")
		if err != nil || !isName && value != part || isName && value == "" {
			return false
		}
		values[strings.Trim(part, "{.}")] = value
	}
	for name, value := range values {
		r.SetPathValue(name, value)
	}
	return true
}

// serveAPI also knows the second way by which a repository is asked for, to which
// a renamed one redirects.
func (f *Forge) serveAPI(routes []route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/repositories/"); ok {
			number, rest, _ := strings.Cut(rest, "/")
			f.mu.Lock()
			for _, repo := range f.repos {
				if fmt.Sprint(repo.id) == number {
					r.URL.Path, r.URL.RawPath = strings.TrimSuffix("/repos/"+repo.FullName()+"/"+rest, "/"), ""
				}
			}
			f.mu.Unlock()
		}
		i := slices.IndexFunc(routes, func(o route) bool { return o.match(r) })
		if i < 0 {
			notFound().send(w)
			return
		}
		f.handle(w, r, routes[i]).send(w)
	}
}

func (f *Forge) handle(w http.ResponseWriter, r *http.Request, one route) reply {
	token := f.who(r)
	if token == nil {
		return refusal(http.StatusUnauthorized, "Bad credentials")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &call{f: f, w: w, r: r, base: f.URL, token: token}
	if !token.app() {
		w.Header().Set("X-OAuth-Scopes", scopes(token))
	}
	if !strings.HasPrefix(one.pattern, "=") {
		if no := c.find(one.right); no.status != 0 {
			return no
		}
		if !c.locate(one.pattern) {
			return notFound()
		}
		if r.Method != http.MethodGet {
			defer c.repo.settleLocked()
		}
	}
	return one.do(c)
}

func scopes(t *Token) string {
	if t.may("workflows", "write") {
		return "repo, workflow"
	}
	return "repo"
}

// find sets the repository, or refuses.
func (c *call) find(right string) (no reply) {
	repo, moved := c.f.find(c.r.PathValue("owner"), c.r.PathValue("name"))
	if repo == nil || !c.token.sees(repo) {
		return notFound()
	}
	if moved {
		parts := strings.SplitN(strings.TrimPrefix(c.r.URL.EscapedPath(), "/repos/"), "/", 3)
		to := fmt.Sprintf("%s/api/v3/repositories/%d", c.base, repo.id)
		if len(parts) == 3 {
			to += "/" + parts[2]
		}
		to = withQuery(to, c.r)
		status := redirection(c.r)
		c.w.Header().Set("Location", to)
		return reply{status, object{"message": http.StatusText(status), "url": to, "documentation_url": documentation}}
	}
	c.repo = repo
	name, level, _ := strings.Cut(right, ":")
	allowed := right == "" || c.token.may(name, level)
	if name == "issues" && !allowed { // either will do where the issue is a pull request
		allowed = c.token.may("pull-requests", level)
	}
	if !allowed {
		c.w.Header().Set("X-Accepted-GitHub-Permissions", strings.ReplaceAll(name, "-", "_")+"="+level)
		return forbidden("Resource not accessible by " + c.token.kind())
	}
	if level == "write" && repo.archived {
		return forbidden("Repository was archived so is read-only.")
	}
	return reply{}
}

// redirection is the status by which what was renamed is said to have moved.
func redirection(r *http.Request) int {
	if r.Method != http.MethodGet {
		return http.StatusTemporaryRedirect
	}
	return http.StatusMovedPermanently
}

func withQuery(address string, r *http.Request) string {
	if r.URL.RawQuery != "" {
		address += "?" + r.URL.RawQuery
	}
	return address
}

// locate finds what the path of a route names in the repository.
func (c *call) locate(pattern string) bool {
	number, _ := strconv.Atoi(c.r.PathValue("number")) // 0 is none
	id := c.r.PathValue("id")
	switch {
	case strings.Contains(pattern, "/issues/{number}"), strings.Contains(pattern, "/pulls/{number}"):
		if number < 1 || number > len(c.repo.issues) {
			return false
		}
		c.issue = c.repo.issues[number-1]
		return c.issue.pull != nil || strings.Contains(pattern, "/issues/")
	case strings.Contains(pattern, "/comments/{id}"):
		for _, one := range c.repo.issues {
			for _, said := range one.comments {
				if fmt.Sprint(said.id) == id {
					c.issue, c.said = one, said
				}
			}
		}
		return c.said != nil
	case strings.Contains(pattern, "runs/{id}"), strings.Contains(pattern, "/jobs/{id}"):
		for _, one := range c.repo.runs {
			if fmt.Sprint(one.id) == id {
				c.run = one
			}
			for _, j := range one.jobs {
				if fmt.Sprint(j.id) == id {
					c.job = j
				}
			}
		}
		if strings.Contains(pattern, "/actions/runs/") {
			return c.run != nil
		}
		return c.job != nil
	}
	return true
}

func (t *Token) kind() string {
	if t.app() {
		return "integration"
	}
	return "personal access token"
}

// api is an address of the API below the repository.
func (c *call) api(format string, args ...any) string {
	return c.base + "/api/v3/repos/" + c.repo.FullName() + fmt.Sprintf(format, args...)
}

// html is an address for people below the repository.
func (c *call) html(format string, args ...any) string {
	return c.repo.URL() + fmt.Sprintf(format, args...)
}

// list renders each element; it is never nil.
func list[T, U any](all []T, one func(T) U) []U {
	out := make([]U, 0, len(all))
	for _, v := range all {
		out = append(out, one(v))
	}
	return out
}

// page cuts a list as GitHub does and sets the Link header.
func page[T any](c *call, list []T) []T {
	query := c.r.URL.Query()
	size, number := positive(query.Get("per_page"), 30, 100), positive(query.Get("page"), 1, 1<<30)
	last := max((len(list)+size-1)/size, 1)
	var links []string
	link := func(n int, rel string) {
		query.Set("page", strconv.Itoa(n))
		links = append(links, fmt.Sprintf("<%s/api/v3%s?%s>; rel=%q", c.base, c.r.URL.EscapedPath(), query.Encode(), rel))
	}
	if number > 1 {
		link(number-1, "prev")
		link(1, "first")
	}
	if number < last {
		link(number+1, "next")
		link(last, "last")
	}
	if len(links) > 0 {
		c.w.Header().Set("Link", strings.Join(links, ", "))
	}
	from := min((number-1)*size, len(list))
	return append([]T{}, list[from:min(from+size, len(list))]...)
}

func positive(text string, otherwise, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, most)
}
