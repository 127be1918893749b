//go:build unix

package agent

import (
	"io/fs"
	"os"
	"syscall"
)

// giveTo makes the folder's owner the file's, who is whom the child runs as.
// Where that is not allowed we are not root, and the child runs as ourselves.
func giveTo(f *os.File, dir fs.FileInfo) {
	if s, ok := dir.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(s.Uid), int(s.Gid))
	}
}
