package repo

import (
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/org/ralph-action/internal/repo/watch"
)

// rewrites is how often guardrails have to rewrite a file that no turn touched
// before it counts as one that they always rewrite, like a report with the time in it.
const rewrites = 2

// work is what was changed up to tree, but for caches, and for what guardrails made
// or keep rewriting.
func (r *Repo) work(tree plumbing.Hash) (watch.Work, error) {
	var w watch.Work
	changes, err := r.objects.Store.Diff(r.line.startTree, tree, nil)
	for _, ch := range changes {
		if r.untrackedCache(ch.Path) == "" && !r.leftByGuardrail(ch) && r.line.rewritten[ch.Path] < rewrites {
			w.Add(ch.Path, holds(ch.New))
		}
	}
	return w, err
}
