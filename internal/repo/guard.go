package repo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/org/ralph-action/internal/atomicfile"
	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/gitconfig"
	"github.com/org/ralph-action/internal/repo/gitdir"
)

// guarded are the files of a git folder that make a later git command, run by
// somebody else (checkout's post step), execute or include something: they are
// put back as they were.
var guarded = []string{
	"config", "config.worktree", "commondir", "gitdir", "hooks",
	"info/attributes", "info/exclude", "info/grafts", "refs/replace",
	"objects/info/alternates", "objects/info/http-alternates",
}

const (
	manifestName    = "hidden.json"
	maxGuardedBytes = 64 << 20
	maxGitFolders   = 2000
	maxModuleDepth  = 40
)

// Hidden is a workspace whose git configuration holds no credential for as long
// as the agent works.
type Hidden struct {
	manifest string
	state    guardState
	roots    []*os.Root
}

// guardState is what the manifest on disk holds.
type guardState struct {
	Folders []guardFolder
}

// guardFolder is one git folder: the repository's, and one of each submodule.
type guardFolder struct {
	Path  string // without links
	Files []guardFile
	// Pointer says that it is a work tree, of which only the file .git is guarded
	// that names its git folder.
	Pointer bool `json:",omitempty"`
}

// guardFile is a file, link or folder as it was. Kind is "" when nothing was
// there.
type guardFile struct {
	Name    string
	Kind    string
	Meta    files.Meta
	Content []byte `json:",omitempty"`
	Link    string `json:",omitempty"`
	Left    []byte `json:",omitempty"` // the content put there for the agent, when it differs
}

const (
	kindFile = "file"
	kindLink = "link"
	kindDir  = "dir"
)

// HideToken takes the credentials out of the configuration of the repository
// above dir, and of its submodules, and remembers that and everything else a
// planted program could hide in. It uses no git program. The originals are
// written to store, which only the owner may read, before anything is
// changed: a process that was killed is made good by the next HideToken or
// RestoreToken with the same store. Call it before Open.
func HideToken(dir, store string) (*Hidden, error) {
	if _, err := RestoreToken(store); err != nil {
		return nil, err
	}
	at, err := gitdir.Locate(dir)
	if err != nil {
		return nil, err
	}
	h := &Hidden{manifest: filepath.Join(store, manifestName)}
	if err := h.hide(at); err != nil {
		_, rerr := h.Restore()
		return nil, errors.Join(err, rerr)
	}
	return h, nil
}

// RestoreToken puts back what a HideToken of a process that is gone has hidden.
// Nothing hidden is fine.
func RestoreToken(store string) (notes []string, err error) {
	h := &Hidden{manifest: filepath.Join(store, manifestName)}
	b, err := os.ReadFile(h.manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &h.state); err != nil {
		return nil, fmt.Errorf("%s: %w", h.manifest, err)
	}
	return h.Restore()
}

func (h *Hidden) hide(at gitdir.Layout) error {
	folders := []string{at.Git}
	if at.Common != at.Git {
		folders = append(folders, at.Common)
	}
	modules, err := moduleFolders(at.Common)
	if err != nil {
		return err
	}
	var size int
	folders = append(folders, modules...)
	trees := workTrees(modules)
	if at.Pointer {
		trees = append(trees, at.Top)
	}
	for i, dir := range append(folders, trees...) {
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return err
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		h.roots = append(h.roots, root)
		f := guardFolder{Path: dir, Pointer: i >= len(folders)}
		names := guarded
		if f.Pointer {
			names = []string{".git"}
		}
		for _, name := range names {
			if err := recordAll(root, name, &f.Files, &size); err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
			}
		}
		for i := range f.Files {
			if err := f.Files[i].strip(); err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(dir, f.Files[i].Name), err)
			}
		}
		h.state.Folders = append(h.state.Folders, f)
	}
	if err := h.save(); err != nil {
		return err
	}
	for i, f := range h.state.Folders {
		for _, file := range f.Files {
			if file.Left == nil {
				continue
			}
			if err := files.Replace(h.roots[i], file.Name, bytes.NewReader(file.Left), file.Meta); err != nil {
				return err
			}
		}
	}
	return nil
}

// strip works out what of a configuration the agent may see.
func (f *guardFile) strip() error {
	if f.Kind != kindFile || f.Name != "config" && f.Name != "config.worktree" {
		return nil
	}
	c, err := gitconfig.Parse(f.Content)
	if err != nil {
		return err
	}
	if left := c.WithoutSecrets(); !bytes.Equal(left, f.Content) {
		f.Left = append([]byte{}, left...)
	}
	return nil
}

// save writes the manifest so that it survives a crash.
func (h *Hidden) save() error {
	b, err := json.Marshal(h.state)
	if err != nil {
		return err
	}
	store, err := os.OpenRoot(filepath.Dir(h.manifest))
	if err != nil {
		return err
	}
	defer store.Close()
	return atomicfile.Write(store, manifestName, bytes.NewReader(b), atomicfile.Options{Sync: true, Temp: manifestName + ".new"})
}

// recordAll remembers a name and, for a folder, everything below it.
func recordAll(root *os.Root, name string, found *[]guardFile, size *int) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		*found = append(*found, guardFile{Name: name})
		return nil
	}
	if err != nil {
		return err
	}
	f := guardFile{Name: name, Meta: files.MetaOf(info)}
	switch {
	case info.Mode().IsRegular():
		f.Kind = kindFile
		if f.Content, err = files.Read(root, name, maxGuardedBytes); err != nil {
			return err
		}
		if *size += len(f.Content); *size > maxGuardedBytes {
			return fmt.Errorf("hooks and configuration have more than %d bytes", maxGuardedBytes)
		}
	case info.Mode()&fs.ModeSymlink != 0:
		f.Kind = kindLink
		if f.Link, err = root.Readlink(name); err != nil {
			return err
		}
	case info.IsDir():
		f.Kind = kindDir
	default:
		return errors.New("neither a file, nor a folder, nor a link")
	}
	*found = append(*found, f)
	if f.Kind != kindDir {
		return nil
	}
	names, err := list(root, name)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := recordAll(root, path.Join(name, n), found, size); err != nil {
			return err
		}
	}
	return nil
}

func list(root *os.Root, name string) ([]string, error) {
	d, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}
