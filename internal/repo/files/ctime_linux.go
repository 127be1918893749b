package files

import (
	"io/fs"
	"syscall"
	"time"
)

// ChangeTime is when a file's content, owner or mode last changed. Unlike the time
// of its modification nobody can set it.
func ChangeTime(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
