package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Self names this process for Signal.
func Self() string { return processName(os.Getpid()) }

// processName is the number of a process, which comes back one day, with its start, which
// does not.
func processName(pid int) string {
	start := "0"
	if fields := statFields(strconv.Itoa(pid)); len(fields) > 22-3 {
		start = string(fields[22-3])
	}
	return fmt.Sprintf("%d %s", pid, start)
}

// Signal sends a signal to the process that Self named, unless it has ended.
func Signal(name string, sig syscall.Signal) {
	pid, _, _ := strings.Cut(name, " ")
	if n, err := strconv.Atoi(pid); err == nil && n > 0 {
		signalIf(n, sig, func() bool { return processName(n) == name })
	}
}

// signalIf sends a signal to a process of which something holds, and to no later one of
// its number. It reports whether that held.
func signalIf(pid int, sig syscall.Signal, holds func() bool) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if !holds() {
		return false
	}
	_ = unix.PidfdSendSignal(fd, sig, nil, 0) // it may have ended just now
	return true
}

// EndBelow kills what is left of a run whose private folders were below dir: whose HOME
// or TMPDIR, working directory or program lies there. Nobody else's does. Nothing may be
// started there meanwhile.
func EndBelow(dir string, within time.Duration) error {
	dirs := []string{dir}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dirs = append(dirs, target)
	}
	for deadline := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		names, err := readNames("/proc")
		if err != nil {
			return err
		}
		var left []string
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err == nil && pid != os.Getpid() && signalIf(pid, syscall.SIGKILL, func() bool { return livesBelow(name, dirs) }) {
				left = append(left, name)
			}
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes of the run do not end: %s", strings.Join(left, ", "))
		}
	}
}

// livesBelow reports whether a process works below one of the folders. Of other users'
// processes, and of those that hide, nothing is known.
func livesBelow(pid string, dirs []string) bool {
	environ, _ := os.ReadFile("/proc/" + pid + "/environ")
	var paths []string
	for kv := range bytes.SplitSeq(environ, []byte{0}) {
		if name, value, _ := strings.Cut(string(kv), "="); name == "HOME" || name == "TMPDIR" {
			paths = append(paths, value)
		}
	}
	for _, link := range []string{"cwd", "exe"} {
		target, _ := os.Readlink("/proc/" + pid + "/" + link)
		paths = append(paths, target)
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
	})
}
