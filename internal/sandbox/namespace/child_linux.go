package namespace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/capabilities"
	"github.com/org/ralph-action/internal/sandbox/wire"
)

// order is what the helper tells a child that becomes a supervisor.
type order struct {
	Child
	Execute  bool // else it makes its namespaces and ends
	UID, GID int
	Umask    int
	Hide     []string
	Base     string
}

// Descriptors of a child besides the standard ones.
const (
	linkFD = 3
	askFD  = 4
)

// fork starts a child in a PID and a mount namespace of its own. cgroup is the
// descriptor of one, or negative.
func (r *root) fork(o order, stderr, link, cgroup int) (pid int, err error) {
	o.UID, o.GID, o.Umask, o.Base = int(r.user.Uid), int(r.user.Gid), r.umask, r.base
	o.Hide = append(slices.Clone(r.options.Hide), "/run")
	if r.install != "" {
		o.Hide = append(o.Hide, r.install)
	}
	fd, err := unix.MemfdCreate("ralph", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, os.NewSyscallError("memfd_create", err)
	}
	ask := os.NewFile(uintptr(fd), "order")
	defer ask.Close()
	if _, err := ask.WriteAt(wire.Encode(o), 0); err != nil {
		return 0, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	return syscall.ForkExec("/proc/self/exe", []string{"ralph", command, "child"}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   append([]string{}, o.Env...),
		Files: []uintptr{null.Fd(), null.Fd(), uintptr(stderr), uintptr(link), ask.Fd()},
		Sys: &syscall.SysProcAttr{
			Setsid:      true,
			Cloneflags:  unix.CLONE_NEWPID | unix.CLONE_NEWNS,
			UseCgroupFD: cgroup >= 0,
			CgroupFD:    cgroup,
		},
	})
}

// child makes what each supervisor has of its own, drops all rights and becomes
// sandbox-init, as the first process of its namespace.
func child() error {
	if os.Getpid() != 1 || os.Geteuid() != 0 {
		return errors.New("it is started by ralph only")
	}
	ask := os.NewFile(askFD, "order")
	data, err := io.ReadAll(ask)
	_ = ask.Close()
	var o order
	if err == nil {
		err = wire.Decode(data, &o)
	}
	if err != nil {
		return fmt.Errorf("order: %w", err)
	}
	syscall.Umask(0)
	if err := cover(o); err != nil {
		return err
	}
	// All processes in it are the sandbox's own. No hidepid: it would hide those that are
	// not dumpable from the supervisor, which has to end them.
	if err := mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	syscall.Umask(o.Umask)
	if err := drop(o.UID, o.GID); err != nil {
		return err
	}
	if !o.Execute {
		return nil
	}
	return fmt.Errorf("sandbox-init: %w", syscall.Exec("/proc/self/exe", []string{"ralph", "sandbox-init"}, o.Env))
}

// place is a mount to make.
type place struct {
	path  string
	tree  int  // what to show there, a descriptor; negative: an empty folder
	cover bool // it hides what is there; else it shows a path that the child opens
	write bool
}

// cover makes all read-only but what the child may write, mounts empty folders over those
// that are hidden, and in them again what the child opens.
func cover(o order) error {
	open := o.paths()
	var covers []string
	var all []place
	hide := func(dir, source string) error {
		real, err := filepath.EvalSymlinks(dir)
		_, opened := open[real]
		if err != nil || slices.Contains(covers, real) || opened && source == "" {
			return nil // what is not there, or is opened as a whole
		}
		p := place{path: real, tree: -1, cover: true, write: true}
		if source != "" {
			p.tree, err = tree(source, true)
		}
		covers, all = append(covers, real), append(all, p)
		return err
	}
	for _, dir := range Private() {
		if err := hide(dir, o.Base+dir); err != nil {
			return err
		}
	}
	for _, dir := range o.Hide {
		if err := hide(dir, ""); err != nil {
			return err
		}
	}
	for path, write := range open {
		if slices.Contains(covers, path) {
			continue // a private folder
		}
		hidden := slices.ContainsFunc(covers, func(dir string) bool { return below(path, dir) })
		if real, err := filepath.EvalSymlinks(path); !hidden && (!write || err != nil || real != path) {
			continue
		}
		fd, err := tree(path, write)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
			continue
		case err != nil:
			return err
		}
		all = append(all, place{path: path, tree: fd, write: write})
	}
	if err := readOnly(unix.AT_FDCWD, "/"); err != nil {
		return err
	}
	// A folder comes before what lies in it.
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(len(a.path), len(b.path)) })
	for i, p := range all {
		if err := p.mount(all[:i]); err != nil {
			return err
		}
	}
	return nil
}

// paths are those that the child opens, as they are named and without links, and whether
// it writes there.
func (o order) paths() map[string]bool {
	list := map[string]bool{}
	add := func(path string, write bool) {
		if !filepath.IsAbs(path) {
			return
		}
		list[filepath.Clean(path)] = write
		if real, err := filepath.EvalSymlinks(path); err == nil {
			list[real] = write
		}
	}
	for _, path := range o.Read {
		add(path, false)
	}
	for _, path := range append(slices.Clone(o.Write), "/dev") { // to ptys of its own; the others are root's
		add(path, true)
	}
	return list
}

// tree is a copy of what is mounted at and below a path, to be mounted elsewhere.
func tree(path string, write bool) (fd int, err error) {
	fd, err = unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err == nil && !write {
		err = readOnly(fd, "")
	}
	if err != nil {
		return -1, fmt.Errorf("open_tree %s: %w", path, err)
	}
	return fd, nil
}

func readOnly(fd int, path string) error {
	flags := uint(unix.AT_RECURSIVE)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	return os.NewSyscallError("mount_setattr", unix.MountSetattr(fd, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}))
}

// mount makes one, if those before it, which are shorter, leave something to do.
func (p place) mount(before []place) error {
	for _, above := range slices.Backward(before) {
		switch {
		case !below(p.path, above.path):
			continue
		case p.cover && above.cover, !p.cover && !above.cover && (above.write || !p.write):
			return nil // it is hidden, or shown, with that
		}
		break
	}
	if p.tree < 0 {
		return mount("ralph", p.path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755")
	}
	if info, err := os.Lstat(p.path); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return nil // it leads to another of them
	}
	if err := p.make(); err != nil {
		return err
	}
	if err := unix.MoveMount(p.tree, "", unix.AT_FDCWD, p.path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("move_mount %s: %w", p.path, err)
	}
	return nil
}

// make makes the folder or file to mount on, where a hidden folder has none.
func (p place) make() error {
	var st unix.Stat_t
	if err := unix.Fstat(p.tree, &st); err != nil {
		return fmt.Errorf("open %s: %w", p.path, err)
	}
	if _, err := os.Lstat(p.path); err == nil {
		return nil
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(p.path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(p.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(p.path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = f.Close()
	}
	return err
}

func below(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }

// drop makes a plain user without any rights of root.
func drop(uid, gid int) error {
	if err := capabilities.Bound(0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	steps := []struct {
		name string
		do   func() error
	}{
		{"drop ambient capabilities", func() error { return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) }},
		{"drop groups", func() error { return syscall.Setgroups(nil) }},
		{"setresgid", func() error { return syscall.Setresgid(gid, gid, gid) }},
		{"setresuid", func() error { return syscall.Setresuid(uid, uid, uid) }},
		{"drop capabilities", func() error { return unix.Capset(&header, &none[0]) }},
		{"no_new_privs", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"end with root's process", func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}
