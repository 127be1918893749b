package forge_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
)

const repositoryPath = "/api/v3/repos/octo/greet"

func TestPreflight(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.commit(t, "octo", "release/1.0-#2%", "three")
	for _, test := range []struct{ base, want string }{{"", "main"}, {"main", "main"}, {"release/1.0-#2%", "release/1.0-#2%"}} {
		got, err := l.client.Preflight(t.Context(), forge.Ask{Base: test.base})
		want := forge.Facts{DefaultBranch: "main", Base: test.want, Private: true, CanPush: true, Token: forge.Identity{Kind: forge.TokenInstallation}}
		if err != nil || got != want {
			t.Errorf("Preflight(%q) = %+v, %v, want %+v", test.base, got, err, want)
		}
	}
	for _, call := range l.Calls() {
		if !strings.HasPrefix(call, "GET /api/v3/repos/octo/greet") && call != "POST /api/graphql" {
			t.Errorf("Preflight called %q", call)
		}
	}
}

// What does not depend on each other is asked at once: a forge far away costs one
// wait, and two where the default branch is not known.
func TestPreflightAsksAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ask  forge.Ask
		want time.Duration
	}{
		{forge.Ask{Base: "main", PullRequests: true, Milestone: 3}, time.Second},
		{forge.Ask{Likely: "main", PullRequests: true}, time.Second},
		{forge.Ask{PullRequests: true}, 2 * time.Second},
		{forge.Ask{Likely: "master", PullRequests: true}, 2 * time.Second},
		{forge.Ask{Base: "trunk", Likely: "trunk", PullRequests: true}, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := scripted(t, script(func(r *http.Request, _ []byte) (int, http.Header, string) {
				time.Sleep(time.Second)
				switch {
				case r.Method == http.MethodPost:
					return 422, nil, `{}`
				case strings.Contains(r.URL.Path, "/branches/"):
					return 200, nil, fmt.Sprintf(`{"name":%q}`, path.Base(r.URL.Path))
				}
				return 200, nil, repositoryAnswer
			}))
			started := time.Now()
			got, err := client.Preflight(t.Context(), test.ask)
			base := cmp.Or(test.ask.Base, "main")
			if took := time.Since(started); err != nil || got.Base != base || took != test.want {
				t.Errorf("Preflight(%+v) = %+v, %v after %s, want base %s after %s", test.ask, got, err, took, base, test.want)
			}
		})
	}
}

func TestPreflightErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		base   string
		path   string // of the fault
		do     http.HandlerFunc
		wants  []string
		denied string // PermissionError.Permission
	}{
		{name: "missing base", base: "nothing", wants: []string{"base:", `"nothing"`, "octo/greet", `"main"`}},
		{name: "no repository", path: repositoryPath, do: answer(404, `{"message":"Not Found"}`), wants: []string{"read the repository in octo/greet", "not found (404)", "contents: read"}},
		{name: "bad token", path: repositoryPath, do: answer(401, `{"message":"Bad credentials"}`), wants: []string{"401 Bad credentials", "github-token must be"}},
		{name: "forbidden", path: repositoryPath, do: answer(403, `{"message":"Resource not accessible by integration"}`), wants: []string{"Resource not accessible by integration"}, denied: "contents: read"},
		{
			name: "forbidden with a hint", path: repositoryPath,
			do:     answer(403, `{"message":"Resource not accessible by personal access token"}`, "X-Accepted-GitHub-Permissions", "contents=read,metadata=read; administration=write"),
			denied: "contents: read and metadata: read or administration: write",
		},
		{name: "forbidden with a forged hint", path: repositoryPath, do: answer(403, `{}`, "X-Accepted-GitHub-Permissions", "<b>all</b>"), denied: "contents: read"},
		{name: "archived", path: repositoryPath, do: answer(200, `{"default_branch":"main","archived":true}`), wants: []string{"archived", "push: false"}},
		{name: "no default branch", path: repositoryPath, do: answer(200, `{"full_name":"octo/greet"}`), wants: []string{"no default branch"}},
		{name: "renamed base", base: "master", path: "/branches/master", do: answer(200, `{"name":"trunk"}`), wants: []string{`"master"`, `"trunk"`}},
		{
			name: "may not push", path: repositoryPath, do: answer(200, `{"default_branch":"main","permissions":{"admin":false,"push":false,"pull":true}}`),
			wants: []string{"push to octo/greet", "contents: write"}, denied: "contents: write",
		},
		{name: "no API", path: repositoryPath, do: answer(200, `<html>`), wants: []string{"not what the API promises", "GITHUB_API_URL"}},
		{name: "teapot", path: repositoryPath, do: answer(418, `{"message":"`+token+` \u001b[31m short\nand stout"}`), wants: []string{"418", "*** [31m short and stout"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			if test.do != nil {
				l.fault("GET", test.path, -1, test.do)
			}
			_, err := l.client.Preflight(t.Context(), forge.Ask{Base: test.base})
			checkError(t, "Preflight", err, test.wants...)
			var refused *forge.PermissionError
			if errors.As(err, &refused) != (test.denied != "") || (refused != nil && refused.Permission != test.denied) {
				t.Errorf("Preflight = %#v, want permission %q", err, test.denied)
			}
		})
	}
}

