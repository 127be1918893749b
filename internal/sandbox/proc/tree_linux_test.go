package proc_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// kinds are the ways to run a tree: every test below holds for each.
func kinds() map[string]proc.Options {
	return map[string]proc.Options{"own user": {}, "another user": {Identity: childUser()}}
}

func forKinds(t *testing.T, test func(t *testing.T, s *proc.Supervisor)) {
	t.Parallel()
	for name, o := range kinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t, o))
		})
	}
}

func TestLeaderExitDoesNotSaveItsChildren(t *testing.T) {
	forKinds(t, func(t *testing.T, s *proc.Supervisor) {
		for _, name := range []string{"double-forks", "holds-stdout", "escapes"} {
			mark := newMark()
			c := program(name, mark)
			c.Limits.Grace = 50 * time.Millisecond
			var out strings.Builder
			c.Stdout, c.Stderr = &out, &out
			exit, err := s.Run(t.Context(), c)
			if err != nil || exit.Code != 0 || exit.Why != proc.Exited {
				t.Errorf("Run(%s) = %+v, %v, want code 0, exited; it said %q", name, exit, err, out.String())
			}
			wantNoSurvivor(t, mark)
		}
	})
}

func TestNineEscapees(t *testing.T) {
	forKinds(t, func(t *testing.T, s *proc.Supervisor) {
		mark := newMark()
		c := program("escapes", mark, "stays")
		c.Limits = proc.Limits{Time: time.Minute, Grace: 50 * time.Millisecond, FinishGrace: time.Millisecond}
		out := watchFor("all out")
		c.Stdout, c.Finished = out, out.seen
		exit, err := s.Run(t.Context(), c)
		if err != nil || exit.Why != proc.Lingered {
			t.Errorf("Run() = %+v, %v, want lingered", exit, err)
		}
		wantNoSurvivor(t, mark)
	})
}

func TestPIDHoppers(t *testing.T) {
	forKinds(t, func(t *testing.T, s *proc.Supervisor) {
		mark := newMark()
		c := program("hops", mark, "5")
		c.Limits.Grace = 20 * time.Millisecond
		exit, err := s.Run(t.Context(), c)
		if err != nil || exit.Code != 0 {
			t.Errorf("Run(hops) = %+v, %v, want code 0", exit, err)
		}
		wantNoSurvivor(t, mark)
	})
}

func TestForkLoop(t *testing.T) {
	t.Parallel()
	mark := newMark()
	id, running := loneUser()
	s := start(t, proc.Options{Identity: id, MaxProcs: uint64(300 + running)})
	c := program("fork-loop", mark)
	c.Limits = proc.Limits{Time: 500 * time.Millisecond, Grace: 20 * time.Millisecond}
	exit, err := s.Run(t.Context(), c)
	if err != nil || exit.Why != proc.TimedOut {
		t.Errorf("Run(fork-loop) = %+v, %v, want timed out", exit, err)
	}
	wantNoSurvivor(t, mark)
	if exit, err := s.Run(t.Context(), shell("exit 4")); err != nil || exit.Code != 4 {
		t.Errorf("Run() after it = %+v, %v, want code 4", exit, err)
	}
}

// loneUsers are the users that loneUser has made up.
var loneUsers atomic.Int32

// loneUser is a user for limits that count all processes of a user on the
// machine: a user nobody else is, when we may, else our own, whose threads run
// already.
func loneUser() (id confine.Identity, running int) {
	if os.Geteuid() != 0 {
		return confine.Identity{}, threadsOf(os.Geteuid())
	}
	uid := 20_000 + os.Getpid()%2500*16 + int(loneUsers.Add(1)) // below 65,536, which is all that a user namespace may map
	return confine.Identity{UID: uid, GID: uid}, 0
}

