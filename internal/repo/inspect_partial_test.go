package repo_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/inspection"
)

// A checkout of some folders (actions/checkout with sparse-checkout) has no contents of
// the others: what a branch changed there is fetched with few requests, not one by one.
func TestContentsComeTogetherFromTheServer(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.config(t, "uploadpack.allowFilter", "true")
	f.config(t, "uploadpack.allowAnySHA1InWant", "true")
	files := map[string]string{"in/x": "x\n"}
	for i := range 20 {
		files[fmt.Sprint("out/f", i)] = fmt.Sprint("old ", i)
	}
	seed := f.seed(t, files)
	git(t, seed, "checkout", "-q", "-b", "ralph/work")
	for name := range files {
		write(t, filepath.Join(seed, name), "new "+name)
	}
	commitAll(t, seed, "somebody's work")
	git(t, seed, "push", "-q", "origin", "ralph/work")
	dir := filepath.Join(t.TempDir(), "sparse")
	git(t, filepath.Dir(dir), "clone", "-q", "--depth=1", "--filter=blob:none", "--sparse", "-b", "ralph/work", "file://"+f.dir, dir)
	git(t, dir, "sparse-checkout", "set", "in")
	git(t, dir, "remote", "set-url", "origin", f.url)

	read := 0
	r := begin(t, dir, f.url, func(o *repo.Options) {
		o.Base = "main"
		o.Inspect = func(ctx context.Context, in inspection.Request) ([]ralph.Finding, error) {
			for _, c := range in.Total {
				for _, content := range []func(context.Context) ([]byte, error){c.Old, c.New} {
					if _, err := content(ctx); err != nil {
						return nil, fmt.Errorf("%s: %w", c.Path, err)
					}
					read++
				}
			}
			return nil, nil
		}
	})
	var requests atomic.Int64
	f.setFault(func(http.ResponseWriter, *http.Request) bool { requests.Add(1); return false })
	commands := len(r.sandbox.Commands)
	write(t, filepath.Join(dir, "in/new"), "x\n")
	r.snapshot(t)
	if n, asked := len(r.sandbox.Commands)-commands, requests.Load(); read != 44 || n > 8 || asked > 4 {
		t.Errorf("%d contents were read with %d commands and %d requests, want 44 with few", read, n, asked)
	}
}
