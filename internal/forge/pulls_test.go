package forge_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
)

func TestUpsertCreatesThenUpdates(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	want := wanted()
	got, warnings, err := l.client.Upsert(t.Context(), want)
	if record := (ralph.PullRequest{Number: 1, URL: l.url + "/octo/greet/pull/1", Operation: ralph.OperationCreated}); err != nil || len(warnings) > 0 || got != record {
		t.Fatalf("Upsert(new) = %+v, %q, %v, want %+v", got, warnings, err, record)
	}

	want.Title, want.Body, want.Labels = " Fix\n greet  again ", "New body.", []string{"night", "RALPH", "", "night"}
	got, warnings, err = l.client.Upsert(t.Context(), want)
	if err != nil || len(warnings) > 0 || got.Number != 1 || got.Operation != ralph.OperationUpdated {
		t.Fatalf("Upsert(again) = %+v, %q, %v, want #1 updated", got, warnings, err)
	}
	on := l.PullRequests("octo", "greet")
	if len(on) != 1 || on[0].Title != "Fix greet again" || on[0].Body != forge.Marker+"\nNew body." || !slices.Equal(on[0].Labels, []string{"ralph", "night"}) {
		t.Errorf("PullRequests() = %+v", on)
	}

	found, err := l.client.Look(t.Context(), "ralph/x", "main", "")
	if err != nil || found.Open.Number != 1 || found.Open.Operation != ralph.OperationNone {
		t.Errorf("Look(ralph/x, main) = %+v, %v, want #1", found, err)
	}
	if found, err := l.client.Look(t.Context(), "ralph/y", "main", ""); err != nil || found.Open.Number != 0 {
		t.Errorf("Look(ralph/y, main) = %+v, %v, want none", found, err)
	}
}

// A closed pull request is left alone: new work gets a new one.
func TestUpsertAfterClose(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if _, _, err := l.client.Upsert(t.Context(), wanted()); err != nil {
		t.Fatal(err)
	}
	l.request(t, "PATCH", "/api/v3/repos/octo/greet/pulls/1", `{"state":"closed"}`)
	got, _, err := l.client.Upsert(t.Context(), wanted())
	if err != nil || got.Number != 2 || got.Operation != ralph.OperationCreated {
		t.Errorf("Upsert(after close) = %+v, %v, want #2 created", got, err)
	}
}

// request sends one request with the token, as somebody else would.
func (l *lab) request(t *testing.T, method, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, l.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s %s = %d", method, path, resp.StatusCode)
	}
}

// A fork's branch of the same name, another base, and a forge that filters
// nothing and pages are not taken for ours.
func TestUpsertIsNotConfused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.create(t, "fork")
	l.commit(t, "octo", "release", "release")
	l.request(t, "POST", pullsPath, `{"title":"fork","head":"fork:ralph/x","base":"main"}`)
	l.request(t, "POST", pullsPath, `{"title":"other base","head":"ralph/x","base":"release"}`)
	got, _, err := l.client.Upsert(t.Context(), wanted())
	if err != nil || got.Number != 3 || got.Operation != ralph.OperationCreated {
		t.Fatalf("Upsert() = %+v, %v, want #3 created", got, err)
	}

	// Now ours is the oldest but two of many, on the second page.
	for n := range 4 {
		branch := fmt.Sprintf("b%d", n)
		l.commit(t, "octo", branch, branch)
		l.request(t, "POST", pullsPath, `{"title":"t","head":"`+branch+`","base":"main"}`)
	}
	l.Fault(func(r *http.Request) bool {
		query := r.URL.Query()
		return r.Method == http.MethodGet && r.URL.Path == pullsPath && query.Get("head") != ""
	}, -1, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		query.Del("head")
		query.Del("base")
		query.Set("per_page", "3")
		r.URL.RawQuery = query.Encode()
		l.ServeHTTP(w, r)
	})
	got, _, err = l.client.Upsert(t.Context(), wanted())
	if err != nil || got.Number != 3 || got.Operation != ralph.OperationUpdated {
		t.Errorf("Upsert(unfiltered) = %+v, %v, want #3 updated", got, err)
	}
	if on := l.PullRequests("octo", "greet"); on[0].Title != "fork" || on[1].Title != "other base" {
		t.Errorf("PullRequests() = %+v, want the others untouched", on[:2])
	}
}

func TestUpsertRace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.request(t, "POST", pullsPath, `{"title":"theirs","body":"<!-- ralph-action -->b","head":"ralph/x","base":"main"}`)
	l.fault("GET", "/pulls", 1, answer(200, `[]`))
	got, warnings, err := l.client.Upsert(t.Context(), wanted())
	if err != nil || len(warnings) > 0 || got.Number != 1 || got.Operation != ralph.OperationUpdated {
		t.Errorf("Upsert(race) = %+v, %q, %v, want #1 updated", got, warnings, err)
	}
	if on := l.PullRequests("octo", "greet"); len(on) != 1 || on[0].Title != "Fix greet" {
		t.Errorf("PullRequests() = %+v, want one with our title", on)
	}
}

