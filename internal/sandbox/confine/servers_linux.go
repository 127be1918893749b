package confine

// maxServers bounds the listening sockets of a child that are known at a time.
const maxServers = 4096

// servers are the sockets on which the child, or what it started, listens on TCP, by
// inode. An inode's number is not given out again before four billion others.
type servers map[string]bool

// add is called before the socket listens.
func (s servers) add(inode string) {
	if len(s) >= maxServers {
		s.forget()
	}
	if len(s) < maxServers {
		s[inode] = true
	}
}

// forget drops the sockets that do not listen any more.
func (s servers) forget() {
	all, err := listening(0)
	if err != nil {
		return
	}
	for inode := range s {
		if _, listens := all[inode]; !listens {
			delete(s, inode)
		}
	}
}

// only reports whether a server listens on the port, and whether all that do are the
// child's. Two can share a port, and the kernel chooses between them.
func (s servers) only(port uint16) (listens, own bool, err error) {
	all, err := listening(port)
	own = true
	for inode := range all {
		own = own && s[inode]
	}
	return len(all) > 0, own, err
}
