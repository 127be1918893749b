package forge_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo"
	"github.com/org/ralph-action/internal/forge"
)

func TestDraftAndBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	want := wanted()
	for i, draft := range []bool{true, true, false, false, true} {
		want.Draft = draft
		got, warnings, err := l.client.Upsert(t.Context(), want)
		on := l.PullRequests("octo", "greet")
		if err != nil || len(warnings) > 0 || got.Draft != draft || on[0].Draft != draft || on[0].Title != want.Title {
			t.Errorf("step %d: Upsert(draft %v) = %+v, %q, %v; on the forge %+v", i, draft, got, warnings, err, on[0])
		}
	}
	if got := l.count("POST /api/graphql"); got != 2 {
		t.Errorf("%d conversions, want 2", got)
	}
}

func TestNewDraftLeavesAnExistingOneAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	want := wanted()
	want.NewDraft, want.Draft = true, true
	if got, _, err := l.client.Upsert(t.Context(), want); err != nil || !got.Draft {
		t.Fatalf("Upsert() = %+v, %v; want a new draft", got, err)
	}
	want.NewDraft, want.Draft = false, false
	if got, _, err := l.client.Upsert(t.Context(), want); err != nil || got.Draft {
		t.Fatalf("Upsert() = %+v, %v; want it ready", got, err)
	}
	want.NewDraft, want.Draft = true, true
	if got, _, err := l.client.Upsert(t.Context(), want); err != nil || got.Draft || l.PullRequests("octo", "greet")[0].Draft {
		t.Errorf("Upsert() = %+v, %v; want it left ready", got, err)
	}
}

// What cannot be converted is a warning, and the title tells.
func TestDraftCannotBeConverted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		do     http.HandlerFunc
		change func(*forge.Options)
		wants  []string
	}{
		{"forbidden", answer(200, `{"data":null,"errors":[{"type":"FORBIDDEN","message":"Resource not accessible by integration"}]}`), nil, []string{"contents: write and pull-requests: write", "Resource not accessible"}},
		{"refused", answer(200, `{"errors":[{"type":"UNPROCESSABLE","message":"no\ndrafts"}]}`), nil, []string{"no drafts"}},
		{"ignored", answer(200, `{"data":{"convertPullRequestToDraft":{"pullRequest":{"isDraft":false}},"markPullRequestReadyForReview":null}}`), nil, []string{"changed nothing"}},
		{"nothing there", answer(404, `{"message":"Not Found"}`), nil, []string{"not found (404)"}},
		{"no JSON", answer(200, `<html>`), nil, []string{"not what the API promises"}},
		{"no address", nil, func(o *forge.Options) { o.GraphQLURL = "" }, []string{"GITHUB_GRAPHQL_URL"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			change := test.change
			if change == nil {
				change = func(*forge.Options) {}
			}
			l := newLab(t, change)
			if test.do != nil {
				l.fault("POST", "/graphql", -1, test.do)
			}
			if _, _, err := l.client.Upsert(t.Context(), wanted()); err != nil {
				t.Fatal(err)
			}
			want := wanted()
			want.Draft = true
			got, warnings, err := l.client.Upsert(t.Context(), want)
			if err != nil || got.Number != 1 || got.Draft || len(warnings) != 1 {
				t.Fatalf("Upsert(draft) = %+v, %q, %v, want #1, no draft and one warning", got, warnings, err)
			}
			checkError(t, "warning", errors.New(warnings[0]), append(test.wants, "convert pull request #1 to a draft in octo/greet")...)
			on := l.PullRequests("octo", "greet")[0]
			if on.Title != "WIP: Fix greet" || on.Body != forge.Marker+"\n"+want.Body {
				t.Errorf("PullRequests() = %+v, want WIP: in the title and the body kept", on)
			}

			got, warnings, err = l.client.Upsert(t.Context(), wanted())
			if on := l.PullRequests("octo", "greet")[0]; err != nil || len(warnings) > 0 || got.Draft || on.Title != "Fix greet" {
				t.Errorf("Upsert(ready) = %+v, %q, %v; title %q, want none left of the mark", got, warnings, err, on.Title)
			}
		})
	}
}

