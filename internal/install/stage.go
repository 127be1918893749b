package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	lockName    = ".lock"
	stagePrefix = ".stage-"
)

// stage is a folder below the root in which one installation is made:
//
//	.stage-XXXX/lock       held as long as we live
//	           /work       the guest's; the only folder it can write in
//	           /work/tree  what becomes the installation
type stage struct {
	o    Options
	pkg  Package
	dir  string
	work string
	tree string
	lock *os.File
	p    Process
	stop func() error // nil: nothing runs
}

// openRoot makes the root and removes what killed runs left in it. As root it is
// ours alone to write.
func (o Options) openRoot() error {
	err := os.MkdirAll(o.Root, 0o755)
	if err == nil {
		err = onlyAgents(o.Root)
	}
	if err == nil && os.Geteuid() == 0 {
		err = own(o.Root)
	}
	if err != nil {
		return folderError(o.Root, err)
	}
	if o.isOther() {
		if err := reachable(o.Root, o.Owner); err != nil {
			return err
		}
	}
	var left []*stage
	err = o.locked(func() error {
		entries, err := os.ReadDir(o.Root)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), stagePrefix) || !e.IsDir() {
				continue
			}
			s := &stage{dir: filepath.Join(o.Root, e.Name())}
			if s.lock, err = take(filepath.Join(s.dir, "lock"), unix.LOCK_NB); err == nil {
				left = append(left, s)
			}
		}
		return nil
	})
	for _, s := range left {
		s.remove()
	}
	return err
}

// reachable says which folder on the way is closed to the guest: npm would only
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

// onlyAgents keeps us from taking a folder that has another purpose.
func onlyAgents(root string) error {
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		if name := e.Name(); name != lockName && !strings.HasPrefix(name, stagePrefix) && !strings.Contains(name, "@") {
			return fmt.Errorf("it holds %.100q, which is no installed agent; name a folder that is for them alone", name)
		}
	}
	return err
}

// locked does what must not meet another process that does the same. It takes
// moments: nothing is fetched, copied or removed meanwhile.
func (o Options) locked(do func() error) error {
	f, err := take(filepath.Join(o.Root, lockName), 0)
	if err != nil {
		return folderError(o.Root, err)
	}
	defer f.Close()
	return do()
}

// take opens a file and locks it until it is closed, or this process ends.
func take(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644) // #nosec G302 -- empty, and a cache of the folder has to read it
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|how)
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

func (o Options) newStage(p Package) (*stage, error) {
	s := &stage{o: o, pkg: p}
	err := o.locked(func() (err error) {
		if s.dir, err = os.MkdirTemp(o.Root, stagePrefix); err != nil {
			return err
		}
		s.lock, err = take(filepath.Join(s.dir, "lock"), unix.LOCK_NB)
		return err
	})
	s.work = filepath.Join(s.dir, "work")
	s.tree = filepath.Join(s.work, "tree")
	if err == nil {
		err = os.Chmod(s.dir, 0o711) // the guest walks through it
	}
	for _, dir := range []string{s.work, filepath.Join(s.work, "home"), filepath.Join(s.work, "tmp"), s.tree} {
		if err == nil {
			err = s.mkdir(dir)
		}
	}
	if err != nil {
		s.remove()
		return nil, folderError(o.Root, err)
	}
	return s, nil
}

// mkdir makes a folder of the guest's.
func (s *stage) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if s.o.isOther() {
		return os.Lchown(dir, s.o.Owner.UID, s.o.Owner.GID)
	}
	return nil
}

// empty makes the tree anew.
func (s *stage) empty() error {
	err := os.RemoveAll(s.tree)
	if err == nil {
		err = s.mkdir(s.tree)
	}
	return err
}

func (s *stage) start(ctx context.Context) (err error) {
	s.p, s.stop, err = s.o.Start(ctx, s.work)
	return err
}

// end leaves no process of the guest's.
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
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
}

// takeOver makes the tree ours: first the folder around it, so that its name
// stays what it is.
func (s *stage) takeOver() error {
	if os.Geteuid() == 0 {
		if err := own(s.work); err != nil {
			return err
		}
	}
	_, err := secure(s.tree)
	return err
}

// place moves the tree to its place. Another process may have been faster; then
// its installation counts. What is there and not whole makes way.
func (s *stage) place() (in Installed, err error) {
	final := filepath.Join(s.o.Root, s.pkg.folder(s.pkg.Version))
	fresh := true
	err = s.o.locked(func() error {
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
		return s.o.trusted(in, nil)
	}
	return in, nil
}

// folderError says what is wrong with the folder of all installations.
func folderError(root string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk is full: %w; make room, or name another folder than %s", err, root)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("agents cannot be installed into %s: %w; it has to be a folder that can be written", root, err)
	}
	return fmt.Errorf("agents cannot be installed into %s: %w", root, err)
}
