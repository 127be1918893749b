package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const stagePrefix = ".stage-"

// stage is a directory below the root in which one installation is made:
//
//	.stage-XXXX
//	  lock    held as long as we live
//	  work    npm's; the only directory that it can write in
//	    tree  what becomes the installation
type stage struct {
	o    Options
	pkg  Package
	dir  string
	work string
	tree string
	root *os.Root // the tree, wherever its name leads
	lock *os.File
	p    Process
	stop func() error // nil: nothing runs
}

// openRoot makes the root and removes what killed runs left in it.
func (o Options) openRoot(ctx context.Context) error {
	if err := os.MkdirAll(o.Root, 0o755); err != nil {
		return folderError(o.Root, err)
	}
	if err := o.ownRoot(); err != nil {
		return err
	}
	var left []*stage
	err := o.locked(ctx, func() (err error) {
		left, err = o.leftovers()
		return err
	})
	for _, s := range left {
		s.remove()
	}
	return err
}

// ownRoot makes sure that the root has no other purpose, that it is ours alone to
// write when we are root, and that npm can reach it.
func (o Options) ownRoot() error {
	err := onlyAgents(o.Root)
	if err == nil && os.Geteuid() == 0 {
		err = own(o.Root)
	}
	if err != nil && !errors.Is(err, syscall.EROFS) { // nobody here can write it, then; we say so when we have to
		return folderError(o.Root, err)
	}
	if o.isOther() {
		return reachable(o.Root, o.Owner)
	}
	return nil
}

// leftovers are the stages of processes that are gone. It is called with the
// root locked: a new stage is locked a moment after it is made.
func (o Options) leftovers() (left []*stage, err error) {
	entries, err := os.ReadDir(o.Root)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), stagePrefix) || !e.IsDir() {
			continue
		}
		s := &stage{dir: filepath.Join(o.Root, e.Name())}
		if lock, err := take(filepath.Join(s.dir, "lock")); err == nil {
			s.lock = lock
			left = append(left, s)
		}
	}
	return left, err
}

// tidy removes leftovers where that can be done at once; nothing depends on it.
func (o Options) tidy() {
	lock, err := take(filepath.Join(o.Root, lockName))
	if err != nil {
		return
	}
	left, _ := o.leftovers()
	_ = lock.Close()
	for _, s := range left {
		s.remove()
	}
}

