package store

import (
	"compress/zlib"
	"crypto"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	githash "github.com/go-git/go-git/v5/plumbing/hash"
)

// WritePack writes the objects as a pack of whole objects, one at a time and
// streamed: go-git's encoder would hold all of them in memory.
func (s *Store) WritePack(w io.Writer, hashes []plumbing.Hash) error {
	sum := githash.New(crypto.SHA1)
	out := io.MultiWriter(w, sum)
	head := append([]byte("PACK"), 0, 0, 0, 2)
	head = binary.BigEndian.AppendUint32(head, uint32(len(hashes)))
	if _, err := out.Write(head); err != nil {
		return err
	}
	z := zlib.NewWriter(out)
	for _, h := range hashes {
		o, err := s.Object(h)
		if err != nil {
			return fmt.Errorf("object %s: %w", h, err)
		}
		if _, err := out.Write(objectHeader(o.Type(), o.Size())); err != nil {
			return err
		}
		rd, err := o.Reader()
		if err != nil {
			return err
		}
		z.Reset(out)
		_, err = io.Copy(z, rd)
		if cerr := rd.Close(); err == nil {
			err = cerr
		}
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			return err
		}
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// objectHeader is the type and size in front of an object in a pack
// (gitformat-pack).
func objectHeader(t plumbing.ObjectType, size int64) []byte {
	b := byte(t)<<4 | byte(size&15)
	size >>= 4
	var out []byte
	for size > 0 {
		out = append(out, b|0x80)
		b = byte(size & 0x7f)
		size >>= 7
	}
	return append(out, b)
}

// Missing lists the objects that commit needs and a side that has the commits
// in have lacks: the commits between, and what their trees hold that their
// first parents' trees do not. Blobs that are not in the store are in a tree
// of have: Snapshot made sure of that.
func (s *Store) Missing(commit plumbing.Hash, have func(plumbing.Hash) bool) ([]plumbing.Hash, error) {
	var list []plumbing.Hash
	seen := map[plumbing.Hash]bool{}
	add := func(h plumbing.Hash) {
		if !seen[h] && s.Has(h) {
			seen[h] = true
			list = append(list, h)
		}
	}
	for c, err := range s.Since([]plumbing.Hash{commit}, have) {
		if err != nil {
			return nil, err
		}
		add(c.Hash)
		parent, err := s.ParentTree(c)
		if err != nil {
			return nil, err
		}
		changes, err := s.Diff(parent, c.TreeHash, add)
		if err != nil {
			return nil, err
		}
		if c.TreeHash == EmptyTree {
			add(EmptyTree)
		}
		for _, ch := range changes {
			if ch.New.IsBlob() {
				add(ch.New.Hash)
			}
		}
	}
	return list, nil
}
