package run

import (
	"path/filepath"

	"github.com/org/ralph-action/internal/sandbox"
)

// rememberModes keeps the permissions of what an agent of the same user could
// close to, or open for, whoever comes after it, and puts them back when it is
// dead: the user's keys, the runner's folders, and the way to its files.
func (j *workspace) rememberModes() {
	if !j.walled() {
		return
	}
	var modes sandbox.Modes
	home := j.getenv("HOME")
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_EVENT_PATH"} {
		if path := j.getenv(name); !j.local() && path != "" {
			modes.RememberWay(path)
			modes.Remember([]string{path}, nil)
		}
	}
	if temp := j.getenv("RUNNER_TEMP"); !j.local() && temp != "" {
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
	j.undo.atEnd(func() {
		changed, err := modes.Restore()
		for _, path := range changed {
			text := "The permissions of " + path + " were changed during the run. They are put back."
			j.rec.warn(text)
		}
		if err != nil {
			j.rec.out.Warn(err.Error())
		}
	})
}
