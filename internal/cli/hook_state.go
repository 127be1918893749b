package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/lib/atomicfile"
)

const (
	// stateWait bounds the wait for a state that another hook holds.
	stateWait = 2 * time.Second
	// maxState and maxLog bound a session's state and its log, in bytes.
	maxState = 1 << 20
	maxLog   = 8 << 20
	// logSuffix makes the name of a state's log.
	logSuffix = ".log"
)

// state is a session loop's file, held: two hooks of one session take turns,
// and so does whoever cancels it. It is replaced as a whole, and only as long as
// it is still there: a loop whose file is gone was cancelled.
type state struct {
	path    string
	file    *os.File
	session hook.Session
}

// openState takes a state file. The error wraps fs.ErrNotExist when there is
// none: then there is no loop.
func openState(ctx context.Context, path string) (*state, error) {
	ctx, cancel := context.WithTimeout(ctx, stateWait)
	defer cancel()
	for {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, fmt.Errorf("session state: %w", err)
		}
		s := &state{path: path, file: f}
		err = flock(ctx, f)
		if err == nil && !s.there() {
			_ = f.Close() // replaced while we waited
			if ctx.Err() == nil {
				continue
			}
			err = ctx.Err()
		}
		if err == nil {
			err = s.read()
		}
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("session state %s: %w", path, err)
		}
		return s, nil
	}
}

func (s *state) read() error {
	data, err := readOpen(s.file, maxState)
	if err == nil {
		s.session, err = hook.DecodeSession(data)
	}
	return err
}

// close lets the next one in.
func (s *state) close() { _ = s.file.Close() }

// there says that the name still leads to the file that is held.
func (s *state) there() bool {
	held, err := s.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(s.path)
	return err == nil && os.SameFile(held, named)
}

var errGone = errors.New("the session state is gone")

// save writes the session back. False: the loop was cancelled meanwhile.
func (s *state) save() (bool, error) {
	data, err := s.session.Encode()
	if err != nil {
		return true, err
	}
	dir, err := os.OpenRoot(filepath.Dir(s.path))
	if err != nil {
		return true, err
	}
	defer dir.Close()
	err = atomicfile.Write(dir, filepath.Base(s.path), bytes.NewReader(append(data, '\n')), atomicfile.Options{Finish: func(*os.File) error {
		if !s.there() {
			return errGone
		}
		return nil
	}})
	if errors.Is(err, errGone) {
		return false, nil
	}
	return true, err
}

// remove ends the loop.
func (s *state) remove() error {
	if !s.there() {
		return nil
	}
	if err := os.Remove(s.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// log adds one line of JSON to the loop's log.
func (s *state) log(e hook.Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.path+logSuffix, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is no file")
	case info.Size() > maxLog:
		err = fmt.Errorf("it is larger than %d MiB", maxLog>>20)
	default:
		_, err = f.Write(append(line, '\n'))
	}
	return errors.Join(err, f.Close())
}

// flock locks an open file, waiting until the context ends.
func flock(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("another process holds it")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
