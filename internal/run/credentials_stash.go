package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/org/ralph-action/internal/repo/credentials"
)

// hideToken takes the checkout's credentials out of the agent's reach until the
// end of the run.
func (s *sandboxed) hideToken() error {
	store, err := s.tokenStore()
	if err != nil {
		return err
	}
	// The folder stands in one of the agent's: by this handle it is found again
	// under whatever name the agent gave it.
	root, err := os.OpenRoot(store)
	if err != nil {
		return err
	}
	hidden, err := credentials.Stash(s.dir(), store) // the repository may lie below the workspace
	if err != nil {
		return errors.Join(err, root.Close())
	}
	s.undo.atEnd(func() {
		defer root.Close()
		notes, err := hidden.Restore()
		for _, n := range notes {
			s.rec.note(n)
		}
		if err != nil {
			if store == s.temp.store {
				s.temp.keep = true // nobody else has them
				err = fmt.Errorf("%w; the git settings that were hidden for the run are kept in %s: put them back by hand and remove that folder", err, store)
			}
			s.rec.warn(err.Error())
			return
		}
		if store != s.temp.store {
			empty(root)
			_ = os.Remove(store)
		}
	})
	return nil
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

// tokenStore is where hidden credentials wait. Only what lies in the workspace
// outlives a container that is killed; there a folder of root's is closed to an
// agent of another user. Everywhere else it is a private folder of the step or of this run.
func (s *sandboxed) tokenStore() (string, error) {
	if step := s.Before.Step; step != nil {
		return step.Hidden(), os.MkdirAll(step.Hidden(), 0o700)
	}
	store := hiddenStore(s.Workspace)
	if s.identity.IsZero() || store == "" {
		return s.temp.store, nil
	}
	if !oursAlone(store) {
		if err := os.RemoveAll(store); err != nil {
			return "", err
		}
		if err := os.Mkdir(store, 0o700); err != nil {
			return "", err
		}
	}
	return store, nil
}

// restoreCredentials puts back what a run that was killed had hidden in the workspace. It
// comes before anything else is changed there.
func restoreCredentials(workspace string) (notes []string, err error) {
	store := hiddenStore(workspace)
	if os.Geteuid() != 0 || store == "" || !oursAlone(store) {
		return nil, nil
	}
	return putBack(store)
}

func putBack(store string) (notes []string, err error) {
	notes, err = credentials.Restore(store)
	if err != nil {
		return nil, fmt.Errorf("an earlier run was killed, and the git settings it had hidden cannot be put back: %w; they are in %s: put them back by hand and remove that folder", err, store)
	}
	_ = os.Remove(store)
	return append(notes, "An earlier run was killed; the git settings it had hidden were put back."), nil
}

// hiddenStore is the folder in the workspace's git folder; empty when that is
// not a folder of its own.
func hiddenStore(workspace string) string {
	git := filepath.Join(workspace, ".git")
	if info, err := os.Lstat(git); err != nil || !info.IsDir() {
		return ""
	}
	return filepath.Join(git, "ralph-hidden")
}

// oursAlone says that a folder is there, and that only root can have made it and
// looked into it.
func oursAlone(dir string) bool {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0
}
