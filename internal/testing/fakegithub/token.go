package fakegithub

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Token is who asks, and what it may do. Its kind is told by its prefix, as on
// GitHub: ghs_ is an installation's (GITHUB_TOKEN or an App), ghp_ and
// github_pat_ are a person's.
type Token struct {
	Value string
	Login string // empty: github-actions[bot]
	// The rights, as a workflow spells them: "contents", "pull-requests", "issues",
	// "workflows", "actions", "checks", "statuses". Values: read, write. nil: write
	// for all but workflows. A person's token has "workflow" as a scope.
	Rights map[string]string
	// Repositories it sees; none: all.
	Repositories []string

	expired bool
	after   int // requests until it expires; 0: never
}

// Workflow is a value for Rights: write for everything, workflows included.
func Workflow() map[string]string {
	all := map[string]string{"workflows": "write"}
	for _, name := range []string{"contents", "pull-requests", "issues", "actions", "checks", "statuses"} {
		all[name] = "write"
	}
	return all
}

// AddToken makes a token valid.
func (f *Forge) AddToken(t Token) {
	t.Login = cmp.Or(t.Login, ActionsBot)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens[t.Value] = &t
	f.userLocked(t.Login)
}

// ExpireToken makes a token invalid after so many further requests.
func (f *Forge) ExpireToken(value string, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.tokens[value]; t != nil {
		t.expired, t.after = after == 0, after
	}
}

func (t *Token) app() bool { return strings.HasPrefix(t.Value, "ghs_") }

func (t *Token) may(right, level string) bool {
	have := t.Rights[right]
	if t.Rights == nil && right != "workflows" {
		have = "write"
	}
	return have == "write" || have == level || level == "read" && right == "metadata"
}

func (t *Token) sees(repo *Repository) bool {
	named := func(name string) bool { return strings.EqualFold(name, repo.FullName()) }
	return len(t.Repositories) == 0 || slices.ContainsFunc(t.Repositories, named)
}

// credential is the token of a request: of the API's header, or of git's.
func credential(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "token") {
		return token
	}
	return ""
}

// who is the token of a request; nil: none that is valid.
func (f *Forge) who(r *http.Request) *Token {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tokens[credential(r)]
	if t == nil || t.expired {
		return nil
	}
	if t.after > 0 {
		if t.after--; t.after == 0 {
			t.expired = true
		}
	}
	return t
}

// ActionsBot is whom the job's own token acts as.
const ActionsBot = "github-actions[bot]"

type user struct {
	forge *Forge
	id    int64
	login string
}

// userLocked knows everybody who was named once.
func (f *Forge) userLocked(login string) *user {
	u := f.users[strings.ToLower(login)]
	if u == nil {
		u = &user{forge: f, id: f.id(), login: login}
		if login == ActionsBot {
			u.id = 41898282
		}
		f.users[strings.ToLower(login)] = u
	}
	return u
}

// AddUser makes an account exist, without any right.
func (f *Forge) AddUser(login string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.userLocked(login)
}

func (u *user) kind() string {
	if strings.HasSuffix(u.login, "[bot]") {
		return "Bot"
	}
	return "User"
}

// json is GitHub's public-user, which has all that a simple-user has.
func (u *user) json(base string) object {
	return u.forge.like("user", object{
		"login": u.login, "id": u.id, "node_id": fmt.Sprintf("U_%d", u.id), "type": u.kind(), "url": base + "/api/v3/users/" + u.login, "html_url": base + "/" + u.login,
	})
}
