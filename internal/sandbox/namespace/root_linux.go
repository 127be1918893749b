package namespace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/lib/rmtree"
	"github.com/org/ralph-action/internal/sandbox/wire"
)

const (
	command   = "sandbox-root"
	graceTime = 4 * time.Second // for a supervisor whose run has ended: it takes three itself
	dieTime   = 5 * time.Second // for what was killed
)

// The hidden command is served here and not by main, as proc does. Initialisation is
// locked to the main thread, whose namespaces the children get.
func init() {
	if len(os.Args) > 1 && os.Args[1] == command {
		serve := helper
		if len(os.Args) > 2 {
			serve = child
		}
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, "ralph "+command+":", err)
			os.Exit(1) //nolint:forbidigo // in place of main
		}
		os.Exit(0) //nolint:forbidigo // in place of main
	}
}

// root is the helper at work.
type root struct {
	user    *unix.Ucred // who asks
	umask   int
	options Options
	install string // the folder of the runner; empty: none was found
	base    string // on the disk, root's: what children write in Private folders, which stand there by their names
	cgroup  cgroup
	has     answer

	mu       sync.Mutex
	children map[int]chan struct{} // by PID, closed when they have ended and that is told
}

// helper serves the run at the other end of standard input until that is closed.
func helper() (err error) {
	r := &root{children: map[int]chan struct{}{}}
	if r.user, err = unix.GetsockoptUcred(0, unix.SOL_SOCKET, unix.SO_PEERCRED); err != nil {
		return errors.New("sudo does not hand its standard input on (as with log_input)")
	}
	if os.Geteuid() != 0 || r.user.Uid == 0 {
		return errors.New("it is started by ralph only, through sudo")
	}
	data, _, err := receive()
	if err == nil {
		err = wire.Decode(data, &r.options)
	}
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if err = r.open(); err != nil {
		r.has.Err = err.Error()
	}
	err = unix.Sendmsg(0, wire.Encode(r.has), nil, nil, unix.MSG_NOSIGNAL)
	for err == nil && r.has.Err == "" {
		var fds []int
		if data, fds, err = receive(); err == nil {
			r.start(data, fds)
		}
	}
	if errClose := r.close(); errClose != nil || errors.Is(err, io.EOF) || errors.Is(err, unix.EPIPE) {
		err = errClose
	}
	return err
}

// open makes what there is one of, and tries a child.
func (r *root) open() (err error) {
	for _, dir := range append(append([]string{}, r.options.Hide...), r.options.Caches...) {
		if info, err := os.Stat(dir); !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" || err != nil || !info.IsDir() {
			return fmt.Errorf("%q is no folder that can be hidden", dir)
		}
	}
	if err := r.takeUmask(); err != nil {
		return err
	}
	r.install = runnerFolder(int(r.user.Pid))
	if err := r.makeBase(); err != nil {
		return err
	}
	for _, dir := range Private() {
		path := r.base + dir
		if err := errors.Join(os.MkdirAll(path, 0o755), os.Chmod(path, 0o777|os.ModeSticky)); err != nil {
			return err
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWIPC); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if _, err := os.Stat("/dev/shm"); err == nil {
		if err := mount("shm", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil {
			return err
		}
	}
	for i, dir := range r.options.Caches {
		if err := r.overlay(strconv.Itoa(i), dir); err != nil {
			r.has.Problems = append(r.has.Problems, err.Error())
			continue
		}
		r.has.Caches = append(r.has.Caches, dir)
	}
	if r.cgroup, err = newCgroup(filepath.Base(r.base)); err != nil {
		r.has.NoCgroup = err.Error()
	}
	return r.try()
}

// makeBase makes the folder of this run, and removes those of helpers that were killed,
// which only root and a lack of memory can do. A helper that lives has its own locked.
func (r *root) makeBase() (err error) {
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0) // what becomes a supervisor raises its own
	old, err := filepath.Glob("/var/tmp/ralph-root-*")
	if err != nil {
		return err
	}
	if r.base, err = lockedNew(func() (string, error) { return os.MkdirTemp("/var/tmp", "ralph-root-") }); err != nil {
		return err
	}
	for _, dir := range old {
		if fd, err := lock(dir); err == nil {
			if group, err := findCgroup(filepath.Base(dir)); err == nil {
				_ = group.remove()
			}
			_ = rmtree.Remove(dir)
			_ = unix.Close(fd)
		}
	}
	return nil
}

// lockedNew makes a folder and locks it. Another helper may be faster, take it for one of
// a helper that was killed, and remove it.
func lockedNew(mkdir func() (string, error)) (dir string, err error) {
	for range 10 {
		if dir, err = mkdir(); err != nil {
			return "", err
		}
		if _, err = lock(dir); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("lock %s: %w", dir, err)
}

// lock locks a folder of ours until the descriptor is closed. Everybody may make one beside.
func lock(dir string) (fd int, err error) {
	if fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && int(st.Uid) != os.Geteuid() {
		err = unix.EPERM
	}
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, err
}

// takeUmask makes the caller's umask that of the children: sudo has its own.
func (r *root) takeUmask() error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.user.Pid))
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(status), "\nUmask:")
	text, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseInt(strings.TrimSpace(text), 8, 32)
	r.umask = int(mask)
	return err
}

// RunnerFolder returns where the runner is installed that this process belongs to; empty if
// it belongs to none.
func RunnerFolder() string { return runnerFolder(os.Getpid()) }

