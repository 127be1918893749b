// Package stepdir is the folder that a step on the runner itself has from its main part to
// its post part. host/main.js makes it, no sandbox opens it, and all that a run needs outside
// of the workspace lies there. So the post part can believe what it finds, and nothing is
// left when it has removed the folder.
package stepdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/lib/atomicfile"
	"github.com/org/ralph-action/internal/lib/rmtree"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// Variable names the folder in the environment of both parts.
const Variable = "RALPH_STEP_DIR"

const (
	lockName    = "lock"    // held by the main part and its supervisors
	processName = "process" // the main part
	jobName     = "job"
	hiddenName  = "hidden"
	prefix      = "ralph-" // of the names of such folders, beside each other in RUNNER_TEMP

	endTime   = 5 * time.Second // for what was killed
	lookAgain = 50 * time.Millisecond
)

// Dir is the folder of a step.
type Dir struct {
	Root *os.Root
	path string
	lock *os.File // nil: it is not held
}

// Open opens a folder; it returns nil if path is empty. It must be one that this user alone
// can write, outside of the workspace.
func Open(path, workspace string) (*Dir, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // the step has none
	}
	wrong := func(why string) error {
		return fmt.Errorf("%s=%s: %s; the action sets it by itself", Variable, path, why)
	}
	if !filepath.IsAbs(path) {
		return nil, wrong("it is not absolute")
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, wrong(atomicfile.Reason(err).Error())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm()&0o066 != 0 || !ok || int(st.Uid) != os.Geteuid() {
		return nil, wrong("it is not a folder of this user's alone")
	}
	if work, err := filepath.EvalSymlinks(workspace); workspace != "" && err == nil {
		if target, err := filepath.EvalSymlinks(path); err != nil || within(target, work) {
			return nil, wrong("it lies in the workspace")
		}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, wrong(err.Error())
	}
	return &Dir{Root: root, path: path}, nil
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Path is where the folder is.
func (d *Dir) Path() string { return d.path }

// Hidden is where git settings wait that are hidden for the run.
func (d *Dir) Hidden() string { return filepath.Join(d.path, hiddenName) }

// Hides reports whether there are any.
func (d *Dir) Hides() bool {
	_, err := d.Root.Lstat(hiddenName)
	return err == nil
}

// Close lets the folder be.
func (d *Dir) Close() {
	if d.lock != nil {
		_ = d.lock.Close()
		d.lock = nil
	}
	_ = d.Root.Close()
}

// Begin notes that this process is the main part of a step of a job.
func (d *Dir) Begin(job string) error {
	if err := d.hold(); err != nil {
		return fmt.Errorf("%s is in use: %w", d.path, err)
	}
	return errors.Join(d.write(processName, proc.Self()), d.write(jobName, job))
}

func (d *Dir) write(name, text string) error {
	return atomicfile.Write(d.Root, name, strings.NewReader(text), atomicfile.Options{Mode: 0o600})
}

func (d *Dir) read(name string) string {
	text, _ := d.Root.ReadFile(name)
	return string(text)
}

// hold takes the lock, for as long as this process lives and the supervisors that it
// starts, which inherit the descriptor and keep it from their children.
func (d *Dir) hold() error {
	if d.lock != nil {
		return nil
	}
	fd, err := unix.Open(filepath.Join(d.path, lockName), unix.O_RDONLY|unix.O_CREAT|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = unix.Close(fd)
		return err
	}
	d.lock = os.NewFile(uintptr(fd), lockName)
	return nil
}

// holdSoon is hold for a folder whose supervisors may be ending.
func (d *Dir) holdSoon() (err error) {
	for deadline := time.Now().Add(endTime); ; time.Sleep(lookAgain) {
		if err = d.hold(); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// End ends the main part, should it go on, as a runner does that gives up on it, and what
// it has started. It has patience with a main part that is ending. When ctx ends, it has not.
func (d *Dir) End(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	main, sig := d.read(processName), syscall.SIGTERM
	var killed time.Time
	for d.hold() != nil {
		proc.Signal(main, sig) // after the first, it changes nothing
		switch {
		case ctx.Err() == nil:
			select {
			case <-ctx.Done():
			case <-time.After(lookAgain):
			}
		case killed.IsZero():
			sig, killed = syscall.SIGKILL, time.Now()
		case time.Since(killed) > endTime:
			return errors.Join(errors.New("what the step before started does not end"), proc.EndBelow(d.path, endTime))
		default:
			time.Sleep(lookAgain)
		}
	}
	return proc.EndBelow(d.path, endTime)
}

// Remove removes the folder, but for hidden git settings that could not be put back.
func (d *Dir) Remove() error {
	defer d.Close()
	_ = d.Root.Remove(hiddenName) // if it is empty
	if !d.Hides() {
		return RemoveAll(d.path)
	}
	entries, err := fs.ReadDir(d.Root.FS(), ".")
	for _, e := range entries {
		if e.Name() != hiddenName {
			err = errors.Join(err, RemoveAll(filepath.Join(d.path, e.Name())))
		}
	}
	return err
}

// Others are the folders beside this one in the runner's folder for temporary files whose
// main parts have ended: earlier ones of this job, which have their post part before them,
// and those of lost jobs, which never had it. Each of them is held until it is closed.
func (d *Dir) Others(runnerTemp, job string) (same, lost []*Dir) {
	if filepath.Dir(d.path) != filepath.Clean(runnerTemp) {
		return nil, nil
	}
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(d.path), prefix+"*"))
	for _, path := range found {
		if path == d.path {
			continue
		}
		other, err := Open(path, "")
		if err != nil {
			continue // not one of ours
		}
		switch its := other.read(jobName); {
		case its == job && other.holdSoon() == nil:
			same = append(same, other)
		case its != job && its != "" && other.hold() == nil:
			lost = append(lost, other)
		default: // not one of ours, or in use
			other.Close()
		}
	}
	return same, lost
}

// Clear ends and removes what a lost job left.
func (d *Dir) Clear() error {
	return errors.Join(proc.EndBelow(d.path, endTime), RemoveAll(d.Hidden()), d.Remove())
}

// RemoveAll removes a folder, and folders in it that were closed to their owner.
func RemoveAll(path string) error {
	err := rmtree.Remove(path)
	if err == nil {
		return nil
	}
	root, openErr := os.OpenRoot(path)
	if openErr != nil {
		return err
	}
	defer root.Close()
	var open func(dir string, depth int)
	open = func(dir string, depth int) {
		_ = root.Chmod(dir, 0o700) // what cannot be opened stays, and is told
		f, err := root.Open(dir)
		if err != nil || depth > 1000 {
			return
		}
		entries, _ := f.ReadDir(-1)
		_ = f.Close()
		for _, e := range entries {
			if e.IsDir() {
				open(filepath.Join(dir, e.Name()), depth+1)
			}
		}
	}
	open(".", 0)
	return rmtree.Remove(path)
}
