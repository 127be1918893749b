package taskdir

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

// Done reports whether the agent has declared its task done: DONE is there,
// whatever it holds and whatever it is, a dangling link included. The error is
// ErrDoneIsDirectory or wraps ErrGone, and what else keeps it from being known.
func (d *Dir) Done() (bool, error) {
	if err := d.there(); err != nil {
		return false, err
	}
	info, err := d.root.Lstat(doneName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for %s in task folder %s: %w", doneName, d.path, atomicfile.Reason(err))
	case info.IsDir():
		return false, ErrDoneIsDirectory
	}
	return true, nil
}

// Withdraw takes DONE back because it does not hold: it becomes DONE.rejected,
// in place of an older one. Without DONE it does nothing.
func (d *Dir) Withdraw() error {
	done, err := d.Done()
	if err != nil || !done {
		return err
	}
	err = d.root.Rename(doneName, rejectedName)
	if info, e := d.root.Lstat(rejectedName); err != nil && e == nil && info.IsDir() {
		err = d.root.Remove(doneName) // the name is taken: it matters that DONE goes
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("withdraw %s in task folder %s: %w", doneName, d.path, atomicfile.Reason(err))
	}
	return nil
}

// Waiting reports whether the agent that just exited waits for somebody and must
// not be restarted, and what for, in one line that still has to be masked and cut: a message of the type
// wait_without_restart that was posted since Open, Resume or the last call, the
// file WAIT_WITHOUT_RESTART, or the exit code 42. What is wrong with the directory
// is no signal; Done tells it.
func (d *Dir) Waiting(exitCode int) (why string, ok bool) {
	body, posted := d.waitPosted() // always, so that a message counts once
	switch {
	case posted && body != "":
		return body, true
	case posted:
		return "message " + waitType, true
	case d.marked():
		return "file " + waitName, true
	case exitCode == WaitCode:
		return fmt.Sprintf("exit code %d", WaitCode), true
	}
	return "", false
}

func (d *Dir) marked() bool {
	_, err := d.root.Lstat(waitName)
	return err == nil
}

// Resume is called when the waiting is over, at a new start: the marker of an
// earlier run goes, and messages from before count no more.
func (d *Dir) Resume() error {
	d.seen = d.busEnd()
	if err := d.root.Remove(waitName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s from task folder %s: %w; remove it yourself", waitName, d.path, atomicfile.Reason(err))
	}
	return nil
}
