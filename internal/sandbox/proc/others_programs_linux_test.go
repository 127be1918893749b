package proc_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	programs["waits"] = func([]string) int {
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	// speaker is an agent that starts a tool, as agents do: with another output.
	programs["speaker"] = func(args []string) int {
		cmd := exec.Command(os.Args[0], append([]string{"program", "tool"}, args...)...)
		cmd.Stderr = os.Stderr
		if len(args) > 2 && args[2] == "shared" {
			cmd.Stdout = os.Stdout
			return code(cmd.Run())
		}
		out, err := cmd.Output()
		os.Stdout.Write(out)
		return code(err)
	}
	// judge is an agent with a server, and a tool with another.
	programs["judge"] = func(args []string) int {
		own, stop, err := local()
		if err != nil {
			return code(err)
		}
		defer stop()
		said := map[string]string{"own": word(dial(own))}
		cmd := exec.Command(os.Args[0], "program", "serves", args[0], own.String())
		cmd.Stderr = os.Stderr
		in, errIn := cmd.StdinPipe()
		out, errOut := cmd.StdoutPipe()
		if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
			return code(err)
		}
		var tool struct{ TCP, Unix, Agent string }
		err = json.NewDecoder(out).Decode(&tool)
		said["tool to the agent"] = tool.Agent
		if to, errTo := netip.ParseAddrPort(tool.TCP); errTo == nil {
			said["agent to the tool"] = word(dial(to))
		}
		said["agent to the tool, unix"] = word(dialUnix(unix.SOCK_STREAM, tool.Unix))
		said["what is not there"] = word(dialUnix(unix.SOCK_STREAM, "/var/run/nothing-listens/socket")) // as libc asks for a name service
		_ = in.Close()
		_ = json.NewEncoder(os.Stdout).Encode(said)
		return code(errors.Join(err, cmd.Wait()))
	}
	programs["serves"] = func(args []string) int {
		own, stop, err := local()
		if err != nil {
			return code(err)
		}
		defer stop()
		path := filepath.Join(os.Getenv("TMPDIR"), "socket")
		l, err := net.Listen("unix", path)
		if err != nil {
			return code(err)
		}
		defer l.Close()
		go echoOnce(l)
		_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"TCP": own.String(), "Unix": path, "Agent": word(dial(netip.MustParseAddrPort(args[1])))})
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	// tool does to others what args say, and says what came of it.
	programs["tool"] = func(args []string) int {
		said := map[string]string{}
		for name, attempt := range othersAttempts(args[1]) {
			said[name] = word(attempt())
		}
		_ = json.NewEncoder(os.Stdout).Encode(said)
		return 0
	}
	programs["signals-bench"] = func(args []string) int {
		rounds, _ := strconv.Atoi(args[1])
		begin := time.Now()
		for range rounds {
			if unix.Kill(os.Getpid(), 0) != nil {
				return 1
			}
		}
		fmt.Println(time.Since(begin).Microseconds())
		return 0
	}
}

func echoOnce(l net.Listener) {
	if c, err := l.Accept(); err == nil {
		_, _ = io.CopyN(c, c, 1)
		_ = c.Close()
	}
}

