package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// maxPasses bounds how often sweep looks for processes that appeared while it
// was killing, before it reaps.
const maxPasses = 50

// reaper is told of every child that was waited for.
type reaper func(pid int, status syscall.WaitStatus, u syscall.Rusage)

func forget(int, syscall.WaitStatus, syscall.Rusage) {}

// sweep kills everything below this process and returns when wait4 says that
// nothing is left. It wins against processes that fork and exit faster than they
// are found: what it killed is not reaped while new ones still appear, and
// unreaped processes count against RLIMIT_NPROC, so that soon no fork succeeds.
// It is false when something is left after all that time: a process that sits
// in the kernel does not die before it comes back.
func sweep(within time.Duration, reaped reaper) (none bool) {
	deadline := time.Now().Add(within)
	pause := 200 * time.Microsecond
	for {
		seen := map[int]bool{}
		for range maxPasses {
			fresh := false
			for _, pid := range descendants() {
				if !seen[pid] {
					seen[pid], fresh = true, true
				}
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			if !fresh {
				break
			}
		}
		if reap(reaped) {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause) // the killed need the processor to die
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// reap waits for every child that has exited. It reports whether there is no child
// left at all.
func reap(reaped reaper) (none bool) {
	for {
		var status syscall.WaitStatus
		var u syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, &u)
		switch {
		case err == syscall.EINTR:
		case err == syscall.ECHILD:
			return true
		case err != nil || pid == 0:
			return false
		default:
			reaped(pid, status, u)
		}
	}
}

// terminate asks the children to end: everything in the leader's group, and
// every direct child, each once. Sub-reaping makes direct children of those
// whose parents have gone; those whose parents live are their parents' to end.
func terminate(leader int, asked map[int]bool) {
	if leader > 0 && !asked[leader] {
		asked[leader] = true
		_ = syscall.Kill(-leader, syscall.SIGTERM)
		_ = syscall.Kill(-leader, syscall.SIGCONT) // a stopped process would not notice
	}
	for _, pid := range childrenOf("self") {
		if !asked[pid] {
			asked[pid] = true
			_ = syscall.Kill(pid, syscall.SIGTERM)
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// groupLives reports whether somebody below this process belongs to the group.
func groupLives(group int) bool {
	return slices.ContainsFunc(descendants(), func(pid int) bool {
		got, err := syscall.Getpgid(pid)
		return err == nil && got == group
	})
}

// descendants lists what lives below this process, nearest first. It is a list
// of whom to kill, never a proof that nobody is left.
func descendants() []int {
	list := childrenOf("self")
	for i := 0; i < len(list); i++ {
		list = append(list, childrenOf(strconv.Itoa(list[i]))...)
	}
	return list
}

// childrenOf reads the children of all threads of a process. A kernel without
// CONFIG_PROC_CHILDREN makes it read every process's parent instead.
func childrenOf(pid string) (list []int) {
	tasks := "/proc/" + pid + "/task"
	threads, err := readNames(tasks)
	if err != nil {
		return nil
	}
	for _, tid := range threads {
		data, err := os.ReadFile(tasks + "/" + tid + "/children")
		if err != nil && pid == "self" && os.IsNotExist(err) {
			return childrenByParent(os.Getpid())
		}
		for field := range bytes.FieldsSeq(data) {
			if n, err := strconv.Atoi(string(field)); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// childrenByParent looks at every process for its parent.
func childrenByParent(parent int) (list []int) {
	all, err := readNames("/proc")
	if err != nil {
		return nil
	}
	for _, name := range all {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if fields := statFields(name); len(fields) > 1 && string(fields[1]) == strconv.Itoa(parent) {
			list = append(list, pid)
		}
	}
	return list
}

// statFields are those of "pid (name) state ppid …", proc_pid_stat(5), from the third
// on, because the name may hold brackets; none if the process has ended.
func statFields(pid string) [][]byte {
	stat, _ := os.ReadFile("/proc/" + pid + "/stat")
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}
