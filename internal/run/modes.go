package run

import (
	"path/filepath"

	"github.com/org/ralph-action/internal/sandbox/confine"
)

// rememberModes keeps the permissions of what an agent of the same user could
// close to, or open for, whoever comes after it, and puts them back when it is
// dead: the user's keys, the runner's folders, and the way to its files.
func (w *workspace) rememberModes() {
	if !w.sandboxes() {
		return
	}
	var modes confine.Modes
	home := w.getenv("HOME")
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_EVENT_PATH"} {
		if path := w.getenv(name); !w.local() && path != "" {
			modes.RememberWay(path)
			modes.Remember([]string{path}, nil)
		}
	}
	if temp := w.getenv("RUNNER_TEMP"); !w.local() && temp != "" {
		work := filepath.Dir(temp) // below the folder the runner is installed in
		modes.RememberWay(filepath.Dir(work))
		modes.Remember(nil, []string{filepath.Dir(work), work, temp})
	}
	if home != "" {
		modes.Remember([]string{home}, []string{
			filepath.Join(home, ".ssh"), filepath.Join(home, ".gnupg"), filepath.Join(home, ".aws"),
			filepath.Join(home, ".docker"), filepath.Join(home, ".kube"), filepath.Join(home, ".config"),
		})
	}
	w.undo.atEnd(func() {
		changed, err := modes.Restore()
		for _, path := range changed {
			w.rec.warn("The permissions of " + path + " were changed during the run. They are put back.")
		}
		if err != nil {
			w.rec.out.Warn(err.Error())
		}
	})
}
