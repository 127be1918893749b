package proc

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// LookPath finds a program as a child with this environment would. A name with
// a slash stands for itself. Elements of PATH that are not absolute are passed
// over: they would find programs in the repository. The error is an *exec.Error
// that wraps exec.ErrNotFound or fs.ErrPermission.
func LookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if filepath.IsAbs(name) {
			return name, lookError(name, executable(name))
		}
		return name, nil // the child's directory decides
	}
	found := error(exec.ErrNotFound)
	for _, dir := range filepath.SplitList(pathOf(env)) {
		if !filepath.IsAbs(dir) || name == "" {
			continue
		}
		path := filepath.Join(dir, name)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			found = err
		}
	}
	return "", lookError(name, found)
}

func lookError(name string, err error) error {
	if err == nil {
		return nil
	}
	return &exec.Error{Name: name, Err: err}
}

func pathOf(env []string) string {
	path := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	return path
}

// executable looks at the mode only: the child is another user, whose rights
// the kernel checks when it starts.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fs.ErrPermission
	case err != nil:
		return exec.ErrNotFound
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fs.ErrPermission
	}
	return nil
}
