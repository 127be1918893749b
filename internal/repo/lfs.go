package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

const (
	// maxLargeBytes is what GitHub takes as one LFS object, on its largest plan.
	maxLargeBytes = 5 << 30
)

// largeFiles is what is known of the LFS objects of this run, by their oid. Its
// maps are made by newLargeFiles.
type largeFiles struct {
	need    map[string]lfs.File // of commits that are not on the server
	there   map[string]bool     // the server has it
	refused map[string]string   // the server will not have it, and why
	early   bool                // commits made here before the run were looked at
}

func newLargeFiles() largeFiles {
	return largeFiles{need: map[string]lfs.File{}, there: map[string]bool{}, refused: map[string]string{}}
}

// dangling finds the pointers whose object could not be had from the server
// after a push: it is neither here nor there.
func (r *Repo) dangling(ctx context.Context, files []lfs.File) ([]omission, error) {
	reasons := map[string][]store.Change{}
	leave := func(f lfs.File, reason string) {
		reasons[reason] = append(reasons[reason], store.Change{Path: f.Path, New: store.Entry{Mode: filemode.Regular, Hash: f.Blob}})
	}
	var away []lfs.File
	for _, f := range files {
		switch {
		case r.large.refused[f.OID] != "":
			leave(f, r.large.refused[f.OID])
		case f.Size > maxLargeBytes:
			leave(f, fmt.Sprintf("larger than %d GB, which Git LFS does not take", int64(maxLargeBytes)>>30))
		case !r.large.there[f.OID] && !lfs.HasObject(r.tree.Common, f.Pointer):
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
			if reason, gone := why[f.OID]; gone {
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
func (r *Repo) notInStart(files []lfs.File) ([]lfs.File, error) {
	if len(files) == 0 {
		return nil, nil
	}
	found := map[plumbing.Hash]bool{}
	for _, f := range files {
		found[f.Blob] = false
	}
	for _, h := range []plumbing.Hash{r.line.startHead, r.base} {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			return nil, err
		}
		if err := r.objects.Store.Mark(c.TreeHash, found); err != nil {
			return nil, err
		}
	}
	var rest []lfs.File
	for _, f := range files {
		if !found[f.Blob] {
			rest = append(rest, f)
		}
	}
	return rest, nil
}

// askFor asks the server for objects that are not here. The answer holds a
// reason for each that it lacks.
func (r *Repo) askFor(ctx context.Context, files []lfs.File) map[string]string {
	why := map[string]string{}
	for _, f := range files {
		why[f.OID] = danglingReason
	}
	if r.objects.Remote == nil || !r.opt.Push {
		return why
	}
	server := r.lfsServer()
	for chunk := range lfs.Chunks(files) {
		answers, err := server.Batch(ctx, chunk)
		for _, f := range chunk {
			switch a, ok := answers[f.OID]; {
			case err != nil:
				why[f.OID] = "a Git LFS pointer without its file, and the server could not be asked for it: " + printable.Line(err.Error(), 300)
			case ok && a.Error == nil && a.Actions.Upload == nil:
				r.large.there[f.OID] = true
				delete(why, f.OID)
			}
		}
	}
	return why
}

// lfsServer keeps the objects of the branch.
func (r *Repo) lfsServer() lfs.Server { return lfs.NewServer(r.objects.Remote, r.State().Branch) }

// needs notes the objects of commits that are to be pushed.
func (r *Repo) needs(files []lfs.File) {
	for _, f := range files {
		if !r.large.there[f.OID] && lfs.HasObject(r.tree.Common, f.Pointer) {
			r.large.need[f.OID] = f
		}
	}
}

// earlier finds the LFS objects of commits that were made here before the run
// and are not on the server.
func (r *Repo) earlier() error {
	if r.large.early || r.objects.Known[r.base] {
		return nil
	}
	r.large.early = true
	base, err := r.objects.Store.Commit(r.base)
	if err != nil {
		return err
	}
	for h := range r.objects.Known {
		c, err := r.objects.Store.Commit(h)
		if err != nil {
			continue
		}
		changes, err := r.objects.Store.Diff(c.TreeHash, base.TreeHash, nil)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for _, ch := range changes {
			if p, _, ok := lfs.ReadPointer(r.objects.Store, ch.New.Hash); ok && ch.New.IsBlob() {
				r.needs([]lfs.File{{Pointer: p, Path: ch.Path, Blob: ch.New.Hash}})
			}
		}
	}
	return nil
}
