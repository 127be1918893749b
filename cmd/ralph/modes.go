package main

import (
	"path/filepath"

	"github.com/org/ralph-action/internal/sandbox"
)

// rememberModes keeps the permissions of what an agent of the same user could
// close to, or open for, whoever comes after it, and puts them back when it is
// dead: the user's keys, the runner's folders, and the way to its files.
func (j *job) rememberModes() {
	if !j.walled() {
		return
	}
	var modes sandbox.Modes
	home := j.app.getenv("HOME")
	for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_EVENT_PATH"} {
		if path := j.app.getenv(name); j.runner != nil && path != "" {
			modes.RememberWay(path)
			modes.Remember([]string{path}, nil)
		}
	}
	if temp := j.app.getenv("RUNNER_TEMP"); j.runner != nil && temp != "" {
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
	j.atEnd(func() {
		changed, err := modes.Restore()
		for _, path := range changed {
			text := "The permissions of " + path + " were changed during the run. They are put back."
			j.note(text)
			j.out.warn(text)
		}
		if err != nil {
			j.out.warn(err.Error())
		}
	})
}
