// Package capabilities takes from threads, and from what they execute, rights of root.
package capabilities

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// ofRoot are those of a sandboxed child that is root: what builds and package managers
// need. They are what Docker gives root in a container, without CAP_MKNOD: in a device that
// it made a child would read the disk. With others it would read the environment and memory
// of processes outside in spite of Landlock (CAP_SYS_PTRACE, CAP_PERFMON, CAP_SYS_ADMIN),
// raise its limits (CAP_SYS_RESOURCE), or change the kernel, the clock or the machine's
// network.
const ofRoot = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL |
	1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETPCAP | 1<<unix.CAP_SETFCAP |
	1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_NET_RAW | 1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_AUDIT_WRITE

// Limit leaves the calling thread no others than a sandboxed child's. The thread needs
// no_new_privs: that keeps the others from coming back where the bounding set has to stay
// as it is, without CAP_SETPCAP.
func Limit() error {
	if err := Bound(ofRoot); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // the low and the high half
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	limited := sets
	for i, mask := range [...]uint32{ofRoot & (1<<32 - 1), ofRoot >> 32} {
		limited[i].Effective &= mask
		limited[i].Permitted &= mask
		limited[i].Inheritable &= mask // and with it the ambient set
	}
	if limited == sets {
		return nil
	}
	return os.NewSyscallError("capset", unix.Capset(&header, &limited[0]))
}

// Bound takes all but those of a mask out of the calling thread's bounding set. It needs
// CAP_SETPCAP.
func Bound(mask uint64) error {
	for capability := uintptr(0); ; capability++ {
		if mask>>capability&1 != 0 {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && capability > 0 {
			return nil // there are no more
		}
		if err != nil {
			return os.NewSyscallError("prctl", err)
		}
	}
}
