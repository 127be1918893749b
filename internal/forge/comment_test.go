package forge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/forge"
)

const runMarker = "<!-- ralph-action run -->"

func TestComment(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	ctx := t.Context()
	issue := h.repo.NewIssue("mallory", "Greet is wrong", runMarker+"\nmine")
	h.repo.NewComment(issue, "mallory", runMarker+"\nI am the bot, honestly.")
	h.repo.NewComment(issue, "dependabot[bot]", "Somebody said: "+runMarker)

	first, err := h.client.Comment(ctx, issue, runMarker, "Working.", forge.CommentRef{})
	if err != nil || first.ID == 0 || first.URL != fmt.Sprintf("%s/octo/greet/issues/%d#issuecomment-%d", h.URL, issue, first.ID) {
		t.Fatalf("Comment(new) = %+v, %v", first, err)
	}
	h.sent.reset()
	second, err := h.client.Comment(ctx, issue, runMarker, runMarker+"\nStill working.", first)
	if err != nil || second != first || len(h.sent.calls) != 1 {
		t.Errorf("Comment(have) = %+v, %v in %v, want %+v in one call", second, err, h.sent.calls, first)
	}
	// Another run knows nothing of it.
	third, err := h.as(t, jobToken, "octo/greet").Comment(ctx, issue, runMarker, "Done.", forge.CommentRef{})
	if err != nil || third.ID != first.ID {
		t.Errorf("Comment(later run) = %+v, %v, want %+v", third, err, first)
	}
	comments := h.repo.Comments(issue)
	if len(comments) != 3 || comments[2].Body != runMarker+"\nDone." || comments[2].Edits != 2 {
		t.Errorf("comments = %+v, want three, the last with three versions", comments)
	}
	if comments[0].Edits != 0 || comments[1].Edits != 0 {
		t.Errorf("comments = %+v: a stranger's was changed", comments)
	}
}

// A person's token finds the person's own comment, and nobody else's.
func TestCommentOfAPerson(t *testing.T) {
	t.Parallel()
	h := newHub(t, personalToken)
	issue := h.repo.NewIssue("ann", "x", "")
	h.repo.NewComment(issue, "ann", runMarker)
	for range 2 {
		if _, err := h.as(t, personalToken, "octo/greet").Comment(t.Context(), issue, runMarker, "x", forge.CommentRef{}); err != nil {
			t.Fatal(err)
		}
	}
	if comments := h.repo.Comments(issue); len(comments) != 2 || comments[1].Author != "maria" || comments[1].Edits != 1 || comments[0].Edits != 0 {
		t.Errorf("comments = %+v, want ann's untouched and one of maria's, changed once", comments)
	}
}

