package repo

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	githash "github.com/go-git/go-git/v5/plumbing/hash"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

const (
	// maxBlobBytes is what GitHub takes as one file.
	maxBlobBytes = 100 << 20
	// maxMetaBytes bounds trees and commits, which are held in memory.
	maxMetaBytes = 64 << 20
	// maxPackBytes is what GitHub takes in one push.
	maxPackBytes = 2 << 30
)

// store is the private object store. It is used by one goroutine at a time.
type store struct {
	dir  string
	fs   *filesystem.Storage
	full map[plumbing.Hash]bool // trees that whole has found to be so
}

func openStore(dir string) (*store, error) {
	fs := filesystem.NewStorageWithOptions(osfs.New(dir, osfs.WithBoundOS()), cache.NewObjectLRUDefault(), filesystem.Options{
		KeepDescriptors:      true,
		LargeObjectThreshold: 1 << 20, // larger objects are streamed, not held
	})
	// Nothing but objects lies here: what Init makes besides would cost a
	// millisecond.
	if err := os.MkdirAll(filepath.Join(dir, "objects", "pack"), 0o700); err != nil {
		return nil, fmt.Errorf("private store: %w", err)
	}
	return &store{dir: dir, fs: fs, full: map[plumbing.Hash]bool{emptyTree: true}}, nil
}

func (s *store) close() error { return s.fs.Close() }

func (s *store) has(h plumbing.Hash) bool {
	return h == emptyTree || s.fs.HasEncodedObject(h) == nil
}

// isBlob says that an object of the store is a blob.
func (s *store) isBlob(h plumbing.Hash) bool {
	_, err := s.fs.EncodedObject(plumbing.BlobObject, h)
	return err == nil
}

// object returns any object. The empty tree is nowhere stored.
func (s *store) object(h plumbing.Hash) (plumbing.EncodedObject, error) {
	if h == emptyTree {
		o := &plumbing.MemoryObject{}
		o.SetType(plumbing.TreeObject)
		return o, nil
	}
	return s.fs.EncodedObject(plumbing.AnyObject, h)
}

// read returns a tree or commit.
func (s *store) read(t plumbing.ObjectType, h plumbing.Hash) ([]byte, error) {
	o, err := s.fs.EncodedObject(t, h)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", t, h, err)
	}
	return readObject(o, maxMetaBytes)
}

func readObject(o plumbing.EncodedObject, limit int64) ([]byte, error) {
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

func (s *store) write(t plumbing.ObjectType, b []byte) (plumbing.Hash, error) {
	h := plumbing.ComputeHash(t, b)
	if s.has(h) {
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

func (s *store) commit(h plumbing.Hash) (*object.Commit, error) {
	b, err := s.read(plumbing.CommitObject, h)
	if err != nil {
		return nil, err
	}
	o := &plumbing.MemoryObject{}
	o.SetType(plumbing.CommitObject)
	if _, err := o.Write(b); err != nil {
		return nil, err
	}
	c := &object.Commit{}
	if err := c.Decode(o); err != nil {
		return nil, fmt.Errorf("commit %s: %w", h, err)
	}
	return c, nil
}

// commitHead is what git's fsck asks of the first lines of a commit.
var commitHead = regexp.MustCompile(`^tree [0-9a-f]{40}\n(parent [0-9a-f]{40}\n)*author [^<>\n]*<[^<>\n]*> [1-9]?[0-9]{0,15} [+-][0-9]{4}\ncommitter [^<>\n]*<[^<>\n]*> [1-9]?[0-9]{0,15} [+-][0-9]{4}\n`)

// sound says that a server would take the commit: the agent can store any bytes
// as one.
func (s *store) sound(h plumbing.Hash) bool {
	b, err := s.read(plumbing.CommitObject, h)
	return err == nil && commitHead.Match(b) && bytes.IndexByte(b, 0) < 0
}

// whole says that the store holds all folders of a tree.
func (s *store) whole(root plumbing.Hash) bool {
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
			if it.isTree() {
				queue = append(queue, it.hash)
			}
		}
	}
	maps.Copy(s.full, seen)
	return true
}

func (s *store) writeCommit(c *object.Commit) (plumbing.Hash, error) {
	o := &plumbing.MemoryObject{}
	if err := c.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	rd, err := o.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	b, err := io.ReadAll(rd)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return s.write(plumbing.CommitObject, b)
}

// spool is a temporary file in the private store that a pack is received in.
func (s *store) spool() (*os.File, error) {
	return os.CreateTemp(s.dir, "incoming-*.pack")
}

func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// importPack takes the pack in f into the store and returns the number of its
// objects. Every object's hash is computed from its content. From the guest
// only packs of whole objects are taken (whole), each within the size limit, so
// that a crafted delta or length cannot fill our memory.
func (s *store) importPack(f *os.File, whole bool) (int, error) {
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
		limit := int64(maxMetaBytes)
		switch {
		case h.Type.IsDelta():
			return 0, errors.New("pack: holds deltas though whole objects were asked for")
		case h.Type == plumbing.BlobObject:
			limit = maxBlobBytes
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

// clear removes what an earlier run left in dir.
func clearStore(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(filepath.Clean(dir), 0o700)
}