// The answer to the creation is lost: the second attempt finds our own.
func TestUpsertLostAnswer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fault("POST", "/pulls", 1, func(w http.ResponseWriter, r *http.Request) {
		l.ServeHTTP(httptest.NewRecorder(), r)
		w.WriteHeader(http.StatusBadGateway)
	})
	got, warnings, err := l.client.Upsert(t.Context(), wanted())
	if err != nil || len(warnings) > 0 || got.Number != 1 || got.Operation != ralph.OperationCreated {
		t.Errorf("Upsert(lost answer) = %+v, %q, %v, want #1 created", got, warnings, err)
	}
	if n := l.count("PATCH " + pullsPath + "/1"); n != 0 || len(l.PullRequests("octo", "greet")) != 1 {
		t.Errorf("%d updates and %d pull requests, want 0 and 1", n, len(l.PullRequests("octo", "greet")))
	}
}

func TestUpsertErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*forge.PullRequest)
		method string
		do     http.HandlerFunc
		wants  []string
	}{
		{name: "no title", change: func(p *forge.PullRequest) { p.Title = " \n" }, wants: []string{"title"}},
		{name: "no head", change: func(p *forge.PullRequest) { p.Head = "" }, wants: []string{"head"}},
		{name: "own base", change: func(p *forge.PullRequest) { p.Head = "main" }, wants: []string{`"main"`, "own base"}},
		{name: "no branch", change: func(p *forge.PullRequest) { p.Head = "nothing" }, wants: []string{"create the pull request nothing -> main in octo/greet", "422", "head invalid"}},
		{name: "odd errors", method: "POST", do: answer(422, `{"message":"Validation Failed","errors":"spam"}`), wants: []string{"Validation Failed: spam"}},
		{name: "exists and is hidden", method: "POST", do: answer(422, `{"message":"Validation Failed","errors":[{"message":"A pull request already exists for octo:ralph/x."}]}`), wants: []string{"already exists"}},
		{name: "no number", method: "POST", do: answer(201, `{}`), wants: []string{"names no pull request"}},
		{name: "list", method: "GET", do: answer(404, `{}`), wants: []string{"look for an open pull request", "404"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			want := wanted()
			if test.change != nil {
				test.change(&want)
			}
			if test.do != nil {
				l.fault(test.method, "/pulls", -1, test.do)
			}
			got, _, err := l.client.Upsert(t.Context(), want)
			checkError(t, "Upsert", err, test.wants...)
			if got != (ralph.PullRequest{}) {
				t.Errorf("Upsert() = %+v, want none", got)
			}
		})
	}
}

func TestUpsertWithoutCommits(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.commit(t, "octo", "same", "one") // the very commit main has
	want := wanted()
	want.Head = "same"
	_, _, err := l.client.Upsert(t.Context(), want)
	checkError(t, "Upsert", err, "same -> main")
	if !errors.Is(err, forge.ErrNoCommits) {
		t.Errorf("Upsert(no commits) = %v, want ErrNoCommits", err)
	}
}

func TestNotPermitted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fault("POST", "/pulls", 1, answer(403, `{"message":"GitHub Actions is not permitted to create or approve pull requests.","status":"403"}`))
	want := wanted()
	_, _, err := l.client.Upsert(t.Context(), want)
	checkError(t, "Upsert", err, "Allow GitHub Actions to create and approve pull requests", l.url+"/octo/greet/settings/actions", l.url+"/octo/greet/compare/main...ralph/x")
	var refused *forge.PermissionError
	if !errors.As(err, &refused) || refused.Setting == "" || refused.CompareURL != l.client.CompareURL(want) || refused.Permission != "" {
		t.Errorf("Upsert = %#v, want a PermissionError with the setting and the compare link", err)
	}
	if n := l.count("POST " + pullsPath); n != 1 {
		t.Errorf("%d attempts, want 1: a refusal does not change", n)
	}
}

func TestLabelsNeverLoseThePullRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		do    http.HandlerFunc
		wants []string
	}{
		{"forbidden", answer(403, `{"message":"Resource not accessible by integration"}`), []string{"add labels to #1 in octo/greet", "pull-requests: write", "issues: write"}},
		{"not created by the forge", answer(200, `[{"name":"Ralph"}]`), []string{`"night"`, "create them"}},
		{"refused", answer(422, `{"message":"Validation Failed","errors":[{"field":"name","code":"too_long"}]}`), []string{"422", "name too_long"}},
		{"broken", answer(500, ``), []string{"add labels to #1", "answered 500", "tried 5 times"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.fault("POST", "/labels", -1, test.do)
			want := wanted()
			want.Labels = []string{"ralph", "night"}
			got, warnings, err := l.client.Upsert(t.Context(), want)
			if err != nil || got.Number != 1 || len(warnings) != 1 {
				t.Fatalf("Upsert() = %+v, %q, %v, want #1 and one warning", got, warnings, err)
			}
			checkError(t, "warning", errors.New(warnings[0]), test.wants...)
			if strings.Contains(warnings[0], `"ralph"`) {
				t.Errorf("warning = %q, want only the label that is missing", warnings[0])
			}
		})
	}
}