// reachable says which directory on the way is closed to the agent's user: npm would only
// say that it has no access.
func reachable(root string, who Owner) error {
	for dir := root; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return folderError(root, err)
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		open := info.Mode()&0o001 != 0
		switch {
		case ok && int(st.Uid) == who.UID:
			open = info.Mode()&0o100 != 0
		case ok && int(st.Gid) == who.GID:
			open = info.Mode()&0o010 != 0
		}
		if !open {
			return fmt.Errorf("agents cannot be installed into %s: the agent's user (uid %d) may not enter %s (%v); choose a folder that it can reach", root, who.UID, dir, info.Mode())
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// onlyAgents keeps us from taking a directory that has another purpose.
func onlyAgents(root string) error {
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		if name := e.Name(); name != lockName && !strings.HasPrefix(name, stagePrefix) && !strings.Contains(name, "@") {
			return fmt.Errorf("it holds %.100q, which is no installed agent; name a folder that is for them alone", name)
		}
	}
	return err
}

func (o Options) newStage(ctx context.Context, p Package) (*stage, error) {
	s := &stage{o: o, pkg: p}
	err := o.locked(ctx, func() (err error) {
		if s.dir, err = os.MkdirTemp(o.Root, stagePrefix); err != nil {
			return err
		}
		s.lock, err = take(filepath.Join(s.dir, "lock"))
		return err
	})
	s.work = filepath.Join(s.dir, "work")
	s.tree = filepath.Join(s.work, "tree")
	if err == nil {
		err = os.Chmod(s.dir, 0o711) // npm walks through it
	}
	// work is given away last: until then nobody can exchange what is in it.
	for _, dir := range []string{s.work, filepath.Join(s.work, "home"), filepath.Join(s.work, "tmp")} {
		if err == nil {
			err = os.Mkdir(dir, 0o755)
		}
	}
	if err == nil {
		err = s.makeTree()
	}
	for _, dir := range []string{filepath.Join(s.work, "home"), filepath.Join(s.work, "tmp"), s.work} {
		if err == nil {
			err = s.give(dir)
		}
	}
	if err != nil {
		s.remove()
		return nil, folderError(o.Root, err)
	}
	return s, nil
}

// give makes a directory the agent user's.
func (s *stage) give(dir string) error {
	if s.o.isOther() {
		return os.Lchown(dir, s.o.Owner.UID, s.o.Owner.GID)
	}
	return nil
}

func (s *stage) start(ctx context.Context) (err error) {
	s.p, s.stop, err = s.o.Start(ctx, s.work)
	return err
}

// end ends the sandbox with all of its processes.
func (s *stage) end() error {
	stop := s.stop
	s.stop, s.p = nil, nil
	if stop == nil {
		return nil
	}
	return stop()
}

func (s *stage) remove() {
	_ = s.end()
	if s.root != nil {
		_ = s.root.Close()
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
}

// place moves the tree to its place. Another process may have been faster; then
// its installation counts. What is there and not whole makes way.
func (s *stage) place(ctx context.Context) (in Installed, err error) {
	final := filepath.Join(s.o.Root, s.pkg.folder(s.pkg.Version))
	fresh := true
	err = s.o.locked(ctx, func() error {
		if _, ok := whole(s.o.Root, s.pkg); ok {
			fresh = false
			return nil
		}
		if err := os.Rename(final, filepath.Join(s.dir, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Rename(s.tree, final)
	})
	if err != nil {
		return Installed{}, folderError(s.o.Root, err)
	}
	in, ok := whole(s.o.Root, s.pkg)
	if !ok {
		return Installed{}, fmt.Errorf("%s was installed into %s and is not whole there", s.pkg, final)
	}
	in.Fresh = fresh
	if !fresh {
		return s.o.trusted(in)
	}
	return in, nil
}

// folderError says what is wrong with the directory of all installations.
func folderError(root string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk is full: %w; make room, or name another folder than %s", err, root)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("agents cannot be installed into %s: %w; it has to be a folder that can be written", root, err)
	}
	return fmt.Errorf("agents cannot be installed into %s: %w", root, err)
}

// makeTree makes the directory that becomes the installation, and keeps it open.
// It is made where npm cannot write and moved to its place: npm can
// put something else there, and what is done to the tree while npm runs
// goes through s.root, which stays that directory and lets no link lead out of it.
func (s *stage) makeTree() error {
	made := filepath.Join(s.dir, "tree")
	err := os.Mkdir(made, 0o755)
	if err == nil {
		err = s.give(made)
	}
	if err == nil {
		s.root, err = os.OpenRoot(made)
	}
	if _, ok := pinned(s.pkg); ok && err == nil {
		err = s.writeProject()
	}
	if err == nil {
		err = os.Rename(made, s.tree)
	}
	return err
}

// empty makes the tree anew.
func (s *stage) empty() error {
	_ = s.root.Close()
	err := os.RemoveAll(s.tree) // it follows no links
	if err == nil {
		err = s.makeTree()
	}
	return err
}

// checkTree returns an error if something else lies where the tree was made.
func (s *stage) checkTree() error {
	made, err := s.root.Stat(".")
	if err != nil {
		return err
	}
	if now, err := os.Lstat(s.tree); err != nil || !os.SameFile(made, now) {
		return fmt.Errorf("%s: its folder was exchanged for something else while it was installed, so it is not used; a script of the package, or of one that it needs, did that", s.pkg)
	}
	return nil
}

// takeOver makes the tree ours, when nobody else is in it any more: first the
// directory around it, so that its name stays what it is; then it must still be the
// directory that was made. What npm put beside the program goes.
func (s *stage) takeOver() error {
	root := os.Geteuid() == 0
	if root {
		if err := own(s.work); err != nil {
			return err
		}
	}
	err := s.checkTree()
	if err == nil && root {
		err = own(s.tree)
	}
	if err == nil {
		err = linkProgram(s.root, s.pkg)
	}
	if err == nil {
		_, err = secure(s.tree)
	}
	return err
}

// bounded reads a file that was opened with openFlags, when it is a regular one
// of at most limit bytes.
func bounded(f *os.File, err error, limit int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", f.Name(), limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// openFlags: a pipe is not waited for, a link at the end is not followed.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW

const (
	lockName  = ".lock"
	lockPoll  = 50 * time.Millisecond
	lockQuiet = time.Second // of waiting before it is said
)

// errHeld: whoever can read the directory can hold its lock, for as long as they like.
var errHeld = errors.New("another process holds the lock")

// locked does what must not meet another process that does the same. It takes
// moments: nothing is fetched, copied or removed meanwhile. Somebody else who
// holds the lock is waited for until ctx ends; the error is then an errHeld.
func (o Options) locked(ctx context.Context, do func() error) error {
	path := filepath.Join(o.Root, lockName)
	began, said := time.Now(), false
	for {
		f, err := take(path)
		if err == nil {
			defer f.Close()
			return do()
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return folderError(o.Root, err)
		}
		if !said && time.Since(began) >= lockQuiet {
			said = true
			o.say(fmt.Sprintf("Another process holds %s; waiting for it.", path))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w %s", context.Cause(ctx), errHeld, path)
		case <-time.After(lockPoll):
		}
	}
}

// take opens a file and locks it until it is closed, or this process ends. The
// error is EWOULDBLOCK when somebody else has locked it.
func take(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644) // #nosec G302 -- empty, and a cache of the folder has to read it
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}
