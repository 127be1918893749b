package tasks

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

// maxMarker bounds what is read of a marker, in bytes.
const maxMarker = 16 << 20

// ErrLocked means that another loop runs in the project. The error that wraps it
// names its process.
var ErrLocked = errors.New("another loop")

// Lock is a project's marker, held by this process.
type Lock struct {
	folder *Folder
	pid    int
	wrote  fs.FileInfo // the file as it was last written

	whoever bool // the pid of another marker says nothing
}

// Lock puts the marker into the project. While the process that a marker names
// lives, the error wraps [ErrLocked]; what a dead one left behind, or is no
// marker, is taken over.
func (f *Folder) Lock(m Marker) (*Lock, error) { return f.lock(m, false) }

// TakeOver is [Folder.Lock] whatever process a marker names: for where that says
// nothing, as in a container, which counts its own. Who calls it knows in
// another way that no loop runs.
func (f *Folder) TakeOver(m Marker) (*Lock, error) { return f.lock(m, true) }

func (f *Folder) lock(m Marker, whoever bool) (*Lock, error) {
	l := &Lock{folder: f, pid: m.PID, whoever: whoever}
	data, err := m.Encode()
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", MarkerName, err)
	}
	for range 10 { // others may be taking it over
		if done, err := l.take(data); err != nil {
			return nil, err
		} else if done {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%w is starting in this project at the same time; try again", ErrLocked)
}

// take makes the marker where there is none, or replaces one nobody holds. The
// file lock on the old one lets only one process replace it.
func (l *Lock) take(data []byte) (done bool, err error) {
	root := l.folder.project
	before, err := root.Lstat(MarkerName)
	if errors.Is(err, fs.ErrNotExist) {
		return l.begin(data)
	} else if err != nil {
		return false, fmt.Errorf("%s: %w", MarkerName, atomicfile.Reason(err))
	}
	if !before.Mode().IsRegular() {
		return true, l.replace(data)
	}
	old, err := root.OpenFile(MarkerName, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", MarkerName, atomicfile.Reason(err))
	}
	defer old.Close()
	if err := syscall.Flock(int(old.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, nil
	}
	if now, err := root.Lstat(MarkerName); err != nil || !sameFile(old, now) {
		return false, nil
	}
	if pid := markerPID(old); !l.whoever && pid != l.pid && alive(pid) {
		return false, fmt.Errorf("%w (pid %d, since %s) is running in this project; wait for it to end, or end it. If process %d is something else, remove %s",
			ErrLocked, pid, before.ModTime().UTC().Format("2006-01-02 15:04:05 UTC"), pid, MarkerName)
	}
	return true, l.replace(data)
}

// begin makes the marker where there is none: whole at once, because a marker
// without a pid is nobody's.
func (l *Lock) begin(data []byte) (done bool, err error) {
	root, temp := l.folder.project, "tmp-"+rand.Text()
	if err := l.folder.replace(root, temp, data); err != nil {
		return false, err
	}
	err = root.Link(temp, MarkerName)
	if errors.Is(err, fs.ErrExist) {
		return false, root.Remove(temp)
	} else if err != nil {
		err = root.Rename(temp, MarkerName) // a file system without links
	} else {
		err = root.Remove(temp)
	}
	if err != nil {
		return false, fmt.Errorf("write %s: %w", MarkerName, atomicfile.Reason(err))
	}
	l.wrote, _ = root.Lstat(MarkerName)
	return true, nil
}

// Update writes the marker anew, before each iteration.
func (l *Lock) Update(m Marker) error {
	data, err := m.Encode()
	if err != nil {
		return fmt.Errorf("write %s: %w", MarkerName, err)
	}
	return l.replace(data)
}

func (l *Lock) replace(data []byte) error {
	root := l.folder.project
	if err := l.folder.replace(root, MarkerName, data); err != nil {
		return err
	}
	l.wrote, _ = root.Lstat(MarkerName)
	return nil
}

// Release removes the marker, unless another process has put its own there.
func (l *Lock) Release() error {
	root := l.folder.project
	now, err := root.Lstat(MarkerName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ours := err == nil && l.wrote != nil && os.SameFile(now, l.wrote)
	if !ours && err == nil && now.Mode().IsRegular() {
		if f, err := root.OpenFile(MarkerName, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			ours = markerPID(f) == l.pid
			_ = f.Close()
		}
	}
	if !ours {
		return nil
	}
	return l.remove()
}

func (l *Lock) remove() error {
	if err := l.folder.project.Remove(MarkerName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", MarkerName, atomicfile.Reason(err))
	}
	return nil
}

// Clear is [Lock.Release] for who knows in another way that no other loop runs in
// the project: a marker that the agent put there is removed, too.
func (l *Lock) Clear() error {
	if err := l.Release(); err != nil {
		return err
	}
	if info, err := l.folder.project.Lstat(MarkerName); err != nil || info.IsDir() {
		return nil
	}
	return l.remove()
}

// markerPID is the process a marker names; 0 when it names none.
func markerPID(f *os.File) int {
	data, err := bounded(f, maxMarker)
	if err != nil {
		return 0
	}
	var m struct {
		PID int `json:"pid"`
	}
	_ = json.Unmarshal(data, &m) // what is no marker names none
	return m.PID
}

func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func sameFile(f *os.File, info fs.FileInfo) bool {
	own, err := f.Stat()
	return err == nil && os.SameFile(own, info)
}
