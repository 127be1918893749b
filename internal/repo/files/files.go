// Package files reads and replaces files that somebody else may tamper with.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

// Read reads a regular file below root. Anything else under that name, a
// pipe that would hang us for instance, is refused.
func Read(root *os.Root, name string, limit int64) ([]byte, error) {
	f, info, err := Open(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// Open opens a regular file below root for reading.
func Open(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Meta is what a file keeps when its content is replaced.
type Meta struct {
	Mode     fs.FileMode
	UID, GID int
	MTime    time.Time // zero: now
}

// MetaOf is the owner, mode and special bits of a file.
func MetaOf(info fs.FileInfo) Meta {
	m := Meta{Mode: info.Mode().Perm() | info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky), UID: -1, GID: -1}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		m.UID, m.GID = int(st.Uid), int(st.Gid)
	}
	return m
}

// NewMeta returns the metadata of a new file in root, which gets the owner of root.
func NewMeta(root *os.Root) Meta {
	m := Meta{UID: -1, GID: -1}
	if d, err := root.Stat("."); err == nil {
		m = MetaOf(d)
	}
	m.Mode = 0o644
	return m
}

// KeptMeta returns the metadata of a regular file, or NewMeta when there is none.
func KeptMeta(root *os.Root, name string) Meta {
	if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
		return MetaOf(info)
	}
	return NewMeta(root)
}

// Replace puts a file in place at once, under the name it had or a new one.
func Replace(root *os.Root, name string, content io.Reader, meta Meta) error {
	temp := name + ".ralph-new"
	return atomicfile.Write(root, name, content, atomicfile.Options{Temp: temp, Finish: func(f *os.File) error {
		if err := own(f, meta); err != nil || meta.MTime.IsZero() {
			return err
		}
		return root.Chtimes(temp, meta.MTime, meta.MTime)
	}})
}

// Rewrite gives a file its content where it stands. One that has further names is
// left, which may lie anywhere.
func Rewrite(root *os.Root, name string, content []byte, meta Meta) error {
	f, err := root.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || !ok || st.Nlink > 1 {
		return fmt.Errorf("%s is not a regular file of one name", name)
	}
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	return errors.Join(f.Truncate(int64(len(content))), own(f, meta))
}

// own gives a file of ours the owner and mode of the one it replaces. Only
// root can give files away; anybody else replaces files of its own.
func own(f *os.File, meta Meta) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if have := MetaOf(info); meta.UID >= 0 && (have.UID != meta.UID || have.GID != meta.GID) {
		if err := f.Chown(meta.UID, meta.GID); err != nil && os.Geteuid() == 0 {
			return err
		}
	}
	return f.Chmod(meta.Mode)
}
