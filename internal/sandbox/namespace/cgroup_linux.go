package namespace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// spareProcs is what a supervisor and its children have beyond the limit that the
// children themselves are told.
const spareProcs = 256

// cgroup is a folder of the unified hierarchy; empty: none.
type cgroup string

// newCgroup makes one of this name.
func newCgroup(name string) (cgroup, error) {
	c, err := findCgroup(name)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(string(c), 0o755); err != nil {
		return "", err
	}
	if err := write(string(c), "cgroup.subtree_control", "+memory +pids"); err != nil {
		_ = os.Remove(string(c))
		return "", err
	}
	return c, nil
}

// findCgroup is where one of this name stands: below the nearest above ours that shares
// out memory and processes already, so that nothing of others is changed. The error is
// why there can be none.
func findCgroup(name string) (cgroup, error) {
	top, err := unified()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	own := "/"
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			own = filepath.Join("/", strings.TrimSpace(path))
		}
	}
	for dir := own; ; dir = filepath.Dir(dir) {
		shares, err := os.ReadFile(filepath.Join(top, dir, "cgroup.subtree_control"))
		if fields := strings.Fields(string(shares)); err == nil && slices.Contains(fields, "memory") && slices.Contains(fields, "pids") {
			return cgroup(filepath.Join(top, dir, name)), nil
		}
		if dir == "/" {
			return "", fmt.Errorf("%s shares out no memory and processes", top)
		}
	}
}

// unified is where cgroup v2 is mounted.
func unified() (string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		// "id parent device root place options … - type source options", proc_pid_mountinfo(5)
		before, after, _ := strings.Cut(line, " - ")
		if fields := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return fields[4], nil
		}
	}
	return "", errors.New("cgroup v2 is not mounted")
}

// leaf is the cgroup of one supervisor.
type leaf struct {
	path string
	fd   int // negative: none
}

func (c cgroup) leaf(of Child) (leaf, error) {
	if c == "" {
		return leaf{fd: -1}, nil
	}
	path, err := os.MkdirTemp(string(c), "")
	if err != nil {
		return leaf{}, err
	}
	if of.Memory > 0 {
		err = write(path, "memory.max", strconv.FormatInt(of.Memory+max(of.Memory/4, 256<<20), 10))
	}
	if of.Procs > 0 && err == nil {
		err = write(path, "pids.max", strconv.FormatUint(of.Procs+spareProcs, 10))
	}
	l := leaf{path: path}
	if err == nil {
		l.fd, err = unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return l, err
}

// remove is called when nobody lives in it.
func (l leaf) remove() {
	if l.path != "" {
		_ = unix.Close(l.fd)
		_ = os.Remove(l.path)
	}
}

// remove ends who lives in it and removes it.
func (c cgroup) remove() error {
	if c == "" {
		return nil
	}
	_ = write(string(c), "cgroup.kill", "1") // from Linux 5.14 on; they are dead already
	late := time.Now().Add(dieTime)
	for {
		for _, dir := range c.leaves() {
			_ = os.Remove(dir)
		}
		err := os.Remove(string(c))
		if err == nil || errors.Is(err, os.ErrNotExist) || time.Now().After(late) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// leaves are the cgroups in it. Names of systemd's have signs of patterns (system-x\x2dy.slice).
func (c cgroup) leaves() (dirs []string) {
	entries, _ := os.ReadDir(string(c))
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(string(c), e.Name()))
		}
	}
	return dirs
}

func write(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0)
}
