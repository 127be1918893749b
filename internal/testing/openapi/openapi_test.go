package openapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/testing/openapi"
)

func load(t *testing.T) *openapi.Description {
	t.Helper()
	d, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCheck(t *testing.T) {
	t.Parallel()
	d := load(t)
	const repo = "/repos/octo/greet"
	pulls := `{"title":"t","head":"ralph/x","base":"main","draft":true,"maintainer_can_modify":true}`
	for _, test := range []struct {
		name  string
		e     openapi.Exchange
		wants []string // none: it passes
	}{
		{"plain", openapi.Exchange{Method: "GET", Path: repo + "/git/ref/heads/ralph/x", Status: 200, Answer: []byte(`{"ref":"refs/heads/ralph/x","node_id":"x","url":"https://h/x","object":{"type":"commit","sha":"0123456789012345678901234567890123456789","url":"https://h/x"}}`)}, nil},
		{"escaped", openapi.Exchange{Method: "GET", Path: repo + "/branches/ralph%2Fx", Status: 404}, nil},
		{"create", openapi.Exchange{Method: "POST", Path: repo + "/pulls", Request: []byte(pulls), Status: 422}, nil},
		{"no such operation", openapi.Exchange{Method: "GET", Path: repo + "/nothing", Status: 200}, []string{"no such operation"}},
		{"no such method", openapi.Exchange{Method: "PUT", Path: repo + "/pulls/1", Status: 200}, []string{"it has GET ", "PATCH /repos/{owner}/{repo}/pulls/{pull_number}"}},
		{"mistyped property", openapi.Exchange{Method: "POST", Path: repo + "/pulls", Request: []byte(strings.Replace(pulls, "draft", "drafft", 1)), Status: 422}, []string{"drafft"}},
		{"mistyped property inside", openapi.Exchange{Method: "POST", Path: repo + "/git/trees", Request: []byte(`{"tree":[{"path":"a","mode":"100644","typ":"blob","sha":null}]}`), Status: 422}, []string{"tree/0", "typ"}},
		{"mode", openapi.Exchange{Method: "POST", Path: repo + "/git/trees", Request: []byte(`{"tree":[{"path":"a","mode":"100600"}]}`), Status: 422}, []string{"tree/0/mode"}},
		{"wrong type", openapi.Exchange{Method: "POST", Path: repo + "/pulls", Request: []byte(strings.Replace(pulls, "true", `"yes"`, 1)), Status: 422}, []string{"draft"}},
		{"missing property", openapi.Exchange{Method: "POST", Path: repo + "/pulls", Request: []byte(`{"title":"t","base":"main"}`), Status: 422}, []string{"head"}},
		{"missing body", openapi.Exchange{Method: "POST", Path: repo + "/pulls", Status: 422}, []string{"body is missing"}},
		{"body where none is", openapi.Exchange{Method: "GET", Path: repo, Request: []byte(`{}`), Status: 404}, []string{"no body"}},
		{"no JSON", openapi.Exchange{Method: "POST", Path: repo + "/pulls", Request: []byte(`{`), Status: 422}, []string{"no JSON"}},
		{"two", openapi.Exchange{Method: "POST", Path: repo + "/pulls", Request: []byte(pulls + pulls), Status: 422}, []string{"goes on"}},
		{"form", openapi.Exchange{Method: "POST", Path: repo + "/pulls", RequestType: "application/x-www-form-urlencoded", Request: []byte(pulls), Status: 422}, []string{"content type"}},
		{"query", openapi.Exchange{Method: "GET", Path: repo + "/pulls", Query: "state=open&per_page=100&page=2&head=octo%3Ax&sort=long-running", Status: 304}, nil},
		{"mistyped parameter", openapi.Exchange{Method: "GET", Path: repo + "/pulls", Query: "perpage=100", Status: 304}, []string{`no "perpage"`}},
		{"parameter's value", openapi.Exchange{Method: "GET", Path: repo + "/pulls", Query: "state=opened", Status: 304}, []string{"query: state", "opened"}},
		{"parameter's type", openapi.Exchange{Method: "GET", Path: repo + "/pulls/one", Status: 404}, []string{"path: pull_number", "one"}},
		{"status", openapi.Exchange{Method: "POST", Path: repo + "/pulls", Request: []byte(pulls), Status: 200, Answer: []byte(`{}`)}, []string{"never answers 200", "201"}},
		{"answer too short", openapi.Exchange{Method: "GET", Path: repo + "/commits/main/status", Status: 200, Answer: []byte(`{"state":"pending"}`)}, []string{"answer of", "statuses"}},
		{"enum", openapi.Exchange{Method: "GET", Path: "/repos/octo/greet/collaborators/a/permission", Status: 200, Answer: []byte(`{"permission":1,"role_name":"read","user":null}`)}, []string{"permission"}},
		{"body where none comes", openapi.Exchange{Method: "DELETE", Path: repo + "/git/refs/heads/a/b", Status: 204, Answer: []byte(`{}`)}, []string{"without a body"}},
		{"broken forge", openapi.Exchange{Method: "GET", Path: repo, Status: 502, Answer: []byte(`<html>`)}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := d.Check(test.e)
			if (err == nil) != (len(test.wants) == 0) {
				t.Fatalf("Check(%+v) = %v, want %q", test.e, err, test.wants)
			}
			for _, want := range test.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Check(%+v) = %v, want %q in it", test.e, err, want)
				}
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("Check(%+v) = %d bytes, want what a person reads", test.e, len(err.Error()))
			}
		})
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	d := load(t)
	for _, test := range []struct {
		path, want string
		covered    bool
	}{
		{"/repos/octo/greet", "/repos/octo/greet", true},
		{"/api/v3/repos/octo/greet", "/repos/octo/greet", true},
		{"/api/v3/whatever", "/whatever", true},
		{"/api/v3/graphql", "/graphql", false},
		{"/api/graphql", "/api/graphql", false},
		{"/octo/greet.git/info/refs", "/octo/greet.git/info/refs", false},
	} {
		if got, covered := d.Covers(test.path); got != test.want || covered != test.covered {
			t.Errorf("Covers(%s) = %s, %v, want %s, %v", test.path, got, covered, test.want, test.covered)
		}
	}
}

// An example with a value of the test's own is what a test server answers with.
func TestExample(t *testing.T) {
	t.Parallel()
	got := openapi.Example(t, "GET /repos/{owner}/{repo}/pulls/{pull_number}", http.StatusOK)
	got["number"] = 7
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := load(t).Check(openapi.Exchange{Method: "GET", Path: "/repos/octo/greet/pulls/7", Status: 200, Answer: raw}); err != nil {
		t.Error(err)
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := openapi.Load(); err != nil {
			b.Fatal(err)
		}
	}
}
