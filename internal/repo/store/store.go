// Package store keeps git objects where the agent cannot write: objects, trees, packs.
package store

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	githash "github.com/go-git/go-git/v5/plumbing/hash"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

const (
	// MaxBlobBytes is what GitHub takes as one file.
	MaxBlobBytes = 100 << 20
	// MaxMetaBytes bounds trees and commits, which are held in memory.
	MaxMetaBytes = 64 << 20
	// MaxPackBytes is what GitHub takes in one push.
	MaxPackBytes = 2 << 30
)

// Store is a private object store. It is used by one goroutine at a time.
type Store struct {
	dir  string
	fs   *filesystem.Storage
	full map[plumbing.Hash]bool // trees that whole has found to be so
}

// Open opens the object store in a directory, and makes it where there is none.
func Open(dir string) (*Store, error) {
	fs := filesystem.NewStorageWithOptions(newDir(dir), cache.NewObjectLRUDefault(), filesystem.Options{
		KeepDescriptors:      true,
		LargeObjectThreshold: 1 << 20, // larger objects are streamed, not held
	})
	// Nothing but objects lies here: what Init makes besides would cost a
	// millisecond.
	if err := os.MkdirAll(filepath.Join(dir, "objects", "pack"), 0o700); err != nil {
		return nil, fmt.Errorf("private store: %w", err)
	}
	return &Store{dir: dir, fs: fs, full: map[plumbing.Hash]bool{EmptyTree: true}}, nil
}

// Close lets go of the files of the store.
func (s *Store) Close() error { return s.fs.Close() }

// Has reports whether the store holds an object.
func (s *Store) Has(h plumbing.Hash) bool {
	return h == EmptyTree || s.fs.HasEncodedObject(h) == nil
}

// IsBlob reports whether an object of the store is a blob.
func (s *Store) IsBlob(h plumbing.Hash) bool {
	_, err := s.Blob(h)
	return err == nil
}

// Blob returns a blob.
func (s *Store) Blob(h plumbing.Hash) (plumbing.EncodedObject, error) {
	return s.fs.EncodedObject(plumbing.BlobObject, h)
}

// ReadBlob reads a blob of at most limit bytes.
func (s *Store) ReadBlob(h plumbing.Hash, limit int64) ([]byte, error) {
	o, err := s.Blob(h)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", h, err)
	}
	return ReadObject(o, limit)
}

// Text reads a blob of at most limit bytes; ok is false if there is none, or if it is no
// text: like git, it looks for a NUL in the first 8,000 bytes.
func (s *Store) Text(h plumbing.Hash, limit int64) (text []byte, ok bool) {
	b, err := s.ReadBlob(h, limit)
	return b, err == nil && !IsBinary(b)
}

// IsBinary reports whether git would call a content binary.
func IsBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 }

// Size is the size of an object in bytes.
func (s *Store) Size(h plumbing.Hash) (int64, error) { return s.fs.EncodedObjectSize(h) }

// Object returns any object. The empty tree is nowhere stored.
func (s *Store) Object(h plumbing.Hash) (plumbing.EncodedObject, error) {
	if h == EmptyTree {
		o := &plumbing.MemoryObject{}
		o.SetType(plumbing.TreeObject)
		return o, nil
	}
	return s.fs.EncodedObject(plumbing.AnyObject, h)
}

// read returns a tree or commit.
func (s *Store) read(t plumbing.ObjectType, h plumbing.Hash) ([]byte, error) {
	o, err := s.fs.EncodedObject(t, h)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", t, h, err)
	}
	return ReadObject(o, MaxMetaBytes)
}

// ReadObject reads an object of at most limit bytes.
func ReadObject(o plumbing.EncodedObject, limit int64) ([]byte, error) {
	if o.Size() > limit {
		return nil, fmt.Errorf("%s %s has %d bytes, more than %d", o.Type(), o.Hash(), o.Size(), limit)
	}
	rd, err := o.Reader()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(rd, limit))
	return b, errors.Join(err, rd.Close())
}

// Write puts an object into the store, unless it is there.
func (s *Store) Write(t plumbing.ObjectType, b []byte) (plumbing.Hash, error) {
	h := plumbing.ComputeHash(t, b)
	if s.Has(h) {
		return h, nil
	}
	o := s.fs.NewEncodedObject()
	o.SetType(t)
	w, err := o.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if _, err := w.Write(b); err != nil {
		return plumbing.ZeroHash, err
	}
	if err := w.Close(); err != nil {
		return plumbing.ZeroHash, err
	}
	return s.fs.SetEncodedObject(o)
}

