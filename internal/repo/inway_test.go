package repo_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/repo"
)

// A name below, or above, that of another branch is refused before anything is
// spent: no server could take it.
func TestNameBelowAnother(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	seed := f.seed(t, map[string]string{"a.txt": "a\n"})
	git(t, seed, "push", "-q", "origin", "main:refs/heads/ralph/work")
	for _, name := range []string{"ralph/work/sub", "ralph"} {
		dir := f.clone(t, "full")
		r, err := open(t, dir, f.url, func(o *repo.Options) { o.Branch = name })
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Begin(t.Context())
		if err == nil || !strings.Contains(err.Error(), `"ralph/work" exists on the server`) {
			t.Errorf("%s: Begin = %v, want it refused", name, err)
		}
	}
}