func TestHostKilled(t *testing.T) {
	t.Parallel()
	mark := newMark()
	cmd, _ := hostCommand(t, mark, hostSpec{
		Identity: childUser(),
		Argv:     program("escapes", mark, "stays").Argv,
		Limits:   proc.Limits{Grace: 50 * time.Millisecond},
	})
	ready := watchFor("all out")
	cmd.Stderr = ready
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-ready.seen
	if n := len(marked(mark)); n < 10 {
		t.Errorf("%d marked processes run, want the host process and nine escapees", n)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	poll(t, "the tree of a killed host process to be gone", func() bool { return len(marked(mark)) == 0 })
}

func TestSupervisorKilledByTheChild(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]bool{"alone": false, "beside another": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := newMark()
			cmd, said := hostCommand(t, mark, hostSpec{Identity: childUser(), Argv: program("kills-supervisor", mark).Argv, Beside: beside})
			got := said(cmd.Run())
			if !got.Lost || !strings.Contains(got.Err, "killed") {
				t.Errorf("Run() = %q, want a lost supervisor that was killed", got.Err)
			}
			if len(got.Left) > 1 { // the host process carries the mark
				t.Errorf("left when Run returned: %q, want none", got.Left)
			}
			if got.Close != "" {
				t.Errorf("Close() = %q, want nil", got.Close)
			}
			wantNoSurvivor(t, mark)
		})
	}
}

// TestPool: commands of a pool run at the same time, and what each leaves behind is
// ended when it is over.
func TestPool(t *testing.T) {
	t.Parallel()
	first := start(t, proc.Options{Identity: childUser()})
	pool := proc.NewPool(first)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	for range 2 { // the second time with what the first has started
		var all sync.WaitGroup
		var here sync.WaitGroup
		here.Add(3)
		for range 3 {
			all.Go(func() {
				mark := newMark()
				c := program("escapes", mark)
				c.Limits.Grace = 50 * time.Millisecond
				c.Stdin = readerFunc(func() { here.Done(); here.Wait() }) // read when it runs
				if exit, err := pool.Run(t.Context(), c); err != nil || exit.Code != 0 || !exit.Leftover {
					t.Errorf("Run() = %+v, %v, want code 0 and somebody left", exit, err)
				}
				wantNoSurvivor(t, mark)
			})
		}
		all.Wait()
	}
}

// readerFunc is an empty reader that does something first.
type readerFunc func()

func (f readerFunc) Read([]byte) (int, error) { f(); return 0, io.EOF }

func TestSupervisorStoppedByTheChild(t *testing.T) {
	t.Parallel()
	mark := newMark()
	cmd, said := hostCommand(t, mark, hostSpec{
		Identity: childUser(),
		Argv:     program("stops-supervisor", mark).Argv,
		Limits:   proc.Limits{Grace: time.Millisecond},
		Cancel:   1500 * time.Millisecond,
	})
	got := said(cmd.Run())
	if !got.Lost || !strings.Contains(got.Err, "does not answer") {
		t.Errorf("Run() = %q, want a lost supervisor that does not answer", got.Err)
	}
	wantNoSurvivor(t, mark)
}

// TestPIDOne runs a host process as PID 1 of a namespace: what hangs below it ends
// with it, and EndAll returns.
func TestPIDOne(t *testing.T) {
	t.Parallel()
	mark := newMark()
	cmd, said := hostCommand(t, mark, hostSpec{
		Argv:   program("escapes", mark).Argv,
		Limits: proc.Limits{Grace: 20 * time.Millisecond},
		EndAll: true,
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	err := cmd.Start()
	if err != nil { // namespaces are refused here: then only the other half can be seen
		if os.Getpid() == 1 {
			return // it would end the other tests' children
		}
		if err := proc.EndAll(time.Second); err != nil {
			t.Errorf("EndAll() = %v, want nil where we are not PID 1", err)
		}
		return
	}
	got := said(cmd.Wait())
	if got.Err != "" || got.Close != "" || got.Exit.Code != 0 {
		t.Errorf("PID 1 said %+v, want code 0 and no error", got)
	}
	wantNoSurvivor(t, mark)
}

// hostCommand runs the program host in a process of its own.
func hostCommand(t *testing.T, mark string, spec hostSpec) (*exec.Cmd, func(error) hostSaid) {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "program", "host", mark, string(text))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = []string{"PATH=/usr/bin:/bin", quickExit}
	return cmd, func(err error) (said hostSaid) {
		t.Helper()
		if err == nil {
			err = json.Unmarshal(out.Bytes(), &said)
		}
		if err != nil {
			t.Fatalf("host: %v, it said %q and %q", err, out.String(), errs.String())
		}
		return said
	}
}
