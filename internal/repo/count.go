package repo

import (
	"bytes"
	"context"

	"github.com/org/ralph-action/internal/repo/lines"
	"github.com/org/ralph-action/internal/repo/store"
)

// Bounds of counting lines; beyond them files are counted and lines are not.
const (
	maxCountedFiles = 1000
	maxCountedBytes = 1 << 20  // one blob
	maxFetchedBytes = 64 << 20 // old blobs, packed
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
		i, d := lines.Count(a, b)
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