// An installation's token, such as GITHUB_TOKEN, is told nothing, or that it
// may do nothing.
func TestPreflightOfInstallation(t *testing.T) {
	t.Parallel()
	for _, permissions := range []string{`null`, `{"admin":false,"push":false,"pull":false}`, `{"admin":false,"push":false,"pull":true}`} {
		l := newLab(t)
		l.fault("GET", repositoryPath, 1, answer(200, `{"default_branch":"main","permissions":`+permissions+`}`))
		l.fault("GET", "/installation/repositories", 1, answer(200, `{"total_count":1,"repositories":[]}`))
		got, err := l.client.Preflight(t.Context(), forge.Ask{Base: "main"})
		if err != nil || got.CanPush {
			t.Errorf("Preflight(permissions %s) = %+v, %v, want nothing known about pushing", permissions, got, err)
		}
	}
}

func TestPreflightUnreachable(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(o *forge.Options) { o.APIURL = "http://127.0.0.1:1/api" })
	_, err := l.client.Preflight(t.Context(), forge.Ask{Base: "main"})
	checkError(t, "Preflight", err, "127.0.0.1:1", "connection refused", "tried 5 times")
	if got := strings.Count(l.logged(), "/repos/octo/greet: dial"); got != 4 {
		t.Errorf("log = %q, want four waits for the repository", l.logged())
	}
}

// The token goes to the forge only, whatever the forge answers.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := newLab(t)
	l := newLab(t)
	l.fault("GET", repositoryPath, 1, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.url+r.URL.Path, http.StatusMovedPermanently)
	})
	_, err := l.client.Preflight(t.Context(), forge.Ask{Base: "main"})
	checkError(t, "Preflight", err, "refused a redirect to another host")
	if calls := other.Calls(); len(calls) > 0 {
		t.Errorf("the other host saw %q, want nothing", calls)
	}

	l.fault("GET", "/repos/old/greet", -1, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, repositoryPath, http.StatusMovedPermanently)
	})
	l.fault("POST", "/repos/old/greet/pulls", -1, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, pullsPath, http.StatusMovedPermanently)
	})
	moved, err := forge.New(forge.Options{APIURL: l.url + "/api/v3", ServerURL: l.url, Repository: "old/greet", Token: secret.New(token), Backoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = moved.Preflight(t.Context(), forge.Ask{Base: "main"})
	checkError(t, "Preflight", err, "the repository old/greet", "is now called octo/greet: use that name")
	checkError(t, "ProbePullRequest", moved.ProbePullRequest(t.Context(), "main"), "turn a write into a read", "new name")
}

func TestProbePullRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		do    http.HandlerFunc
		wants []string
	}{
		{name: "allowed"},
		{name: "allowed elsewhere", do: answer(409, `{"message":"There are no changes between the head and the base"}`)},
		{name: "setting", do: answer(403, `{"message":"GitHub Actions is not permitted to create or approve pull requests."}`), wants: []string{"Allow GitHub Actions to create and approve pull requests", "/octo/greet/settings/actions"}},
		{name: "permission", do: answer(403, `{"message":"Resource not accessible by integration"}`), wants: []string{"pull-requests: write"}},
		{name: "opened", do: answer(201, `{"number":1}`), wants: []string{"into itself"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			if test.do != nil {
				l.fault("POST", "/pulls", 1, test.do)
			}
			err := l.client.ProbePullRequest(t.Context(), "main")
			if test.wants == nil {
				if err != nil {
					t.Errorf("ProbePullRequest = %v, want nil", err)
				}
			} else {
				checkError(t, "ProbePullRequest", err, test.wants...)
			}
			if got := l.PullRequests("octo", "greet"); len(got) > 0 {
				t.Errorf("PullRequests() = %+v, want none", got)
			}
		})
	}
}
