package install

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const linkLimit = 40 // as the kernel's

// PathOutside is a PATH without what the agent can write: folders of the
// workspace, folders that a link in or into it leads to, and those that are not
// absolute, which would be searched for below wherever a child stands.
func PathOutside(path, workspace string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(path), func(dir string) bool {
		return !filepath.IsAbs(dir) || leadsThrough(dir, workspace)
	})
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// leadsThrough says that an absolute path, or a link on its way, passes through
// a folder: whoever can write there decides what is at its end. The folder is
// known by its inode, whatever name it is mounted under. An empty folder is none.
func leadsThrough(path, folder string) bool {
	top, err := os.Stat(folder)
	if folder == "" || err != nil {
		return false
	}
	at, links := string(filepath.Separator), 0
	if info, err := os.Lstat(at); err == nil && os.SameFile(info, top) {
		return true
	}
	for rest := split(path); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		here := filepath.Join(at, part)
		info, err := os.Lstat(here)
		switch {
		case err != nil:
			return false // it leads nowhere
		case os.SameFile(info, top):
			return true
		case info.Mode()&fs.ModeSymlink == 0:
			at = here
			continue
		}
		to, err := os.Readlink(here)
		if links++; err != nil || links > linkLimit {
			return false
		}
		if filepath.IsAbs(to) {
			at = string(filepath.Separator)
		}
		rest = append(split(to), rest...)
	}
	return false
}

func split(path string) []string { return strings.Split(path, string(filepath.Separator)) }
