package proc_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// sandbox is where children work, with something of their own outside of it.
type sandbox struct {
	work, tmp, outside string
	options            proc.Options
}

func newSandbox(t *testing.T) sandbox {
	t.Helper()
	r := sandbox{work: place(t, "work"), tmp: place(t, "tmp"), outside: place(t, "outside")}
	// Like GITHUB_OUTPUT: it belongs to the children's uid, and must be out of reach.
	for _, name := range []string{"output", "secret"} {
		path := filepath.Join(r.outside, name)
		if err := os.WriteFile(path, []byte(name+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		give(t, path)
	}
	// A PATH may have relative and empty entries: they open nothing.
	policy := confine.DefaultPolicy([]string{r.work, r.tmp}, []string{binary, ".", "..", ""})
	r.options = proc.Options{Identity: childUser(), Policy: &policy}
	return r
}

// TestPolicy runs attempts of a child, each of which says what came of it.
func TestPolicy(t *testing.T) {
	t.Parallel()
	abi, reason := confine.Available()
	r := newSandbox(t)
	if abi == 0 {
		testNoLandlock(t, r, reason)
		return
	}
	attempts := []struct{ name, script, want string }{
		{"read outside", "cat $OUT/secret", "no"},
		{"list outside", "ls $OUT", "no"},
		{"write outside", "echo x >> $OUT/output", "no"},
		{"remove outside", "rm $OUT/output", "no"},
		{"create outside", "touch $OUT/new", "no"},
		{"link from outside", "ln $OUT/secret $WORK/secret", "no"},
		{"move from outside", "mv $OUT/secret $WORK/secret", "no"},
		{"link to outside", "ln -s $OUT/secret $WORK/sym && cat $WORK/sym", "no"},
		{"open /tmp", "ls /tmp", "no"},
		{"open the root", "ls /", "no"},
		{"write /etc", "echo x > /etc/ralph-test", "no"},
		{"write inside", "mkdir $WORK/a $WORK/b && echo x > $WORK/a/f && cat $WORK/a/f", "yes"},
		{"move between directories", "mv $WORK/a/f $WORK/b/g && ls $WORK/b/g", "yes"},
		{"link between directories", "ln $WORK/b/g $WORK/a/h", "yes"},
		{"move a directory", "mkdir $WORK/c && mv $WORK/c $WORK/b/c", "yes"},
		{"move to TMPDIR and back", "mv $WORK/b/g $TMPDIR/g && mv $TMPDIR/g $WORK/b/g", "yes"},
		{"truncate and execute", "echo 'echo hi' > $WORK/x && : > $WORK/x && chmod +x $WORK/x && $WORK/x", "yes"},
		{"devices", "head -c 8 /dev/urandom > /dev/null && head -c 8 /dev/zero > /dev/null", "yes"},
		{"own descriptors", "echo x > /dev/stderr && echo y > /dev/stdout", "yes"},
		{"run programs", binary + " program ignores-stdin x", "yes"},
		{"read machine configuration", "cat /etc/passwd", "yes"},
		{"read own process", "cat /proc/self/status", "yes"},
		{"no new privileges", "grep -q 'NoNewPrivs:.1' /proc/self/status", "yes"},
		{"environment of the host process", fmt.Sprintf("cat /proc/%d/environ", os.Getpid()), "no"},
		{"environment of the supervisor", "cat /proc/$SUPERVISOR/environ", "no"},
		{"descriptors of the supervisor", "ls /proc/$SUPERVISOR/fd", "no"},
	}
	if abi >= 6 {
		attempts = append(attempts, struct{ name, script, want string }{"signal the supervisor", "kill -9 $SUPERVISOR", "no"})
	}
	var script strings.Builder
	script.WriteString("SUPERVISOR=$PPID\n")
	for _, a := range attempts {
		fmt.Fprintf(&script, "if ( %s ) >/dev/null 2>&1; then echo '%s: yes'; else echo '%s: no'; fi\n", a.script, a.name, a.name)
	}
	c := shell(script.String())
	c.Dir = r.work
	c.Env = append(c.Env, "WORK="+r.work, "OUT="+r.outside, "TMPDIR="+r.tmp, quickExit)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if exit, err := start(t, r.options).Run(t.Context(), c); err != nil || exit.Code != 0 {
		t.Fatalf("Run() = %+v, %v; it said %s", exit, err, out.String())
	}
	for _, a := range attempts {
		if !strings.Contains(out.String(), a.name+": "+a.want+"\n") {
			t.Errorf("%s: want %q in\n%s", a.name, a.want, out.String())
		}
	}
	if got, err := os.ReadFile(filepath.Join(r.outside, "output")); err != nil || string(got) != "output\n" {
		t.Errorf("the file outside = %q, %v, want it untouched", got, err)
	}
}

// testNoLandlock is what remains where the kernel has none.
func testNoLandlock(t *testing.T, r sandbox, reason string) {
	if exit, err := start(t, r.options).Run(t.Context(), shell("exit 3")); err != nil || exit.Code != 3 {
		t.Errorf("Run(auto) = %+v, %v, want code 3 without restrictions", exit, err)
	}
	r.options.Policy.Strict = true
	if _, err := start(t, r.options).Run(t.Context(), shell("exit 3")); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("Run(strict) = %v, want an error that says %q", err, reason)
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := shell("id -u; id -g; id -G; " +
		"set -- $(grep processes /proc/self/limits); echo $3; [ $4 -le 841 ] && echo bounded")
	c.Stdout = &out
	want := fmt.Sprintf("%d\n%d\n", os.Geteuid(), os.Getegid())
	id := childUser()
	if !id.IsZero() {
		id, _ = loneUser()
		want = fmt.Sprintf("%d\n%d\n%d\n777\nbounded\n", id.UID, id.GID, id.GID) // no other group
	}
	for _, policy := range []*confine.Policy{nil, newSandbox(t).options.Policy} {
		out.Reset()
		s := start(t, proc.Options{Identity: id, Policy: policy, MaxProcs: 777})
		if _, err := s.Run(t.Context(), c); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("identity = %q, %v, want %q", out.String(), err, want)
		}
	}
	if os.Geteuid() != 0 {
		_, err := proc.Start(t.Context(), proc.Options{Identity: confine.Identity{UID: 4711, GID: 4711}})
		if err == nil || !strings.Contains(err.Error(), "only root") {
			t.Errorf("Start(another user) = %v, want that only root can", err)
		}
	}
}

func TestCannotStartByPolicy(t *testing.T) {
	t.Parallel()
	r := newSandbox(t)
	s := start(t, r.options)
	broken := filepath.Join(r.work, "broken")
	if err := os.WriteFile(broken, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		argv []string
		want error
	}{
		{"not in PATH", []string{"no-such-program"}, exec.ErrNotFound},
		{"relative", []string{"./missing"}, fs.ErrNotExist},
		{"interpreter missing", []string{broken}, fs.ErrNotExist},
	} {
		if _, err := s.Run(t.Context(), proc.Command{Argv: tc.argv, Dir: r.work}); !errors.Is(err, tc.want) {
			t.Errorf("Run(%s) = %v, want %v", tc.name, err, tc.want)
		}
	}
	if abi, _ := confine.Available(); abi > 0 {
		restricted := filepath.Join(r.outside, "true")
		if err := copyFile(restricted, "/bin/true"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(t.Context(), proc.Command{Argv: []string{restricted}}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("Run(outside the sandbox) = %v, want %v", err, fs.ErrPermission)
		}
	}
	if exit, err := s.Run(t.Context(), shell("exit 6")); err != nil || exit.Code != 6 {
		t.Errorf("Run() after failures = %+v, %v, want code 6", exit, err)
	}
}

// TestSealedHostOfTheSameUser: a host process that is a plain user, with a child of
// the same user and no policy, shows it nothing.
func TestSealedHostOfTheSameUser(t *testing.T) {
	t.Parallel()
	mark := newMark()
	for _, sealed := range []bool{false, true} {
		cmd, said := hostCommand(t, mark, hostSpec{Seal: sealed, Argv: []string{"sh", "-c",
			"cat /proc/$HOST_PID/environ | tr '\\0' ' '; ls /proc/$HOST_PID/fd >/dev/null && echo FDS; head -c0 /proc/$HOST_PID/mem && echo MEM; cat /proc/$PPID/environ && echo SUPERVISOR; true"}})
		cmd.Env = append(cmd.Env, "TOKEN=hunter2")
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1001, Gid: 1001}}
		}
		got := said(cmd.Run())
		if got.Err != "" {
			t.Fatalf("host: %s", got.Err)
		}
		for _, leak := range []string{"hunter2", "FDS"} {
			if has := strings.Contains(got.Output, leak); has == sealed {
				t.Errorf("sealed %v: the child sees %q: %v, want %v; it said %q", sealed, leak, has, !sealed, got.Output)
			}
		}
		if strings.Contains(got.Output, "SUPERVISOR") {
			t.Errorf("sealed %v: the child reads the supervisor's environment", sealed)
		}
		if sealed && !slices.Contains(got.Environ, "TOKEN=hunter2") {
			t.Errorf("Seal() = %q, want the token kept in memory", got.Environ)
		}
	}
}

