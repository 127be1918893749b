package confine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// fioSetOwn is FIOSETOWN of asm-generic/sockios.h.
const fioSetOwn = 0x8901

// answerOthers decides about a call that acts on another process. The kernel
// then takes the target from a register, so nothing can be changed in between.
func (g *Notifier) answerOthers(n *notification) {
	errno := g.reaches(n)
	if !g.valid(n.id) {
		return
	}
	if errno != 0 {
		_ = g.reply(n.id, errno)
		return
	}
	g.proceed(n.id)
}

// reaches decides who may act on whom, where the kernel only asks for the same
// user (Landlock keeps signals inside from ABI 6 on, and knows nothing of
// scheduling):
//
//   - Nothing reaches the supervisor and what it did not start.
//   - Nothing reaches a process that speaks for the child, but another one that
//     does: see speaker.
//   - A process traces what it started itself, as with kernel.yama.ptrace_scope
//     1, and a copy of a process the process it is a copy of: so LeakSanitizer
//     works.
func (g *Notifier) reaches(n *notification) unix.Errno {
	thread := int(n.thread)
	number := func(i int) int { return int(int32(uint32(n.args[i]))) }
	switch n.number {
	case unix.SYS_PTRACE:
		return traces(thread, number(1))
	case unix.SYS_FCNTL:
		return g.reachesSome(thread, number(2))
	case unix.SYS_SETPRIORITY: // which starts at 0, ioprio_set's at 1
		return g.reachesClass(thread, number(0), number(1))
	case unix.SYS_IOPRIO_SET:
		return g.reachesClass(thread, number(0)-1, number(1))
	}
	return g.reachesSome(thread, number(0))
}

// reachesSome takes a target as kill(2) does.
func (g *Notifier) reachesSome(thread, target int) unix.Errno {
	switch {
	case target > 0:
		return g.reachesProcess(thread, target)
	case target == -1:
		return unix.EPERM // everybody
	}
	return g.reachesGroup(thread, -target)
}

// reachesClass takes a target as setpriority(2) does.
func (g *Notifier) reachesClass(thread, class, target int) unix.Errno {
	switch {
	case class == unix.PRIO_PROCESS && target == 0:
		return 0
	case class == unix.PRIO_PROCESS:
		return g.reachesProcess(thread, target)
	case class == unix.PRIO_PGRP:
		return g.reachesGroup(thread, target)
	}
	return unix.EPERM // all of a user's
}

func (g *Notifier) reachesProcess(thread, target int) unix.Errno {
	if unix.Access(fmt.Sprintf("/proc/%d/task/%d", target, thread), unix.F_OK) == nil {
		return 0 // itself
	}
	switch s, err := readStat(target); {
	case err != nil:
		return unix.ESRCH
	case !below(s), g.speaks(target) && !g.speaks(thread):
		return unix.EPERM
	}
	return 0
}

// reachesGroup takes 0 for the caller's own group.
func (g *Notifier) reachesGroup(thread, group int) unix.Errno {
	if group == 0 {
		var err error
		if group, err = unix.Getpgid(thread); err != nil {
			return unix.ESRCH
		}
	}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return unix.EPERM
	}
	errno := unix.Errno(unix.ESRCH)
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if got, err := unix.Getpgid(pid); err != nil || got != group {
			continue
		}
		if errno = g.reachesProcess(thread, pid); errno == unix.EPERM {
			return errno
		}
	}
	return errno
}

// traces decides about PTRACE_ATTACH and PTRACE_SEIZE.
func traces(thread, target int) unix.Errno {
	caller, err := processOf(thread)
	if err != nil {
		return unix.ESRCH
	}
	s, err := readStat(target)
	if err != nil {
		return unix.ESRCH
	}
	if isBelow(s, caller) || isCopy(caller, target) {
		return 0
	}
	return unix.EPERM
}

// below reports whether a process is one of the supervisor's.
func below(s stat) bool { return isBelow(s, os.Getpid()) }

// maxDepth bounds the way up, which may change while it is walked.
const maxDepth = 10_000

func isBelow(s stat, above int) bool {
	for range maxDepth {
		if s.parent == above {
			return true
		}
		var err error
		if s, err = readStat(s.parent); err != nil {
			return false
		}
	}
	return false
}

// isCopy reports whether a process is a fork of its parent, and runs the same
// program still: the place of its stack is random for each program started.
func isCopy(process, parent int) bool {
	s, err := readStat(process)
	if err != nil || s.parent != parent {
		return false
	}
	p, err := readStat(parent)
	if err != nil || s.stack == "0" || s.stack != p.stack {
		return false
	}
	var program, same unix.Stat_t
	return unix.Stat(fmt.Sprintf("/proc/%d/exe", process), &program) == nil &&
		unix.Stat(fmt.Sprintf("/proc/%d/exe", parent), &same) == nil &&
		program.Dev == same.Dev && program.Ino == same.Ino
}

// stat is what is needed of proc_pid_stat(5).
type stat struct {
	parent int
	stack  string // where it starts; "0" when the kernel does not say
}

func readStat(process int) (s stat, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return s, err
	}
	// "pid (name) state ppid …"; the name may hold brackets.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	const parentField, stackField = 4 - 3, 28 - 3
	if len(fields) <= stackField {
		return s, fmt.Errorf("/proc/%d/stat: %d fields", process, len(fields))
	}
	s.stack = string(fields[stackField])
	s.parent, err = strconv.Atoi(string(fields[parentField]))
	return s, err
}

// processOf is the process of a thread.
func processOf(thread int) (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(data, []byte("\nTgid:"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.Atoi(string(bytes.TrimSpace(line)))
}
