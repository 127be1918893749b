package confine

import "golang.org/x/sys/unix"

// noListeners answers seccomp(2) for a filter with a listener of the child's own as
// the kernel does while the notifier listens: EBUSY. When the notifier is closed, because
// the supervisor died before the child, the kernel would take such a filter, ask
// its listener instead of ours, and let it decide about every connect.
func noListeners() []unix.SockFilter {
	return join(arg(1), whenBits(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, refuse(unix.EBUSY)), give(resultAllow))
}
