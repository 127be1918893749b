//go:build e2e && linux

package main

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// findAgent is the battery that started this process.
func findAgent() (int, error) { return above("battery") }

// speak tries a way to say or do something in the place of another process.
func speak(args []string) error {
	p, err := pid(rest(args, 1, "agent"))
	if err != nil {
		return err
	}
	open := func(name string, flags int) error {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%d/%s", p, name), flags, 0)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	switch way := rest(args, 0, ""); way {
	case "memory":
		return open("mem", os.O_RDWR)
	case "input":
		return open("fd/0", os.O_WRONLY|unix.O_NONBLOCK)
	case "output":
		return open("fd/1", os.O_WRONLY|unix.O_NONBLOCK)
	case "vmwrite":
		var b [1]byte
		local := []unix.Iovec{{Base: &b[0]}}
		local[0].SetLen(1)
		list, err := maps(p)
		if err != nil {
			return err
		}
		// What is written is what stands there.
		remote := []unix.RemoteIovec{{Base: uintptr(list[0].from), Len: 1}}
		if _, err := unix.ProcessVMReadv(p, local, remote, 0); err != nil {
			return err
		}
		_, err = unix.ProcessVMWritev(p, local, remote, 0)
		return err
	case "thread":
		return unix.Tgkill(p, p, unix.SIGWINCH)
	case "group":
		group, err := unix.Getpgid(p)
		if err != nil {
			return err
		}
		return unix.Kill(-group, unix.SIGWINCH)
	case "everybody":
		return unix.Kill(-1, unix.SIGWINCH)
	case "descriptor":
		fd, err := unix.PidfdOpen(p, 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, unix.SIGWINCH, nil, 0)
	case "queue":
		var info [128]byte
		*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
		return raw(unix.SYS_RT_SIGQUEUEINFO, uintptr(p), uintptr(unix.SIGWINCH), uintptr(unsafe.Pointer(&info[0])))
	case "pipe":
		r, _, err := os.Pipe()
		if err != nil {
			return err
		}
		_, err = unix.FcntlInt(r.Fd(), unix.F_SETOWN, p)
		return err
	case "nice":
		now, err := unix.Getpriority(unix.PRIO_PROCESS, p)
		if err != nil {
			return err
		}
		return unix.Setpriority(unix.PRIO_PROCESS, p, 20-now) // what it is: the kernel's number is the other way round
	case "processors":
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			return err
		}
		return unix.SchedSetaffinity(p, &set)
	default:
		return fmt.Errorf("no way %q", way)
	}
}
