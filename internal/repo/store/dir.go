package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
)

// dir is a directory in which nobody else plants links. What go-git does often goes straight
// to the file: its own file system looks at each directory on the way there.
type dir struct {
	billy.Filesystem
	root string
}

func newDir(root string) billy.Filesystem {
	return dir{osfs.New(root, osfs.WithBoundOS()), filepath.Clean(root)}
}

// at is the path of a name, which may be that of a file that was returned.
func (d dir) at(name string) string {
	if strings.HasPrefix(name, d.root+string(filepath.Separator)) {
		return name
	}
	return filepath.Join(d.root, filepath.Join(string(filepath.Separator), name))
}

// file needs no lock: the store is used by one goroutine at a time.
type file struct{ *os.File }

func (file) Lock() error   { return nil }
func (file) Unlock() error { return nil }

func (d dir) Open(name string) (billy.File, error) {
	f, err := os.Open(d.at(name))
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (d dir) TempFile(in, prefix string) (billy.File, error) {
	f, err := os.CreateTemp(d.at(in), prefix)
	if err != nil {
		return nil, err
	}
	return file{f}, nil
}

func (d dir) Stat(name string) (os.FileInfo, error)  { return os.Stat(d.at(name)) }
func (d dir) Lstat(name string) (os.FileInfo, error) { return os.Lstat(d.at(name)) }
func (d dir) Remove(name string) error               { return os.Remove(d.at(name)) }

func (d dir) Rename(from, to string) error {
	err := os.Rename(d.at(from), d.at(to))
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(d.at(to)), 0o700); err != nil {
			return err
		}
		err = os.Rename(d.at(from), d.at(to))
	}
	return err
}
