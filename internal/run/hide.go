package run

import (
	"fmt"
	"os"

	"github.com/org/ralph-action/internal/run/stash"
)

// hideToken takes the checkout's credentials out of the agent's reach until the
// end of the run.
func (s *sandboxed) hideToken() error {
	store, err := s.tokenStore()
	if err != nil {
		return err
	}
	hidden, err := stash.Hide(s.dir(), store) // the repository may lie below the workspace
	if err != nil {
		return err
	}
	s.undo.atEnd(func() {
		notes, err := hidden.Restore(store != s.temp.store)
		for _, n := range notes {
			s.rec.note(n)
		}
		if err == nil {
			return
		}
		if store == s.temp.store {
			s.temp.keep = true // nobody else has them
			err = fmt.Errorf("%w; the git settings that were hidden for the run are kept in %s: put them back by hand and remove that folder", err, store)
		}
		s.rec.warn(err.Error())
	})
	return nil
}

// tokenStore is where hidden credentials wait. Only what lies in the workspace
// outlives a container that is killed; there a folder of root's is closed to an
// agent of another user. Everywhere else it is a private folder of the step or of this run.
func (s *sandboxed) tokenStore() (string, error) {
	if step := s.Before.Step; step != nil {
		return step.Hidden(), os.MkdirAll(step.Hidden(), 0o700)
	}
	store := stash.Store(s.Workspace)
	if s.identity.IsZero() || store == "" {
		return s.temp.store, nil
	}
	return store, stash.Make(store)
}
