package proc_test

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/proc"
)

func init() {
	programs["hogs"] = func(args []string) int { // args[1] MiB, in args[2] processes
		signal.Ignore(syscall.SIGTERM)
		n, _ := strconv.Atoi(args[1])
		if k, _ := strconv.Atoi(args[2]); k > 1 {
			spawnArgs(&syscall.SysProcAttr{Setsid: true}, false, "hogs", args[0], args[1], strconv.Itoa(k-1))
		}
		memory := make([]byte, n<<20)
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 1
		}
		code := sleep()
		runtime.KeepAlive(memory)
		return code
	}
	programs["spawns"] = func(args []string) int { // args[1] MiB, and starts programs all the time
		n, _ := strconv.Atoi(args[1])
		memory := bytes.Repeat([]byte{1}, n<<20)
		for begin := time.Now(); time.Since(begin) < 3*time.Second; {
			if exec.Command("/bin/true").Run() != nil {
				return 1
			}
		}
		runtime.KeepAlive(memory)
		return 0
	}
	programs["maps"] = func(args []string) int { // reads a mapping of the file args[1]
		f, err := os.Open(args[1])
		if err != nil {
			return 1
		}
		info, err := f.Stat()
		if err != nil {
			return 1
		}
		memory, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
		if err != nil {
			return 1
		}
		time.Sleep(time.Second) // it is looked at meanwhile
		if memory[len(memory)-1] != 0 {
			return 1
		}
		return 0
	}
	programs["shares"] = func(args []string) int { // one mapping, in args[2] processes
		n, _ := strconv.Atoi(args[1])
		f, err := os.OpenFile(args[3], os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return 1
		}
		memory, err := unix.Mmap(int(f.Fd()), 0, n<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil || f.Truncate(int64(n)<<20) != nil {
			return 1
		}
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 1
		}
		if k, _ := strconv.Atoi(args[2]); k > 1 {
			spawnArgs(nil, true, "shares", args[0], args[1], strconv.Itoa(k-1), args[3])
		} else {
			time.Sleep(time.Second)
		}
		runtime.KeepAlive(memory)
		return 0
	}
}

func TestMemoryOfTheTree(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, mib, processes string
		limit                int64
	}{
		{"one process", "96", "1", 64 << 20},
		{"three together", "40", "3", 96 << 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			mark := newMark()
			c := program("hogs", mark, tc.mib, tc.processes)
			c.Limits = proc.Limits{Time: time.Minute, Grace: time.Hour}
			s := start(t, proc.Options{Identity: childUser(), Memory: tc.limit})
			exit, err := s.Run(t.Context(), c)
			if err != nil || exit.Why != proc.OverMemory || exit.Signal != syscall.SIGKILL {
				t.Errorf("Run() = %+v, %v, want killed, over its memory limit", exit, err)
			}
			wantNoSurvivor(t, mark)
			if exit, err := s.Run(t.Context(), shell("exit 3")); err != nil || exit.Why != proc.Exited || exit.Code != 3 {
				t.Errorf("Run() after it = %+v, %v, want code 3", exit, err)
			}
		})
	}
}

// TestMemoryOfWhoSpawns: while a program is started its parent's memory is there
// once, although two processes have it.
func TestMemoryOfWhoSpawns(t *testing.T) {
	t.Parallel()
	limit := int64(160 << 20)
	if raceEnabled {
		limit = 1 << 30 // the detector's own shadow
	}
	c := program("spawns", newMark(), "96")
	exit, err := start(t, proc.Options{Identity: childUser(), Memory: limit}).Run(t.Context(), c)
	if err != nil || exit.Why != proc.Exited || exit.Code != 0 {
		t.Errorf("Run() = %+v, %v, want code 0", exit, err)
	}
}

// TestMappedFilesAreNoMemory: what the kernel can take back at any time, such as
// the packs that git reads, ends nobody.
func TestMappedFilesAreNoMemory(t *testing.T) {
	t.Parallel()
	const limit = 128 << 20
	file := filepath.Join(place(t, "maps"), "file")
	if err := os.WriteFile(file, make([]byte, 3*limit/2), 0o644); err != nil {
		t.Fatal(err)
	}
	var own unix.Statfs_t
	if err := unix.Statfs(file, &own); err != nil {
		t.Fatal(err)
	}
	if own.Type == unix.TMPFS_MAGIC {
		t.Skip("files are memory here")
	}
	c := program("maps", newMark(), file)
	o := proc.Options{Identity: childUser(), Memory: limit}
	if exit, err := start(t, o).Run(t.Context(), c); err != nil || exit.Why != proc.Exited || exit.Code != 0 {
		t.Errorf("Run() = %+v, %v, want code 0", exit, err)
	}
}

