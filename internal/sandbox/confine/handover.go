package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// HandOver gives every entry below dir that belongs to root to id, and returns
// what gives it back: then everything below dir that belongs to id becomes
// root's, what the agent made included, except what was id's before. Links are
// changed themselves, never followed; other file systems mounted below dir are
// left alone; a file with several names is touched only when all its names lie
// below dir.
//
// A SIGKILL leaves the tree with id. So that the next run can tell, a marker is
// written first and removed last. It lies in the agent's reach because in a
// container nothing else outlives the run, and its ownership is its signature:
// only root can make a file of root's that names this very directory. The agent
// can delete it, which keeps its own files its own, and nothing more. Marker is
// a path git does not see, like .git/ralph-handover.
func HandOver(ctx context.Context, dir, marker string, id Identity) (restore func(context.Context) error, err error) {
	if id.UID <= 0 || id.GID <= 0 {
		return nil, fmt.Errorf("hand over %s: %s is no agent user", dir, id)
	}
	h := handover{dir: dir, marker: marker, id: id}
	resumed := interrupted(dir, marker, id)
	if err := h.writeMarker(); err != nil {
		return nil, fmt.Errorf("hand over %s: %w", dir, err)
	}
	if !resumed {
		h.keep = map[inode]bool{}
	}
	if err := h.walk(ctx, h.give); err != nil {
		back := h.restore(context.WithoutCancel(ctx))
		return nil, errors.Join(fmt.Errorf("hand over %s: %w", dir, err), back)
	}
	return h.restore, nil
}

type inode struct{ dev, ino uint64 }

func inodeOf(st syscall.Stat_t) inode {
	return inode{uint64(st.Dev), st.Ino} //nolint:unconvert // the types differ between systems
}

type handover struct {
	dir, marker string
	id          Identity
	keep        map[inode]bool // what was the agent's before; nil when that is no longer known
}

// give is the change for an entry on the way to the agent.
func (h *handover) give(st syscall.Stat_t) (uid, gid int, change bool) {
	if int(st.Uid) == h.id.UID && h.keep != nil {
		h.keep[inodeOf(st)] = true
	}
	if st.Uid != 0 {
		return 0, 0, false
	}
	return h.id.UID, swap(int(st.Gid), 0, h.id.GID), true
}

// take is the change for an entry on the way back to root.
func (h *handover) take(st syscall.Stat_t) (uid, gid int, change bool) {
	if int(st.Uid) != h.id.UID || h.keep[inodeOf(st)] {
		return 0, 0, false
	}
	return 0, swap(int(st.Gid), h.id.GID, 0), true
}

func swap(value, from, to int) int {
	if value == from {
		return to
	}
	return value
}

func (h *handover) restore(ctx context.Context) error {
	if err := h.walk(ctx, h.take); err != nil {
		return fmt.Errorf("hand back %s: %w", h.dir, err)
	}
	if h.marker == "" {
		return nil
	}
	if err := os.Remove(h.marker); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("hand back %s: %w", h.dir, err)
	}
	return nil
}

// writeMarker replaces whatever the agent of an earlier run may have put there.
func (h *handover) writeMarker() error {
	if h.marker == "" {
		return nil
	}
	text, err := markerText(h.dir, h.id)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(h.marker); err != nil {
		return err
	}
	f, err := os.OpenFile(h.marker, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// interrupted reports whether dir was handed to id by a run that never gave it back.
func interrupted(dir, marker string, id Identity) bool {
	if marker == "" || id.UID <= 0 {
		return false
	}
	st, err := lstat(marker)
	if err != nil || st.Uid != 0 || st.Mode&syscall.S_IFMT != syscall.S_IFREG || st.Nlink != 1 || st.Size > 1024 {
		return false
	}
	want, err := markerText(dir, id)
	if err != nil {
		return false
	}
	f, err := os.OpenFile(marker, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	got := make([]byte, len(want)+1)
	n, _ := f.Read(got)
	return bytes.Equal(got[:n], want)
}

func markerText(dir string, id Identity) ([]byte, error) {
	st, err := lstat(dir)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "handed over by ralph: inode %d to %s\n", st.Ino, id), nil
}

// walk changes the owner of dir and of what lies below it. Every step is
// relative to an open directory, so that a link planted in between leads
// nowhere else.
func (h *handover) walk(ctx context.Context, change func(syscall.Stat_t) (int, int, bool)) error {
	root, err := os.OpenRoot(h.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	w := walker{ctx: ctx, change: change, shared: map[inode]*names{}, marker: h.marker}
	top, err := root.Lstat(".")
	if err != nil {
		return err
	}
	w.dev = inodeOf(*top.Sys().(*syscall.Stat_t)).dev
	if err := w.entry(root, ".", h.dir, top); err != nil {
		return err
	}
	if err := w.directory(root, h.dir); err != nil {
		return err
	}
	for _, n := range w.shared {
		if uint64(len(n.paths)) != uint64(n.stat.Nlink) {
			continue
		}
		uid, gid, _ := change(n.stat)
		if err := root.Lchown(n.paths[0], uid, gid); err != nil {
			return err
		}
	}
	return nil
}

// names are the paths, relative to the root, seen so far of one file.
type names struct {
	stat  syscall.Stat_t
	paths []string
}

type walker struct {
	ctx    context.Context
	change func(syscall.Stat_t) (uid, gid int, change bool)
	dev    uint64
	marker string
	shared map[inode]*names
	rel    []string
}

func (w *walker) directory(dir *os.Root, path string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := dir.Lstat(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := w.below(dir, e.Name(), filepath.Join(path, e.Name()), info); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) below(dir *os.Root, name, path string, info fs.FileInfo) error {
	if inodeOf(*info.Sys().(*syscall.Stat_t)).dev != w.dev || path == w.marker {
		return nil
	}
	w.rel = append(w.rel, name)
	defer func() { w.rel = w.rel[:len(w.rel)-1] }()
	if err := w.entry(dir, name, path, info); err != nil || !info.IsDir() {
		return err
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return w.directory(sub, path)
}

func (w *walker) entry(dir *os.Root, name, path string, info fs.FileInfo) error {
	st := *info.Sys().(*syscall.Stat_t)
	uid, gid, ok := w.change(st)
	if !ok {
		return nil
	}
	if !info.IsDir() && st.Nlink > 1 {
		n := w.shared[inodeOf(st)]
		if n == nil {
			n = &names{stat: st}
			w.shared[inodeOf(st)] = n
		}
		n.paths = append(n.paths, filepath.Join(w.rel...))
		return nil
	}
	if err := dir.Lchown(name, uid, gid); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