// What the host process was started with is not handed on: a shell may have kept a copy of
// the log open.
func TestDescriptorsAreNotInherited(t *testing.T) {
	t.Parallel()
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	const from = 200
	kept, err := unix.FcntlInt(uintptr(pipe[1]), unix.F_DUPFD, from)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(kept)
	var out strings.Builder
	c := shell(fmt.Sprintf("[ ! -e /proc/self/fd/%d ]", kept))
	c.Stdout, c.Stderr = &out, &out
	s := start(t, newSandbox(t).options)
	if exit, err := s.Run(t.Context(), c); err != nil || exit.Code != 0 {
		t.Errorf("Run() = %+v, %v, %q: a descriptor of the host process's is open in the child", exit, err, out.String())
	}
}

// TestGroupsAreCleared: a host process that is in the docker group, as on a hosted
// runner, has children that are not.
func TestGroupsAreCleared(t *testing.T) {
	t.Parallel()
	cmd, said := hostCommand(t, newMark(), hostSpec{Identity: childUser(), Argv: []string{"id", "-G"}})
	want := ""
	if id := childUser(); !id.IsZero() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{0, 998}}}
		want = fmt.Sprintf("%d\n", id.GID)
	} else { // only root can give groups up, so a plain user keeps its own
		out, err := exec.CommandContext(t.Context(), "id", "-G").Output()
		if err != nil {
			t.Fatal(err)
		}
		want = string(out)
	}
	if got := said(cmd.Run()); got.Output != want || got.Err != "" {
		t.Errorf("id -G = %q, %s, want %q", got.Output, got.Err, want)
	}
}

