package install

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// makeTree makes the folder that becomes the installation, and keeps it open.
// It is made where the guest cannot write and moved to its place: the guest can
// put something else there, and what is done to the tree while the guest lives
// goes through s.root, which stays that folder and lets no link lead out of it.
func (s *stage) makeTree() error {
	made := filepath.Join(s.dir, "tree")
	err := os.Mkdir(made, 0o755)
	if err == nil {
		err = s.give(made)
	}
	if err == nil {
		s.root, err = os.OpenRoot(made)
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

// checkTree says that something else lies where the tree was made.
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
// folder around it, so that its name stays what it is; then it must still be the
// folder that was made. What the guest put beside the program goes.
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
