package driver

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/org/ralph-action/internal/agent/jsonscan"
)

// ReadLeft is what the CLI left in one of our files in the scratch directory; see
// [File.Read].
func ReadLeft(scratch, path string) string {
	if scratch == "" || path == "" {
		return ""
	}
	root, err := os.OpenRoot(scratch)
	if err != nil {
		return ""
	}
	defer root.Close()
	return File{root: root, name: filepath.Base(path)}.Read()
}

const (
	// MaxArgument bounds a prompt that is an argument; the kernel's own limit
	// for one is 128 KiB.
	MaxArgument = 100 << 10
	// maxAnswer bounds the answer read from a file.
	maxAnswer = 1 << 20
)

// File is one in the scratch directory. The directory is held open, so that a child
// cannot put another one in its place; the name is random, and nothing there is
// followed out of the directory.
type File struct {
	root *os.Root // nil: no file
	name string
	Path string // as the child sees it
}

// IsZero reports whether there is no file.
func (f File) IsZero() bool { return f.root == nil }

// NewFile names a file in the scratch directory; kind ends its name.
func NewFile(root *os.Root, dir, kind string) File {
	name := "ralph-" + rand.Text() + "-" + kind
	return File{root: root, name: name, Path: filepath.Join(dir, name)}
}

// Write makes the file, readable by nobody but us and the directory's owner.
func (f File) Write(text string) error {
	w, err := f.root.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if dir, err := f.root.Stat("."); err == nil {
		giveTo(w, dir)
	}
	_, err = io.WriteString(w, text)
	if e := w.Close(); err == nil {
		err = e
	}
	return err
}

// Read is what the child left in the file, at most maxAnswer bytes; empty when
// there is no regular file. It is called when the child is gone.
func (f File) Read() string {
	if f.root == nil {
		return ""
	}
	before, err := f.root.Lstat(f.name)
	if err != nil || !before.Mode().IsRegular() {
		return ""
	}
	r, err := f.root.OpenFile(f.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return ""
	}
	defer r.Close()
	if now, err := r.Stat(); err != nil || !os.SameFile(before, now) {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(r, maxAnswer))
	return jsonscan.Valid(b)
}

// giveTo makes the directory's owner the file's, who is whom the child runs as.
// Where that is not allowed we are not root, and the child runs as ourselves.
func giveTo(f *os.File, dir fs.FileInfo) {
	if s, ok := dir.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}

// Remove removes the file, if it was made.
func (f File) Remove() {
	if f.root != nil {
		_ = f.root.Remove(f.name) // it may never have been made
	}
}

// maxConfig bounds a file of settings, in bytes.
const maxConfig = 1 << 20

// ReadConfig reads a file below the child's home, which is a regular one of at
// most maxConfig bytes. The child may have left anything there: a pipe does not
// hold us up, and a device is not read. A link out of the home is followed only
// where the home is the user's: in one that was made for the run, or of another
// user, it would give the child what only we can read.
func ReadConfig(o Options, path string) ([]byte, error) {
	home := Lookup(o.Env, "HOME")
	switch {
	case !Inside(home, path):
		return nil, fmt.Errorf("%q is not in the home", Clip(path, MaxName))
	case ownHome(o, home):
		return read("", path, path)
	}
	return read(home, path, path)
}

// ReadSettings reads a regular file. A path below dir stays there: dir is the
// workspace, whose links may lead anywhere.
func ReadSettings(dir, path string) ([]byte, error) {
	abs := path
	if !filepath.IsAbs(path) {
		abs = filepath.Join(dir, path)
	}
	if rel, err := filepath.Rel(dir, abs); err != nil || !filepath.IsLocal(rel) {
		return read("", abs, path)
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() { // a pipe in its place would hold us
		return nil, fmt.Errorf("%q is no folder", Clip(dir, MaxName))
	}
	return read(dir, abs, path)
}

// read reads a regular file of at most maxConfig bytes, without leaving dir where there
// is one; shown is its name for messages.
func read(dir, path, shown string) ([]byte, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK // a pipe has nobody on its other end
	open := os.OpenFile
	name := path
	if dir != "" {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		if name, err = filepath.Rel(dir, path); err != nil {
			return nil, err
		}
		open = root.OpenFile
	}
	f, err := open(name, flags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%q is no regular file", Clip(shown, MaxName))
	case info.Size() > maxConfig:
		return nil, fmt.Errorf("%q has more than %d bytes", Clip(shown, MaxName), maxConfig)
	}
	return io.ReadAll(io.LimitReader(f, maxConfig))
}

// ownHome reports whether a home is the user's who we are. Where one was made for the
// child, so was its directory for temporary files, in which ours lie, too.
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

// Inside reports whether an absolute path lies below dir, by its name.
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

// ConfigDir is the directory that a variable names, else one below the child's home.
func ConfigDir(o Options, variable string, path ...string) string {
	return cmp.Or(Lookup(o.Env, variable), InHome(o, path...))
}

// Holds reports whether one of the files is in the directory, or nobody but the CLI
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
