package credentials

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

	"github.com/org/ralph-action/internal/repo/files"
)

// Restore puts everything back as it was, byte by byte, with owner and mode,
// whatever the agent made of it. Notes name what the agent had changed. Call
// it on every way out, after the agent is dead and the last git command has
// run; a second call does nothing.
func (h *Stashed) Restore() (notes []string, err error) {
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
	h.state = state{}
	if err := os.Remove(h.manifest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return notes, err
	}
	return notes, nil
}

// inPlace is the directory that stands at path now. It is the one that was there
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
		return nil, "", fmt.Errorf("the git directory %s is gone: check the repository out again (%w)", path, fs.ErrNotExist)
	case err != nil:
		return nil, "", err
	case !now.IsDir():
		return nil, "", fmt.Errorf("%s is no longer a directory: check the repository out again before you run git in it", path)
	}
	note := ""
	if root != nil {
		note = fmt.Sprintf("the git directory %s was replaced during the run", path)
	}
	root, err = os.OpenRoot(path)
	return root, note, err
}

// restore brings the guarded files of a directory back and says which top entries
// were not as they had been left for the agent.
func (f gitDirectory) restore(root *os.Root) (changed []string, err error) {
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
		same, err := file.Unchanged(root)
		if err != nil {
			return changed, err
		}
		if !same && !markedByLFS(root, file) {
			note(file.Name)
		}
		if !same || file.Left != nil {
			if err := file.Put(root); err != nil {
				return changed, err
			}
		}
		if file.Kind != files.KindDir {
			continue
		}
		names, err := files.List(root, file.Name)
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

// markedByLFS reports whether a file differs in nothing but that. It is put back, and
// nobody did it.
func markedByLFS(root *os.Root, f files.Saved) bool {
	want := f.Content
	if f.Left != nil {
		want = f.Left
	}
	got, err := files.Read(root, f.Name, files.MaxSaved)
	return err == nil && f.Kind == files.KindFile && path.Base(f.Name) == "config" && bytes.Equal(bytes.Replace(got, []byte(lfsMark), nil, 1), want)
}

// topName is the guarded entry a file below it belongs to.
func topName(name string) string {
	if rest, ok := strings.CutPrefix(name, "hooks/"); ok && rest != "" {
		return "hooks"
	}
	return name
}