// commitHead is what git's fsck asks of the first lines of a commit.
var commitHead = lazyregexp.New(`^tree [0-9a-f]{40}\n(parent [0-9a-f]{40}\n)*author [^<>\n]*<[^<>\n]*> [1-9]?[0-9]{0,15} [+-][0-9]{4}\ncommitter [^<>\n]*<[^<>\n]*> [1-9]?[0-9]{0,15} [+-][0-9]{4}\n`)

// Sound reports whether a server would take the commit: the agent can store any bytes
// as one.
func (s *Store) Sound(h plumbing.Hash) bool {
	b, err := s.read(plumbing.CommitObject, h)
	return err == nil && commitHead.Match(b) && bytes.IndexByte(b, 0) < 0
}

// Whole reports whether the store holds all directories of a tree.
func (s *Store) Whole(root plumbing.Hash) bool {
	seen := map[plumbing.Hash]bool{}
	queue := []plumbing.Hash{root}
	for len(queue) > 0 {
		h := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[h] || s.full[h] {
			continue
		}
		seen[h] = true
		items, err := s.tree(h)
		if err != nil {
			return false
		}
		for _, it := range items {
			if it.IsTree() {
				queue = append(queue, it.Hash)
			}
		}
	}
	maps.Copy(s.full, seen)
	return true
}

// Spool is a temporary file in the private store that a pack is received in.
func (s *Store) Spool() (*os.File, error) { return s.Temp("incoming-*.pack") }

// Temp is a temporary file in the private store, named as os.CreateTemp does.
func (s *Store) Temp(pattern string) (*os.File, error) { return os.CreateTemp(s.dir, pattern) }

// Discard closes and removes a temporary file.
func Discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// ImportPack takes the pack in f into the store and returns the number of its
// objects. Every object's hash is computed from its content. From the workspace
// only packs of whole objects are taken (whole), each within the size limit, so
// that a crafted delta or length cannot fill our memory.
func (s *Store) ImportPack(f *os.File, whole bool) (int, error) {
	n, err := checkPack(f, whole)
	if err != nil || n == 0 {
		return 0, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	if err := packfile.WritePackfileToObjectStorage(s.fs, f); err != nil {
		return 0, fmt.Errorf("pack: %w", err)
	}
	return n, nil
}

// checkPack verifies a pack's own checksum, by which the store names its file:
// with a forged one, a second pack could put its index over the content of the
// first. For packs of whole objects it also looks at each object's header.
func checkPack(f *os.File, whole bool) (int, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	if size < 32 {
		return 0, errors.New("pack: cut short")
	}
	sum := githash.New(crypto.SHA1)
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, size-20)); err != nil {
		return 0, err
	}
	var trailer plumbing.Hash
	if _, err := f.ReadAt(trailer[:], size-20); err != nil {
		return 0, err
	}
	if string(trailer[:]) != string(sum.Sum(nil)) {
		return 0, errors.New("pack: wrong checksum")
	}
	sc := packfile.NewScanner(io.NewSectionReader(f, 0, size))
	_, n, err := sc.Header()
	if err != nil {
		return 0, fmt.Errorf("pack: %w", err)
	}
	if !whole {
		return int(n), nil
	}
	for range n {
		h, err := sc.NextObjectHeader()
		if err != nil {
			return 0, fmt.Errorf("pack: %w", err)
		}
		limit := int64(MaxMetaBytes)
		switch {
		case h.Type.IsDelta():
			return 0, errors.New("pack: holds deltas though whole objects were asked for")
		case h.Type == plumbing.BlobObject:
			limit = MaxBlobBytes
		}
		if h.Length > limit {
			return 0, fmt.Errorf("pack: holds a %s of %d bytes, more than %d", h.Type, h.Length, limit)
		}
		if _, _, err := sc.NextObject(io.Discard); err != nil {
			return 0, fmt.Errorf("pack: %w", err)
		}
	}
	return int(n), nil
}

// Clear removes what an earlier run left in dir.
func Clear(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Clean(dir), 0o700)
}
