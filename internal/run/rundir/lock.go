package rundir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

const lockName = "lock"

// ErrLocked says that another ralph works in the workspace. The error that
// wraps it names its process.
var ErrLocked = errors.New("another ralph")

// Lock keeps a second ralph out of the workspace until release is called or
// this process ends, however it ends.
//
// The lock is on the workspace directory itself, because a git clean of the
// agent's deletes everything in .ralph, and on .ralph/lock, because some
// network file systems lock no directories. The file also says who holds it.
func (d *Dir) Lock() (release func(), err error) {
	top, err := d.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", d.workspace, atomicfile.Reason(err))
	}
	if err := flock(top, unix.LOCK_EX); errors.Is(err, unix.EWOULDBLOCK) {
		_ = top.Close()
		return nil, d.locked()
	}
	f, err := d.lockFile()
	if err != nil {
		_ = top.Close()
		return nil, err
	}
	if err := flock(f, unix.LOCK_EX); err != nil {
		_, _ = f.Close(), top.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, d.locked()
		}
		return nil, fmt.Errorf("lock %s: %w", d.Path(lockName), err)
	}
	if err := note(f); err != nil {
		_, _ = f.Close(), top.Close()
		return nil, fmt.Errorf("write %s: %w", d.Path(lockName), atomicfile.Reason(err))
	}
	return func() {
		_ = f.Truncate(0) // the file stays: removing a locked file lets two in
		_, _ = f.Close(), top.Close()
	}, nil
}

// Held reports whether a ralph has locked a directory, and which process that is; 0 where
// its lock file does not say so any more. It changes nothing.
func Held(dir string) (held bool, pid int, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	} else if err != nil {
		return false, 0, fmt.Errorf("open %s: %w", dir, atomicfile.Reason(err))
	}
	defer root.Close()
	d := &Dir{root: root, workspace: dir, folder: Name}
	for _, name := range []string{".", d.Path(lockName)} {
		f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			continue // it is not there, or not to be read: the other one tells
		}
		held = held || errors.Is(flock(f, unix.LOCK_SH), unix.EWOULDBLOCK)
		_ = f.Close()
	}
	if held {
		pid, _ = d.holder()
	}
	return held, pid, nil
}

// lockFile opens the lock file; unlike other files it is kept when it is there.
func (d *Dir) lockFile() (*os.File, error) {
	dir, err := d.enter(lockName)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if before, err := dir.Lstat(lockName); err == nil && before.Mode().IsRegular() && links(before) == 1 {
		f, err := dir.OpenFile(lockName, os.O_RDWR|unix.O_NONBLOCK, 0)
		if err == nil {
			if after, err := f.Stat(); err == nil && os.SameFile(before, after) {
				return f, nil
			}
			_ = f.Close()
		}
	}
	return d.replace(dir, lockName)
}

// note says in the lock file who holds it. Its modification time is the start.
func note(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	return err
}

// locked describes the holder, as far as the lock file still does.
func (d *Dir) locked() error {
	const rest = "is working in this folder: ralph status tells what it does; wait for it to end, or end it with ralph cancel"
	pid, started := d.holder()
	if pid == 0 {
		return fmt.Errorf("%w %s", ErrLocked, rest)
	}
	return fmt.Errorf("%w (pid %d, started %s) %s", ErrLocked, pid, started.Format(time.RFC3339), rest)
}

// holder is the process that the lock file names, and when it took the lock; 0 when the
// file does not say so.
func (d *Dir) holder() (pid int, started time.Time) {
	f, err := d.root.OpenFile(d.Path(lockName), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, started
	}
	defer f.Close()
	info, err := f.Stat()
	line, _ := bufio.NewReader(io.LimitReader(f, 32)).ReadString('\n')
	pid, e := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || e != nil || pid <= 0 {
		return 0, started
	}
	return pid, info.ModTime()
}

// flock locks without waiting, but for who only looks whether there is a lock.
func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	for range 5 {
		if err := conn.Control(func(fd uintptr) { locked = unix.Flock(int(fd), how|unix.LOCK_NB) }); err != nil {
			return err
		}
		if how == unix.LOCK_SH || !errors.Is(locked, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return locked
}

// links counts the names of a file; a second one may lie outside the workspace.
func links(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
