package actions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// ErrChanged means that somebody else wrote to a file that is ours for the
// length of the step, or put another one in its place. It is as it should be
// again.
var ErrChanged = errors.New("changed by something else than ralph")

// ErrReplaced means that another file stands where the runner will read, and
// that ours could not be put back.
var ErrReplaced = errors.New("replaced by something else than ralph")

// commandFile is a file through which the runner takes outputs or a summary. On
// hosted runners it belongs to the uid the agent works as, so it is opened
// before the agent starts, and before each write compared with what we know
// must be in it. A nil commandFile takes everything and keeps nothing.
type commandFile struct {
	variable string
	path     string

	mu   sync.Mutex
	f    *os.File
	text []byte // everything that should be in the file
	was  os.FileInfo

	hidden bool // the way to it is closed; ours is open, and written to
}

// maxBefore bounds what may stand in a command file before ralph starts; the
// runner makes it empty for each step.
const maxBefore = 1 << 20

func openCommandFile(variable string, getenv func(string) string) (*commandFile, error) {
	path := getenv(variable)
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		if errors.Is(err, syscall.ELOOP) {
			return nil, fmt.Errorf("%s leads to a symbolic link: %s", variable, path)
		}
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("%s names a file that cannot be written: %s: %w; if ralph was started by hand, unset the variable", variable, path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxBefore+1))
	}
	if err == nil && len(text) > maxBefore {
		err = errors.New("more than 1 MiB stands in it already")
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s names a file that cannot be used: %s: %w", variable, path, err)
	}
	return &commandFile{variable: variable, path: path, f: f, text: text, was: info}, nil
}

// append adds text with one write. What somebody else wrote is removed first,
// and told by an error that wraps ErrChanged although the text was written.
func (c *commandFile) append(text []byte) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed, err := c.check()
	if errors.Is(err, ErrReplaced) {
		err = c.putBack(err)
		changed = err == nil
	}
	if err != nil {
		return err
	}
	add := text
	if changed {
		if err := c.f.Truncate(0); err != nil {
			return fmt.Errorf("%s: %w", c.variable, err)
		}
		add = append(bytes.Clone(c.text), text...)
	}
	if _, err := c.f.Write(add); err != nil {
		// Half an entry would make the runner reject the whole file.
		if e := c.f.Truncate(int64(len(c.text))); changed || e != nil {
			_ = c.f.Truncate(0)
		}
		return fmt.Errorf("%s: %w", c.variable, err)
	}
	c.text = append(c.text, text...)
	if c.hidden {
		return fmt.Errorf("%s: %s is in a folder that was closed: the runner may not find what was written to it", c.variable, c.path)
	}
	if changed {
		return fmt.Errorf("the file of %s was %w; what was added is removed", c.variable, ErrChanged)
	}
	return nil
}

// size is how much stands in the file by our reckoning.
func (c *commandFile) size() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.text)
}

// check compares the file with what we know.
func (c *commandFile) check() (changed bool, err error) {
	ours, err := c.f.Stat()
	if err != nil {
		return false, fmt.Errorf("%s: %w", c.variable, err)
	}
	there, err := os.Lstat(c.path)
	c.hidden = errors.Is(err, fs.ErrPermission)
	if !c.hidden && (err != nil || !os.SameFile(ours, there)) {
		return false, fmt.Errorf("the file of %s was %w: nothing is written to it", c.variable, ErrReplaced)
	}
	if ours.Mode() != c.was.Mode() { // the runner could not read it
		if err := c.f.Chmod(c.was.Mode().Perm()); err != nil {
			return false, fmt.Errorf("%s: %w", c.variable, err)
		}
		changed = true
	}
	if changed || ours.Size() != int64(len(c.text)) {
		return true, nil
	}
	now := make([]byte, len(c.text))
	if _, err := c.f.ReadAt(now, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("%s: %w", c.variable, err)
	}
	return !bytes.Equal(now, c.text), nil
}

// putBack takes away what stands in the file's place, which the runner would
// read, and makes the file anew, empty. A directory is not taken away, unless it is
// empty. Without it the error is replaced.
func (c *commandFile) putBack(replaced error) error {
	if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(replaced, err)
	}
	f, err := os.OpenFile(c.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return errors.Join(replaced, err)
	}
	info, err := f.Stat()
	now, _ := infoOwner(info)
	if owner, ok := infoOwner(c.was); err == nil && ok && now != owner {
		err = f.Chown(int(owner[0]), int(owner[1]))
	}
	if err == nil {
		err = f.Chmod(c.was.Mode().Perm())
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(c.path)
		return errors.Join(replaced, err)
	}
	_ = c.f.Close() // nobody reads that one any more
	c.f = f
	return nil
}

// infoOwner is the user and group of a file.
func infoOwner(info os.FileInfo) (owner [2]uint32, ok bool) {
	if info == nil {
		return owner, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if ok {
		owner = [2]uint32{s.Uid, s.Gid}
	}
	return owner, ok
}

// close looks at the file for the last time: what was added since the last write
// is removed, and told.
func (c *commandFile) close() error {
	if c == nil {
		return nil
	}
	err := c.append(nil)
	return errors.Join(err, c.f.Close())
}
