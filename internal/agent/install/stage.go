package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const stagePrefix = ".stage-"

// stage is a directory below the root in which one installation is made:
//
//	.stage-PACKAGE+VERSION=XXXX
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
		if lock, err := take(filepath.Join(s.dir, "lock"), 0o600); err == nil {
			s.lock = lock
			left = append(left, s)
		}
	}
	return left, err
}

// tidy removes leftovers where that can be done at once; nothing depends on it.
func (o Options) tidy() {
	lock, err := take(filepath.Join(o.Root, lockName), 0o644)
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

// errBusy: another process installs the same.
var errBusy = errors.New("another process installs it")

// stageOf is how the stages of a package's version begin.
func stageOf(p Package) string {
	return stagePrefix + strings.ReplaceAll(p.folder(p.Version), "@", "+") + "="
}

// installing reports whether a living process has a stage for a package's version.
func (o Options) installing(p Package) bool {
	entries, _ := os.ReadDir(o.Root)
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		if !strings.HasPrefix(e.Name(), stageOf(p)) {
			return false
		}
		lock, err := take(filepath.Join(o.Root, e.Name(), "lock"), 0o600)
		if err == nil {
			_ = lock.Close()
		}
		return errors.Is(err, unix.EWOULDBLOCK)
	})
}

// await waits until no other process installs the same.
func (o Options) await(ctx context.Context, p Package) error {
	o.say(fmt.Sprintf("Another process installs %s; waiting for it.", p))
	for o.installing(p) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
	return nil
}

func (o Options) newStage(ctx context.Context, p Package) (*stage, error) {
	s := &stage{o: o, pkg: p}
	err := o.locked(ctx, func() (err error) {
		if o.installing(p) {
			return errBusy
		}
		if s.dir, err = os.MkdirTemp(o.Root, stageOf(p)); err != nil {
			return err
		}
		s.lock, err = take(filepath.Join(s.dir, "lock"), 0o600) // npm cannot open it, and so not hold it
		return err
	})
	if errors.Is(err, errBusy) {
		return nil, err
	}
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
	if err == nil {
		err = s.reuseTarballs()
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
// its installation counts. What is there and cannot be used makes way.
func (s *stage) place(ctx context.Context) (in Installed, err error) {
	final := filepath.Join(s.o.Root, s.pkg.folder(s.pkg.Version))
	fresh := true
	err = s.o.locked(ctx, func() error {
		if _, err := unchanged(s.o.Root, s.pkg); err == nil {
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
	if in, err = whole(s.o.Root, s.pkg); err != nil {
		return Installed{}, fmt.Errorf("%s was installed into %s and cannot be used there: %w", s.pkg, final, err)
	}
	in.Fresh = fresh
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
		err = s.keepTarballs()
	}
	if err == nil {
		err = secure(s.tree)
	}
	return err
}

// npmCache is where npm keeps its cache below the work directory.
var npmCache = filepath.Join("cache", "_cacache")

// keepTarballs moves npm's cache into the tree, when nobody else is in the stage any
// more.
func (s *stage) keepTarballs() error {
	work, err := os.OpenRoot(s.work) // it lets no link lead out
	if err != nil {
		return err
	}
	defer work.Close()
	if info, err := work.Lstat(npmCache); err != nil || !info.IsDir() {
		return nil //nolint:nilerr // an npm without it: the next one fetches
	}
	if err := s.root.RemoveAll(tarballs); err != nil {
		return err
	}
	return work.Rename(npmCache, filepath.Join(filepath.Base(s.tree), tarballs))
}

// reuseTarballs gives npm what an installation that is not used has kept, whoever
// wrote it: npm takes out of it only what has the right checksum. What cannot be copied
// is fetched.
func (s *stage) reuseTarballs() error {
	root, err := os.OpenRoot(s.o.Root) // it lets no link lead out
	if err != nil {
		return err
	}
	defer root.Close()
	kept, err := root.OpenRoot(filepath.Join(s.pkg.folder(s.pkg.Version), tarballs))
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	defer kept.Close()
	cache := filepath.Join(s.work, npmCache)
	_ = os.CopyFS(cache, kept.FS())
	return filepath.WalkDir(filepath.Dir(cache), func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		return s.give(path)
	})
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
		f, err := take(path, 0o644) // a cache of the folder has to read it
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
func take(path string, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, mode)
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
