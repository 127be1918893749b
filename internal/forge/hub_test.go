package forge_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/testing/fakegithub"
)

// hub is a GitHub that checks every request against GitHub's own description,
// with octo/greet, whose branch ralph/x is one commit ahead of main.
type hub struct {
	*fakegithub.Forge
	repo   *fakegithub.Repository
	client *forge.Client
	sent   *sent
}

// sent lists the requests of a hub's clients, the answered and the faulty.
type sent struct {
	mu    sync.Mutex
	calls []string
}

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.calls = append(s.calls, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

func (s *sent) reset() { s.mu.Lock(); s.calls = nil; s.mu.Unlock() }

// jobToken and personalToken are tokens of the hub.
const (
	jobToken      = "ghs_jobtoken0123456789"
	appToken      = "ghs_apptoken0123456789"
	personalToken = "ghp_personal0123456789"
)

func newHub(t *testing.T, token string) *hub {
	t.Helper()
	f := fakegithub.New(t, fakegithub.Options{})
	f.AddToken(fakegithub.Token{Value: jobToken})
	f.AddToken(fakegithub.Token{Value: appToken, Login: "night-shift[bot]"})
	f.AddToken(fakegithub.Token{Value: personalToken, Login: "maria"})
	f.AddUser("mallory")
	repo, err := f.NewRepository("octo", "greet")
	if err != nil {
		t.Fatal(err)
	}
	repo.SetPermission("maria", "write")
	repo.SetPermission("ann", "write")
	repo.SetPermission("bob", "read")
	repo.AddTeam("core")
	repo.AddMilestone(3, "v1")
	h := &hub{Forge: f, repo: repo, sent: new(sent)}
	h.commit(t, repo, "main", "one")
	h.commit(t, repo, "ralph/x", "two")
	h.client = h.as(t, token, "octo/greet")
	return h
}

func (h *hub) commit(t *testing.T, repo *fakegithub.Repository, branch, content string) string {
	t.Helper()
	sha, err := repo.Commit(branch, "Set "+content, map[string]gitserver.File{"a.txt": {Content: content}})
	if err != nil {
		t.Fatal(err)
	}
	return sha
}

func (h *hub) as(t *testing.T, token, repository string) *forge.Client {
	t.Helper()
	client, err := forge.New(forge.Options{
		APIURL: h.APIURL(), ServerURL: h.URL, GraphQLURL: h.GraphQLURL(), Repository: repository,
		Token: secret.New(token), UserAgent: "test", Backoff: time.Millisecond, Transport: h.sent,
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// on answers the next calls of a method to a path with this ending.
func (h *hub) on(method, ending string, times int, do http.HandlerFunc) {
	h.Fault(func(r *http.Request) bool { return r.Method == method && strings.HasSuffix(r.URL.Path, ending) }, times, do)
}

func jsonAnswer(status int, body string) http.HandlerFunc {
	return answer(status, body, "Content-Type", "application/json")
}
