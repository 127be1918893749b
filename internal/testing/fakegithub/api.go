package fakegithub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// call is one question to the API while it is answered; f.mu is held.
type call struct {
	f     *Forge
	w     http.ResponseWriter
	r     *http.Request
	base  string // the forge's address as the client sees it
	token *Token
	repo  *Repository // nil: not about one
	issue *issue      // nil: not about one
}

// route is one operation, with the right an installation needs for it.
type route struct {
	pattern string // below /repos/{owner}/{name}, or from the root with a leading "="
	right   string // "contents:write"; empty: whoever sees the repository
	do      func(*call)
}

// match says that a path is the route's, and sets the names in it. Go's own
// ServeMux refuses two patterns that GitHub has: /issues/comments/{id} and
// /issues/{number}/labels.
func (o route) match(r *http.Request) bool {
	pattern, isRoot := strings.CutPrefix(o.pattern, "= ")
	method, pattern, _ := strings.Cut(pattern, " ")
	if !isRoot {
		pattern = "/repos/{owner}/{name}" + pattern
	}
	if method != r.Method {
		return false
	}
	want, have := strings.Split(pattern, "/"), strings.Split(r.URL.EscapedPath(), "/")
	values := map[string]string{}
	for i, part := range want {
		if i >= len(have) {
			return false
		}
		name, isName := strings.CutPrefix(part, "{")
		name = strings.TrimSuffix(name, "}")
		one := have[i]
		rest, takesRest := strings.CutSuffix(name, "...")
		if takesRest {
			name, one = rest, strings.Join(have[i:], "/")
		}
		one, err := url.PathUnescape(one)
		if err != nil || !isName && one != part || isName && one == "" {
			return false
		}
		values[name] = one
		if takesRest {
			have = have[:len(want)]
		}
	}
	if len(have) != len(want) {
		return false
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
					break
				}
			}
			f.mu.Unlock()
		}
		for _, one := range routes {
			if one.match(r) {
				f.handle(w, r, one)
				return
			}
		}
		refuse(w, http.StatusNotFound, "Not Found")
	}
}

func (f *Forge) handle(w http.ResponseWriter, r *http.Request, one route) {
	token := f.who(r)
	if token == nil {
		refuse(w, http.StatusUnauthorized, "Bad credentials")
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &call{f: f, w: w, r: r, base: f.URL, token: token}
	if !token.app() {
		w.Header().Set("X-OAuth-Scopes", scopes(token))
	}
	if !strings.HasPrefix(one.pattern, "=") && !c.find(one.right) {
		return
	}
	one.do(c)
	if c.repo != nil && r.Method != http.MethodGet {
		c.repo.settleLocked()
	}
}

func scopes(t *Token) string {
	if t.may("workflows", "write") {
		return "repo, workflow"
	}
	return "repo"
}

// find sets the repository, or refuses.
func (c *call) find(right string) bool {
	repo, moved := c.f.find(c.r.PathValue("owner"), c.r.PathValue("name"))
	if repo == nil || !c.token.sees(repo) {
		c.refuse(http.StatusNotFound, "Not Found")
		return false
	}
	if moved {
		parts := strings.SplitN(strings.TrimPrefix(c.r.URL.EscapedPath(), "/repos/"), "/", 3)
		to := fmt.Sprintf("%s/api/v3/repositories/%d", c.base, repo.id)
		if len(parts) == 3 {
			to += "/" + parts[2]
		}
		if c.r.URL.RawQuery != "" {
			to += "?" + c.r.URL.RawQuery
		}
		status, message := http.StatusMovedPermanently, "Moved Permanently"
		if c.r.Method != http.MethodGet {
			status, message = http.StatusTemporaryRedirect, "Temporary Redirect"
		}
		c.w.Header().Set("Location", to)
		c.answer(status, map[string]any{"message": message, "url": to, "documentation_url": documentation})
		return false
	}
	c.repo = repo
	name, level, _ := strings.Cut(right, ":")
	allowed := right == "" || c.token.may(name, level)
	if name == "issues" && !allowed { // either will do where the issue is a pull request
		allowed = c.token.may("pull-requests", level)
	}
	if !allowed {
		c.w.Header().Set("X-Accepted-GitHub-Permissions", strings.ReplaceAll(name, "-", "_")+"="+level)
		c.refuse(http.StatusForbidden, "Resource not accessible by "+c.token.kind())
		return false
	}
	if level == "write" && repo.archived {
		c.refuse(http.StatusForbidden, "Repository was archived so is read-only.")
		return false
	}
	return true
}

func (t *Token) kind() string {
	if t.app() {
		return "integration"
	}
	return "personal access token"
}

const documentation = "https://docs.github.com/rest"

func (c *call) answer(status int, v any) { writeJSON(c.w, status, v) }

func (c *call) refuse(status int, message string, details ...any) {
	refuse(c.w, status, message, details...)
}

// invalid is a 422 about one field.
func (c *call) invalid(resource, field, code string) {
	c.refuse(http.StatusUnprocessableEntity, "Validation Failed", map[string]any{"resource": resource, "field": field, "code": code})
}

// custom is a 422 in words.
func (c *call) custom(resource, message string) {
	c.refuse(http.StatusUnprocessableEntity, "Validation Failed", map[string]any{"resource": resource, "code": "custom", "message": message})
}

// read decodes the body; false: it refused.
func (c *call) read(into any) bool {
	body, err := io.ReadAll(c.r.Body)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		c.refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	return err == nil
}

func refuse(w http.ResponseWriter, status int, message string, details ...any) {
	answer := map[string]any{"message": message, "documentation_url": documentation, "status": fmt.Sprint(status)}
	if len(details) > 0 {
		answer["errors"] = details
	}
	writeJSON(w, status, answer)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	if v != nil {
		_ = json.NewEncoder(w).Encode(v) // a client that went away cannot be told
	}
}

// page cuts a list as GitHub does and sets the Link header.
func page[T any](c *call, list []T) []T {
	query := c.r.URL.Query()
	size, number := positive(query.Get("per_page"), 30, 100), positive(query.Get("page"), 1, 1<<30)
	last := max((len(list)+size-1)/size, 1)
	var links []string
	link := func(n int, rel string) {
		q := url.Values{}
		for name, values := range query {
			q[name] = values
		}
		q.Set("page", strconv.Itoa(n))
		links = append(links, fmt.Sprintf("<%s/api/v3%s?%s>; rel=%q", c.base, c.r.URL.EscapedPath(), q.Encode(), rel))
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
	out := list[from:min(from+size, len(list))]
	if out == nil {
		return []T{}
	}
	return out
}

func positive(text string, otherwise, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, most)
}
