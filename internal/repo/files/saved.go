package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
)

// MaxSaved bounds the content of everything that is remembered.
const MaxSaved = 64 << 20

// Saved is a file, link or directory as it was. Kind is "" when nothing was
// there.
type Saved struct {
	Name    string
	Kind    string
	Meta    Meta
	Content []byte `json:",omitempty"`
	Link    string `json:",omitempty"`
	Left    []byte `json:",omitempty"` // the content put there for the agent, when it differs
}

const (
	KindFile = "file"
	KindLink = "link"
	KindDir  = "dir"
)

// Save remembers a name and, for a directory, everything below it.
func Save(root *os.Root, name string, found *[]Saved, size *int) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		*found = append(*found, Saved{Name: name})
		return nil
	}
	if err != nil {
		return err
	}
	f := Saved{Name: name, Meta: MetaOf(info)}
	switch {
	case info.Mode().IsRegular():
		f.Kind = KindFile
		if f.Content, err = Read(root, name, MaxSaved); err != nil {
			return err
		}
		if *size += len(f.Content); *size > MaxSaved {
			return fmt.Errorf("hooks and configuration have more than %d bytes", MaxSaved)
		}
	case info.Mode()&fs.ModeSymlink != 0:
		f.Kind = KindLink
		if f.Link, err = root.Readlink(name); err != nil {
			return err
		}
	case info.IsDir():
		f.Kind = KindDir
	default:
		return errors.New("neither a file, nor a directory, nor a link")
	}
	*found = append(*found, f)
	if f.Kind != KindDir {
		return nil
	}
	names, err := List(root, name)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := Save(root, path.Join(name, n), found, size); err != nil {
			return err
		}
	}
	return nil
}

// List names what a directory holds, sorted.
func List(root *os.Root, name string) ([]string, error) {
	d, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// Unchanged reports whether a file is as it was left for the agent.
func (f Saved) Unchanged(root *os.Root) (bool, error) {
	if !RealDirs(root, path.Dir(f.Name)) {
		return false, nil
	}
	info, err := root.Lstat(f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Kind == "", nil
	}
	if err != nil {
		return false, err
	}
	if m := MetaOf(info); f.Kind != KindLink && m.Mode != f.Meta.Mode || m.UID != f.Meta.UID || m.GID != f.Meta.GID {
		return false, nil
	}
	switch f.Kind {
	case KindFile:
		want := f.Content
		if f.Left != nil {
			want = f.Left
		}
		if !info.Mode().IsRegular() || info.Size() != int64(len(want)) {
			return false, nil
		}
		got, err := Read(root, f.Name, MaxSaved)
		return err == nil && bytes.Equal(got, want), nil
	case KindLink:
		to, err := root.Readlink(f.Name)
		return err == nil && to == f.Link, nil
	case KindDir:
		return info.IsDir(), nil
	}
	return false, nil
}

// Put makes a file what it was.
func (f Saved) Put(root *os.Root) error {
	if err := MakeDirs(root, path.Dir(f.Name)); err != nil {
		return err
	}
	switch f.Kind {
	case "":
		return root.RemoveAll(f.Name)
	case KindFile:
		if info, err := root.Lstat(f.Name); err == nil && !info.Mode().IsRegular() {
			if err := root.RemoveAll(f.Name); err != nil {
				return err
			}
		}
		err := Replace(root, f.Name, bytes.NewReader(f.Content), f.Meta)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = Rewrite(root, f.Name, f.Content, f.Meta) // there is no room for a second file
		}
		return err
	case KindLink:
		if err := root.RemoveAll(f.Name); err != nil {
			return err
		}
		if err := root.Symlink(f.Link, f.Name); err != nil {
			return err
		}
		return chownAs(root, f.Name, f.Meta)
	default:
		if info, err := root.Lstat(f.Name); err != nil || !info.IsDir() {
			if err := root.RemoveAll(f.Name); err != nil {
				return err
			}
			if err := root.Mkdir(f.Name, 0o700); err != nil {
				return err
			}
		}
		if err := chownAs(root, f.Name, f.Meta); err != nil {
			return err
		}
		return root.Chmod(f.Name, f.Meta.Mode)
	}
}

// RealDirs reports whether no part of a path is anything but a directory; parts that
// do not exist are fine.
func RealDirs(root *os.Root, dir string) bool {
	if dir == "." {
		return true
	}
	if !RealDirs(root, path.Dir(dir)) {
		return false
	}
	info, err := root.Lstat(dir)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir()
}

// MakeDirs makes sure that a path consists of real directories.
func MakeDirs(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if err := MakeDirs(root, path.Dir(dir)); err != nil {
		return err
	}
	if info, err := root.Lstat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := root.RemoveAll(dir); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	top, err := root.Stat(".")
	if err != nil {
		return err
	}
	return chownAs(root, dir, MetaOf(top))
}

func chownAs(root *os.Root, name string, meta Meta) error {
	if os.Geteuid() != 0 || meta.UID < 0 {
		return nil
	}
	return root.Lchown(name, meta.UID, meta.GID)
}