// runnerFolder is where the runner is installed that the process belongs to.
func runnerFolder(pid int) string {
	for range 100 {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.HasPrefix(filepath.Base(exe), "Runner.") {
			return filepath.Dir(filepath.Dir(exe))
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if err != nil || len(fields) < 2 {
			break
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil || pid == 0 {
			break
		}
	}
	return ""
}

// overlay has changes of a folder go to one of ours.
func (r *root) overlay(name, dir string) error {
	upper, work := filepath.Join(r.base, "cache", name, "upper"), filepath.Join(r.base, "cache", name, "work")
	var st unix.Stat_t
	lower, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(lower)
		err = unix.Fstat(lower, &st)
	}
	if err == nil {
		err = errors.Join(os.MkdirAll(upper, 0o755), os.MkdirAll(work, 0o755), os.Chmod(upper, os.FileMode(st.Mode&0o777)), os.Chown(upper, int(st.Uid), int(st.Gid)))
	}
	if err == nil {
		// By its descriptor: a path may have the signs that separate options.
		err = mount("overlay", dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("lowerdir=/proc/self/fd/%d,upperdir=%s,workdir=%s", lower, upper, work))
	}
	if err != nil {
		return fmt.Errorf("no throw-away copy of %s: %w", dir, err)
	}
	return nil
}

// try has a child make its namespaces and end.
func (r *root) try() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	says, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer says.Close()
	pid, err := r.fork(order{}, int(w.Fd()), int(null.Fd()), -1)
	_ = w.Close()
	if err != nil {
		return fmt.Errorf("PID namespace: %w", err)
	}
	text, _ := io.ReadAll(io.LimitReader(says, 1000))
	if status := wait(pid); status != ended {
		return fmt.Errorf("%s (%s)", bytes.TrimSpace(text), status)
	}
	return nil
}

// start starts a supervisor. What comes of it is said on the third descriptor.
func (r *root) start(data []byte, fds []int) {
	files := make([]*os.File, len(fds))
	for i, fd := range fds {
		files[i] = os.NewFile(uintptr(fd), "handed over")
	}
	if len(files) != 3 {
		return // not ralph's
	}
	link, stderr, alive := files[0], files[1], files[2]
	defer link.Close()
	defer stderr.Close()
	var c Child
	err := wire.Decode(data, &c)
	leaf, errLeaf := r.cgroup.leaf(c)
	pid := 0
	if err = errors.Join(err, errLeaf); err == nil {
		pid, err = r.fork(order{Child: c, Execute: true}, int(stderr.Fd()), int(link.Fd()), leaf.fd)
	}
	if err != nil {
		fmt.Fprintf(alive, "start: %v", err)
		_ = alive.Close()
		return
	}
	exited := make(chan struct{})
	r.mu.Lock()
	r.children[pid] = exited
	r.mu.Unlock()
	go r.watch(pid, alive, exited)
	go func() {
		status := wait(pid)
		r.mu.Lock()
		delete(r.children, pid)
		r.mu.Unlock()
		leaf.remove()
		_, _ = io.WriteString(alive, status)
		_ = unix.Shutdown(int(alive.Fd()), unix.SHUT_RDWR) // watch reads it still
		close(exited)
	}()
}

// watch ends a child when it is asked to, or when nobody is left who could ask.
func (r *root) watch(pid int, alive *os.File, exited <-chan struct{}) {
	defer alive.Close()
	if n, _ := alive.Read(make([]byte, 1)); n == 0 {
		select {
		case <-exited:
		case <-time.After(graceTime):
		}
	}
	r.kill(pid)
	<-exited
}

// kill ends a child, which takes its PID namespace with it.
func (r *root) kill(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.children[pid] != nil { // else its number may be another's
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// close waits for the children, ends those that are left, and removes what is on the disk.
func (r *root) close() error {
	late := time.Now().Add(graceTime)
	r.mu.Lock()
	left := make(map[int]chan struct{}, len(r.children))
	for pid, exited := range r.children {
		left[pid] = exited
	}
	r.mu.Unlock()
	for pid, exited := range left {
		select {
		case <-exited:
		case <-time.After(time.Until(late)):
			r.kill(pid)
		}
	}
	var errs []error
	late = time.Now().Add(dieTime)
	for _, exited := range left {
		select {
		case <-exited:
		case <-time.After(time.Until(late)):
			errs = append(errs, errors.New("processes are left that do not die"))
		}
	}
	errs = append(errs, r.cgroup.remove())
	if r.base != "" {
		errs = append(errs, rmtree.Remove(r.base))
	}
	return errors.Join(errs...)
}

func wait(pid int) string {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err.Error()
		case status.Signaled():
			return "signal: " + status.Signal().String()
		default:
			return fmt.Sprintf("exit status %d", status.ExitStatus())
		}
	}
}

// receive takes one packet from standard input.
func receive() (data []byte, fds []int, err error) {
	buf, rights := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(4*4))
	n, nr, flags, _, err := unix.Recvmsg(0, buf, rights, unix.MSG_CMSG_CLOEXEC)
	for errors.Is(err, unix.EINTR) {
		n, nr, flags, _, err = unix.Recvmsg(0, buf, rights, unix.MSG_CMSG_CLOEXEC)
	}
	switch {
	case err != nil:
		return nil, nil, os.NewSyscallError("recvmsg", err)
	case n == 0:
		return nil, nil, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(rights[:nr])
	for _, m := range messages {
		if got, err := unix.ParseUnixRights(&m); err == nil {
			fds = append(fds, got...)
		}
	}
	if flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.Join(err, errors.New("it is too long"))
	}
	return buf[:n], fds, err
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}
