package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Task is the task as it is now: a prompt file is read again, so that it can be
// edited while the run goes on. A file of the workspace is never read through a
// symbolic link that leads out of it: the agent may have put one there.
func (c Config) Task(workspace string) (string, error) {
	if c.Prompt.File == "" {
		return c.Prompt.Text, nil
	}
	data, err := readTask(workspace, c.Prompt.File)
	switch {
	case err != nil:
		return "", fmt.Errorf("prompt file %q cannot be read again: %s", c.Prompt.File, cause(err))
	case len(data) > maxPrompt:
		return "", fmt.Errorf("prompt file %q is larger than %d MiB now", c.Prompt.File, maxPrompt>>20)
	case !utf8.Valid(data):
		return "", fmt.Errorf("prompt file %q is no UTF-8 text any more", c.Prompt.File)
	case strings.TrimSpace(string(data)) == "":
		return "", fmt.Errorf("prompt file %q is empty now", c.Prompt.File)
	}
	return string(data), nil
}

func readTask(workspace, path string) ([]byte, error) {
	// A pipe the agent put there would block an open that waits for a writer.
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	open := func() (fs.File, error) { return os.OpenFile(path, flags, 0) }
	rel := path
	if filepath.IsAbs(path) {
		if r, err := filepath.Rel(workspace, path); err == nil {
			rel = r
		}
	}
	if filepath.IsLocal(rel) {
		root, err := os.OpenRoot(workspace)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		open = func() (fs.File, error) { return root.OpenFile(rel, flags, 0) }
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("is not a file"))
	}
	return io.ReadAll(io.LimitReader(f, maxPrompt+1))
}

// HasTask reports whether there is a task besides that of the event that started
// the run: a prompt, or one that the mode brings.
func (c Config) HasTask() bool {
	return c.Prompt.Text != "" || c.Prompt.File != "" || !takesEvent(c.Mode)
}

// Uncounted reports whether the agent's output, plain text, says neither cost nor tokens.
func (c Config) Uncounted() bool { return c.Agent.Name == "text" || c.Output.Format == "text" }

// Files are what configuration and task were read from, as people would name them.
func (c Config) Files() []string {
	if c.Prompt.File == "" {
		return c.Loaded
	}
	return append(slices.Clone(c.Loaded), c.Prompt.File)
}
