// Package textfile reads the files of text that a configuration names, within bounds and
// without leaving the workspace.
package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"unicode/utf8"
)

// Workspace is the directory whose files are read.
type Workspace struct {
	Dir  string
	Root *os.Root // at Dir
	// Instead are files, by their clean names with slashes, whose content is taken from here;
	// nil: there is none of that name.
	Instead map[string][]byte
	// Seen, unless it is nil, takes up the files that were read or looked for, as Instead
	// takes them.
	Seen map[string][]byte
}

// Read reads a file of text. What it names is a regular file in the workspace,
// or, when it was typed by a person, anywhere. problem continues a sentence
// that begins with the path.
func (w Workspace) Read(name string, typed bool, limit int64) (data []byte, problem string) {
	info, open := w.Root.Stat, w.Root.Open
	if typed {
		name = w.Abs(name)
		info, open = os.Stat, os.Open
	} else {
		local, ok := w.Local(name)
		if !ok {
			return nil, "is outside the workspace: give a path relative to it"
		}
		if instead, ok := w.Instead[path.Clean(filepath.ToSlash(name))]; ok {
			return ofBase(instead, limit)
		}
		if w.Seen != nil {
			defer func() {
				if problem == "" {
					w.Seen[filepath.ToSlash(local)] = data
				}
			}()
		}
		name = local
	}
	switch st, err := info(name); { // before opening: a pipe would block
	case err != nil:
		return nil, "cannot be read: " + Cause(err)
	case st.IsDir():
		return nil, "is a folder: give a file"
	case !st.Mode().IsRegular():
		return nil, "is not a regular file"
	}
	f, err := open(name)
	if err != nil {
		return nil, "cannot be read: " + Cause(err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, "cannot be read: " + Cause(err)
	}
	return checked(data, limit)
}

// Missing reports whether the workspace has no file of a name; with unlessFolder, a folder
// is none.
func (w Workspace) Missing(name string, unlessFolder bool) bool {
	clean := path.Clean(filepath.ToSlash(name))
	if instead, ok := w.Instead[clean]; ok {
		return instead == nil
	}
	st, err := w.Root.Stat(name)
	missing := errors.Is(err, fs.ErrNotExist) || unlessFolder && err == nil && st.IsDir()
	if missing && w.Seen != nil {
		w.Seen[clean] = nil
	}
	return missing
}

// checked is the text of a file, or what is wrong with it.
func checked(data []byte, limit int64) ([]byte, string) {
	switch {
	case int64(len(data)) > limit:
		return nil, "is larger than " + size(limit)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, "is binary: give UTF-8 text without NUL bytes"
	}
	return data, ""
}

// size is a bound in words.
func size(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// Abs makes a path that a person typed absolute.
func (w Workspace) Abs(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(w.Dir, name)
}

// Local makes a path relative to the workspace. An absolute path may point
// into it: that is how a container sees the path of a checkout.
func (w Workspace) Local(name string) (string, bool) {
	if filepath.IsAbs(name) {
		dir, err := filepath.Abs(w.Dir)
		if err != nil {
			return "", false
		}
		if name, err = filepath.Rel(dir, name); err != nil {
			return "", false
		}
	}
	name = filepath.Clean(name)
	return name, filepath.IsLocal(name)
}

// ofBase is a file whose content was given.
func ofBase(data []byte, limit int64) ([]byte, string) {
	if data == nil {
		return nil, "cannot be read: the base of the pull request has no file of that name"
	}
	return checked(data, limit)
}

// Cause is the reason in a file error without the path, which the message
// names itself.
func Cause(err error) string {
	switch pathErr := (*fs.PathError)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &pathErr):
		return pathErr.Err.Error()
	default:
		return err.Error()
	}
}

// Again reads a file that was read when the run began, for it may have changed. It is not read
// through a symbolic link that leads out of the workspace, which the agent may have made. More
// than limit bytes are limit+1.
func Again(workspace, path string, limit int64) ([]byte, error) {
	// A pipe the agent put there would block an open that waits for a writer.
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	open := func() (fs.File, error) { return os.OpenFile(path, flags, 0) }
	rel := path
	if filepath.IsAbs(path) {
		if r, err := filepath.Rel(workspace, path); err == nil {
			rel = r
		}
	}
	if filepath.IsLocal(rel) {
		root, err := os.OpenRoot(workspace)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		open = func() (fs.File, error) { return root.OpenFile(rel, flags, 0) }
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("is not a file"))
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}
