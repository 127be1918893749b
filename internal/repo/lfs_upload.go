package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/lfs"
	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/remote"
	"github.com/org/ralph-action/internal/repo/store"
)

// uploadLarge brings what Git LFS keeps outside of the commits to the server,
// before a branch points to it. It may use half of the time there is. Files
// whose object does not arrive are taken out of the commits, and the rest is
// pushed: one that may arrive later is published with a later checkpoint.
func (r *Repo) uploadLarge(ctx context.Context) error {
	if err := r.earlier(); err != nil {
		return err
	}
	if len(r.large.need) == 0 {
		return nil
	}
	for _, f := range r.large.need {
		if r.opt.Inspect != nil && !r.insp.blobs[f.Blob] {
			return fmt.Errorf("%q: its large file was not inspected", printable.Line(f.Path, 200))
		}
	}
	files := slices.SortedFunc(maps.Values(r.large.need), func(a, b lfs.File) int { return cmp.Compare(a.Path, b.Path) })
	limited, cancel := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		limited, cancel = context.WithTimeoutCause(ctx, time.Until(end)/2, errors.New("no time left for large files"))
	}
	defer cancel()
	failed := r.sendLarge(limited, files)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(failed) == 0 {
		return nil
	}
	blobs := map[plumbing.Hash]bool{}
	for _, f := range files {
		if failed[f.OID] != nil {
			blobs[f.Blob] = true
		}
	}
	taken, err := r.withdraw(func(ch store.Change) bool { return blobs[ch.New.Hash] })
	if err != nil {
		return errors.Join(append(slices.Collect(maps.Values(failed)), err)...)
	}
	byReason := map[string]*omission{}
	for _, ch := range taken {
		delete(blobs, ch.New.Hash)
		p, _, _ := lfs.ReadPointer(r.objects.Store, ch.New.Hash)
		reason := "Git LFS did not take it: " + printable.Line(failed[p.OID].Error(), 400)
		if byReason[reason] == nil {
			byReason[reason] = &omission{reason: reason}
		}
		byReason[reason].changes = append(byReason[reason].changes, ch)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		r.withdrawn(*byReason[reason])
	}
	if len(blobs) > 0 {
		// They stand in commits that were made here before the run.
		return errors.Join(slices.Collect(maps.Values(failed))...)
	}
	for oid, err := range failed {
		delete(r.large.need, oid)
		if lfs.Final(err) {
			r.large.refused[oid] = "Git LFS did not take it: " + printable.Line(err.Error(), 400)
		}
	}
	return nil
}

// sendLarge uploads objects, a few at once, and returns what became of those
// that did not arrive, by their oid.
func (r *Repo) sendLarge(ctx context.Context, files []lfs.File) map[string]error {
	server := r.lfsServer()
	failed := map[string]error{}
	for chunk := range lfs.Chunks(files) {
		answers, err := server.Batch(ctx, chunk)
		if err != nil {
			for _, f := range chunk {
				failed[f.OID] = err
			}
			continue
		}
		var wg sync.WaitGroup
		results := make([]error, len(chunk))
		slots := make(chan struct{}, lfs.AtOnce)
		for i, f := range chunk {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				a, ok := answers[f.OID]
				if !ok {
					results[i] = errors.New("the LFS server did not say where to send it")
					return
				}
				results[i] = server.Upload(ctx, f, a, func(p lfs.Pointer) (*os.File, error) { return lfs.OpenObject(r.tree.Common, p) })
			})
		}
		wg.Wait()
		for i, f := range chunk {
			if results[i] != nil {
				failed[f.OID] = results[i]
				continue
			}
			r.large.there[f.OID] = true
			delete(r.large.need, f.OID)
		}
	}
	return failed
}

// objectIDs finds LFS objects as GitHub names them in its refusal of a push.
var objectIDs = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// withoutUnknown is withoutRefused for pointers whose objects the server lacks
// (GitHub: GH008), whatever the attributes say of the files.
func (r *Repo) withoutUnknown(refused error) bool {
	var e *remote.RejectedError
	if !errors.As(refused, &e) || !strings.Contains(e.Remote+e.Reason, "unknown Git LFS object") {
		return false
	}
	named := map[string]bool{}
	for _, id := range objectIDs.FindAllString(e.Remote+" "+e.Reason, -1) {
		named[id] = true
	}
	all := strings.Contains(e.Remote, "...") // it names the first three
	taken, err := r.withdraw(func(ch store.Change) bool {
		if !ch.New.IsBlob() {
			return false
		}
		p, _, ok := lfs.ReadPointer(r.objects.Store, ch.New.Hash)
		return ok && (named[p.OID] || all && !r.large.there[p.OID])
	})
	if err != nil || len(taken) == 0 {
		return false
	}
	for _, ch := range taken {
		p, _, _ := lfs.ReadPointer(r.objects.Store, ch.New.Hash)
		r.large.refused[p.OID] = unknownReason
	}
	r.withdrawn(omission{reason: unknownReason, changes: taken})
	return true
}

const unknownReason = "the server refuses a Git LFS pointer whose object it does not have"

// noteOnce is for what may happen with each push.
func (r *Repo) noteOnce(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}
