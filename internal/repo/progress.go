package repo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// progress identifies a set of changes: what was changed since the run began and is the
// work of an agent. The same ones have the same id.
type progress struct {
	list strings.Builder
}

func (w *progress) add(path, is string) { fmt.Fprintf(&w.list, "%s\x00%s\x00", path, is) }

func (w *progress) none() bool { return w.list.Len() == 0 }

func (w *progress) id() string {
	sum := sha256.Sum256([]byte(w.list.String()))
	return hex.EncodeToString(sum[:])
}

// rewrites is how often guardrails have to rewrite a file that no turn touched
// before it counts as one that they always rewrite, like a report with the time in it.
const rewrites = 2

// work is what was changed up to tree, but for caches, and for what guardrails made
// or keep rewriting.
func (r *Repo) work(tree plumbing.Hash) (progress, error) {
	var w progress
	changes, err := r.store.Diff(r.line.startTree, tree, nil)
	for _, ch := range changes {
		if r.untrackedCache(ch.Path) == "" && !r.leftByGuardrail(ch) && r.line.rewritten[ch.Path] < rewrites {
			w.add(ch.Path, holds(ch.New))
		}
	}
	return w, err
}

// work is the same for a workspace that is only looked at, where guardrails are
// not told from agents.
func (w *Watcher) work(ctx context.Context, tree string) (progress, error) {
	var all progress
	if tree == w.start.Tree {
		return all, nil
	}
	out, err := w.r.out(ctx, nil, "diff-tree", "-r", "-z", "--no-renames", w.start.Tree, tree)
	if err != nil {
		return all, err
	}
	tracked := map[string]bool{} // caches of which the repository holds something
	fields := strings.Split(out, "\x00")
	for i := 0; i+1 < len(fields); i += 2 { // ":100644 100644 <id> <id> M" and the path
		is, path := fields[i], fields[i+1]
		cache := ""
		if w.r.opt.Cache != nil {
			cache = w.r.opt.Cache(path)
		}
		if cache != "" {
			held, known := tracked[cache]
			if !known {
				found, err := w.r.out(ctx, nil, "--literal-pathspecs", "ls-tree", "-z", "--full-tree", "--name-only", "HEAD", "--", cache)
				held = err != nil || found != "" // without a commit nothing is tracked
				tracked[cache] = held
			}
			if !held {
				continue
			}
		}
		all.add(path, is)
	}
	return all, nil
}
