// Package index reads git's index. go-git's decoder refuses one without a checksum
// (index.skipHash), and makes a struct of each of a million entries.
package index

import (
	"bytes"
	"crypto/sha1" // the checksum of git's own files, no protection
	"encoding/binary"
	"io"
)

// Resolved reports whether an index plainly has no unresolved conflict. It returns
// false if that cannot be told, as from an index that builds on another file (link).
func Resolved(index []byte) bool {
	stages := 0
	rest := Walk(index, func(_ []byte, stage int) { stages |= stage })
	return rest != nil && stages == 0 && !bytes.Contains(rest, []byte("link"))
}

// Walk calls visit with the name and the stage of each entry of an index
// (gitformat-index, versions 2 to 4). A name is valid during the call only. rest is
// what follows the entries, or nil if not all of them could be read.
func Walk(index []byte, visit func(name []byte, stage int)) (rest []byte) {
	if len(index) < 12 || string(index[:4]) != "DIRC" {
		return nil
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	if version < 2 || version > 4 {
		return nil
	}
	const head = 62 // stat, object id, flags
	var last []byte
	at := 12
	for range count {
		if len(index) < at+head {
			return nil
		}
		start := at
		flags := binary.BigEndian.Uint16(index[at+60:])
		at += head
		if version > 2 && flags&0x4000 != 0 {
			at += 2
		}
		keep := 0
		if version == 4 {
			strip, n := offsetVarint(index[min(at, len(index)):])
			if n == 0 || strip > len(last) {
				return nil
			}
			at, keep = at+n, len(last)-strip
		}
		if at >= len(index) {
			return nil
		}
		end := bytes.IndexByte(index[at:], 0)
		if end < 0 {
			return nil
		}
		name := index[at : at+end]
		if version == 4 {
			last = append(last[:keep:keep], name...)
			name, at = last, at+end+1
		} else {
			at = start + (at+end-start+8)/8*8
		}
		visit(name, int(flags>>12&3))
	}
	return index[min(at, len(index)):]
}

// offsetVarint is the number a version 4 index takes from the end of the last
// name, and its length in bytes; 0 when it is cut.
func offsetVarint(b []byte) (value, n int) {
	for i, c := range b {
		if i > 4 {
			return 0, 0
		}
		if i > 0 {
			value++
		}
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}

// Sound checks the checksum at the end of an index (gitformat-index); a
// git with index.skipHash leaves it empty.
func Sound(f io.ReaderAt, size int64) (bool, error) {
	var head [4]byte
	var trailer [sha1.Size]byte
	if size < 12+sha1.Size {
		return false, nil
	}
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return false, err
	}
	if _, err := f.ReadAt(trailer[:], size-sha1.Size); err != nil {
		return false, err
	}
	if string(head[:]) != "DIRC" {
		return false, nil
	}
	if trailer == [sha1.Size]byte{} {
		return true, nil
	}
	sum := sha1.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, size-sha1.Size)); err != nil {
		return false, err
	}
	return string(sum.Sum(nil)) == string(trailer[:]), nil
}
