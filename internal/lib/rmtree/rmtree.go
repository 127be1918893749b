// Package rmtree removes folders that others wrote in.
package rmtree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Remove removes a folder and what is in it, however deep that is: os.RemoveAll has
// all folders of a path open at once. What is deep is moved up.
func Remove(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return err
	}
	top, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer top.Close()
	for n := 0; ; {
		dirs, err := readDirs(top, ".")
		if err != nil || len(dirs) == 0 {
			return errors.Join(err, os.RemoveAll(path))
		}
		for _, dir := range dirs {
			below, err := readDirs(top, dir)
			for ; err == nil && len(below) > 0; n++ {
				if err = top.Rename(filepath.Join(dir, below[0]), fmt.Sprint("up-", n)); err == nil {
					below = below[1:]
				} else if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.ENOTDIR) {
					err = nil // the name is taken
				}
			}
			if err = errors.Join(err, top.RemoveAll(dir)); err != nil {
				return err
			}
		}
	}
}

// readDirs are the folders in one.
func readDirs(root *os.Root, dir string) (names []string, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
