package namespace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/namespace"
)

// What a child sees of the machine, and what it leaves on it.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	if !isRoot() {
		return // e2e shows it with sudo
	}
	f := newFolders(t)
	decoy := exec.Command("sleep", "1000")
	decoy.Env = []string{"TOKEN=of-another-step"}
	decoy.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
	if err := decoy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = decoy.Process.Kill(); _ = decoy.Wait() }()
	tools, err := os.MkdirTemp("/opt", "namespace-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tools)
	tool := filepath.Join(tools, "tool")
	if err := errors.Join(os.Chmod(tools, 0o777), os.WriteFile(tool, nil, 0o644), os.Chown(tool, user, user)); err != nil {
		t.Fatal(err)
	}
	outside := map[string]string{}
	for _, name := range []string{"pid", "mnt", "ipc", "net"} {
		link, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			t.Fatal(err)
		}
		outside[name] = link
	}

	var out bytes.Buffer
	cmd := f.start(t, &out, `
exec 2>&1
cat /proc/$DECOY/environ; kill -0 $DECOY && echo signals the decoy
chmod 777 "$TOOL"; touch -d 2001-01-01 "$TOOL"; mkdir "$TOOL-mine"; cat "$TOOL" && echo the tool is read
ps=$(echo /proc/[0-9]*); echo "processes: $(echo $ps | wc -w)"
cat "$SECRET/token"; cat "$SECRET/opened/file"; echo written >"$SECRET/opened/new"; ls "$SECRET"
cat "$CACHE/old"; echo poison >"$CACHE/old"; echo poison >"$CACHE/new"; cat "$CACHE/new"
echo mine >/tmp/mine; echo mine >/var/tmp/mine; echo mine >/dev/shm/mine; echo result >"$WORK/result"
echo "run: $(ls /run | wc -l), tmp: $(ls /var/tmp)"
grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs)' /proc/self/status | tr '\t' ' '
for name in pid mnt ipc net; do echo "$name $(readlink /proc/self/ns/$name)"; done
tr '\0' ' ' </proc/1/cmdline
grep -o 'ralph-root-[0-9]*' /proc/self/mountinfo
`, fmt.Sprintf("DECOY=%d", decoy.Process.Pid), "TOOL="+tool)
	err = cmd.Wait()
	text := out.String()
	defer func() {
		if t.Failed() {
			t.Log(text)
		}
	}()
	if err != nil {
		t.Fatalf("the run: %v", err)
	}
	for _, want := range []string{
		"the tool is read", "Read-only file system", "content of file", "content of old", "poison", "run: 0, tmp: mine", "opened",
		"Uid: 1001 1001 1001 1001", "Gid: 1001 1001 1001 1001", "Groups:  \n", "NoNewPrivs: 1", "ralph sandbox-init", `unprotected: ""`,
		"CapInh: 0000000000000000", "CapPrm: 0000000000000000", "CapBnd: 0000000000000000", "CapAmb: 0000000000000000", "net " + outside["net"],
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, never := range []string{"of-another-step", "signals", "content of token", "namespace-test-", "pid " + outside["pid"], "mnt " + outside["mnt"], "ipc " + outside["ipc"]} {
		if strings.Contains(strings.NewReplacer(base, "", tools, "").Replace(text), never) {
			t.Errorf("%q is there", never)
		}
	}
	for path, want := range map[string]string{
		f.cache + "/old": "content of old\n", f.secret + "/opened/new": "written\n", f.work + "/result": "result\n",
		f.cache + "/new": "", "/tmp/mine": "", "/var/tmp/mine": "", "/dev/shm/mine": "",
	} {
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	if info, err := os.Stat(tool); err != nil || info.Mode() != 0o644 || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the tool outside has become %v, %v", info, err)
	}
	leavesNothing(t, baseIn(t, text))
}

