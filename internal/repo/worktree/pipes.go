package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/printable"
)

// Git waits for the other end of a pipe that stands in the place of a file it reads, and
// nobody ever opens that. Pipes where an agent may put them are removed before git runs.
// Places where looking takes longer are searched when git has not ended for a while.

const (
	pipeFirst = 3 * time.Second // until a git that still runs may be waiting for a pipe
	pipeNext  = 10 * time.Second
	maxPlaces = 20_000 // entries below one folder that are looked at before each git
	maxKept   = 1 << 20
)

// keptFile is a file without which there is no repository, as it was last seen.
type keptFile struct {
	content []byte
	meta    files.Meta
}

// removals are what unblock has taken away.
type removals struct {
	kept map[string]keptFile // by path

	mu    sync.Mutex
	notes []string
}

func (r *removals) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// Notes returns what was removed because git would have waited for it.
func (t *Tree) Notes() []string {
	t.removals.mu.Lock()
	defer t.removals.mu.Unlock()
	return slices.Clone(t.removals.notes)
}

// special reports whether git would wait for what stands under a name, or read without
// an end. A socket is refused by the kernel at once.
func special(mode fs.FileMode) bool {
	return mode&fs.ModeNamedPipe != 0 || mode&fs.ModeDevice != 0
}

// unblock removes pipes and devices, and links to them, from where git reads its files.
// HEAD and config come back as they were last.
func (t *Tree) unblock() {
	if t.GitDir == nil || t.Common == nil {
		return
	}
	for _, root := range []*os.Root{t.GitDir, t.Common} {
		t.removeSpecial(root, ".", 1)
		for _, dir := range []string{"info", "objects/info", "refs", "logs"} {
			t.removeSpecial(root, dir, 100)
		}
		for _, name := range []string{"HEAD", "config"} {
			t.preserve(root, name)
		}
		if t.GitDir.Name() == t.Common.Name() {
			break
		}
	}
	if t.Top == "" {
		return
	}
	if work, err := os.OpenRoot(t.Top); err == nil {
		defer work.Close()
		for _, name := range readByGit() {
			t.remove(work, name)
		}
	}
}

// readByGit are the files of a work tree that git reads itself, in any folder.
func readByGit() []string { return []string{".gitattributes", ".gitignore", ".gitmodules", ".mailmap"} }

// preserve remembers a file, or puts it back when it was removed.
func (t *Tree) preserve(root *os.Root, name string) {
	at := filepath.Join(root.Name(), name)
	if f, info, err := files.Open(root, name); err == nil {
		_ = f.Close()
		if b, err := files.Read(root, name, maxKept); err == nil {
			if t.removals.kept == nil {
				t.removals.kept = map[string]keptFile{}
			}
			t.removals.kept[at] = keptFile{b, files.MetaOf(info)}
		}
		return
	}
	if was, ok := t.removals.kept[at]; ok && slices.Contains(t.Notes(), removedNote(at)) {
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			_ = files.Replace(root, name, bytes.NewReader(was.content), was.meta)
		}
	}
}

func removedNote(path string) string {
	return fmt.Sprintf("%s was a pipe or a device, which git waits for; it was removed", printable.Line(path, 300))
}

// removeSpecial removes what is special in a folder, and below it to a depth.
func (t *Tree) removeSpecial(root *os.Root, dir string, depth int) {
	left := maxPlaces
	_ = fs.WalkDir(root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil
		case d.IsDir() && p != dir && depth == 1:
			return fs.SkipDir
		case special(d.Type()) || d.Type()&fs.ModeSymlink != 0:
			t.remove(root, p)
		}
		return nil
	})
}

func (t *Tree) remove(root *os.Root, name string) {
	if note := removed(root, name); note != "" {
		t.removals.note(note)
	}
}

// Unblock removes those names in a directory of the sandbox's that are pipes, devices or links
// to them, and says which. Git waits for what it reads there.
func Unblock(dir string, names ...string) (notes []string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	for _, name := range names {
		if note := removed(root, name); note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

// removed takes a name away that is special or a link to something special, and says so.
// A git that waits for the pipe already finds it empty.
func removed(root *os.Root, name string) (note string) {
	info, err := root.Lstat(name)
	at := filepath.Join(root.Name(), name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = os.Stat(at) // wherever it leads: nothing is opened
	} else if err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		if f, err := root.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err == nil {
			defer f.Close()
		}
	}
	if err != nil || !special(info.Mode()) || root.Remove(name) != nil {
		return ""
	}
	return removedNote(at)
}

// watchPipes looks, as long as git runs, for pipes in places that are many: objects, and
// the folders of the work tree. The result ends it.
func (t *Tree) watchPipes(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait := pipeFirst; ; wait = pipeNext {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			if t.Common != nil {
				t.freeAll(ctx, t.Common, "objects", func(string) bool { return true })
			}
			if t.Top == "" {
				continue
			}
			if work, err := os.OpenRoot(t.Top); err == nil {
				t.freeAll(ctx, work, ".", func(name string) bool { return slices.Contains(readByGit(), name) })
				_ = work.Close()
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (t *Tree) freeAll(ctx context.Context, root *os.Root, dir string, read func(name string) bool) {
	_ = fs.WalkDir(root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil
		case (special(d.Type()) || d.Type()&fs.ModeSymlink != 0) && read(path.Base(p)):
			t.remove(root, p)
		}
		return nil
	})
}
