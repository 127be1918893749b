package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

// Create makes a new file in place of whatever has the name.
func (d *Dir) Create(name string) (io.WriteCloser, error) {
	dir, err := d.enter(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := d.replace(dir, name)
	if err != nil {
		return nil, err
	}
	return &file{f: f, path: d.Path(name)}, nil
}

// WriteFile writes a whole file or, when it fails, leaves what was there.
func (d *Dir) WriteFile(name string, data []byte) error {
	dir, err := d.enter(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = atomicfile.Write(dir, name, bytes.NewReader(data), atomicfile.Options{Mode: 0o644, Finish: d.chown, ReplaceDir: true})
	switch {
	case err == nil:
		return nil
	case isDenied(err):
		return d.unwritable(err)
	}
	return fmt.Errorf("write %s: %w", d.Path(name), atomicfile.Reason(err))
}

// Append opens a file to add to, and makes it when it is missing. When the
// file is deleted or replaced while it is open, the next write begins it anew.
// The writer may be used by many goroutines.
func (d *Dir) Append(name string) (io.WriteCloser, error) {
	f, err := d.adopt(name)
	if err != nil {
		return nil, err
	}
	return &appender{dir: d, name: name, file: file{f: f, path: d.Path(name)}}, nil
}

// SessionLog begins the log of a run that began then, in a file of its own.
func (d *Dir) SessionLog(began time.Time) (name string, log io.WriteCloser, err error) {
	dir, err := d.open()
	if err != nil {
		return "", nil, err
	}
	defer dir.Close()
	const most = 100 // runs in one second
	stem := "session-" + began.Format("20060102-150405")
	name = stem + ".log"
	for i := 1; i < most; i++ {
		if _, err := dir.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = fmt.Sprintf("%s_%d.log", stem, i)
	}
	log, err = d.Append(name)
	return name, log, err
}

// adopt opens an existing file of ours for appending, or makes a new one where
// the name is free or taken by something we did not make.
func (d *Dir) adopt(name string) (*os.File, error) {
	dir, err := d.enter(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	before, err := dir.Lstat(name)
	if err != nil || !before.Mode().IsRegular() || links(before) > 1 {
		return d.replace(dir, name)
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", d.Path(name), atomicfile.Reason(err))
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		_ = f.Close()
		return d.replace(dir, name)
	}
	return f, nil
}

// enter checks the name, which is ours and never the agent's, and opens the
// folder.
func (d *Dir) enter(name string) (*os.Root, error) {
	if name == "" || name == "." || !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) {
		return nil, fmt.Errorf("%q is not a valid file name for %s", name, d.folder)
	}
	return d.open()
}

// replace removes whatever has the name and makes a file that was not there
// before: O_EXCL follows no link and shares no inode.
func (d *Dir) replace(dir *os.Root, name string) (*os.File, error) {
	for range 3 { // somebody may put it back in between
		if err := dir.RemoveAll(name); err != nil {
			return nil, d.unwritable(err)
		}
		f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return nil, d.unwritable(err)
		}
		if err := d.chown(f); err != nil {
			_ = f.Close()
			return nil, err
		}
		return f, nil
	}
	return nil, fmt.Errorf("%s is put back whenever it is removed: %w", d.Path(name), ErrPlanted)
}

// file names itself in errors as the user knows it.
type file struct {
	f    *os.File
	path string
}

func (f *file) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	if err != nil {
		return n, fmt.Errorf("write %s: %w", f.path, atomicfile.Reason(err))
	}
	return n, nil
}

func (f *file) Close() error {
	if err := f.f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", f.path, atomicfile.Reason(err))
	}
	return nil
}

type appender struct {
	dir  *Dir
	name string
	mu   sync.Mutex
	file file
}

func (a *appender) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost() {
		f, err := a.dir.adopt(a.name)
		if err != nil {
			return 0, err
		}
		_ = a.file.Close()
		a.file.f = f
	}
	return a.file.Write(p)
}

// lost says that the name no longer leads to the open file.
func (a *appender) lost() bool {
	ours, err := a.file.f.Stat()
	if err != nil {
		return false // closed: the write says so
	}
	there, err := a.dir.root.Lstat(a.dir.Path(a.name))
	return err != nil || !os.SameFile(ours, there)
}

func (a *appender) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.file.Close()
}
