package proc_test

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/proc"
)

func init() {
	stopHost := func() {
		host, _ := strconv.Atoi(os.Getenv("HOST_PID"))
		_ = syscall.Kill(host, syscall.SIGSTOP)
	}
	programs["stops-host-at-the-end"] = func([]string) int {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		<-c
		stopHost()
		return 7
	}
	programs["stops-host-and-exits"] = func([]string) int { stopHost(); return 7 }
	programs["stops-host-and-talks"] = func([]string) int {
		stopHost()
		for range 80 {
			fmt.Println("still here")
			time.Sleep(50 * time.Millisecond)
		}
		return 7
	}
}

// TestHostPaused: a host process that did not run for a while, as in a machine that
// was paused or behind Ctrl-Z, does not judge by the time that has passed before
// it has heard what happened meanwhile.
func TestHostPaused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		program string
		limits  proc.Limits
		cancel  time.Duration
		pause   time.Duration // longer than the limit, or than a supervisor may take to answer
		why     proc.Why
	}{
		{"stops-host-at-the-end", proc.Limits{Grace: 500 * time.Millisecond}, 500 * time.Millisecond, 6 * time.Second, proc.Cancelled},
		{"stops-host-and-exits", proc.Limits{Time: 3 * time.Second}, 0, 4 * time.Second, proc.Exited},
		{"stops-host-and-talks", proc.Limits{Silence: 3 * time.Second}, 0, 4 * time.Second, proc.Exited},
	} {
		t.Run(tc.program, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("it pauses for seconds")
			}
			mark := newMark()
			cmd, said := hostCommand(t, mark, hostSpec{Argv: program(tc.program, mark).Argv, Limits: tc.limits, Cancel: tc.cancel})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			poll(t, "the host process to be stopped", func() bool { return stopped(cmd.Process.Pid) })
			time.Sleep(tc.pause)
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if got := said(cmd.Wait()); got.Err != "" || got.Exit.Why != tc.why || got.Exit.Code != 7 || got.Close != "" {
				t.Errorf("Run() = %+v, %s, want %v, code 7", got.Exit, got.Err, tc.why)
			}
			wantNoSurvivor(t, mark)
		})
	}
}

func stopped(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return bytes.Contains(stat, []byte(") T "))
}

// TestSupervisorIsSlow: on a machine that is overloaded a tree takes its time to
// end, which is no reason to lose the run.
func TestSupervisorIsSlow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for seconds")
	}
	mark := newMark()
	cmd, said := hostCommand(t, mark, hostSpec{
		Argv:   program("stops-supervisor", mark).Argv,
		Limits: proc.Limits{Time: time.Second, Grace: time.Millisecond},
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	supervisor := 0
	poll(t, "the supervisor to be stopped", func() bool {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid))
		for _, list := range lists {
			children, _ := os.ReadFile(list)
			if n, _ := fmt.Sscan(string(children), &supervisor); n == 1 {
				return stopped(supervisor)
			}
		}
		return false
	})
	time.Sleep(8 * time.Second)
	if err := syscall.Kill(supervisor, syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	if got := said(cmd.Wait()); got.Err != "" || got.Exit.Why != proc.TimedOut {
		t.Errorf("Run() = %+v, %s, want timed out", got.Exit, got.Err)
	}
	wantNoSurvivor(t, mark)
}
