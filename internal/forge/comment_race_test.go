package forge_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/org/ralph-action/internal/forge"
)

// Two runs that write their first comment at the same time leave one: whoever comes
// second takes the older one over.
func TestCommentsThatRace(t *testing.T) {
	t.Parallel()
	h := newHub(t, jobToken)
	issue := h.repo.NewIssue("ann", "x", "")
	var both sync.WaitGroup
	both.Add(2)
	h.Before(func(r *http.Request) {
		if r.Method == http.MethodPost {
			both.Done()
			both.Wait() // each has looked, and found none
		}
	})
	refs := make(chan forge.CommentRef, 2)
	for _, text := range []string{"one", "two"} {
		client := h.as(t, jobToken, "octo/greet")
		go func() {
			ref, err := client.Comment(t.Context(), issue, runMarker, text, forge.CommentRef{})
			if err != nil {
				t.Error(err)
			}
			refs <- ref
		}()
	}
	first, second := <-refs, <-refs
	comments := h.repo.Comments(issue)
	if len(comments) != 1 || first != second || first.ID != comments[0].ID {
		t.Errorf("comments = %+v, known as %+v and %+v, want one", comments, first, second)
	}
}
