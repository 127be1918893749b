package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	meterTick = 200 * time.Millisecond
	diskGrace = time.Second // for a tree that fills the disk: every second counts
)

// meter watches what the tree uses together.
type meter struct {
	memory   int64
	freeDisk int64
	disks    []int // open directories; they stay when their names go
	tick     *time.Ticker
}

// newMeter opens what is watched; nil watches nothing.
func newMeter(s setup) (*meter, error) {
	m := &meter{memory: s.Memory, freeDisk: s.FreeDisk}
	if m.freeDisk > 0 {
		for _, path := range s.DiskPaths {
			fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, fmt.Errorf("watch the free space of %s: %w", path, err)
			}
			m.disks = append(m.disks, fd)
		}
	}
	if m.memory <= 0 && len(m.disks) == 0 {
		return nil, nil
	}
	m.tick = time.NewTicker(meterTick)
	m.tick.Stop()
	return m, nil
}

// ticks is when to look; nil never.
func (m *meter) ticks() <-chan time.Time {
	if m == nil {
		return nil
	}
	return m.tick.C
}

func (m *meter) start() {
	if m != nil {
		m.tick.Reset(meterTick)
	}
}

func (m *meter) stop() {
	if m != nil {
		m.tick.Stop()
	}
}

// over is the limit that has been passed; Exited is none. With anyDisk the disks
// are not looked at.
func (m *meter) over(anyDisk bool) Why {
	switch {
	case m.memory > 0 && treeMemory(m.memory) > m.memory:
		return OverMemory
	case !anyDisk && m.diskFull():
		return DiskFull
	}
	return Exited
}

func (m *meter) diskFull() bool {
	for _, fd := range m.disks {
		var st unix.Statfs_t
		if unix.Fstatfs(fd, &st) == nil && full(st, m.freeDisk) {
			return true
		}
	}
	return false
}

// freeFiles is how many files there must be room for where free space is watched, in
// inodes: more than a tree makes between two looks. Of a small file system it is a part.
const freeFiles, freeFilesPart = 20_000, 20

// full reports whether a file system has too little room, for bytes or for files. Some
// have no number of either.
func full(st unix.Statfs_t, free int64) bool {
	return st.Blocks > 0 && int64(st.Bavail)*st.Bsize < free || st.Files > 0 && st.Ffree < min(freeFiles, st.Files/freeFilesPart)
}

// treeMemory is what the descendants hold. What they share counts for each, and
// the files they have mapped count, until that is more than the limit: then it is
// looked at closely, which takes longer.
func treeMemory(limit int64) (sum int64) {
	list := descendants()
	for _, pid := range list {
		sum += resident(pid)
	}
	if sum <= limit {
		return sum
	}
	sum = 0
	for _, pid := range list {
		if !borrows(pid) {
			sum += proportional(pid)
		}
	}
	return sum
}

const (
	forkNoExec = 0x40 // PF_FORKNOEXEC of linux/sched.h: it has executed nothing yet
	borrowTime = 500 * time.Millisecond
	clockTicks = 100 // a second, of the times in /proc/PID/stat
)

// borrows reports whether the process is most likely about to execute another
// program and lives in the memory of its parent until then, as posix_spawn and
// vfork have it: all of that would count twice. Nothing tells such a process from
// one that only forked, so for a moment all count as such.
func borrows(pid int) bool {
	fields := statFields(strconv.Itoa(pid))
	if len(fields) <= 22-3 { // flags are the 9th, starttime the 22nd
		return false
	}
	flags, err := strconv.ParseUint(string(fields[9-3]), 10, 64)
	if err != nil || flags&forkNoExec == 0 {
		return false
	}
	ticks, err := strconv.ParseInt(string(fields[22-3]), 10, 64)
	var now unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return false
	}
	return time.Duration(now.Nano())-time.Duration(ticks)*time.Second/clockTicks < borrowTime
}

// resident is the second number of proc_pid_statm(5), in bytes.
func resident(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0 // it has ended
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// proportional is the process's part of what it shares, and all of the rest, but
// for pages of files, which the kernel takes back when it needs memory:
// "Pss_Anon:" and "Pss_Shmem:" of smaps_rollup, proc_pid_smaps(5). Before Linux
// 5.3 it is "Pss:", files included. A process that hides it counts in full.
func proportional(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return resident(pid)
	}
	anon, ok := kib(data, "Pss_Anon:")
	if !ok {
		if all, ok := kib(data, "Pss:"); ok {
			return all
		}
		return resident(pid)
	}
	shared, _ := kib(data, "Pss_Shmem:")
	return anon + shared
}

// kib reads the line of a name, whose number is one of KiB, as bytes.
func kib(data []byte, name string) (bytesOf int64, ok bool) {
	_, rest, found := bytes.Cut(data, []byte("\n"+name))
	fields := bytes.Fields(rest[:min(len(rest), 64)])
	if !found || len(fields) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return n << 10, err == nil
}
