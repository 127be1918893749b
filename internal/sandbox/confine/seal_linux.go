package confine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Seal is the first act of main in a process that holds secrets. It returns a
// copy of environ and then leaves nothing for another process of the same user
// to read: the block behind /proc/PID/environ is overwritten with zeroes
// (os.Unsetenv alone never touches it), the process environment is emptied but
// for what the standard library needs to reach the network, and the process is
// made non-dumpable, which refuses environ, mem and ptrace alike. The order
// matters: a non-dumpable process may not look up its own block.
//
// An exec brings the block and the dumpable flag back: a process that executes
// itself anew seals anew. The copy is returned even with an error, which means
// that some of this could not be done.
func Seal(environ []string) ([]string, error) {
	kept := make([]string, len(environ))
	for i, kv := range environ {
		kept[i] = strings.Clone(kv)
	}
	errWipe := wipeBlock()
	os.Clearenv()
	for _, kv := range kept {
		if name, value, ok := strings.Cut(kv, "="); ok && isNetwork(name) {
			if err := os.Setenv(name, value); err != nil {
				errWipe = errors.Join(errWipe, err)
			}
		}
	}
	return kept, errors.Join(errWipe, Undumpable())
}

// Undumpable refuses other processes of the same user this one's environment,
// memory and descriptors. It lasts until the next exec.
func Undumpable() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process non-dumpable: %w", err)
	}
	return nil
}

// wipeBlock overwrites the environment block the kernel put on the stack. The
// Go runtime copied its strings at start, so nothing of ours points into it.
func wipeBlock() error {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return fmt.Errorf("find the environment block: %w", err)
	}
	start, end, err := environmentBounds(string(stat))
	if err != nil || start == end {
		return err
	}
	block := *(*unsafe.Pointer)(unsafe.Pointer(&start)) // memory of the kernel's making: no Go pointer leads there
	clear(unsafe.Slice((*byte)(block), end-start))
	return nil
}

// environmentBounds reads env_start and env_end, fields 50 and 51 of proc(5)'s
// stat. The command name, field 2, may itself hold spaces and brackets.
func environmentBounds(stat string) (start, end uintptr, err error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const startField, endField = 50 - 3, 51 - 3
	if len(fields) <= endField {
		return 0, 0, fmt.Errorf("find the environment block: /proc/self/stat has %d fields", len(fields)+2)
	}
	a, errA := strconv.ParseUint(fields[startField], 10, 64)
	b, errB := strconv.ParseUint(fields[endField], 10, 64)
	if errA != nil || errB != nil || a == 0 || a > b || b-a > 1<<27 {
		return 0, 0, fmt.Errorf("find the environment block: bounds %q to %q", fields[startField], fields[endField])
	}
	return uintptr(a), uintptr(b), nil
}
