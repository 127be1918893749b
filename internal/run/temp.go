package run

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/org/ralph-action/internal/run/stepdir"
	"github.com/org/ralph-action/internal/sandbox/confine"
)

// temp is where the private files of a run lie: home, tmp and index are the
// sandbox's, store is ours.
type temp struct {
	root, home, tmp, index, store string
	keep                          bool   // the store holds what exists nowhere else
	leave                         func() // takes out of the store what stays, once every child is gone; nil: nothing does
}

func (s *sandboxed) removeTemp() {
	if s.temp.leave != nil {
		s.temp.leave()
	}
	if !s.temp.keep {
		if err := stepdir.RemoveAll(s.temp.root); err != nil {
			s.rec.out.Warn("A private folder of the run could not be removed: " + err.Error())
		}
		return
	}
	for _, dir := range []string{s.temp.home, s.temp.tmp, s.temp.index} {
		_ = os.RemoveAll(dir)
	}
}

// newTemp makes the private folders below dir.
func newTemp(dir string, user confine.Identity) (t temp, err error) {
	if t.root, err = os.MkdirTemp(dir, "ralph-"); err != nil {
		return t, err
	}
	sandboxOwned := []*string{&t.home, &t.tmp, &t.index}
	for i, dir := range append(sandboxOwned, &t.store) {
		*dir = filepath.Join(t.root, []string{"home", "tmp", "index", "store"}[i])
		err = errors.Join(err, os.Mkdir(*dir, 0o700))
	}
	err = errors.Join(err, os.Chmod(t.root, 0o711)) // #nosec G302 -- the sandbox user walks through it to its own folders
	if !user.IsZero() {
		for _, dir := range sandboxOwned {
			err = errors.Join(err, os.Chown(*dir, user.UID, user.GID))
		}
	}
	return t, err
}
