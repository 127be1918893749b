package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/org/ralph-action/internal/actions"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

const (
	shellPath = "PATH" // as the shell leaves it
	addedPath = "GITHUB_PATH"
	addedEnv  = "GITHUB_ENV"

	maxExports = 64 << 10 // bytes of a file, and of all variables together: each child is started with them
)

// Exports is what setup commands export, for the rest of the run: the PATH of their shells, and
// what they write to the files of GITHUB_PATH and GITHUB_ENV, which are the sandbox's, not the
// job's.
type Exports struct {
	path string   // empty: as it was
	env  []string // NAME=value
}

// PathOr is PATH as the last setup command left it, else as it usually is.
func (e *Exports) PathOr(usual string) string {
	if e.path != "" {
		return e.path
	}
	return usual
}

// Around starts what a process starts, with what is exported by then.
func (e *Exports) Around(p Process) Process { return exported{p, e} }

type exported struct {
	Process
	exports *Exports
}

// Run starts the command.
func (e exported) Run(ctx context.Context, c proc.Command) (proc.Exit, error) {
	for _, kv := range e.exports.env {
		name, value, _ := strings.Cut(kv, "=")
		c.Env = proc.Setenv(c.Env, name, value)
	}
	if path := e.exports.path; path != "" {
		c.Env = proc.Setenv(c.Env, "PATH", path)
	}
	return e.Process.Run(ctx, c)
}

// collected is a setup command that leaves what it exports in a new folder, and its
// environment. Without a place for that, folder is empty.
func (o *Options) collected(command string) (script string, env []string, folder string, err error) {
	if env = slices.Clone(o.Env); o.Scratch == "" {
		return command, env, "", nil
	}
	dir, err := os.MkdirTemp(o.Scratch, "setup-") // nobody else runs now
	if err != nil {
		return "", nil, "", err
	}
	made := []string{dir}
	for _, name := range []string{addedPath, addedEnv} {
		file := filepath.Join(dir, name)
		env, made = proc.Setenv(env, name, file), append(made, file)
		err = errors.Join(err, os.WriteFile(file, nil, 0o600))
	}
	for _, path := range made {
		if id := o.Identity; !id.IsZero() {
			err = errors.Join(err, os.Chown(path, id.UID, id.GID))
		}
	}
	env = proc.Setenv(env, "RALPH_SETUP_PATH", filepath.Join(dir, shellPath))
	return `trap '{ printf %s "$PATH" > "$RALPH_SETUP_PATH"; } 2>/dev/null' EXIT; ` + command, env, filepath.Base(dir), err
}

// take takes over what a setup command left in its folder, and removes that.
func (e *Exports) take(o *Options, folder string) error {
	if folder == "" {
		return nil
	}
	root, err := os.OpenRoot(o.Scratch)
	if err != nil {
		return err
	}
	defer root.Close()
	defer func() { _ = root.RemoveAll(folder) }()
	text := map[string]string{}
	for _, name := range []string{shellPath, addedPath, addedEnv} {
		if text[name], err = readExport(root, filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("its %s: %w", name, err)
		}
	}
	before := e.PathOr(o.Path)
	path := before
	if own := text[shellPath]; own != "" && !strings.ContainsAny(own, "\x00\n") {
		path = own
	}
	for line := range strings.SplitSeq(text[addedPath], "\n") {
		switch {
		case line == "":
		case !filepath.IsAbs(line) || strings.ContainsRune(line, 0):
			return fmt.Errorf("its %s: every line has to be the absolute path of a folder", addedPath)
		default:
			rest := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool { return dir == line })
			path = strings.Join(append([]string{line}, rest...), string(filepath.ListSeparator))
		}
	}
	if path != before {
		e.path = path
	}
	return e.takeVariables(o, text[addedEnv])
}

// readExport reads a file that children could write, of which none need be there.
func readExport(root *os.Root, name string) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", errors.New("it cannot be read")
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is no file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxExports+1))
	if err == nil && len(data) > maxExports {
		err = fmt.Errorf("it has more than %d bytes", maxExports)
	}
	return string(data), err
}

// takeVariables takes over what stood in GITHUB_ENV, without what is the run's own.
func (e *Exports) takeVariables(o *Options, text string) error {
	added, err := actions.ParseEnv(text)
	if err != nil {
		return fmt.Errorf("its %s: %w", addedEnv, err)
	}
	var names []string
	all := e.env
	for _, kv := range added {
		name, value, _ := strings.Cut(kv, "=")
		if o.own(name) {
			o.Warn(fmt.Sprintf("setup wrote %s to %s, which is not set: it is the run's own, or would change how programs start.", name, addedEnv))
			continue
		}
		all = proc.Setenv(all, name, value)
		names = append(names, name)
	}
	if size := len(strings.Join(all, "\n")); size > maxExports {
		return fmt.Errorf("its %s: all variables together have %d bytes, and %d is the most", addedEnv, size, maxExports)
	}
	if e.env = all; len(names) > 0 {
		o.Show.Say("Set for the rest of the run: " + strings.Join(names, ", "))
	}
	return nil
}

// own reports whether setup cannot set a variable: what the sandbox is made of,
// what agents log in with, and what makes shells, node and the loader run something else.
func (o *Options) own(name string) bool {
	switch name {
	case "PATH", "HOME", "TMPDIR", "NODE_OPTIONS", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "IFS", "CLAUDECODE":
		return true
	}
	for _, prefix := range []string{"LD_", "DYLD_", "GITHUB_", "RUNNER_", "ACTIONS_", "INPUT_", "RALPH_", "BASH_FUNC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if _, ok := o.Network.Variables()[name]; ok {
		return true
	}
	return o.Own(name)
}
