package run

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/org/ralph-action/internal/sandbox/dockersandbox"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// A PATH that setup exports holds for the rest of the run: its shell leaves it in a
// file of the sandbox's, which is read as whatever else comes from there.

const (
	pathFile = "setup-path" // in the sandbox's temporary folder
	maxPath  = 64 << 10
)

// tellingPath is a setup command that leaves its PATH behind, with the variables it
// needs for that. In a Docker Sandbox our files are not there.
func (s *sandboxed) tellingPath(command string) (script string, env []string) {
	if s.box != nil {
		return command, nil
	}
	return `trap '{ printf %s "$PATH" > "$RALPH_SETUP_PATH"; } 2>/dev/null' EXIT; ` + command,
		[]string{"RALPH_SETUP_PATH=" + filepath.Join(s.temp.tmp, pathFile)}
}

// readPath takes what the last setup command left.
func (s *sandboxed) readPath() {
	root, err := os.OpenRoot(s.temp.tmp)
	if err != nil {
		return
	}
	defer root.Close()
	f, err := root.OpenFile(pathFile, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxPath {
		return
	}
	data, err := io.ReadAll(io.LimitReader(f, maxPath))
	if path := string(data); err == nil && path != "" && !strings.ContainsAny(path, "\x00\n") && path != s.getenv("PATH") {
		s.path = path
	}
}

// withPath runs commands with the PATH that setup left.
func (s *sandboxed) withPath() dockersandbox.Process { return pathed{s.process(), s} }

// pathed starts children with the PATH that setup left.
type pathed struct {
	dockersandbox.Process
	box *sandboxed
}

// Run starts the command with it.
func (p pathed) Run(ctx context.Context, c proc.Command) (proc.Exit, error) {
	if path := p.box.path; path != "" {
		c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
		c.Env = append(c.Env, "PATH="+path)
	}
	return p.Process.Run(ctx, c)
}
