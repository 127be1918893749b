// Package credentials keeps a checkout's credentials, and what a later git would run, from the agent.
package credentials

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/ralph-action/internal/lib/atomicfile"
	"github.com/org/ralph-action/internal/repo/files"
	"github.com/org/ralph-action/internal/repo/gitconfig"
	"github.com/org/ralph-action/internal/repo/gitdir"
)

// guarded are the files of a git directory that make a later git command, run by
// somebody else (checkout's post step), execute or include something: they are
// put back as they were.
var guarded = []string{
	"config", "config.worktree", "commondir", "gitdir", "hooks",
	"info/attributes", "info/exclude", "info/grafts", "refs/replace",
	"objects/info/alternates", "objects/info/http-alternates",
}

const (
	manifestName   = "hidden.json"
	maxGitFolders  = 2000
	maxModuleDepth = 40
)

// Stashed is a workspace whose git configuration holds no credential for as long
// as the agent works.
type Stashed struct {
	manifest string
	state    state
	roots    []*os.Root
}

// state is what the manifest on disk holds.
type state struct {
	Folders []gitDirectory
}

// gitDirectory is one git directory: the repository's, and one of each submodule.
type gitDirectory struct {
	Path  string // without links
	Files []files.Saved
	// Pointer reports whether it is a work tree, of which only the file .git is guarded
	// that names its git directory.
	Pointer bool `json:",omitempty"`
}

// Stash takes the credentials out of the configuration of the repository
// above dir, and of its submodules, and remembers that and everything else a
// planted program could hide in. It uses no git program. The originals are
// written to store, which only this process may read, before anything is
// changed: a process that was killed is made good by the next Stash or
// Restore with the same store. Call it before repo.Open.
func Stash(dir, store string) (*Stashed, error) {
	if _, err := Restore(store); err != nil {
		return nil, err
	}
	at, err := gitdir.Locate(dir)
	if err != nil {
		return nil, err
	}
	h := &Stashed{manifest: filepath.Join(store, manifestName)}
	if err := h.stash(at); err != nil {
		_, rerr := h.Restore()
		return nil, errors.Join(err, rerr)
	}
	return h, nil
}

// Restore puts back what a Stash of a process that is gone has hidden.
// Nothing hidden is fine.
func Restore(store string) (notes []string, err error) {
	h := &Stashed{manifest: filepath.Join(store, manifestName)}
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

func (h *Stashed) stash(at gitdir.Layout) error {
	folders := []string{at.Git}
	if at.Common != at.Git {
		folders = append(folders, at.Common)
	}
	modules, err := moduleDirs(at.Common)
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
		f := gitDirectory{Path: dir, Pointer: i >= len(folders)}
		names := guarded
		if f.Pointer {
			names = []string{".git"}
		}
		for _, name := range names {
			if err := files.Save(root, name, &f.Files, &size); err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
			}
		}
		for i := range f.Files {
			if err := strip(&f.Files[i]); err != nil {
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
func strip(f *files.Saved) error {
	if f.Kind != files.KindFile || f.Name != "config" && f.Name != "config.worktree" {
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
func (h *Stashed) save() error {
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