// TestSharedMemoryCountsOnce: what processes share is there once.
func TestSharedMemoryCountsOnce(t *testing.T) {
	t.Parallel()
	c := program("shares", newMark(), "48", "4", filepath.Join(place(t, "shares"), "memory"))
	limit := int64(160 << 20)
	if raceEnabled {
		limit = 1 << 30 // the detector's own shadow
	}
	exit, err := start(t, proc.Options{Identity: childUser(), Memory: limit}).Run(t.Context(), c)
	if err != nil || exit.Why != proc.Exited || exit.Code != 0 {
		t.Errorf("Run() = %+v, %v, want code 0", exit, err)
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := place(t, "disk")
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	mark := newMark()
	o := proc.Options{Identity: childUser(), DiskPaths: []string{dir}, FreeDisk: int64(st.Blocks)*st.Bsize + 1}
	exit, err := start(t, o).Run(t.Context(), program("sleeps", mark))
	if err != nil || exit.Why != proc.DiskFull {
		t.Errorf("Run() = %+v, %v, want disk full", exit, err)
	}
	wantNoSurvivor(t, mark)
	// What saves the work has to run then.
	saving := shell("sleep 0.7; exit 3") // longer than it takes to look
	saving.Limits.AnyDisk = true
	if exit, err := start(t, o).Run(t.Context(), saving); err != nil || exit.Why != proc.Exited || exit.Code != 3 {
		t.Errorf("Run() with AnyDisk = %+v, %v, want code 3", exit, err)
	}
	o.FreeDisk = 1
	if exit, err := start(t, o).Run(t.Context(), shell("sleep 0.5; exit 3")); err != nil || exit.Code != 3 {
		t.Errorf("Run() with room = %+v, %v, want code 3", exit, err)
	}
	o.DiskPaths = []string{filepath.Join(dir, "missing")}
	if _, err := start(t, o).Run(t.Context(), shell("exit 3")); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("Run() with a path that cannot be watched = %v, want an error that names it", err)
	}
}

// A disk without room for another file is full, however many bytes are free.
func TestNoRoomForFiles(t *testing.T) {
	t.Parallel()
	dir := place(t, "inodes")
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m,nr_inodes=4000,mode=1777"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	o := proc.Options{Identity: childUser(), DiskPaths: []string{dir}, FreeDisk: 1 << 20}
	fill := shell("i=0; while [ $i -lt 3850 ]; do i=$((i+1)); : > " + dir + "/$i; done; sleep 60")
	exit, err := start(t, o).Run(t.Context(), fill)
	if err != nil || exit.Why != proc.DiskFull {
		t.Errorf("Run() = %+v, %v, want disk full", exit, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "report"), []byte("x"), 0o600); err != nil {
		t.Errorf("after it: %v, want room for what saves the work", err)
	}
}

func TestLimitsOfEachProcess(t *testing.T) {
	t.Parallel()
	dir := place(t, "files")
	c := shell("ulimit -c; cat /proc/self/oom_score_adj; trap '' XFSZ; head -c 200000 /dev/zero > " + dir + "/large 2>/dev/null; wc -c < " + dir + "/large")
	var out strings.Builder
	c.Stdout = &out
	exit, err := start(t, proc.Options{Identity: childUser(), FileSize: 100_000}).Run(t.Context(), c)
	if err != nil || exit.Code != 0 {
		t.Fatalf("Run() = %+v, %v, it said %q", exit, err, out.String())
	}
	fields := strings.Fields(out.String())
	if len(fields) != 3 || fields[0] != "0" || fields[2] != "100000" {
		t.Errorf("core dump size, score and file size = %q, want 0, …, 100000", fields)
	}
	if score, err := strconv.Atoi(fields[1]); err != nil || score < 500 {
		t.Errorf("out-of-memory score = %q, want 500 or more", fields[1])
	}
}
