package repo

import (
	"bytes"
	"context"
	"hash/maphash"

	"github.com/org/ralph-action/internal/repo/store"
)

// Bounds of counting lines; beyond them files are counted and lines are not.
const (
	maxCountedFiles = 1000
	maxCountedBytes = 1 << 20  // one blob
	maxFetchedBytes = 64 << 20 // old blobs, packed
	maxEdits        = 2000
)

// count sums the lines that came and went. It is for people's eyes: binary and
// large files are not counted, nor those whose old content cannot be had;
// uncounted is the number of such files.
func (r *Repo) count(ctx context.Context, changes []store.Change) (ins, del, uncounted int) {
	if len(changes) > maxCountedFiles {
		return 0, 0, len(changes)
	}
	r.fetchOld(ctx, changes)
	for _, ch := range changes {
		if ch.Old.Hash == ch.New.Hash {
			continue
		}
		a, okA := r.text(ch.Old)
		b, okB := r.text(ch.New)
		if !okA || !okB {
			uncounted++
			continue
		}
		i, d := countLines(a, b)
		ins, del = ins+i, del+d
	}
	return ins, del, uncounted
}

// fetchOld takes the old contents from the guest; the store keeps trees only of
// what was there before.
func (r *Repo) fetchOld(ctx context.Context, changes []store.Change) {
	var ids []string
	for _, ch := range changes {
		if ch.Old.IsBlob() && ch.Old.Hash != ch.New.Hash && !r.store.Has(ch.Old.Hash) {
			ids = append(ids, ch.Old.Hash.String())
		}
	}
	if len(ids) > 0 {
		_ = r.importLimited(ctx, maxFetchedBytes, ids)
	}
}

// text is the content of a countable file; nothing is an empty text.
func (r *Repo) text(e store.Entry) ([]byte, bool) {
	if e == (store.Entry{}) {
		return nil, true
	}
	if !e.IsBlob() {
		return nil, false
	}
	o, err := r.store.Blob(e.Hash)
	if err != nil || o.Size() > maxCountedBytes {
		return nil, false
	}
	b, err := store.ReadObject(o, maxCountedBytes)
	if err != nil || bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 {
		return nil, false
	}
	return b, true
}

// countLines is the size of a shortest edit script from a to b; for texts that
// differ much it is the count of lines that only one of them has.
func countLines(a, b []byte) (ins, del int) {
	seed := maphash.MakeSeed()
	x, y := lines(seed, a), lines(seed, b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	if d, ok := distance(x, y); ok {
		// d = ins + del and len(y) - len(x) = ins - del.
		return (d + len(y) - len(x)) / 2, (d - len(y) + len(x)) / 2
	}
	n := map[uint64]int{}
	for _, l := range x {
		n[l]++
	}
	for _, l := range y {
		if n[l] > 0 {
			n[l]--
		} else {
			ins++
		}
	}
	return ins, len(x) - (len(y) - ins)
}

func lines(seed maphash.Seed, b []byte) []uint64 {
	var l []uint64
	for line := range bytes.Lines(b) {
		l = append(l, maphash.Bytes(seed, line))
	}
	return l
}

// distance is Myers' greedy algorithm (An O(ND) Difference Algorithm, 1986),
// given up after maxEdits.
func distance(a, b []uint64) (int, bool) {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b), true
	}
	limit := min(len(a)+len(b), maxEdits)
	v := make([]int, 2*limit+2)
	off := limit
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && v[off+k-1] < v[off+k+1] {
				x = v[off+k+1]
			} else {
				x = v[off+k-1] + 1
			}
			for y := x - k; x < len(a) && y < len(b) && a[x] == b[y]; y++ {
				x++
			}
			v[off+k] = x
			if x >= len(a) && x-k >= len(b) {
				return d, true
			}
		}
	}
	return 0, false
}
