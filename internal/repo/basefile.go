package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/printable"
)

// maxBaseFile bounds a file of the base that is asked for by name.
const maxBaseFile = 16 << 20

// ErrNoBase says that the base branch is not known, as at a desk that has none.
var ErrNoBase = errors.New("the base branch is not known")

// BaseFile is the base branch's version of a file, as the forge had it when it was
// last asked: by its id, whatever the workspace holds. The path is from the top of the
// repository; Prefix leads there. At most 16 MB. Errors are ErrNoBase, fs.ErrNotExist
// when the base has no such file (or a link or folder there), or say what could not be
// read. Call it after Begin.
func (r *Repo) BaseFile(ctx context.Context, path string) ([]byte, error) {
	if r.baseTip.IsZero() {
		return nil, ErrNoBase
	}
	c, err := r.objects.Commit(ctx, r.baseTip)
	if err != nil {
		return nil, err
	}
	e, err := r.objects.Store.Lookup(c.TreeHash, path)
	if err != nil {
		return nil, err
	}
	if e.Mode != filemode.Regular && e.Mode != filemode.Executable {
		return nil, fmt.Errorf("%s of the base: %w", printable.Line(path, 200), fs.ErrNotExist)
	}
	return r.objects.Blob(ctx, e.Hash, maxBaseFile)
}

// Prefix is the path of Options.Dir from the top of the work tree, with a slash at
// its end; empty at the top.
func (r *Repo) Prefix() string { return r.tree.Prefix }
