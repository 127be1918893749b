package dockersandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/org/ralph-action/internal/lib/atomicfile"
)

// The folder that keeps the agent signed in, in the user's home, and what is in
// it. It is shared by the sandboxes of all projects, whose agents can
// write to it.
const (
	stateDir   = ".dclaude_state"
	agentDir   = ".claude"
	agentFile  = ".claude.json"
	brokenFile = ".claude.json.broken"
)

// agentBytes bounds the agent's file that is read; Claude Code's own is some
// hundred KiB.
const agentBytes = 64 << 20

// statePath is the state folder as the sandbox knows it: docker shows a folder
// at its real path.
func (v *VM) statePath() string {
	home, err := filepath.EvalSymlinks(v.o.Home)
	if err != nil {
		home = v.o.Home
	}
	return filepath.Join(home, stateDir)
}

// state makes the state folder for the owner alone, with what the agent needs
// in it to start, and returns its path. Nothing is written through a link.
func (v *VM) state() (string, error) {
	path := v.statePath()
	home, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("the home folder %q, which keeps the agent in the docker sandbox signed in, cannot be opened: %w", v.o.Home, atomicfile.Reason(err))
	}
	defer home.Close()
	if err := folder(home, stateDir, path); err != nil {
		return "", err
	}
	root, err := home.OpenRoot(stateDir)
	if err != nil {
		return "", fmt.Errorf("open %q: %w", path, atomicfile.Reason(err))
	}
	defer root.Close()
	if err := folder(root, agentDir, filepath.Join(path, agentDir)); err != nil {
		return "", err
	}
	if err := v.agentFile(root, filepath.Join(path, agentFile)); err != nil {
		return "", err
	}
	return path, nil
}

// folder makes a folder that only its owner can enter, or takes the one that is
// there.
func folder(root *os.Root, name, path string) error {
	err := root.Mkdir(name, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder %q: %w", path, atomicfile.Reason(err))
	}
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return fmt.Errorf("look at %q: %w", path, atomicfile.Reason(err))
	case !info.IsDir():
		return planted(path, "folder", info)
	case info.Mode().Perm() != 0o700:
		if err := root.Chmod(name, 0o700); err != nil {
			return fmt.Errorf("make %q readable by its owner only: %w", path, atomicfile.Reason(err))
		}
	}
	return nil
}

// agentFile puts {} where the file is missing or no JSON object: Claude Code
// does not start with another one. What was in it is kept beside it.
func (v *VM) agentFile(root *os.Root, path string) error {
	data, err := read(root, agentFile, path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return err
	}
	var object map[string]json.RawMessage
	if !missing && json.Unmarshal(data, &object) == nil && object != nil {
		return nil
	}
	if len(data) > 0 {
		if err := root.Rename(agentFile, brokenFile); err != nil {
			return fmt.Errorf("set %q, which is no JSON, aside: %w", path, atomicfile.Reason(err))
		}
		v.say("%q was no JSON object and is {} now; what was in it is in %s beside it", path, brokenFile)
	}
	if err := atomicfile.Write(root, agentFile, strings.NewReader("{}\n"), atomicfile.Options{}); err != nil {
		return fmt.Errorf("write %q: %w", path, atomicfile.Reason(err))
	}
	return nil
}

// read reads a regular file that is no link.
func read(root *os.Root, name, path string) ([]byte, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("look at %q: %w", path, atomicfile.Reason(err))
	}
	if !before.Mode().IsRegular() {
		return nil, planted(path, "file", before)
	}
	if before.Size() > agentBytes {
		return nil, fmt.Errorf("%q is larger than %d MiB; it should be the agent's settings: move it away", path, agentBytes>>20)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", path, atomicfile.Reason(err))
	}
	defer f.Close()
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		return nil, fmt.Errorf("%q changed while it was opened; end what writes to it, and try again", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, agentBytes))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, atomicfile.Reason(err))
	}
	return data, nil
}

func planted(path, want string, info fs.FileInfo) error {
	what := "something else"
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		what = "a symbolic link"
	case info.IsDir():
		what = "a folder"
	case info.Mode().IsRegular():
		what = "a file"
	}
	return fmt.Errorf("%q is %s and must be a real %s: it keeps the agent in the docker sandbox signed in; move it away", path, what, want)
}
