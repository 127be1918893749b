package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// maxConfig bounds a CLI's own configuration file, in bytes.
const maxConfig = 1 << 20

// readConfig reads a file below the child's home, which is a regular one of at
// most maxConfig bytes. The child may have left anything there: a pipe does not
// hold us up, and a device is not read. A link out of the home is followed only
// where the home is the user's: in one that was made for the run, or of another
// user, it would give the child what only we can read.
func readConfig(o Options, path string) ([]byte, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK // a pipe has nobody on its other end
	home := lookup(o.Env, "HOME")
	if !inside(home, path) {
		return nil, fmt.Errorf("%q is not in the home", clip(path, maxName))
	}
	var f *os.File
	var err error
	if ownHome(o, home) {
		f, err = os.OpenFile(path, flags, 0) // #nosec G304 -- the user's own
	} else {
		f, err = openBelow(home, path, flags)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q is no regular file", clip(path, maxName))
	case info.Size() > maxConfig:
		return nil, fmt.Errorf("%q has more than %d bytes", clip(path, maxName), maxConfig)
	}
	return io.ReadAll(io.LimitReader(f, maxConfig))
}

// openBelow opens a file without leaving dir.
func openBelow(dir, path string, flags int) (*os.File, error) {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(rel, flags, 0)
	return f, errors.Join(err, root.Close())
}

// ownHome says that a home is the user's who we are. Where one was made for the
// child, so was its folder for temporary files, in which ours lie, too.
func ownHome(o Options, home string) bool {
	if o.Scratch != "" && filepath.Clean(lookup(o.Env, "TMPDIR")) == filepath.Clean(o.Scratch) {
		return false
	}
	info, err := os.Stat(home)
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// inside says that an absolute path lies below dir, by its name.
func inside(dir, path string) bool {
	if dir == "" || !filepath.IsAbs(path) {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
