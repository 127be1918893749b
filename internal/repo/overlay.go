package repo

import (
	"context"
	"io"
)

// BaseFile is the base branch's version of a file; fs.ErrNotExist when it has none.
func (r *Repo) BaseFile(ctx context.Context, path string) ([]byte, error) { return nil, nil }

// Overlay puts the base's version of the paths that match picks into the work tree.
func (r *Repo) Overlay(ctx context.Context, match func(path string) bool) (changed []string, err error) {
	return nil, nil
}

// RestoreOverlay puts back what was there.
func (r *Repo) RestoreOverlay() error { return nil }

// Patch writes the work that is not published.
func (r *Repo) Patch(ctx context.Context, w io.Writer, limit int64) error { return nil }