// Of a hidden folder a child sees what it opens, as it is named, and no more.
func TestPlaces(t *testing.T) {
	t.Parallel()
	if !isRoot() {
		return
	}
	f := newFolders(t)
	home := f.secret
	for _, dir := range []string{"go/pkg", "bin", "work", "work/_temp/opened", "whole", "elsewhere"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(home, dir), 0o755), os.Chown(filepath.Join(home, dir), user, user)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go/file", "bin/program", "bin/other", "work/_temp/token", "work/_temp/opened/file", "whole/file", "elsewhere/file"} {
		if err := errors.Join(os.WriteFile(filepath.Join(home, name), []byte(name+"\n"), 0o644), os.Chown(filepath.Join(home, name), user, user)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "elsewhere", "go/link": "../elsewhere"} {
		if err := os.Symlink(to, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	out := &lockedBuffer{}
	cmd := f.start(t, out, `cd "$SECRET"; find . -type f | sort
for dir in . go go/pkg bin work work/_temp work/_temp/opened whole; do touch $dir/new 2>/dev/null && echo "writes $dir"; done
chmod 777 go/file || echo "go/file stays"; cat link/file`,
		"READ="+home+"/go", "READ="+home+"/bin/program", "READ="+home+"/work/_temp/opened", "READ="+home+"/nowhere", "READ=bin", "READ="+home+"/link", "READ="+home+"/go/link",
		"WRITE="+home+"/go/pkg", "WRITE="+home+"/work", "WRITE="+home+"/whole", "HIDE="+home+"/work/_temp", "HIDE="+home+"/whole")
	if err := cmd.Wait(); err != nil {
		t.Errorf("the run: %v", err)
	}
	for _, want := range []string{
		"./bin/program\n./elsewhere/file\n./go/file\n./link/file\n./opened/file\n./whole/file\n./work/_temp/opened/file\nwrites go/pkg\nwrites work\nwrites whole\n",
		"go/file stays\n", "\nelsewhere/file\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// The kernel's own limits, where the machine shares out memory and processes.
func TestCgroup(t *testing.T) {
	t.Parallel()
	if !isRoot() {
		return
	}
	shares, _ := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control")
	has := strings.Contains(string(shares), "memory") && strings.Contains(string(shares), "pids")
	f := newFolders(t)
	mark := "mark-" + filepath.Base(filepath.Dir(f.work))
	out := &lockedBuffer{}
	cmd := f.start(t, out, `echo there >there; while ! [ -e go ]; do sleep 0.1; done`, "MARK="+mark)
	await(t, "the script", func() bool { _, err := os.Stat(f.work + "/there"); return err == nil })
	name := baseIn(t, mountsOf(t, mark))
	limits := ""
	leaves, _ := filepath.Glob("/sys/fs/cgroup/" + name + "/*/cgroup.procs")
	for _, leaf := range leaves {
		for _, file := range []string{"memory.max", "pids.max"} {
			text, _ := os.ReadFile(filepath.Join(filepath.Dir(leaf), file))
			limits += string(text)
		}
		if procs, _ := os.ReadFile(leaf); len(strings.Fields(string(procs))) < 2 {
			t.Errorf("%s lists %q", leaf, procs)
		}
	}
	if err := os.WriteFile(f.work+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the run: %v\n%s", err, out)
	}
	want, says := "", "no cgroup ("
	if has {
		want, says = "1342177280\n16640\n", "namespaces, cgroup;"
	}
	if limits != want || !strings.Contains(out.String(), says) {
		t.Errorf("limits %q, want %q; %q in\n%s", limits, want, says, out)
	}
	leavesNothing(t, name)
}

// baseIn is the name of what a run has on the disk, as it is seen in its mounts.
func baseIn(t *testing.T, text string) string {
	t.Helper()
	name := regexp.MustCompile(`ralph-root-\d+`).FindString(text)
	if name == "" {
		t.Fatalf("no mount of a run in\n%s", text)
	}
	return name
}

func leavesNothing(t *testing.T, name string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), "ralph-root-") {
		t.Errorf("mounts are left: %v\n%s", err, mounts)
	}
	for _, pattern := range []string{"/var/tmp/", "/sys/fs/cgroup/", "/sys/fs/cgroup/*/", "/sys/fs/cgroup/*/*/"} {
		if left, err := filepath.Glob(pattern + name); err != nil || len(left) > 0 {
			t.Errorf("%s is left, %v", left, err)
		}
	}
}

// mountsOf are those that the processes with a mark see.
func mountsOf(t *testing.T, mark string) string {
	t.Helper()
	text := ""
	for _, dir := range withMark(mark) {
		mounts, _ := os.ReadFile(dir + "/mountinfo")
		text += string(mounts)
	}
	return text
}

// The run is killed, and with it goes all that it had started.
func TestKilled(t *testing.T) {
	t.Parallel()
	if !isRoot() {
		return
	}
	f := newFolders(t)
	mark := "mark-" + filepath.Base(filepath.Dir(f.work))
	cmd := f.start(t, os.Stderr, `trap '' TERM HUP; setsid sh -c "trap '' TERM; echo there >there; sleep 1000" & sleep 1000`, "MARK="+mark)
	await(t, "the script", func() bool { _, err := os.Stat(f.work + "/there"); return err == nil })
	helper := helperOf(cmd.Process.Pid)
	if helper == "" || len(withMark(mark)) < 3 {
		t.Fatalf("helper %q, processes %q", helper, withMark(mark))
	}
	name := baseIn(t, mountsOf(t, mark))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	await(t, "the end of the script", func() bool { return len(withMark(mark)) == 0 })
	await(t, "the end of the helper", func() bool { _, err := os.Stat("/proc/" + helper); return err != nil })
	leavesNothing(t, name)
}

// helperOf is the PID of the helper that a process has started.
func helperOf(pid int) string {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range all {
		more, _ := os.ReadFile(name)
		children = append(append(children, ' '), more...)
	}
	for _, child := range strings.Fields(string(children)) {
		if text, _ := os.ReadFile("/proc/" + child + "/cmdline"); strings.Contains(string(text), "sandbox-root") {
			return child
		}
	}
	return ""
}

// The helper is killed, which only root can: nothing goes on without it, and the next one
// removes what it has left.
func TestHelperKilled(t *testing.T) {
	t.Parallel()
	if !isRoot() {
		return
	}
	f := newFolders(t)
	mark := "mark-" + filepath.Base(filepath.Dir(f.work))
	out := &lockedBuffer{}
	cmd := f.start(t, out, `trap '' TERM HUP; echo there >there; sleep 1000`, "MARK="+mark)
	await(t, "the script", func() bool { _, err := os.Stat(f.work + "/there"); return err == nil })
	var pid int
	if _, err := fmt.Sscan(helperOf(cmd.Process.Pid), &pid); err != nil {
		t.Fatal(err)
	}
	name := baseIn(t, mountsOf(t, mark))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "the namespaces were lost") {
		t.Errorf("the run: %v\n%s", err, out)
	}
	await(t, "the end of the script", func() bool { return len(withMark(mark)) == 0 })
	if err := f.start(t, os.Stderr, "true").Wait(); err != nil {
		t.Errorf("the next run: %v", err)
	}
	leavesNothing(t, name)
}

// A supervisor that hangs is killed on request: it is root's to kill.
func TestHanging(t *testing.T) {
	t.Parallel()
	if !isRoot() {
		return
	}
	out := &lockedBuffer{}
	if err := newFolders(t).start(t, out, "hangs").Wait(); err == nil || out.String() != "run: signal: killed\n" {
		t.Errorf("the run: %v, %q", err, out)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// Why there are no namespaces.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, sudo, want string }{
		{"none", "", "there is no " + base + "/none"},
		{"password", "echo 'sudo: unable to resolve host x' >&2; echo 'sudo: a password is required' >&2; exit 1", "sudo: a password is required"},
		{"silent", "exit 3", "sudo: exit status 3"},
		{"hangs", "exec sleep 3", "sudo does not answer"},
		{"no-socket", `shift 2; exec "$@" </dev/null`, "ralph sandbox-root: sudo does not hand its standard input on (as with log_input)"},
		{"no-root", `shift 2; exec "$@"`, "ralph sandbox-root: it is started by ralph only, through sudo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(base, c.name)
			if c.sudo != "" {
				if err := os.WriteFile(path, []byte("#!/bin/sh\n"+c.sudo+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			ctx := t.Context()
			if c.name == "hangs" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			if _, err := namespace.Start(ctx, namespace.Options{Sudo: path}); err == nil || err.Error() != c.want {
				t.Errorf("Start() = %v, want %s", err, c.want)
			}
		})
	}
}

// What the helper does not do for whoever asks.
func TestRequests(t *testing.T) {
	t.Parallel()
	if !isRoot() {
		return
	}
	for _, c := range []struct{ name, secret, cache, want string }{
		{"the root", "/", "", `run: "/" is no folder that can be hidden`},
		{"relative", "tmp", "", `run: "tmp" is no folder that can be hidden`},
		{"missing", "/nowhere", "", `run: "/nowhere" is no folder that can be hidden`},
		{"a file", "/etc/passwd", "", `run: "/etc/passwd" is no folder that can be hidden`},
		{"a cache that is missing", "", "/nowhere", `run: "/nowhere" is no folder that can be hidden`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFolders(t)
			if c.secret != "" {
				f.secret = c.secret
			}
			if c.cache != "" {
				f.cache = c.cache
			}
			out := &lockedBuffer{}
			cmd := f.start(t, out, "echo started")
			if err := cmd.Wait(); err == nil || strings.TrimSpace(out.String()) != c.want {
				t.Errorf("the run: %v, %q, want %q", err, out, c.want)
			}
		})
	}
}

func TestComplaintIsBounded(t *testing.T) {
	t.Parallel()
	var c namespace.Complaint
	for range 100 {
		if n, err := c.Write(bytes.Repeat([]byte("panic "), 100)); n != 600 || err != nil {
			t.Fatalf("Write() = %d, %v", n, err)
		}
	}
	if got := len(c.String()); got > 2048 {
		t.Errorf("len(String()) = %d, want at most 2048", got)
	}
}

// A folder that somebody else made is none of a helper's, and one that another helper has
// locked already is left to that.
func TestFoldersOfOthers(t *testing.T) {
	t.Parallel()
	dir, others := t.TempDir(), ""
	if os.Geteuid() == 0 {
		others = filepath.Join(dir, "others")
		if err := errors.Join(os.Mkdir(others, 0o755), os.Chown(others, user, user)); err != nil {
			t.Fatal(err)
		}
	} else {
		others = "/var" // root's
	}
	if _, err := namespace.Lock(others); !errors.Is(err, syscall.EPERM) {
		t.Errorf("Lock() of somebody else's folder: %v, want %v", err, syscall.EPERM)
	}
	made := 0
	got, err := namespace.LockedNew(func() (string, error) {
		made++
		one := filepath.Join(dir, fmt.Sprint(made))
		if err := os.Mkdir(one, 0o700); err != nil || made > 2 {
			return one, err
		}
		if made == 1 {
			return one, os.Remove(one) // by the other helper, which is done with it
		}
		_, err := namespace.Lock(one)
		return one, err
	})
	if want := filepath.Join(dir, "3"); got != want || err != nil {
		t.Errorf("LockedNew() = %s, %v, want %s", got, err, want)
	}
}

// Names of cgroups are no patterns.
func TestLeaves(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), `system-x\x2dy[1].slice`)
	leaf := filepath.Join(dir, "leaf")
	if err := errors.Join(os.MkdirAll(leaf, 0o755), os.WriteFile(dir+"/cgroup.procs", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := namespace.Leaves(dir); len(got) != 1 || got[0] != leaf {
		t.Errorf("Leaves() = %q, want %q", got, leaf)
	}
}
