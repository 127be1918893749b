//go:build e2e && linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Job is what a runner's worker is told.
type Job struct {
	Variables  map[string]map[string]any // as the real one has them in its memory, the secret ones marked
	Env        map[string]string         // of the step
	Dir        string
	Main, Post []string // commands; Post may be empty
	Other      string   // secret of another step, whose process runs beside this one
}

// worker plays Runner.Worker of a machine: it holds the job's secrets in its memory,
// lets another step's process run on, and starts a step and its post step on a terminal
// of its own, as a runner has it that somebody started by hand.
func worker([]string) error {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var job Job
	if err := json.Unmarshal(data, &job); err != nil {
		return err
	}
	other := exec.Command("/opt/redteam/other-step", "stay", "--token="+job.Other)
	other.Env = []string{"NPM_TOKEN=" + job.Other}
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		return err
	}
	for _, way := range []string{"shm", "msg", "mq"} {
		if err := ipc([]string{way, job.Other}); err != nil {
			return fmt.Errorf("%s: %w", way, err)
		}
	}
	code, err := job.step(job.Main, nil)
	if err == nil && len(job.Post) > 0 {
		var state []byte
		if state, err = os.ReadFile(job.Env["GITHUB_STATE"]); err == nil {
			var more []string
			for line := range strings.Lines(string(state)) {
				more = append(more, "STATE_"+strings.TrimSpace(line))
			}
			_, err = job.step(job.Post, more)
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(io.Discard, "%s", data) // so that it stays in memory until here
	os.Exit(code)
	return nil
}

func (j Job) step(command, more []string) (int, error) {
	master, terminal, err := openTerminal()
	if err != nil {
		return 0, err
	}
	defer master.Close()
	defer terminal.Close()
	go func() { _, _ = io.Copy(io.Discard, master) }()
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // what the test says
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = j.Dir, os.Stdout, os.Stderr, []*os.File{terminal}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	for name, value := range j.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, more...)
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return cmd.ProcessState.ExitCode(), err
}

func openTerminal() (master, terminal *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	return master, terminal, err
}

// stay is another step's process.
func stay([]string) error {
	time.Sleep(10 * time.Minute)
	return nil
}

// ipc reads what others keep in shared memory or a queue, or, with a text, puts it there.
func ipc(args []string) error {
	const key, size, create = 0x6f7468, 4096, unix.IPC_CREAT | 0o600
	text := rest(args, 1, "")
	buf := make([]byte, size)
	n := copy(buf[8:], text) // behind the type of a message
	buf[0] = 1
	message, flags := uintptr(unsafe.Pointer(&buf[0])), 0
	if text != "" {
		flags = create
	}
	switch rest(args, 0, "") {
	case "shm":
		id, err := unix.SysvShmGet(key, size, flags)
		if err != nil {
			return err
		}
		mode := unix.SHM_RDONLY
		if text != "" {
			mode = 0
		}
		memory, err := unix.SysvShmAttach(id, 0, mode)
		if err != nil {
			return err
		}
		if text == "" {
			fmt.Printf("%q\n", memory[:60])
		}
		copy(memory, text)
		return unix.SysvShmDetach(memory)
	case "msg":
		id, _, errno := unix.Syscall(unix.SYS_MSGGET, key, uintptr(flags), 0)
		if errno == 0 && text != "" {
			_, _, errno = unix.Syscall6(unix.SYS_MSGSND, id, message, uintptr(n), 0, 0, 0)
		} else if errno == 0 {
			_, _, errno = unix.Syscall6(unix.SYS_MSGRCV, id, message, size-8, 0, unix.IPC_NOWAIT, 0)
		}
		return told(buf[8:], text, errno)
	case "mq":
		name, err := unix.BytePtrFromString("redteam")
		if err != nil {
			return err
		}
		open := unix.O_RDWR | unix.O_NONBLOCK
		if text != "" {
			open |= unix.O_CREAT
		}
		fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), uintptr(open), 0o600, 0, 0, 0)
		if errno == 0 && text != "" {
			_, _, errno = unix.Syscall6(unix.SYS_MQ_TIMEDSEND, fd, message, uintptr(8+n), 0, 0, 0)
		} else if errno == 0 {
			big := make([]byte, 64<<10) // at least the queue's longest message
			_, _, errno = unix.Syscall6(unix.SYS_MQ_TIMEDRECEIVE, fd, uintptr(unsafe.Pointer(&big[0])), uintptr(len(big)), 0, 0, 0)
			buf = big
		}
		return told(buf[8:], text, errno)
	}
	return fmt.Errorf("no way %q", args)
}

func told(buf []byte, text string, errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	if text == "" {
		fmt.Printf("%q\n", buf[:60])
	}
	return nil
}
