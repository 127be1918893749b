//go:build e2e && linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call makes one system call that an agent has no business with.
func call(args []string) error {
	runtime.LockOSThread()
	calls := map[string]func() error{
		"io_uring": func() error {
			var params [120]byte
			return raw(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
		},
		"userfaultfd": func() error { return raw(unix.SYS_USERFAULTFD, 0, 0, 0) },
		"bpf":         func() error { return raw(unix.SYS_BPF, 0, 0, 0) },
		"perf":        perf,
		"keyctl":      func() error { return raw(unix.SYS_KEYCTL, 0, ^uintptr(2), 0) }, // the session's keyring
		"userns":      userNamespace,
		"mountns":     func() error { return unix.Unshare(unix.CLONE_NEWNS) },
		"netns":       func() error { return unix.Unshare(unix.CLONE_NEWNET) },
		"mount":       func() error { return unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "") },
		"chroot":      func() error { return unix.Chroot("/proc/self/root") },
		"mknod": func() error {
			defer os.Remove("/dev/shm/rt-node")
			return unix.Mknod("/dev/shm/rt-node", unix.S_IFBLK|0o600, 0xfe00)
		},
		"setuid":         func() error { return errors.Join(unix.Setresuid(0, 0, 0), mustBeRoot()) },
		"setns":          setns,
		"open_by_handle": openByHandle,
		"reboot":         func() error { return raw(unix.SYS_REBOOT, 0, 0, 0) },
		"module":         func() error { return raw(unix.SYS_INIT_MODULE, 0, 0, 0) },
		"sethostname":    func() error { return unix.Sethostname([]byte("raided")) },
		"caps":           capabilities,
		"ioprio":         func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -10) },
		"tiocsti": func() error {
			fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.IoctlSetPointerInt(fd, unix.TIOCSTI, ' ')
		},
		"fanotify": func() error {
			fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID|unix.FAN_CLOEXEC, unix.O_RDONLY)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_OPEN, unix.AT_FDCWD, "/github/runner_temp/other-step.txt")
		},
		"nproc":     func() error { return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 20000, Max: 20000}) }, // above that of the sandbox
		"mountover": mountOver,
		"listener":  listener,
		"inotify": func() error {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.InotifyAddWatch(fd, "/github/runner_temp/other-step.txt", unix.IN_ALL_EVENTS)
			return err
		},
	}
	do, ok := calls[rest(args, 0, "")]
	if !ok {
		return fmt.Errorf("no call %q", rest(args, 0, ""))
	}
	err := do()
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%w: this kernel has no such call: %w", errCannot, err)
	}
	return err
}

func raw(number, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall6(number, a, b, c, 0, 0, 0); errno != 0 && errno != unix.EFAULT && errno != unix.EINVAL && errno != unix.ENOEXEC {
		return errno
	}
	return nil // refused for its arguments only: the call itself may be made
}

func perf() error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func mustBeRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("still not root")
	}
	return nil
}

func setns() error {
	fd, err := unix.Open("/proc/1/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // else the other threads' folder would change
		return err
	}
	return unix.Setns(fd, 0)
}

// userNamespace starts itself in a user namespace, which a program with threads
// cannot enter, to mount something there: as root, or, where the map of users
// cannot be written, as nobody with all rights.
func userNamespace() error {
	const mount = 21 // CAP_SYS_ADMIN
	for _, as := range []syscall.SysProcAttr{
		{UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}},
		{AmbientCaps: []uintptr{mount}},
	} {
		as.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
		cmd := exec.Command("/proc/self/exe", "sys", "mountover") //nolint:gosec // itself
		cmd.SysProcAttr = &as
		out, err := cmd.CombinedOutput()
		fmt.Printf("%s%v\n", out, err)
		if err == nil {
			return nil
		}
	}
	return errors.New("nothing was mounted")
}

// mountOver hides a folder behind another file system, in one of its own ways.
func mountOver() error {
	fmt.Println("uid", os.Getuid(), capabilities())
	err := unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "")
	if err == nil {
		return nil
	}
	fd, openErr := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	defer unix.Close(fd)
	if err := unix.FsconfigCreate(fd); err != nil {
		return err
	}
	tree, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return unix.MoveMount(tree, "", unix.AT_FDCWD, "/mnt", unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func openByHandle() error {
	handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, ".", 0)
	if err != nil {
		return err
	}
	_ = mount
	dir, err := unix.Open(".", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// listener installs a filter of system calls that asks this program itself.
func listener() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}

// capabilities succeeds when the process has any.
func capabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if data[0].Effective|data[0].Permitted|data[0].Inheritable|data[1].Effective|data[1].Permitted == 0 {
		return errors.New("no capability")
	}
	fmt.Printf("effective capabilities %x\n", data[0].Effective)
	return nil
}
