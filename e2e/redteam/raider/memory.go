//go:build e2e && linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pid reads a process number; "supervisor" is the process above this one that
// belongs to the run, "host" the one above that, "agent" the one that started this.
// Any other word is the name of a process of this machine.
func pid(word string) (int, error) {
	switch word {
	case "supervisor":
		return findSupervisor()
	case "host":
		return findHost()
	case "agent":
		return findAgent()
	case "self":
		return os.Getpid(), nil
	}
	if p, err := strconv.Atoi(word); err == nil {
		return p, nil
	}
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return 0, err
	}
	for _, path := range names {
		name, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(name)) != word {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline")); err == nil && len(line) > 0 { // it has not ended
			return strconv.Atoi(filepath.Base(filepath.Dir(path)))
		}
	}
	return 0, fmt.Errorf("no process %q to be seen", word)
}

// number prints the number of a process.
func number(args []string) error {
	p, err := pid(rest(args, 0, "supervisor"))
	if err == nil {
		fmt.Println(p)
	}
	return err
}

// onProcess is a deed that is done to the process its argument names.
func onProcess(deed func(p int) error) func([]string) error {
	return func(args []string) error {
		p, err := pid(rest(args, 0, ""))
		if err != nil {
			return err
		}
		return deed(p)
	}
}

// findSupervisor goes up from this process to the one that says it is the supervisor,
// and without one until the parent is process 1.
func findSupervisor() (int, error) {
	if p, err := above("sandbox-init"); err == nil {
		return p, nil
	}
	p := os.Getpid()
	for range 50 {
		parent, err := parentOf(p)
		if err != nil {
			return 0, err
		}
		if parent <= 1 {
			return p, nil
		}
		p = parent
	}
	return 0, errors.New("no supervisor above")
}

// findHost is the process above the supervisor, and process 1 where that is not to be
// seen; without a supervisor the one that started the agent.
func findHost() (int, error) {
	p, err := above("sandbox-init")
	if err != nil {
		p, err = findAgent()
	}
	if err != nil {
		return 0, err
	}
	parent, err := parentOf(p)
	return max(parent, 1), err
}

// above goes up from this process to one that has the word among its arguments.
func above(word string) (int, error) {
	for p := os.Getppid(); p > 0; {
		arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		if err != nil {
			return 0, err
		}
		if strings.Contains(string(arguments), "\x00"+word+"\x00") {
			return p, nil
		}
		if p, err = parentOf(p); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("no %s above", word)
}

func parentOf(pid int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return strconv.Atoi(strings.Fields(after)[1])
}

type span struct{ from, to uint64 }

// maps are the writable memory areas of a process.
func maps(pid int) ([]span, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	var list []span
	for line := range strings.Lines(string(data)) {
		var s span
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &s.from, &s.to, &mode); err == nil && strings.HasPrefix(mode, "rw") {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("no maps to be seen")
	}
	return list, nil
}

// readMemory reads /proc/PID/mem.
func readMemory(p int) error {
	list, err := maps(p)
	if err != nil {
		return err
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", p))
	if err != nil {
		return err
	}
	defer mem.Close()
	return look(list, func(at uint64, buf []byte) (int, error) {
		n, err := mem.ReadAt(buf, int64(at))
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return n, err
	})
}

// vmRead reads by process_vm_readv, which needs no file.
func vmRead(p int) error {
	list, err := maps(p)
	if err != nil {
		// Where the map cannot be read, the addresses of a Go program are guessed.
		list = []span{{0xc000000000, 0xc000400000}, {0x400000, 0x401000}}
	}
	return look(list, func(at uint64, buf []byte) (int, error) {
		local := []unix.Iovec{{Base: &buf[0]}}
		local[0].SetLen(len(buf))
		remote := []unix.RemoteIovec{{Base: uintptr(at), Len: len(buf)}}
		return unix.ProcessVMReadv(p, local, remote, 0)
	})
}

// look reads the areas and prints what looks like the canaries; it succeeds when
// anything could be read.
func look(list []span, read func(uint64, []byte) (int, error)) error {
	var last error
	total := 0
	for _, s := range list {
		buf := make([]byte, min(s.to-s.from, 8<<20))
		n, err := read(s.from, buf)
		if err != nil {
			last = err
			continue
		}
		total += n
		for _, sign := range []string{"ghs_redteam", "rt-canary-"} {
			if i := bytes.Index(buf[:n], []byte(sign)); i >= 0 {
				fmt.Printf("found: %q\n", buf[i:min(i+60, n)])
			}
		}
	}
	fmt.Printf("%d bytes read\n", total)
	if total == 0 {
		return fmt.Errorf("nothing could be read: %w", last)
	}
	return nil
}

// attach seizes a process with ptrace, and lets it go.
func attach(p int) error {
	runtime.LockOSThread()
	if err := unix.PtraceSeize(p); err != nil {
		return err
	}
	fmt.Println("seized", p)
	return nil
}

// stealDescriptor duplicates the descriptors of another process.
func stealDescriptor(p int) error {
	pidfd, err := unix.PidfdOpen(p, 0)
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("%w: pidfd_open: %w", errCannot, err)
	}
	if err != nil {
		return err
	}
	defer unix.Close(pidfd)
	var last error
	for fd := range 20 {
		got, err := unix.PidfdGetfd(pidfd, fd, 0)
		if err == nil {
			fmt.Println("descriptor", fd, "of", p, "is ours as", got)
			return nil
		}
		last = err
	}
	return last
}

// signalTo sends a signal that harms nobody: whether it may be sent is the same
// question as for one that does.
func signalTo(p int) error {
	return unix.Kill(p, unix.SIGURG)
}

// limitOther sets a limit of another process to what it is.
func limitOther(p int) error {
	var old unix.Rlimit
	if err := unix.Prlimit(p, unix.RLIMIT_CPU, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(p, unix.RLIMIT_CPU, &old, nil)
}

// idleOther asks for the least of processor time for another process.
func idleOther(p int) error {
	return unix.SchedSetAttr(p, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}

// survive makes processes that mean to outlive everything; they carry their name
// as argument, and end by themselves after a while.
func survive(args []string) error {
	name := rest(args, 1, "redteam-survivor")
	if rest(args, 0, "") == "stay" {
		runtime.LockOSThread()
		signalIgnore()
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&[]byte("sh\x00")[0])), 0, 0, 0)
		time.Sleep(150 * time.Second)
		return nil
	}
	return daemonize(rest(args, 0, "setsid"), name)
}
