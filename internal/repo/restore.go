package repo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/org/ralph-action/internal/repo/files"
)

// Restore puts everything back as it was, byte by byte, with owner and mode,
// whatever the agent made of it. Notes name what the agent had changed. Call
// it on every way out, after the agent is dead and the last git command has
// run; a second call does nothing.
func (h *Hidden) Restore() (notes []string, err error) {
	var errs []error
	for i, f := range h.state.Folders {
		var root *os.Root
		if i < len(h.roots) {
			root = h.roots[i]
		}
		root, note, err := inPlace(root, f.Path)
		if note != "" {
			notes = append(notes, note)
		}
		if err != nil && f.Pointer {
			if !errors.Is(err, fs.ErrNotExist) {
				notes = append(notes, err.Error())
			}
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		changed, err := f.restore(root)
		if err != nil {
			errs = append(errs, fmt.Errorf("restore %s: %w", f.Path, err))
		}
		for _, name := range changed {
			notes = append(notes, fmt.Sprintf("%s was changed during the run and put back", filepath.Join(f.Path, name)))
		}
		errs = append(errs, root.Close())
	}
	h.roots = nil
	if err := errors.Join(errs...); err != nil {
		return notes, err
	}
	h.state = guardState{}
	if err := os.Remove(h.manifest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return notes, err
	}
	return notes, nil
}

// inPlace is the folder that stands at path now. It is the one that was there
// before, or a new one in its place, which needs the same care: later git
// commands would find it. No link is followed, at the end of the path or above it: the
// agent would choose where we write.
func inPlace(root *os.Root, path string) (*os.Root, string, error) {
	now, err := os.Lstat(path)
	if real, rerr := filepath.EvalSymlinks(path); err == nil && now.IsDir() && (rerr != nil || real != path) {
		if root != nil {
			_ = root.Close()
		}
		return nil, "", fmt.Errorf("%s stands behind a link now: check the repository out again before you run git in it", path)
	}
	if root != nil {
		was, serr := root.Stat(".")
		if err == nil && serr == nil && os.SameFile(now, was) {
			return root, "", nil
		}
		_ = root.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", fmt.Errorf("the git folder %s is gone: check the repository out again (%w)", path, fs.ErrNotExist)
	case err != nil:
		return nil, "", err
	case !now.IsDir():
		return nil, "", fmt.Errorf("%s is no longer a folder: check the repository out again before you run git in it", path)
	}
	note := ""
	if root != nil {
		note = fmt.Sprintf("the git folder %s was replaced during the run", path)
	}
	root, err = os.OpenRoot(path)
	return root, note, err
}

// restore brings the guarded files of a folder back and says which top entries
// were not as they had been left for the agent.
func (f guardFolder) restore(root *os.Root) (changed []string, err error) {
	known := map[string]bool{}
	for _, file := range f.Files {
		known[file.Name] = true
	}
	note := func(name string) {
		if top := topName(name); !slices.Contains(changed, top) {
			changed = append(changed, top)
		}
	}
	for _, file := range f.Files {
		same, err := file.unchanged(root)
		if err != nil {
			return changed, err
		}
		if !same && !file.markedByLFS(root) {
			note(file.Name)
		}
		if !same || file.Left != nil {
			if err := file.put(root); err != nil {
				return changed, err
			}
		}
		if file.Kind != kindDir {
			continue
		}
		names, err := list(root, file.Name)
		if err != nil {
			return changed, err
		}
		for _, n := range names {
			if p := path.Join(file.Name, n); !known[p] {
				note(file.Name)
				if err := root.RemoveAll(p); err != nil {
					return changed, err
				}
			}
		}
	}
	return changed, nil
}

// lfsMark is what git-lfs writes into the configuration of a repository when it
// first runs there.
const lfsMark = "[lfs]\n\trepositoryformatversion = 0\n"

// markedByLFS says that a file differs in nothing but that. It is put back, and
// nobody did it.
func (f guardFile) markedByLFS(root *os.Root) bool {
	want := f.Content
	if f.Left != nil {
		want = f.Left
	}
	got, err := files.Read(root, f.Name, maxGuardedBytes)
	return err == nil && f.Kind == kindFile && path.Base(f.Name) == "config" && bytes.Equal(bytes.Replace(got, []byte(lfsMark), nil, 1), want)
}

// topName is the guarded entry a file below it belongs to.
func topName(name string) string {
	if rest, ok := strings.CutPrefix(name, "hooks/"); ok && rest != "" {
		return "hooks"
	}
	return name
}

// unchanged says that a file is as it was left for the agent.
func (f guardFile) unchanged(root *os.Root) (bool, error) {
	if !realFolders(root, path.Dir(f.Name)) {
		return false, nil
	}
	info, err := root.Lstat(f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Kind == "", nil
	}
	if err != nil {
		return false, err
	}
	if m := files.MetaOf(info); f.Kind != kindLink && m.Mode != f.Meta.Mode || m.UID != f.Meta.UID || m.GID != f.Meta.GID {
		return false, nil
	}
	switch f.Kind {
	case kindFile:
		want := f.Content
		if f.Left != nil {
			want = f.Left
		}
		if !info.Mode().IsRegular() || info.Size() != int64(len(want)) {
			return false, nil
		}
		got, err := files.Read(root, f.Name, maxGuardedBytes)
		return err == nil && bytes.Equal(got, want), nil
	case kindLink:
		to, err := root.Readlink(f.Name)
		return err == nil && to == f.Link, nil
	case kindDir:
		return info.IsDir(), nil
	}
	return false, nil
}

// put makes a file what it was.
func (f guardFile) put(root *os.Root) error {
	if err := makeFolders(root, path.Dir(f.Name)); err != nil {
		return err
	}
	switch f.Kind {
	case "":
		return root.RemoveAll(f.Name)
	case kindFile:
		if info, err := root.Lstat(f.Name); err == nil && !info.Mode().IsRegular() {
			if err := root.RemoveAll(f.Name); err != nil {
				return err
			}
		}
		err := files.Replace(root, f.Name, bytes.NewReader(f.Content), f.Meta)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = files.Rewrite(root, f.Name, f.Content, f.Meta) // there is no room for a second file
		}
		return err
	case kindLink:
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

// realFolders says that no part of a path is anything but a folder; parts that
// do not exist are fine.
func realFolders(root *os.Root, dir string) bool {
	if dir == "." {
		return true
	}
	if !realFolders(root, path.Dir(dir)) {
		return false
	}
	info, err := root.Lstat(dir)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir()
}

// makeFolders makes sure that a path consists of real folders.
func makeFolders(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if err := makeFolders(root, path.Dir(dir)); err != nil {
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
	return chownAs(root, dir, files.MetaOf(top))
}

func chownAs(root *os.Root, name string, meta files.Meta) error {
	if os.Geteuid() != 0 || meta.UID < 0 {
		return nil
	}
	return root.Lchown(name, meta.UID, meta.GID)
}
