package confine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