// The labels go as an object, the only form every forge takes, and a forge
// that does not know the new pull request yet is asked again.
func TestLabelsRequest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var body string
	l.fault("POST", "/labels", 1, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body = string(bytes.TrimSpace(raw))
		answer(422, `{"message":"Validation Failed","errors":["Could not resolve to a node with the global id of 'PR_1'."]}`)(w, r)
	})
	_, warnings, err := l.client.Upsert(t.Context(), wanted())
	if err != nil || len(warnings) > 0 {
		t.Errorf("Upsert() = %q, %v, want no warning", warnings, err)
	}
	if want := `{"labels":["ralph"]}`; body != want {
		t.Errorf("labels were sent as %s, want %s", body, want)
	}
	if on := l.PullRequests("octo", "greet"); !slices.Equal(on[0].Labels, []string{"ralph"}) {
		t.Errorf("Labels = %q, want ralph", on[0].Labels)
	}
}

func TestLinkStaysOnTheForge(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"https://evil.example/pull/1", "javascript:alert(1)", "", "::", "%zz"} {
		l := newLab(t)
		l.fault("POST", "/pulls", 1, answer(201, fmt.Sprintf(`{"number":7,"node_id":"PR","html_url":%q}`, link)))
		want := wanted()
		want.Labels = nil
		got, _, err := l.client.Upsert(t.Context(), want)
		if expected := l.url + "/octo/greet/pull/7"; err != nil || got.URL != expected {
			t.Errorf("Upsert(html_url %q) = %+v, %v, want %s", link, got, err, expected)
		}
	}
}

func TestLongTitle(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	want := wanted()
	want.Title = strings.Repeat("ä", 300)
	if _, _, err := l.client.Upsert(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if got, want := l.PullRequests("octo", "greet")[0].Title, strings.Repeat("ä", 249)+"…"; got != want {
		t.Errorf("title = %q, want %q", got, want)
	}
}

// No pull request of a new branch is looked for, and one that appeared meanwhile is
// found all the same.
func TestUpsertOfANewBranch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	want := wanted()
	want.Labels, want.NewHead = nil, true
	for i, operation := range []ralph.Operation{ralph.OperationCreated, ralph.OperationUpdated} {
		want.Title = fmt.Sprint("Title ", i)
		before := len(l.Calls())
		got, warnings, err := l.client.Upsert(t.Context(), want)
		calls := l.Calls()[before:]
		if err != nil || len(warnings) > 0 || got.Number != 1 || got.Operation != operation {
			t.Errorf("Upsert() = %+v, %q, %v, want #1 %s", got, warnings, err, operation)
		}
		if i == 0 && !slices.Equal(calls, []string{"POST /api/v3/repos/octo/greet/pulls"}) {
			t.Errorf("Upsert() made the calls %q, want one", calls)
		}
	}
}

// Title and body of ours are written anew, and nothing else; somebody else's are left
// alone.
func TestUpdate(t *testing.T) {
	t.Parallel()
	h := newHub(t, appToken)
	if _, _, err := h.client.Upsert(t.Context(), forge.PullRequest{Title: "Draft", Body: "one\n", Head: "ralph/x", Base: "main", Draft: true}); err != nil {
		t.Fatal(err)
	}
	want := forge.PullRequest{Title: "Other", Body: "two\n", Head: "ralph/x", Base: "main", Labels: []string{"ralph"}, Revise: func(title, body string) (string, string) {
		return title + "!", body + "three\n"
	}}
	h.sent.reset()
	if err := h.client.Update(t.Context(), 1, want); err != nil || len(h.sent.calls) != 2 {
		t.Errorf("Update() = %v in %v, want two calls", err, h.sent.calls)
	}
	if p := h.repo.Pulls()[0]; p.Title != "Draft!" || !strings.HasSuffix(p.Body, "one\nthree\n") || !p.Draft || len(p.Labels) > 0 {
		t.Errorf("the pull request is %+v", p)
	}
	number := h.repo.NewPull("ann", "ralph/x", "other", "Ann's", "Ann wrote this.")
	if err := h.client.Update(t.Context(), number, want); err != nil {
		t.Error(err)
	}
	if p := h.repo.Pulls()[1]; p.Title != "Ann's" || p.Body != "Ann wrote this." {
		t.Errorf("ann's pull request is %+v", p)
	}
}