// TestCancelledWhileStarting: whatever the moment, a cancelled start is no error.
func TestCancelledWhileStarting(t *testing.T) {
	t.Parallel()
	s := start(t, newSandbox(t).options)
	for delay := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(delay)*time.Millisecond)
		mark := newMark()
		c := program("sleeps", mark)
		c.Limits.Grace = time.Millisecond
		exit, err := s.Run(ctx, c)
		cancel()
		if err != nil || exit.Why != proc.Cancelled {
			t.Errorf("Run(cancelled after %d ms) = %+v, %v, want cancelled", delay, exit, err)
		}
		wantNoSurvivor(t, mark)
	}
}

// TestUnprotected: what keeps an agent's tools from speaking in its place is all
// there, or what is missing is named.
func TestUnprotected(t *testing.T) {
	t.Parallel()
	off := start(t, proc.Options{})
	if got := off.Unprotected(); got != "isolation is off" {
		t.Errorf("Unprotected() without a policy = %q", got)
	}
	r := newSandbox(t)
	r.options.SpillDir = r.outside
	open := start(t, r.options)
	if got := open.Unprotected(); got == "" {
		t.Error("Unprotected() with an open network is empty, want the reason")
	}
	r.network(confine.Network{})
	if got, want := start(t, r.options).Unprotected(), confine.Unprotected(r.options.Policy); got != want {
		t.Errorf("Unprotected() = %q, want %q", got, want)
	}
	if confine.Unprotected(r.options.Policy) != "" {
		return // the kernel lacks something, which was named
	}
	// The agent is the same user, and its output lies where its tools may write.
	r.options.Identity = confine.Identity{}
	r.options.SpillDir = filepath.Join(r.work, "link")
	if err := os.Symlink(r.tmp, r.options.SpillDir); err != nil {
		t.Fatal(err)
	}
	if got := start(t, r.options).Unprotected(); !strings.Contains(got, "its programs can write to") {
		t.Errorf("Unprotected() with pipes in a writable folder = %q, want that", got)
	}
}
