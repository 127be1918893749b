package repo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/store"
)

const (
	// maxSignedBytes is what GitHub's API takes as one file: 41,820,160 bytes
	// passed and 40 MiB were refused, whatever the encoding (measured by others;
	// its documentation speaks of 100 MB).
	maxSignedBytes = 41_800_000
	// heldBytes is the size up to which a blob is read into memory.
	heldBytes = 1 << 20
)

// withdrawUnsignable takes out of the line what the API cannot carry: a push
// that fails each time would lose everything else, too.
func (r *Repo) withdrawUnsignable() error {
	chain, err := r.unpublished()
	if err != nil {
		return nil //nolint:nilerr // such a line holds commits of before the run, and is judged file by file
	}
	found := false
	for _, h := range chain {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return err
		}
		parent, err := r.objects.Store.Commit(c.ParentHashes[0])
		if err != nil {
			return err
		}
		changes, err := r.objects.Store.Diff(parent.TreeHash, c.TreeHash, nil)
		if err != nil {
			return err
		}
		found = found || slices.ContainsFunc(changes, r.unsignable)
	}
	if !found {
		return nil // withdraw would make merges anew
	}
	large := omission{reason: fmt.Sprintf("larger than %d MB, which the forge's API does not take; use Git LFS, ignore it, or set sign-commits to false", maxSignedBytes/1_000_000)}
	named := omission{reason: "the name is not UTF-8, which the forge's API does not take; rename it, or set sign-commits to false"}
	taken, err := r.withdraw(r.unsignable)
	if err != nil {
		return err
	}
	for _, ch := range taken {
		if utf8.ValidString(ch.Path) {
			large.changes = append(large.changes, ch)
		} else {
			named.changes = append(named.changes, ch)
		}
	}
	for _, o := range []omission{large, named} {
		if len(o.changes) > 0 {
			r.withdrawn(o)
		}
	}
	return nil
}

// unsignable says that the API cannot carry a change. A name that is not UTF-8
// cannot even be removed.
func (r *Repo) unsignable(ch store.Change) bool {
	return !utf8.ValidString(ch.Path) || r.tooLarge(ch)
}

func (r *Repo) tooLarge(ch store.Change) bool {
	if !ch.New.IsBlob() || !r.objects.Store.Has(ch.New.Hash) {
		return false
	}
	size, err := r.objects.Store.Size(ch.New.Hash)
	return err == nil && size > maxSignedBytes
}

// openBlob reads a blob. The store serves one goroutine at a time: a small blob
// is read at once, a large one copied to a file.
func (r *Repo) openBlob(h plumbing.Hash) (io.ReadCloser, error) {
	r.signing.reading.Lock()
	defer r.signing.reading.Unlock()
	o, err := r.objects.Store.Object(h)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", h, err)
	}
	if o.Size() <= heldBytes {
		b, err := store.ReadObject(o, heldBytes)
		return io.NopCloser(bytes.NewReader(b)), err
	}
	rd, err := o.Reader()
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", h, err)
	}
	defer rd.Close()
	f, err := r.objects.Store.Temp("outgoing-*.blob")
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(f, rd); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		store.Discard(f)
		return nil, fmt.Errorf("object %s: %w", h, err)
	}
	return spooled{f}, nil
}

// spooled is a temporary file that goes away when it is closed.
type spooled struct{ *os.File }

func (s spooled) Close() error {
	store.Discard(s.File)
	return nil
}
