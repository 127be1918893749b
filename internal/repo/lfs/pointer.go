// Package lfs reads Git LFS pointers and sends their objects to the server.
package lfs

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/org/ralph-action/internal/repo/store"
)

// Probe is a pointer: the filter of git-lfs hands it through and stores nothing.
const Probe = "version https://git-lfs.github.com/spec/v1\n" +
	"oid sha256:5e7e1d6a8a8c86d8d22e4a4c2f5b1d0c9e4b8f4a9c7de4c57ab7d4d4f6b5a3c1\nsize 5\n"

// MaxPointerBytes is what the git-lfs specification allows for a pointer.
const MaxPointerBytes = 1024

// Pointer is what a commit holds instead of a file that Git LFS keeps.
type Pointer struct {
	OID  string // sha256 of the content, in hex
	Size int64  // bytes
}

// ParsePointer reads a pointer (git-lfs docs/spec.md, "The Pointer"). ok is false
// for any other text.
func ParsePointer(b []byte) (p Pointer, ok bool) {
	if len(b) > MaxPointerBytes {
		return Pointer{}, false
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	switch lines[0] {
	case "version https://git-lfs.github.com/spec/v1", "version https://hawser.github.com/spec/v1", "version http://git-media.io/v/2":
	default:
		return Pointer{}, false
	}
	p.Size = -1
	for _, l := range lines[1:] {
		key, value, _ := strings.Cut(l, " ")
		switch key {
		case "oid":
			oid, isSum := strings.CutPrefix(value, "sha256:")
			if raw, err := hex.DecodeString(oid); !isSum || err != nil || len(raw) != 32 || strings.ToLower(oid) != oid {
				return Pointer{}, false
			}
			p.OID = oid
		case "size":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return Pointer{}, false
			}
			p.Size = n
		}
	}
	return p, p.OID != "" && p.Size >= 0
}

// File is a file that Git LFS keeps.
type File struct {
	Pointer
	Path string
	Blob plumbing.Hash // of the pointer
}

// Asked says that attributes ask for Git LFS.
func Asked(filter string) bool { return filter == "lfs" }

// Mentioned says that a file of attributes may ask for Git LFS.
func Mentioned(attributes []byte) bool { return bytes.Contains(attributes, []byte("filter=lfs")) }

// ReadPointer reads a blob of a store as a pointer. size is that of the blob, or -1 when the
// store lacks it.
func ReadPointer(s *store.Store, h plumbing.Hash) (p Pointer, size int64, ok bool) {
	size, err := s.Size(h)
	if err != nil || !s.IsBlob(h) {
		return Pointer{}, -1, false
	}
	if size > MaxPointerBytes {
		return Pointer{}, size, false
	}
	b, err := s.ReadBlob(h, MaxPointerBytes)
	if err != nil {
		return Pointer{}, size, false
	}
	p, ok = ParsePointer(b)
	return p, size, ok
}
