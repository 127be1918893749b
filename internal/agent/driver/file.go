package driver

import (
	"crypto/rand"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/org/ralph-action/internal/agent/jsonscan"
)

// ReadLeft is what the CLI left in one of our files in the scratch folder; see
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

// File is one in the scratch folder. The folder is held open, so that a child
// cannot put another one in its place; the name is random, and nothing there is
// followed out of the folder.
type File struct {
	root *os.Root // nil: no file
	name string
	Path string // as the child sees it
}

// IsZero reports whether there is no file.
func (f File) IsZero() bool { return f.root == nil }

// NewFile names a file in the scratch folder; kind ends its name.
func NewFile(root *os.Root, dir, kind string) File {
	name := "ralph-" + rand.Text() + "-" + kind
	return File{root: root, name: name, Path: filepath.Join(dir, name)}
}

// Write makes the file, readable by nobody but us and the folder's owner.
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

// giveTo makes the folder's owner the file's, who is whom the child runs as.
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
