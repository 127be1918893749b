package repo

import (
	"bytes"
	"context"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/lines"
	"github.com/org/ralph-action/internal/repo/store"
)

const maxMergedBytes = 1 << 20 // one side of a file

// merge is store.Merge, and merges the lines of a file that both sides changed.
func (r *Repo) merge(ctx context.Context, base, ours, theirs plumbing.Hash) (tree plumbing.Hash, conflict string, err error) {
	return r.store.Merge(base, ours, theirs, func(was, mine, there store.Entry) (store.Entry, bool) {
		return r.mergeFile(ctx, was, mine, there)
	})
}

// mergeFile merges a file that both sides changed. It is false where the two
// changes touch, and for what is no text of at most maxMergedBytes.
func (r *Repo) mergeFile(ctx context.Context, was, mine, there store.Entry) (store.Entry, bool) {
	for _, e := range []store.Entry{was, mine, there} {
		if e.Mode != filemode.Regular && e.Mode != filemode.Executable {
			return store.Entry{}, false
		}
	}
	out := there
	if there.Mode == was.Mode {
		out.Mode = mine.Mode
	}
	switch {
	case mine.Hash == was.Hash || mine.Hash == there.Hash:
		return out, true
	case there.Hash == was.Hash:
		out.Hash = mine.Hash
		return out, true
	}
	var text [3][]byte
	for i, e := range []store.Entry{was, mine, there} {
		b, ok := r.content(ctx, e)
		if !ok {
			return store.Entry{}, false
		}
		text[i] = b
	}
	b, ok := lines.Merge(text[0], text[1], text[2])
	if !ok {
		return store.Entry{}, false
	}
	h, err := r.store.Write(plumbing.BlobObject, b)
	if err != nil {
		return store.Entry{}, false
	}
	if h != there.Hash && h != mine.Hash {
		r.blended[h] = true
	}
	out.Hash = h
	return out, true
}

// content is a text file's content: the store keeps new files only, the others
// are the workspace's.
func (r *Repo) content(ctx context.Context, e store.Entry) ([]byte, bool) {
	if !r.store.Has(e.Hash) {
		if r.importLimited(ctx, 2*maxMergedBytes, []string{e.Hash.String()}) != nil {
			return nil, false
		}
	}
	o, err := r.store.Blob(e.Hash)
	if err != nil || o.Size() > maxMergedBytes {
		return nil, false
	}
	b, err := store.ReadObject(o, maxMergedBytes)
	return b, err == nil && bytes.IndexByte(b[:min(len(b), 8000)], 0) < 0
}
