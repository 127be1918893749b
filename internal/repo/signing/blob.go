package signing

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/store"
)

const (
	// MaxBytes is what GitHub's API takes as one file: 41,820,160 bytes
	// passed and 40 MiB were refused, whatever the encoding (measured by others;
	// its documentation speaks of 100 MB).
	MaxBytes = 41_800_000
	// heldBytes is the size up to which a blob is read into memory.
	heldBytes = 1 << 20
)

// Unsignable reports whether the API cannot carry a change. A name that is not UTF-8
// cannot even be removed.
func Unsignable(s *store.Store, ch store.Change) bool {
	if !utf8.ValidString(ch.Path) {
		return true
	}
	if !ch.New.IsBlob() || !s.Has(ch.New.Hash) {
		return false
	}
	size, err := s.Size(ch.New.Hash)
	return err == nil && size > MaxBytes
}

// open reads a blob. The store serves one goroutine at a time: a small blob
// is read at once, a large one copied to a file.
func (s *Session) open(h plumbing.Hash) (io.ReadCloser, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	o, err := s.store.Object(h)
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
	f, err := s.store.Temp("outgoing-*.blob")
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

func (f spooled) Close() error {
	store.Discard(f.File)
	return nil
}
