package forge_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/forge"
	"github.com/org/ralph-action/internal/ralph"
)

// edit adds a file to the branch work, which begins at main.
func edit(t *testing.T, h *hub, name string) {
	t.Helper()
	if err := h.repo.Edit("work", name, &name); err != nil {
		t.Fatal(err)
	}
}

// All pull requests of a branch, in one call, and what of them concerns one base.
func TestHistory(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	ctx := t.Context()
	edit(t, h, "w.txt")
	h.repo.NewPull("ann", "work", "main", "first", "by hand")
	head := h.repo.Branch("work")
	if _, err := h.repo.SquashMerge(1); err != nil {
		t.Fatal(err)
	}
	edit(t, h, "more.txt")
	h.repo.NewPull("ann", "work", "main", "second", forge.Marker)
	h.sent.reset()
	all, err := h.client.History(ctx, "work", "")
	if err != nil || len(h.sent.calls) != 1 {
		t.Fatalf("History() = %v in %v, want one call", err, h.sent.calls)
	}
	if len(all.Open) != 1 || all.Open[0].Number != 2 || all.Open[0].Base != "main" || all.Open[0].Foreign {
		t.Errorf("History().Open = %+v, want #2", all.Open)
	}
	if len(all.Closed) != 1 || all.Closed[0].Number != 1 || all.Closed[0].HeadSHA != head || !all.Closed[0].Merged || all.Closed[0].Follows || all.Closed[0].Body != "by hand" {
		t.Errorf("History().Closed = %+v, want #1, merged at %s", all.Closed, head)
	}
	if to := all.To("main"); to.Open.Number != 2 || to.Closed.Number != 0 {
		t.Errorf("To(main) = %+v, want #2 open", to)
	}
	if to := all.To("release"); to.Open.Number != 0 || to.Open.Operation != ralph.OperationNone || to.Closed.Number != 0 {
		t.Errorf("To(release) = %+v, want none", to)
	}
	merged, err := h.client.MergedWith(ctx, head)
	if err != nil || len(merged) != 1 || merged[0].Number != 1 || merged[0].Base != "main" {
		t.Errorf("MergedWith(%s) = %+v, %v, want #1", head, merged, err)
	}
	if merged, err := h.client.MergedWith(ctx, h.repo.Branch("work")); err != nil || len(merged) != 0 {
		t.Errorf("MergedWith(the open one) = %+v, %v, want none", merged, err)
	}
}

// A forge without the endpoint, or that does not know the commit, tells of none.
func TestMergedWithIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 409, 422} {
		l := newLab(t)
		l.fault("GET", "/commits/", 1, answer(status, `{"message":"no"}`))
		if merged, err := l.client.MergedWith(t.Context(), "abc"); err != nil || len(merged) != 0 {
			t.Errorf("%d: MergedWith() = %+v, %v, want none", status, merged, err)
		}
	}
}

// One that somebody retargeted is updated where it is; one that is another's is not.
func TestRetargeted(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	ctx := t.Context()
	h.commit(t, h.repo, "release", "r")
	want := wanted()
	want.Same = func(body string) bool { return strings.Contains(body, "for main") }
	want.Body = "for main"
	if _, _, err := h.client.Upsert(ctx, want); err != nil {
		t.Fatal(err)
	}
	if err := h.repo.Retarget(1, "release"); err != nil {
		t.Fatal(err)
	}
	done, warnings, err := h.client.Upsert(ctx, want)
	if err != nil || done.Number != 1 || done.Operation != ralph.OperationUpdated || len(warnings) != 1 || !strings.Contains(warnings[0], "#1 goes to release by now, and not to main") {
		t.Errorf("Upsert(retargeted) = %+v, %q, %v, want #1 updated", done, warnings, err)
	}
	if p := h.repo.Pulls(); len(p) != 1 || p[0].Base != "release" {
		t.Errorf("pull requests = %+v, want one into release", p)
	}
	want.Same = func(string) bool { return false }
	if done, _, err := h.client.Upsert(ctx, want); err != nil || done.Number != 2 || done.Operation != ralph.OperationCreated {
		t.Errorf("Upsert(another one) = %+v, %v, want #2 created", done, err)
	}
}

// Title and body of an open one are made of what it has; a draft's prefix is no part
// of a title where it is the forge's way to mark drafts.
func TestRevise(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	ctx := t.Context()
	want := wanted()
	want.Revise = func(title, body string) (string, string) {
		return title + ", kept", strings.ReplaceAll(body, forge.Marker+"\n", "") + " again"
	}
	if _, _, err := h.client.Upsert(ctx, want); err != nil {
		t.Fatal(err)
	}
	if p := h.repo.Pulls()[0]; p.Title != want.Title {
		t.Errorf("title = %q, want %q: there was nothing to revise", p.Title, want.Title)
	}
	if _, _, err := h.client.Upsert(ctx, want); err != nil {
		t.Fatal(err)
	}
	if p := h.repo.Pulls()[0]; p.Title != want.Title+", kept" || !strings.HasPrefix(p.Body, forge.Marker) || !strings.HasSuffix(p.Body, " again") {
		t.Errorf("the pull request is %q, %q, want both revised", p.Title, p.Body)
	}
	for title, plain := range map[string]string{"WIP: x": "x", "wip:x": "x", "WIPER": "WIPER", "": "", "x WIP: y": "x WIP: y"} {
		if got := forge.PlainTitle(title); got != plain {
			t.Errorf("PlainTitle(%q) = %q, want %q", title, got, plain)
		}
	}
}

// The one that was open was merged at this very tip: there is nothing to propose.
func TestMergedSinceItWasLookedAt(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	ctx := t.Context()
	edit(t, h, "w.txt")
	want := wanted()
	want.Head = "work"
	first, _, err := h.client.Upsert(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	want.Last, want.HeadSHA = first.Number, h.repo.Branch("work")
	if _, err := h.repo.SquashMerge(1); err != nil {
		t.Fatal(err)
	}
	h.sent.reset()
	if _, _, err := h.client.Upsert(ctx, want); !errors.Is(err, forge.ErrNoCommits) || len(h.sent.calls) != 2 {
		t.Errorf("Upsert() = %v in %v, want %v after two calls", err, h.sent.calls, forge.ErrNoCommits)
	}
	edit(t, h, "more.txt")
	want.HeadSHA = h.repo.Branch("work")
	if done, _, err := h.client.Upsert(ctx, want); err != nil || done.Number != 2 || done.Operation != ralph.OperationCreated {
		t.Errorf("Upsert(more) = %+v, %v, want #2 created", done, err)
	}
	h.on(http.MethodGet, "/pulls/1", 1, jsonAnswer(404, `{"message":"Not Found"}`))
	if err := h.repo.ClosePull(2); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.client.Upsert(ctx, want); err == nil || !strings.Contains(err.Error(), "read pull request #1") {
		t.Errorf("Upsert(cannot be read) = %v, want that said", err)
	}
}
