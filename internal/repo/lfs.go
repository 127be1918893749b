package repo

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	// maxPointerBytes is what the git-lfs specification allows for a pointer.
	maxPointerBytes = 1024
	// maxLargeBytes is what GitHub takes as one LFS object, on its largest plan.
	maxLargeBytes = 5 << 30
)

// pointer is what a commit holds instead of a file that Git LFS keeps.
type pointer struct {
	oid  string // sha256 of the content, in hex
	size int64  // bytes
}

// parsePointer reads a pointer (git-lfs docs/spec.md, "The Pointer"). ok is false
// for any other text.
func parsePointer(b []byte) (p pointer, ok bool) {
	if len(b) > maxPointerBytes {
		return pointer{}, false
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	switch lines[0] {
	case "version https://git-lfs.github.com/spec/v1", "version https://hawser.github.com/spec/v1", "version http://git-media.io/v/2":
	default:
		return pointer{}, false
	}
	p.size = -1
	for _, l := range lines[1:] {
		key, value, _ := strings.Cut(l, " ")
		switch key {
		case "oid":
			oid, isSum := strings.CutPrefix(value, "sha256:")
			if raw, err := hex.DecodeString(oid); !isSum || err != nil || len(raw) != 32 || strings.ToLower(oid) != oid {
				return pointer{}, false
			}
			p.oid = oid
		case "size":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return pointer{}, false
			}
			p.size = n
		}
	}
	return p, p.oid != "" && p.size >= 0
}

// largeFile is a file that Git LFS keeps.
type largeFile struct {
	pointer
	path string
	blob plumbing.Hash // of the pointer
}

// largeFiles is what is known of the LFS objects of this run, by their oid. Its
// maps are made by newLargeFiles.
type largeFiles struct {
	need    map[string]largeFile // of commits that are not on the server
	there   map[string]bool      // the server has it
	refused map[string]string    // the server will not have it, and why
	early   bool                 // commits made here before the run were looked at
}

func newLargeFiles() largeFiles {
	return largeFiles{need: map[string]largeFile{}, there: map[string]bool{}, refused: map[string]string{}}
}

// pointerOf reads a blob of the store as a pointer.
func (r *Repo) pointerOf(h plumbing.Hash) (p pointer, size int64, ok bool) {
	o, err := r.store.Blob(h)
	if err != nil {
		return pointer{}, -1, false
	}
	if o.Size() > maxPointerBytes {
		return pointer{}, o.Size(), false
	}
	b, err := store.ReadObject(o, maxPointerBytes)
	if err != nil {
		return pointer{}, o.Size(), false
	}
	p, ok = parsePointer(b)
	return p, o.Size(), ok
}

// dangling finds the pointers whose object could not be had from the server
// after a push: it is neither here nor there.
func (r *Repo) dangling(ctx context.Context, files []largeFile) ([]omission, error) {
	reasons := map[string][]store.Change{}
	leave := func(f largeFile, reason string) {
		reasons[reason] = append(reasons[reason], store.Change{Path: f.path, New: store.Entry{Mode: filemode.Regular, Hash: f.blob}})
	}
	var away []largeFile
	for _, f := range files {
		switch {
		case r.large.refused[f.oid] != "":
			leave(f, r.large.refused[f.oid])
		case f.size > maxLargeBytes:
			leave(f, fmt.Sprintf("larger than %d GB, which Git LFS does not take", int64(maxLargeBytes)>>30))
		case !r.large.there[f.oid] && !r.hasObject(f.pointer):
			away = append(away, f)
		}
	}
	away, err := r.notInStart(away)
	if err != nil {
		return nil, err
	}
	if len(away) > 0 {
		why := r.askFor(ctx, away)
		for _, f := range away {
			if reason, gone := why[f.oid]; gone {
				leave(f, reason)
			}
		}
	}
	var list []omission
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		list = append(list, omission{reason: reason, changes: reasons[reason]})
	}
	return list, nil
}

const danglingReason = "a Git LFS pointer without its file: the object is neither in .git/lfs here nor on the server; write the file itself, git-lfs makes the pointer"

// notInStart drops the pointers that were in the tree before the run, under
// whatever name: a file that moved needs no object here.
func (r *Repo) notInStart(files []largeFile) ([]largeFile, error) {
	if len(files) == 0 {
		return nil, nil
	}
	found := map[plumbing.Hash]bool{}
	for _, f := range files {
		found[f.blob] = false
	}
	for _, h := range []plumbing.Hash{r.line.startHead, r.base} {
		c, err := r.store.Commit(h)
		if err != nil {
			return nil, err
		}
		if err := r.store.Mark(c.TreeHash, found); err != nil {
			return nil, err
		}
	}
	var rest []largeFile
	for _, f := range files {
		if !found[f.blob] {
			rest = append(rest, f)
		}
	}
	return rest, nil
}

// askFor asks the server for objects that are not here. The answer holds a
// reason for each that it lacks.
func (r *Repo) askFor(ctx context.Context, files []largeFile) map[string]string {
	why := map[string]string{}
	for _, f := range files {
		why[f.oid] = danglingReason
	}
	if r.remote == nil || !r.opt.Push {
		return why
	}
	server := r.lfsServer()
	for chunk := range chunks(files) {
		answers, err := server.batch(ctx, chunk)
		for _, f := range chunk {
			switch a, ok := answers[f.oid]; {
			case err != nil:
				why[f.oid] = "a Git LFS pointer without its file, and the server could not be asked for it: " + printable.Line(err.Error(), 300)
			case ok && a.Error == nil && a.Actions.Upload == nil:
				r.large.there[f.oid] = true
				delete(why, f.oid)
			}
		}
	}
	return why
}

// needs notes the objects of commits that are to be pushed.
func (r *Repo) needs(files []largeFile) {
	for _, f := range files {
		if !r.large.there[f.oid] && r.hasObject(f.pointer) {
			r.large.need[f.oid] = f
		}
	}
}

// earlier finds the LFS objects of commits that were made here before the run
// and are not on the server.
func (r *Repo) earlier() error {
	if r.large.early || r.server.known[r.base] {
		return nil
	}
	r.large.early = true
	base, err := r.store.Commit(r.base)
	if err != nil {
		return err
	}
	for h := range r.server.known {
		c, err := r.store.Commit(h)
		if err != nil {
			continue
		}
		changes, err := r.store.Diff(c.TreeHash, base.TreeHash, nil)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, ch := range changes {
			if p, _, ok := r.pointerOf(ch.New.Hash); ok && ch.New.IsBlob() {
				r.needs([]largeFile{{pointer: p, path: ch.Path, blob: ch.New.Hash}})
			}
		}
	}
	return nil
}

// isLFS says that attributes ask for Git LFS.
func isLFS(filter string) bool { return filter == "lfs" }

// mentionsLFS says that a file of attributes may ask for Git LFS.
func mentionsLFS(attributes []byte) bool { return bytes.Contains(attributes, []byte("filter=lfs")) }
