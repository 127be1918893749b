// Package taskdir is the owner's view of a task directory: the files by which an
// agent says that its task is done or that it waits, the message bus, and the
// directories of its runs. The agent can write to all of it, so what is read is
// bounded, nothing planted is followed, and no open blocks.
package taskdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

const (
	doneName     = "DONE"
	rejectedName = "DONE.rejected"
	waitName     = "WAIT_WITHOUT_RESTART"
	busName      = "TASK-MESSAGE-BUS.jsonl"
	runsName     = "runs"
)

// ProjectBus is the project's message bus, in the directory above the task's.
const ProjectBus = "PROJECT-MESSAGE-BUS.md"

// RunFiles are the names in a task directory that are state of its runs and no work.
func RunFiles() []string {
	return []string{doneName, rejectedName, waitName, busName, runsName}
}

// WaitCode is the exit code by which an agent says that it waits.
const WaitCode = 42

var (
	// ErrDoneIsDirectory says that DONE is there, but cannot be the marker.
	ErrDoneIsDirectory = errors.New("DONE is a directory")
	// ErrGone says that the path no longer leads to the directory that was opened:
	// what the agent writes there would never be seen.
	ErrGone = errors.New("it was deleted, moved or replaced")
	// ErrPlanted says that something other than a file or directory of ours has
	// its name: a symbolic link, a device, a second name of another file.
	ErrPlanted = errors.New("not created by ralph")
)

// Owner is who the created files and directories belong to; -1 leaves an id as it
// is.
type Owner struct{ UID, GID int }

// Dir is one task directory. Its methods are called one at a time.
type Dir struct {
	root   *os.Root
	above  *os.Root // the directory above; nil: noAbove says why
	path   string
	owner  Owner
	opened fs.FileInfo
	seen   mark

	noAbove error
}

// Open opens an existing directory that can be written to, and notes where its
// message bus ends. Its errors are made for the user.
func Open(path string, owner Owner) (*Dir, error) {
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("task folder %s does not exist; create it first", path)
	} else if err != nil {
		return nil, fmt.Errorf("task folder %s: %w", path, atomicfile.Reason(err))
	}
	info, err := os.Stat(full)
	if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("task folder %s is not a folder", path)
	}
	root, err := os.OpenRoot(full)
	if err != nil {
		return nil, fmt.Errorf("open task folder %s: %w", path, atomicfile.Reason(err))
	}
	d := &Dir{root: root, path: full, owner: owner}
	d.above, d.noAbove = os.OpenRoot(filepath.Dir(full))
	if err := d.begin(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// begin finds out before the first run what would fail after it.
func (d *Dir) begin() (err error) {
	if d.opened, err = d.root.Stat("."); err != nil {
		return fmt.Errorf("task folder %s: %w", d.path, atomicfile.Reason(err))
	}
	err = atomicfile.Probe(d.root)
	denied := []error{fs.ErrPermission, syscall.EROFS}
	if slices.ContainsFunc(denied, func(e error) bool { return errors.Is(err, e) }) {
		return fmt.Errorf("task folder %s is read-only (%w): the agent says there that it is done; make it writable, or run as the user who owns it", d.path, atomicfile.Reason(err))
	} else if err != nil {
		return fmt.Errorf("write to task folder %s: %w", d.path, atomicfile.Reason(err))
	}
	if uid := ownerOf(d.opened); d.owner.UID > 0 && uid >= 0 && uid != d.owner.UID && d.opened.Mode()&0o022 == 0 {
		return fmt.Errorf("task folder %s is read-only for the agent: it belongs to user %d, the agent runs as user %d; give it to that user with chown", d.path, uid, d.owner.UID)
	}
	d.seen = d.busEnd()
	return nil
}

// Close gives the directory back.
func (d *Dir) Close() error {
	err := d.root.Close()
	if d.above != nil {
		err = errors.Join(err, d.above.Close())
	}
	return err
}

// Path is the directory's absolute path, without symbolic links.
func (d *Dir) Path() string { return d.path }

// there fails with ErrGone when the path leads elsewhere by now.
func (d *Dir) there() error {
	if now, err := os.Lstat(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("task folder %s: %w", d.path, atomicfile.Reason(err))
	} else if err != nil || !os.SameFile(now, d.opened) {
		return fmt.Errorf("task folder %s: %w", d.path, ErrGone)
	}
	return nil
}

// own gives a file or directory of ours, by its descriptor, to its owner.
func (d *Dir) own(f *os.File) error {
	if d.owner.UID < 0 && d.owner.GID < 0 {
		return nil
	}
	if err := f.Chown(d.owner.UID, d.owner.GID); err != nil {
		return fmt.Errorf("give %s to its owner: %w", f.Name(), atomicfile.Reason(err))
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
