package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Modes are the permissions of files and folders that the policy does not cover. Landlock
// does not cover chmod(2): an agent of the same user can take them away from
// whoever comes after it.
type Modes struct {
	order []string // a folder stands before what lies in it
	was   map[string]fs.FileInfo
	way   map[string]bool // folders that others may open meanwhile, but not close
}

// RememberWay adds the folders on the way to a path. They are often shared: only
// what was taken away from them is put back.
func (m *Modes) RememberWay(path string) {
	if m.way == nil {
		m.way = map[string]bool{}
	}
	for _, dir := range Above(path) {
		if m.was[dir] == nil {
			m.way[dir] = true
		}
		m.add(dir)
	}
}

// Remember adds paths, and for those in folders what lies directly in them. What
// does not exist, and links, are left out.
func (m *Modes) Remember(paths, folders []string) {
	for _, path := range paths {
		m.add(path)
	}
	for _, folder := range folders {
		m.add(folder)
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue
		}
		for _, e := range entries {
			m.add(filepath.Join(folder, e.Name()))
		}
	}
}

func (m *Modes) add(path string) {
	info, err := os.Lstat(path)
	if err != nil || m.was[path] != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return
	}
	if m.was == nil {
		m.was = map[string]fs.FileInfo{}
	}
	m.was[path] = info
	m.order = append(m.order, path)
}

// Restore puts back what was changed, and returns the paths. It is called when
// nothing of the agent's lives any more: what is another file by now is left
// alone. The error names what could not be put back.
func (m *Modes) Restore() (changed []string, err error) {
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	for _, path := range m.order {
		was := m.was[path]
		now, e := os.Lstat(path)
		if e != nil || !os.SameFile(was, now) {
			continue
		}
		mode := was.Mode() & bits
		if m.way[path] {
			mode |= now.Mode() & bits
		}
		if mode == now.Mode()&bits {
			continue
		}
		if e := os.Chmod(path, mode); e != nil {
			err = errors.Join(err, fmt.Errorf("permissions of %s: %w", path, e))
			continue
		}
		changed = append(changed, path)
	}
	return changed, err
}

// Above are the folders on the way to a path, the outermost first.
func Above(path string) (folders []string) {
	if !filepath.IsAbs(path) {
		return nil
	}
	for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		folders = append([]string{dir}, folders...)
	}
	return folders
}
