package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// layout is where a work tree keeps its git folder. common differs from git in
// a linked work tree only.
type layout struct {
	git    string
	common string
}

// locate finds the git folder above dir by looking at files, without running
// git: it is asked before the checkout's token is hidden.
func locate(dir string) (layout, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, err
	}
	for top := dir; ; top = filepath.Dir(top) {
		git, err := gitFolder(top)
		if err != nil {
			return layout{}, err
		}
		if git != "" {
			l := layout{git: git, common: git}
			if b, err := os.ReadFile(filepath.Join(git, "commondir")); err == nil {
				l.common = resolve(git, strings.TrimSpace(string(b)))
			}
			return l, nil
		}
		if top == filepath.Dir(top) {
			return layout{}, ErrNotRepository
		}
	}
}

// gitFolder is the git folder of a work tree: its .git, or where its .git file
// points. Empty when there is none.
func gitFolder(top string) (string, error) {
	path := filepath.Join(top, ".git")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case info.IsDir():
		if _, err := os.Stat(filepath.Join(path, "HEAD")); errors.Is(err, fs.ErrNotExist) {
			return "", nil // an empty .git folder is no repository, git looks further up too
		}
		return path, nil
	case !info.Mode().IsRegular() || info.Size() > 64<<10:
		return "", errors.New(path + " is neither a git folder nor points to one")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
	if !ok {
		return "", errors.New(path + " is neither a git folder nor points to one")
	}
	return resolve(top, to), nil
}

func resolve(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}
