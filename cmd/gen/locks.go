package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
)

const (
	locksFolder = "internal/agent/install/locks" // projects of npm, which npm wrote
	locksFile   = "internal/agent/install/locks.zip"
)

// packLocks packs the locks of agents: they are a third as large in the program.
func packLocks(root string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(root, locksFolder, "*", "package*.json"))
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, path := range paths {
		text, err := os.ReadFile(path) // #nosec G304 -- of this repository
		if err != nil {
			return "", err
		}
		name, err := filepath.Rel(filepath.Join(root, locksFolder), path)
		if err != nil {
			return "", err
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: filepath.ToSlash(name), Method: zip.Deflate}) // no time: the same bytes each time
		if err == nil {
			_, err = f.Write(text)
		}
		if err != nil {
			return "", err
		}
	}
	err = w.Close()
	return packed.String(), err
}
