package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/namespace"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

const user = 1001

// base is a folder that every user may enter, with copies of this binary: fakeSudo is one
// that makes root of whoever starts it, as sudo does where no password is asked for.
var base, binary, fakeSudo string

func TestMain(m *testing.M) {
	switch {
	case filepath.Base(os.Args[0]) == "sudo":
		fmt.Fprintln(os.Stderr, "sudo:", becomeRoot(os.Args[1:]))
		os.Exit(1)
	case len(os.Args) > 1 && os.Args[1] == "run":
		if err := run(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "run:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(inBase(m))
}

func inBase(m *testing.M) int {
	dir, err := os.MkdirTemp("/tmp", "namespace-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	base, binary, fakeSudo = dir, filepath.Join(dir, "test"), filepath.Join(dir, "sudo")
	err = os.Chmod(dir, 0o755)
	for _, name := range []string{binary, fakeSudo} {
		out, errOut := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o755)
		in, errIn := os.Open("/proc/self/exe")
		if err = errors.Join(err, errOut, errIn); err == nil {
			_, err = io.Copy(out, in)
			err = errors.Join(err, out.Close(), in.Close(), os.Chmod(name, 0o755|os.ModeSetuid))
		}
	}
	if err = errors.Join(err, os.Chmod(binary, 0o755)); err != nil {
		panic(err)
	}
	return m.Run()
}

// becomeRoot is sudo -n -- COMMAND.
func becomeRoot(args []string) error {
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(0, 0, 0), syscall.Setresuid(0, 0, 0)); err != nil {
		return err
	}
	return syscall.Exec(args[2], args[2:], []string{"PATH=/usr/bin:/bin"})
}

// run is a run with one agent, a shell script: SCRIPT WORK SECRET CACHE [NAME=VALUE...],
// of which HIDE, READ and WRITE are further folders.
func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	script, work, secret, cache := args[0], args[1], args[2], args[3]
	began, fakeSudo := time.Now(), filepath.Join(filepath.Dir(os.Args[0]), "sudo")
	more := map[string][]string{}
	for _, kv := range args[4:] {
		name, value, _ := strings.Cut(kv, "=")
		more[name] = append(more[name], value)
	}
	n, err := namespace.Start(ctx, namespace.Options{Sudo: fakeSudo, Hide: append(more["HIDE"], secret), Caches: []string{cache}})
	if err != nil {
		return err
	}
	took := time.Since(began)
	if script == "hangs" {
		return errors.Join(killHanging(n), n.Close())
	}
	policy := confine.DefaultPolicy([]string{work, "/tmp", "/var/tmp", filepath.Join(secret, "opened")}, []string{cache})
	policy.ReadOnly = append(policy.ReadOnly, more["READ"]...)
	policy.ReadWrite = append(append(policy.ReadWrite, n.Caches()...), more["WRITE"]...)
	policy.Network = &confine.Network{}
	s, err := proc.Start(ctx, proc.Options{Policy: &policy, Namespaces: n, Reaper: true, SpillDir: filepath.Dir(work), Env: []string{"PATH=/usr/bin:/bin"}, Memory: 1 << 30})
	if err != nil {
		return errors.Join(err, n.Close())
	}
	env := []string{"PATH=/usr/bin:/bin", "WORK=" + work, "SECRET=" + secret, "CACHE=" + cache}
	_, err = s.Run(ctx, proc.Command{Argv: []string{"sh", "-c", script}, Env: append(env, args[4:]...), Dir: work, Stdout: os.Stdout, Stderr: os.Stdout, Speaks: true})
	fmt.Printf("unprotected: %q\n%s; started in %s, all of it %s\n", s.Unprotected(), n, took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	return errors.Join(err, s.Close(), n.Close())
}

// killHanging kills a supervisor that hears nothing, because nobody has its link but us.
func killHanging(n *namespace.Namespaces) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	p, err := n.Start(namespace.Child{}, os.NewFile(uintptr(pair[1]), "link"), os.Stdout)
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return err
	}
	return p.Wait()
}

// folders are those of a run, which belong to the user.
type folders struct{ work, secret, cache string }

func newFolders(t *testing.T) folders {
	t.Helper()
	dir, err := os.MkdirTemp(base, "run-")
	if err != nil {
		t.Fatal(err)
	}
	f := folders{dir + "/work", dir + "/secret", dir + "/cache"}
	for _, dir := range []string{dir, f.work, f.secret, f.secret + "/opened", f.cache} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chown(dir, user, user)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{f.secret + "/token", f.secret + "/opened/file", f.cache + "/old"} {
		if err := errors.Join(os.WriteFile(name, []byte("content of "+filepath.Base(name)+"\n"), 0o644), os.Chown(name, user, user)); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// start starts a run as the user, with a script.
func (f folders) start(t *testing.T, out io.Writer, script string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"run", script, f.work, f.secret, f.cache}, env...)...)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = out, out, "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user, Groups: []uint32{27}}, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// isRoot reports whether the tests can be another user, and a sudo that may mount: root in
// a container may not. It is asked once: with its thread end those that were started there
// before, by PDEATHSIG.
var isRoot = sync.OnceValue(func() bool {
	may := make(chan bool)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		may <- os.Geteuid() == 0 && unix.Unshare(unix.CLONE_NEWNS) == nil
	}()
	return <-may
})

// await polls until there is what a test waits for.
func await(t *testing.T, what string, there func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !there(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// withMark lists the processes that have a text in their environment or arguments.
func withMark(mark string) (list []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		for _, name := range []string{"cmdline", "environ"} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil && strings.Contains(string(text), mark) {
				list = append(list, dir)
				break
			}
		}
	}
	return list
}