func code(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// othersAttempts are what a tool tries with the agent above it, with a process
// outside, and with what is its own.
func othersAttempts(outside string) map[string]func() error {
	victim, _ := strconv.Atoi(outside)
	all := map[string]func() error{
		"all: signal":                 func() error { return unix.Kill(-1, unix.SIGUSR1) },
		"own: user namespace":         func() error { return namespaces(unix.CLONE_NEWUSER) },
		"own: mount namespace":        func() error { return threaded(func() error { return unix.Unshare(unix.CLONE_NEWNS) }) },
		"own: clone3":                 func() error { return errnoOf(unix.SYS_CLONE3, 0, 0, 0) },
		"own: namespace of the agent": func() error { return unix.Setns(1<<20, 0) },
		"own: signal to itself":       func() error { return unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGWINCH) },
		"own: group":                  func() error { return ownGroup() },
		"own: signal to a child":      func() error { return withChild(func(pid int) error { return unix.Kill(pid, unix.SIGCONT) }) },
		"own: nice":                   func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 1) },
		"own: nice of a child": func() error {
			return withChild(func(pid int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 1) })
		},
		"own: processors of a thread": func() error { return affinity(unix.Gettid()) },
		"own: processors of a child":  func() error { return withChild(affinity) },
		"own: trace a child":          func() error { return withChild(seize) },
		"own: start a child traced":   startTraced,
		"own: trace what it copies":   traceParent,
	}
	for name, pid := range map[string]int{"agent": os.Getppid(), "outside": victim} {
		all[name+": seize"] = func() error { return seize(pid) }
		all[name+": attach"] = func() error { return threaded(func() error { return unix.PtraceAttach(pid) }) }
		all[name+": write to memory"] = func() error { return errnoOf(unix.SYS_PROCESS_VM_WRITEV, uintptr(pid), 0, 0) }
		all[name+": memory file"] = func() error { return openAs(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR) }
		all[name+": input"] = func() error { return openAs(fmt.Sprintf("/proc/%d/fd/0", pid), os.O_WRONLY|unix.O_NONBLOCK) }
		all[name+": output"] = func() error { return openAs(fmt.Sprintf("/proc/%d/fd/1", pid), os.O_WRONLY|unix.O_NONBLOCK) }
		all[name+": signal"] = func() error { return unix.Kill(pid, unix.SIGUSR1) }
		all[name+": signal to a thread"] = func() error { return unix.Tgkill(pid, pid, unix.SIGUSR1) }
		all[name+": signal by tkill"] = func() error { return errnoOf(unix.SYS_TKILL, uintptr(pid), uintptr(unix.SIGUSR1), 0) }
		all[name+": signal with a value"] = func() error { return queue(pid) }
		all[name+": signal by descriptor"] = func() error { return byDescriptor(pid) }
		all[name+": signal to its group"] = func() error { return groupOf(pid) }
		all[name+": signal by a pipe"] = func() error { return byPipe(pid) }
		all[name+": nice"] = func() error { return unix.Setpriority(unix.PRIO_PROCESS, pid, 1) }
		all[name+": processors"] = func() error { return affinity(pid) }
		all[name+": idle"] = func() error {
			var param [4]byte
			return errnoOf(unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), unix.SCHED_IDLE, uintptr(unsafe.Pointer(&param)))
		}
		all[name+": disk"] = func() error { return errnoOf(unix.SYS_IOPRIO_SET, 1, uintptr(pid), 3<<13) }
	}
	return all
}

func errnoOf(call, a, b, c uintptr) error {
	if _, _, errno := unix.Syscall(call, a, b, c); errno != 0 {
		return errno
	}
	return nil
}

// threaded runs f on a thread that ends with it, and all it traces with it.
func threaded(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

func seize(pid int) error {
	return threaded(func() error { return unix.PtraceSeize(pid) })
}

func openAs(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0)
	if err == nil {
		_ = f.Close()
	}
	return err
}

func namespaces(flags uintptr) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	return cmd.Run()
}

func queue(pid int) error {
	info := make([]byte, 128)
	*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
	return errnoOf(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(unix.SIGUSR1), uintptr(unsafe.Pointer(&info[0])))
}

func byDescriptor(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, unix.SIGUSR1, nil, 0)
}

func groupOf(pid int) error {
	group, err := unix.Getpgid(pid)
	if err != nil {
		return err
	}
	return unix.Kill(-group, unix.SIGUSR1)
}

// byPipe has the kernel send a signal of one's choice when a pipe can be read.
func byPipe(pid int) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	_, err = unix.FcntlInt(r.Fd(), unix.F_SETOWN, pid)
	return err
}

func affinity(pid int) error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return err
	}
	return unix.SchedSetaffinity(pid, &set)
}

// withChild starts a child in a group of its own and does something to it.
func withChild(f func(pid int) error) error {
	cmd := exec.Command(os.Args[0], "program", "waits", "child")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	if _, err = bufio.NewReader(stdout).ReadString('\n'); err == nil {
		err = f(cmd.Process.Pid)
	}
	_ = stdin.Close()
	_ = cmd.Wait()
	return err
}

func ownGroup() error {
	return withChild(func(pid int) error { return unix.Kill(-pid, unix.SIGCONT) })
}

// startTraced is what a debugger does.
func startTraced() error {
	return threaded(func() error {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil {
			return err
		}
		if err := syscall.PtraceCont(cmd.Process.Pid, 0); err != nil {
			return err
		}
		_, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil)
		return err
	})
}

// traceParent is what LeakSanitizer does: a fork attaches to the process it is a
// copy of. Only raw system calls, because the copy has no Go runtime.
//
//go:norace
//go:nosplit
func traceParent() error {
	parent := uintptr(os.Getpid())
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		_, _, errno = syscall.RawSyscall6(syscall.SYS_PTRACE, unix.PTRACE_SEIZE, parent, 0, 0, 0, 0)
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(int(pid), &status, 0, nil); err != nil {
		return err
	}
	if status.ExitStatus() != 0 {
		return syscall.Errno(status.ExitStatus())
	}
	return nil
}
