package lfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/repo/printable"
	"github.com/org/ralph-action/internal/repo/store"
)

// maxObjectBytes is what GitHub takes as one LFS object, on its largest plan.
const maxObjectBytes = 5 << 30

// Unknown is why a server refuses a pointer whose object it lacks.
const Unknown = "the server refuses a Git LFS pointer whose object it does not have"

const dangling = "a Git LFS pointer without its file: the object is neither in .git/lfs here nor on the server; write the file itself, git-lfs makes the pointer"

// Files is what is known of the LFS objects of a run, by their oid.
type Files struct {
	Refused map[string]string // the server will not have it, and why
	common  *os.Root
	need    map[string]File // of commits that are not on the server
	there   map[string]bool // the server has it
}

// NewFiles returns the files of the repository with a git directory.
func NewFiles(common *os.Root) *Files {
	return &Files{Refused: map[string]string{}, common: common, need: map[string]File{}, there: map[string]bool{}}
}

// OnServer reports whether the server is known to have an object.
func (l *Files) OnServer(p Pointer) bool { return l.there[p.OID] }

// Need notes files of commits that are to be pushed.
func (l *Files) Need(files []File) {
	for _, f := range files {
		if !l.there[f.OID] && hasObject(l.common, f.Pointer) {
			l.need[f.OID] = f
		}
	}
}

// Drop forgets an object that was needed, and remembers an error that no other try changes.
func (l *Files) Drop(oid string, err error) {
	delete(l.need, oid)
	if final(err) {
		l.Refused[oid] = NotTaken(err)
	}
}

// NotTaken describes an object that did not arrive.
func NotTaken(err error) string {
	return "Git LFS did not take it: " + printable.Line(err.Error(), 400)
}

// Needed lists what has to be sent before a push, sorted by path.
func (l *Files) Needed() []File {
	return slices.SortedFunc(maps.Values(l.need), func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
}

// Dangling finds the files whose object nobody could have after a push, by reason: it is
// neither here nor on the server. server is nil when nothing is pushed. A pointer that was
// in one of the old commits, under whatever name, needs no object here.
func (l *Files) Dangling(ctx context.Context, server *Server, files []File, s *store.Store, old ...plumbing.Hash) (map[string][]File, error) {
	reasons := map[string][]File{}
	var away []File
	for _, f := range files {
		switch {
		case l.Refused[f.OID] != "":
			reasons[l.Refused[f.OID]] = append(reasons[l.Refused[f.OID]], f)
		case f.Size > maxObjectBytes:
			reason := fmt.Sprintf("larger than %d GB, which Git LFS does not take", int64(maxObjectBytes)>>30)
			reasons[reason] = append(reasons[reason], f)
		case !l.there[f.OID] && !hasObject(l.common, f.Pointer):
			away = append(away, f)
		}
	}
	if len(away) == 0 {
		return reasons, nil
	}
	found := map[plumbing.Hash]bool{}
	for _, f := range away {
		found[f.Blob] = false
	}
	for _, h := range old {
		c, err := s.Commit(h)
		if err != nil {
			return nil, err
		}
		if err := s.Mark(c.TreeHash, found); err != nil {
			return nil, err
		}
	}
	away = slices.DeleteFunc(away, func(f File) bool { return found[f.Blob] })
	why := l.ask(ctx, server, away)
	for _, f := range away {
		if reason, gone := why[f.OID]; gone {
			reasons[reason] = append(reasons[reason], f)
		}
	}
	return reasons, nil
}

// ask asks the server for objects that are not here, and returns a reason for each that it
// lacks.
func (l *Files) ask(ctx context.Context, server *Server, files []File) map[string]string {
	why := map[string]string{}
	for _, f := range files {
		why[f.OID] = dangling
	}
	if server == nil {
		return why
	}
	for chunk := range chunks(files) {
		answers, err := server.batch(ctx, chunk)
		for _, f := range chunk {
			switch a, ok := answers[f.OID]; {
			case err != nil:
				why[f.OID] = "a Git LFS pointer without its file, and the server could not be asked for it: " + printable.Line(err.Error(), 300)
			case ok && a.Error == nil && a.Actions.Upload == nil:
				l.there[f.OID] = true
				delete(why, f.OID)
			}
		}
	}
	return why
}

// Send uploads objects, a few at once, and returns the errors of those that did not arrive,
// by their oid.
func (l *Files) Send(ctx context.Context, server *Server, files []File) map[string]error {
	failed := map[string]error{}
	for chunk := range chunks(files) {
		answers, err := server.batch(ctx, chunk)
		if err != nil {
			for _, f := range chunk {
				failed[f.OID] = err
			}
			continue
		}
		var wg sync.WaitGroup
		results := make([]error, len(chunk))
		slots := make(chan struct{}, atOnce)
		for i, f := range chunk {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				a, ok := answers[f.OID]
				if !ok {
					results[i] = errors.New("the LFS server did not say where to send it")
					return
				}
				results[i] = server.Upload(ctx, f, a, func(p Pointer) (*os.File, error) { return OpenObject(l.common, p) })
			})
		}
		wg.Wait()
		for i, f := range chunk {
			if results[i] != nil {
				failed[f.OID] = results[i]
				continue
			}
			l.there[f.OID] = true
			delete(l.need, f.OID)
		}
	}
	return failed
}