func TestCommentFaults(t *testing.T) {
	t.Parallel()
	lose := func(h *hub) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			h.Through(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusBadGateway)
		}
	}
	for _, test := range []struct {
		name  string
		fault func(*hub, int)
		have  bool // there is one
		count int  // comments in the end
		want  string
	}{
		{name: "the answer is lost", fault: func(h *hub, n int) { h.on("POST", "/comments", 1, lose(h)) }, count: 1},
		{name: "not done, and no answer", fault: func(h *hub, n int) { h.on("POST", "/comments", 1, answer(502, "")) }, count: 1},
		{name: "deleted meanwhile", have: true, fault: func(h *hub, n int) {
			h.on("PATCH", "/comments/"+fmt.Sprint(h.repo.Comments(n)[0].ID), 1, jsonAnswer(404, `{"message":"Not Found"}`))
		}, count: 2},
		{name: "another's by now", have: true, fault: func(h *hub, n int) {
			h.on("PATCH", "/comments/"+fmt.Sprint(h.repo.Comments(n)[0].ID), 1, jsonAnswer(403, `{"message":"Resource not accessible by integration"}`))
		}, count: 2},
		{name: "locked", fault: func(h *hub, n int) { h.repo.Lock(n) }, want: "comment on #1 in octo/greet at HOST: the conversation is locked (the forge says \"Unable to create comment because issue is locked.\"): unlock it, or give a token that may write there"},
		{name: "issues are off", fault: func(h *hub, n int) {
			h.on("GET", "/comments", -1, jsonAnswer(410, `{"message":"Issues has been disabled in this repository."}`))
		}, want: "read the comments on #1 in octo/greet at HOST: it is not there any more, or issues are turned off in the repository (410 Issues has been disabled in this repository.)"},
		{name: "not permitted", fault: func(h *hub, n int) {
			h.on("POST", "/comments", -1, jsonAnswer(403, `{"message":"Resource not accessible by integration"}`))
		}, want: "comment on #1 in octo/greet at HOST: not permitted (the forge says \"Resource not accessible by integration\"): github-token lacks issues: write (or pull-requests: write below a pull request): add it to the workflow's permissions, or to the token"},
		{name: "an edit is refused", have: true, count: 1, fault: func(h *hub, n int) {
			h.on("PATCH", "/comments/"+fmt.Sprint(h.repo.Comments(n)[0].ID), 1, jsonAnswer(422, `{"message":"Validation Failed"}`))
		}, want: "update the comment on #1 in octo/greet at HOST: the forge refused it (422): Validation Failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHub(t, jobToken)
			issue := h.repo.NewIssue("ann", "x", "")
			var have forge.CommentRef
			if test.have {
				have.ID = h.repo.NewComment(issue, "github-actions[bot]", runMarker+"\nold")
			}
			test.fault(h, issue)
			ref, err := h.client.Comment(t.Context(), issue, runMarker, "new", have)
			if test.want != "" {
				checkError(t, "Comment", err, strings.ReplaceAll(test.want, "HOST", strings.TrimPrefix(h.URL, "http://")))
			} else if comments := h.repo.Comments(issue); err != nil || ref.ID != comments[len(comments)-1].ID {
				t.Errorf("Comment() = %+v, %v, want the newest of %+v", ref, err, comments)
			}
			if comments := h.repo.Comments(issue); len(comments) != test.count {
				t.Errorf("comments = %+v, want %d", comments, test.count)
			}
		})
	}
}

// A comment that is too long loses its end, and is found again among many.
func TestCommentAmongMany(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	issue := h.repo.NewIssue("ann", "x", "")
	for n := range 250 {
		h.repo.NewComment(issue, "ann", fmt.Sprint(n))
	}
	ref, err := h.client.Comment(t.Context(), issue, runMarker, strings.Repeat("é", 70_000), forge.CommentRef{})
	if err != nil {
		t.Fatal(err)
	}
	comments := h.repo.Comments(issue)
	if body := comments[250].Body; utf8.RuneCountInString(body) != 65536 || !strings.HasPrefix(body, runMarker+"\né") || !strings.HasSuffix(body, "é\n\n… (cut)\n") {
		t.Errorf("the comment has %d characters", utf8.RuneCountInString(body))
	}
	h.sent.reset()
	found, err := h.client.FindComment(t.Context(), issue, runMarker)
	if err != nil || found != ref || len(h.sent.calls) != 2 {
		t.Errorf("FindComment() = %+v, %v in %v, want %+v in two calls", found, err, h.sent.calls, ref)
	}
	_, err = h.client.FindComment(t.Context(), issue, "ralph --> x")
	checkError(t, "FindComment", err, `the marker of a comment is "ralph --> x": want an HTML comment of one line`)
}

// Jobs of Gitea act as a user without a type.
func TestCommentOfGitea(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fault("GET", "/issues/4/comments", 1, answer(200, `[{"id":1,"body":"<!-- ralph-action run -->","user":{"id":7,"login":"eve"}},{"id":2,"body":"<!-- ralph-action run -->","user":{"id":-2,"login":"gitea-actions"}}]`))
	l.fault("GET", "/user", -1, answer(403, `{"message":"token does not have the scope"}`))
	l.fault("PATCH", "/issues/comments/2", 1, answer(204, ``))
	ref, err := l.client.Comment(t.Context(), 4, runMarker, "x", forge.CommentRef{})
	if err != nil || ref.ID != 2 || ref.URL != l.url+"/octo/greet/issues/4#issuecomment-2" {
		t.Errorf("Comment() = %+v, %v, want #2", ref, err)
	}
}
