package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockName  = ".lock"
	lockPoll  = 50 * time.Millisecond
	lockQuiet = time.Second // of waiting before it is said
)

// errHeld: whoever can read the folder can hold its lock, for as long as they like.
var errHeld = errors.New("another process holds the lock")

// locked does what must not meet another process that does the same. It takes
// moments: nothing is fetched, copied or removed meanwhile. Somebody else who
// holds the lock is waited for until ctx ends; the error is then an errHeld.
func (o Options) locked(ctx context.Context, do func() error) error {
	path := filepath.Join(o.Root, lockName)
	began, said := time.Now(), false
	for {
		f, err := take(path)
		if err == nil {
			defer f.Close()
			return do()
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return folderError(o.Root, err)
		}
		if !said && time.Since(began) >= lockQuiet {
			said = true
			o.say(fmt.Sprintf("Another process holds %s; waiting for it.", path))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w %s", context.Cause(ctx), errHeld, path)
		case <-time.After(lockPoll):
		}
	}
}

// take opens a file and locks it until it is closed, or this process ends. The
// error is EWOULDBLOCK when somebody else has locked it.
func take(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644) // #nosec G302 -- empty, and a cache of the folder has to read it
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}
