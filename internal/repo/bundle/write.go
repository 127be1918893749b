// Package bundle reads and writes git bundles (gitformat-bundle, version 2): commits in a
// file, for whoever has the commit below them.
package bundle

import (
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/repo/store"
)

// Write bundles the commits from a base, which the reader has, up to a tip, under
// refs/heads/ and a name. The objects are whole.
func Write(w io.Writer, s *store.Store, base, tip plumbing.Hash, name string) error {
	if err := ralph.CheckBranch(name); err != nil {
		return fmt.Errorf("bundle %q: %w", name, err)
	}
	objects, err := s.Missing(tip, func(h plumbing.Hash) bool { return h == base })
	if err != nil {
		return fmt.Errorf("bundle %s: %w", name, err)
	}
	if _, err := fmt.Fprintf(w, "# v2 git bundle\n-%s \n%s refs/heads/%s\n\n", base, tip, name); err != nil {
		return err
	}
	return s.WritePack(w, objects)
}
