package confine

import (
	"errors"
	"fmt"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of one file system object, linux/landlock.h. Those that make sense for
// a plain file are a set of their own: the kernel refuses a rule that gives a
// file a directory's rights.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fileRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	deviceRight = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	abi2Rights  = unix.LANDLOCK_ACCESS_FS_REFER<<1 - 1
)

// Available asks the kernel which Landlock it has. 0 means that no restriction can be
// built here, and reason says why. ABI 1 counts as absent: it forbids every
// move between directories, which no working tree survives.
func Available() (abi int, reason string) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == unix.ENOSYS:
		return 0, "the kernel has no Landlock (before 5.13, or left out)"
	case errno == unix.EOPNOTSUPP:
		return 0, "Landlock is not enabled on this kernel"
	case errno != 0:
		return 0, "Landlock is refused here: " + errno.Error()
	case v < 2:
		return 0, fmt.Sprintf("Landlock ABI %d cannot allow moves between directories (kernel 5.19 can)", v)
	}
	return min(int(v), newestABI), ""
}

// FilesAvailable reports whether file access can be restricted; reason says why not.
func FilesAvailable() (ok bool, reason string) {
	abi, reason := Available()
	return abi > 0, reason
}

// scopeABI keeps signals inside; before it only the notifier does.
const scopeABI = 6

// handled are the rights a kernel of this ABI can refuse.
func handled(abi int) uint64 {
	rights := uint64(abi2Rights)
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 9 {
		rights |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	return rights
}

// confine puts the policy on the calling thread, for good and for every
// program it executes. From ABI 6 on the thread can signal only what it starts
// itself, not the supervisor, and reaches no abstract socket from outside.
func confine(w Policy, abi int) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(abi)}
	if abi >= scopeABI {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), attrSize(abi), 0)
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(ruleset))
	for _, group := range []struct {
		paths  []string
		rights uint64
	}{
		{w.ReadOnly, readRights},
		{w.ReadWrite, attr.Handled_access_fs &^ unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{w.Devices, deviceRight},
	} {
		for _, path := range group.paths {
			if err := open(int(ruleset), path, group.rights&attr.Handled_access_fs); err != nil {
				return err
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

// attrSize is the length of the structure the ABI knows; a longer one is
// accepted only while the rest is zero, a shorter one always.
func attrSize(abi int) uintptr {
	var attr unix.LandlockRulesetAttr
	switch {
	case abi >= scopeABI:
		return unsafe.Offsetof(attr.Scoped) + unsafe.Sizeof(attr.Scoped)
	case abi >= 4:
		return unsafe.Offsetof(attr.Handled_access_net) + unsafe.Sizeof(attr.Handled_access_net)
	}
	return unsafe.Sizeof(attr.Handled_access_fs)
}

// open adds a path to a ruleset. A path that is not absolute opens nothing: here
// it would be one below the root, and "." or an empty entry of PATH all of it.
func open(ruleset int, path string, rights uint64) error {
	if !filepath.IsAbs(path) {
		return nil
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
		return nil // the child could not reach it either
	}
	if err != nil {
		return fmt.Errorf("restrict %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("restrict %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("restrict %s: landlock_add_rule: %w", path, errno)
	}
	return nil
}
