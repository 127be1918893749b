// Package atomicfile replaces files in one step: whoever reads the name sees
// the old content or the new one, whole. It alone makes temporary files beside
// the files they become.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Options say how a file is written. The zero value is a private file that may
// be gone after a power cut.
type Options struct {
	// Mode is the permissions of the new file, less the umask; zero: 0o600.
	// Those of a file that had the name are not kept.
	Mode fs.FileMode
	// Finish gets the new file before it gets its name, to set its owner, exact
	// mode or times. Its error leaves the old file in place.
	Finish func(*os.File) error
	// Sync returns only when content and name would survive a power cut; the
	// name where the file system can sync directories and we may read this one.
	// Without it a crash of the system may leave an empty file.
	Sync bool
	// ReplaceDir removes a directory that has the name, with all it holds.
	// Without it, that is an error.
	ReplaceDir bool
	// Temp is the name of the temporary file, in the same directory. What has
	// it is removed, so that a crash leaves no more than one. Empty: tmp- and
	// letters that nobody can foresee.
	Temp string
}

// Write puts content in the place of whatever has the name, or returns an error
// and leaves it as it was; with Sync, an error may also mean that the new file is
// there and would not survive a power cut.
//
// The directory may be one that somebody else writes to: nothing outside of
// root is reached, the temporary file is always a new one, and a symbolic or
// hard link that has the name is replaced, never followed.
func Write(root *os.Root, name string, content io.Reader, opts Options) error {
	mode := opts.Mode
	if mode == 0 {
		mode = 0o600
	}
	temp := opts.Temp
	if temp == "" {
		temp = path.Join(path.Dir(name), "tmp-"+rand.Text())
	} else if err := root.RemoveAll(temp); err != nil {
		return err
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil && opts.Finish != nil {
		err = opts.Finish(f)
	}
	if err == nil && opts.Sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = rename(root, temp, name, opts.ReplaceDir)
	}
	if err != nil {
		_ = root.RemoveAll(temp)
		return err
	}
	if opts.Sync {
		return syncDir(root, path.Dir(name))
	}
	return nil
}

// Probe reports why no file can be written to the directory; nil if one can.
func Probe(root *os.Root) error {
	temp := "tmp-" + rand.Text()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), root.Remove(temp))
}

func rename(root *os.Root, temp, name string, replaceDir bool) error {
	err := root.Rename(temp, name)
	if err == nil || !replaceDir {
		return err
	}
	if info, e := root.Lstat(name); e != nil || !info.IsDir() {
		return err
	}
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	return root.Rename(temp, name)
}

// syncDir makes the names in a directory durable, where that can be had.
func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	} else if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