// A draft that cannot be made ready stays one and is a warning.
func TestDraftCannotBeMadeReady(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	want := wanted()
	want.Draft = true
	if _, _, err := l.client.Upsert(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	l.fault("POST", "/graphql", -1, answer(200, `{"errors":[{"type":"FORBIDDEN","message":"no"}]}`))
	got, warnings, err := l.client.Upsert(t.Context(), wanted())
	if err != nil || !got.Draft || len(warnings) != 1 || !strings.Contains(warnings[0], "mark pull request #1 ready for review") {
		t.Errorf("Upsert(ready) = %+v, %q, %v, want a draft and one warning", got, warnings, err)
	}
}

// The forge does not know the new pull request yet.
func TestDraftNodeUnknownYet(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if _, _, err := l.client.Upsert(t.Context(), wanted()); err != nil {
		t.Fatal(err)
	}
	l.fault("POST", "/graphql", 2, answer(200, `{"errors":[{"type":"NOT_FOUND","message":"Could not resolve to a node with the global id of 'PR_1_1'"}]}`))
	want := wanted()
	want.Draft = true
	got, warnings, err := l.client.Upsert(t.Context(), want)
	if err != nil || !got.Draft || len(warnings) > 0 {
		t.Errorf("Upsert(draft) = %+v, %q, %v, want a draft", got, warnings, err)
	}
}

// A repository whose plan has no drafts.
func TestDraftNotInThePlan(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fault("POST", "/pulls", 1, answer(422, `{"message":"Draft pull requests are not supported in this repository."}`))
	want := wanted()
	want.Draft = true
	got, warnings, err := l.client.Upsert(t.Context(), want)
	if err != nil || got.Number != 1 || got.Draft || len(warnings) != 1 || !strings.Contains(warnings[0], "no draft pull requests") {
		t.Errorf("Upsert(draft) = %+v, %q, %v, want #1 and one warning", got, warnings, err)
	}
	if on := l.PullRequests("octo", "greet")[0]; on.Title != "WIP: Fix greet" {
		t.Errorf("title = %q, want WIP:", on.Title)
	}
	if n := l.count("POST /api/graphql"); n != 0 {
		t.Errorf("%d conversions, want 0", n)
	}
}

// byTitle plays a forge of Gitea's kind: no node ids, no GraphQL, a draft is
// what is called so.
type byTitle struct{ inner *demo.Forge }

func (b byTitle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/graphql") {
		http.Error(w, "Not found.", http.StatusNotFound)
		return
	}
	recorder := httptest.NewRecorder()
	b.inner.ServeHTTP(recorder, r)
	var body any
	if err := json.Unmarshal(recorder.Body.Bytes(), &body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	adapt(body)
	w.WriteHeader(recorder.Code)
	_ = json.NewEncoder(w).Encode(body)
}

func adapt(body any) {
	switch v := body.(type) {
	case []any:
		for _, one := range v {
			adapt(one)
		}
	case map[string]any:
		delete(v, "node_id")
		if title, ok := v["title"].(string); ok {
			v["draft"] = strings.HasPrefix(title, "WIP:")
		}
	}
}

func TestDraftByTitle(t *testing.T) {
	t.Parallel()
	embedded, err := demo.NewForge(t.TempDir(), token)
	if err != nil {
		t.Fatal(err)
	}
	l := newLabAt(t, embedded, byTitle{embedded})
	want := wanted()
	want.Labels = nil
	var titles []string
	for i, draft := range []bool{true, true, false, true} {
		want.Draft = draft
		got, warnings, err := l.client.Upsert(t.Context(), want)
		if err != nil || len(warnings) > 0 || got.Draft != draft {
			t.Errorf("step %d: Upsert(draft %v) = %+v, %q, %v", i, draft, got, warnings, err)
		}
		titles = append(titles, l.PullRequests("octo", "greet")[0].Title)
	}
	if want := []string{"WIP: Fix greet", "WIP: Fix greet", "Fix greet", "WIP: Fix greet"}; !slices.Equal(titles, want) {
		t.Errorf("titles = %q, want %q", titles, want)
	}
	// Creating takes a second call, for the title; each update takes two.
	if calls := l.Calls(); len(calls) != 3+2+2+2 {
		t.Errorf("%d calls, want 9: %q", len(calls), calls)
	}

	want.Title, want.Draft = "WIP: mine", false
	got, warnings, err := l.client.Upsert(t.Context(), want)
	if err != nil || !got.Draft || len(warnings) != 1 || !strings.Contains(warnings[0], "still a draft") {
		t.Errorf("Upsert(ready, WIP: in the user's title) = %+v, %q, %v, want one warning", got, warnings, err)
	}
}
