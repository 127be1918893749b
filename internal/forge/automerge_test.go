package forge_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
)

func TestAutoMerge(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{"": "merge", "MERGE": "merge", "SQUASH": "squash", "REBASE": "rebase"} {
		h := newHub(t, jobToken)
		done, _, err := h.client.Upsert(t.Context(), wanted())
		if err != nil {
			t.Fatal(err)
		}
		h.sent.reset()
		done, err = h.client.AutoMerge(t.Context(), done, method)
		if err != nil || !done.AutoMerge || h.repo.Pulls()[0].AutoMerge != want || len(h.sent.calls) != 1 {
			t.Errorf("AutoMerge(%q) = %+v, %v in %v; on the forge %q, want %q", method, done, err, h.sent.calls, h.repo.Pulls()[0].AutoMerge, want)
		}
		// It was asked already, and another run sees that.
		found, err := h.as(t, jobToken, "octo/greet").Look(t.Context(), "ralph/x", "main", "")
		if err != nil || !found.Open.AutoMerge {
			t.Errorf("Look() = %+v, %v, want auto-merge on", found, err)
		}
		h.sent.reset()
		if _, err := h.client.AutoMerge(t.Context(), found.Open, method); err != nil || len(h.sent.calls) != 0 {
			t.Errorf("AutoMerge(on) = %v in %v, want no call", err, h.sent.calls)
		}
		if h.repo.Pulls()[0].Merged {
			t.Errorf("it was merged")
		}
	}
}

func TestAutoMergeRefused(t *testing.T) {
	t.Parallel()
	refused := func(kind, said string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); !strings.Contains(string(body), "enablePullRequestAutoMerge") {
				http.Error(w, "another question", http.StatusTeapot)
				return
			}
			answer(200, `{"data":{"enablePullRequestAutoMerge":null},"errors":[{"type":"`+kind+`","message":"`+said+`"}]}`)(w, r)
		}
	}
	for _, test := range []struct {
		name string
		do   http.HandlerFunc
		want string
	}{
		{"not allowed", refused("UNPROCESSABLE", "Pull request Auto merge is not allowed for this repository"), `turn on auto-merge for #1 in octo/greet at HOST: the forge refused it ("Pull request Auto merge is not allowed for this repository"): turn on "Allow auto-merge" under Settings > General > Pull Requests (URL/octo/greet/settings)`},
		{"clean", refused("UNPROCESSABLE", "Pull request Pull request is in clean status"), `nothing is pending, it can be merged right now: merge it by hand, ralph never merges; to have something to wait for, require checks or reviews on the base branch`},
		{"unstable", refused("UNPROCESSABLE", "Pull request Pull request is in unstable status"), `what the base branch requires is met, and checks that it does not require have failed or are running`},
		{"unprotected", refused("UNPROCESSABLE", "Pull request Protected branch rules not configured for this branch"), `auto-merge waits for what the base branch requires, and that requires nothing: protect it with checks or reviews`},
		{"method", refused("UNPROCESSABLE", "Merge method squash merging is not allowed on this repository"), `the repository does not allow this way to merge: choose another`},
		{"draft", refused("UNPROCESSABLE", "Pull request is in draft state"), `it is a draft: mark it ready first`},
		{"forbidden", refused("FORBIDDEN", "Resource not accessible by integration"), `github-token lacks contents: write and pull-requests: write`},
		{"unknown", refused("UNPROCESSABLE", "Can't enable auto-merge for this pull request."), `("Can't enable auto-merge for this pull request."): see Settings > General > Pull Requests (URL/octo/greet/settings) and what the base branch requires`},
		{"no words", answer(200, `{"data":{"enablePullRequestAutoMerge":{"pullRequest":{"autoMergeRequest":null}}}}`), `the forge took it and changed nothing: turn it on by hand`},
		{"no API", answer(404, `Not found.`), `not found (404)`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			done, _, err := l.client.Upsert(t.Context(), wanted())
			if err != nil {
				t.Fatal(err)
			}
			l.fault("POST", "/graphql", 1, test.do)
			got, err := l.client.AutoMerge(t.Context(), done, "SQUASH")
			checkError(t, "AutoMerge", err, strings.NewReplacer("HOST", strings.TrimPrefix(l.url, "http://"), "URL", l.url).Replace(test.want))
			if got != done || got.AutoMerge {
				t.Errorf("AutoMerge() = %+v, want it as it was", got)
			}
		})
	}
}

// Forges without GitHub's GraphQL are told apart by what they lack.
func TestAutoMergeElsewhere(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(o *forge.Options) { o.GraphQLURL = "" })
	_, err := l.client.AutoMerge(t.Context(), ralph.PullRequest{Number: 1}, "")
	checkError(t, "AutoMerge(no GraphQL)", err, "turn on auto-merge for #1", "the forge has no GraphQL API")

	l = newLab(t)
	l.fault("GET", "/pulls/7", 1, answer(200, `{"number":7}`))
	_, err = l.client.AutoMerge(t.Context(), ralph.PullRequest{Number: 7}, "")
	checkError(t, "AutoMerge(no node)", err, "turn on auto-merge for #7", "turn it on by hand")

	_, err = l.client.AutoMerge(t.Context(), ralph.PullRequest{Number: 7}, "FAST")
	checkError(t, "AutoMerge(FAST)", err, `no way to merge called "FAST": want MERGE, SQUASH or REBASE`)
}
