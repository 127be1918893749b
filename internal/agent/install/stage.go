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
)

const stagePrefix = ".stage-"

// stage is a folder below the root in which one installation is made:
//
//	.stage-XXXX
//	  lock    held as long as we live
//	  work    the guest's; the only folder it can write in
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
// write when we are root, and that the guest can walk to it.
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
		err = os.Chmod(s.dir, 0o711) // the guest walks through it
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

// give makes a folder the guest's.
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
