//go:build !linux

package confine

import "syscall"

func inodeOf(st syscall.Stat_t) inode { return inode{uint64(st.Dev), st.Ino} }
