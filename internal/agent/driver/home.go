package driver

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// maxConfig bounds a CLI's own configuration file, in bytes.
const maxConfig = 1 << 20

// ReadConfig reads a file below the child's home, which is a regular one of at
// most maxConfig bytes. The child may have left anything there: a pipe does not
// hold us up, and a device is not read. A link out of the home is followed only
// where the home is the user's: in one that was made for the run, or of another
// user, it would give the child what only we can read.
func ReadConfig(o Options, path string) ([]byte, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK // a pipe has nobody on its other end
	home := Lookup(o.Env, "HOME")
	if !Inside(home, path) {
		return nil, fmt.Errorf("%q is not in the home", Clip(path, MaxName))
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
		return nil, fmt.Errorf("%q is no regular file", Clip(path, MaxName))
	case info.Size() > maxConfig:
		return nil, fmt.Errorf("%q has more than %d bytes", Clip(path, MaxName), maxConfig)
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
	if o.Scratch != "" && filepath.Clean(Lookup(o.Env, "TMPDIR")) == filepath.Clean(o.Scratch) {
		return false
	}
	info, err := os.Stat(home)
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// Inside says that an absolute path lies below dir, by its name.
func Inside(dir, path string) bool {
	if dir == "" || !filepath.IsAbs(path) {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// InHome is a path below the child's home; empty when it has none.
func InHome(o Options, path ...string) string {
	home := Lookup(o.Env, "HOME")
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, path...)...)
}

// ConfigDir is the folder that a variable names, else one below the child's home.
func ConfigDir(o Options, variable string, path ...string) string {
	return cmp.Or(Lookup(o.Env, variable), InHome(o, path...))
}

// Holds says that one of the files is in the folder, or that nobody but the CLI
// can tell.
func Holds(dir string, files ...string) bool {
	if dir == "" {
		return false
	}
	return slices.ContainsFunc(files, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return !errors.Is(err, os.ErrNotExist)
	})
}

// maxSettings bounds a settings file of the user's, in bytes.
const maxSettings = 1 << 20

// ReadSettings reads a regular file. A path below dir stays there: dir is the
// workspace, whose links may lead anywhere.
func ReadSettings(dir, path string) ([]byte, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK // a pipe has nobody on its other end
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(dir, path)
	}
	var f *os.File
	rel, err := filepath.Rel(dir, abs)
	if err == nil && filepath.IsLocal(rel) {
		var root *os.Root
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() { // a pipe in its place would hold us
			return nil, fmt.Errorf("%q is no folder", Clip(dir, MaxName))
		}
		if root, err = os.OpenRoot(dir); err != nil {
			return nil, err
		}
		defer root.Close()
		f, err = root.OpenFile(rel, flags, 0)
	} else {
		f, err = os.OpenFile(abs, flags, 0)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q is no regular file", Clip(path, MaxName))
	case info.Size() > maxSettings:
		return nil, fmt.Errorf("%q has more than %d bytes", Clip(path, MaxName), maxSettings)
	}
	return io.ReadAll(io.LimitReader(f, maxSettings))
}
