package confine

import "syscall"

func inodeOf(st syscall.Stat_t) inode { return inode{st.Dev, st.Ino} }
