// Package stash keeps the git settings in which a checkout left credentials out of the agent's reach,
// for as long as a run takes, and puts them back: also what a run left hidden that was killed.
package stash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/org/ralph-action/internal/repo/credentials"
)

// Stash is settings that are hidden.
type Stash struct {
	hidden *credentials.Stashed
	store  *os.Root // the folder stands in one of the agent's: by this handle it is found again under whatever name the agent gave it
}

// Hide moves the settings of the repository in dir into a folder.
func Hide(dir, store string) (*Stash, error) {
	root, err := os.OpenRoot(store)
	if err != nil {
		return nil, err
	}
	hidden, err := credentials.Stash(dir, store)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Stash{hidden, root}, nil
}

// Restore puts the settings back. Own reports whether the folder was for them alone: then nothing
// is left in it.
func (s *Stash) Restore(own bool) (notes []string, err error) {
	defer s.store.Close()
	if notes, err = s.hidden.Restore(); err == nil && own {
		empty(s.store)
		_ = os.Remove(s.store.Name())
	}
	return notes, err
}

// Make makes the folder in the workspace anew, unless it is root's alone.
func Make(store string) error {
	if OursAlone(store) {
		return nil
	}
	if err := os.RemoveAll(store); err != nil {
		return err
	}
	return os.Mkdir(store, 0o700)
}

// empty removes what a folder holds. A manifest that the agent moved away would
// be handed to it with the rest of the workspace, one day.
func empty(root *os.Root) {
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		_ = root.RemoveAll(name)
	}
}

// Restore puts back what a run that was killed had hidden in the workspace. It
// comes before anything else is changed there.
func Restore(workspace string) (notes []string, err error) {
	store := Store(workspace)
	if os.Geteuid() != 0 || store == "" || !OursAlone(store) {
		return nil, nil
	}
	return PutBack(store)
}

// PutBack puts back what was hidden in a folder.
func PutBack(store string) (notes []string, err error) {
	notes, err = credentials.Restore(store)
	if err != nil {
		return nil, fmt.Errorf("an earlier run was killed, and the git settings it had hidden cannot be put back: %w; they are in %s: put them back by hand and remove that folder", err, store)
	}
	_ = os.Remove(store)
	return append(notes, "An earlier run was killed; the git settings it had hidden were put back."), nil
}

// Store is the folder for them in the workspace's git folder; empty when that is
// not a folder of its own.
func Store(workspace string) string {
	git := filepath.Join(workspace, ".git")
	if info, err := os.Lstat(git); err != nil || !info.IsDir() {
		return ""
	}
	return filepath.Join(git, "ralph-hidden")
}

// OursAlone says that a folder is there, and that only root can have made it and
// looked into it.
func OursAlone(dir string) bool {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}
