package proc_test

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/proc"
)

func init() {
	stopOwner := func() {
		owner, _ := strconv.Atoi(os.Getenv("OWNER"))
		_ = syscall.Kill(owner, syscall.SIGSTOP)
	}
	programs["stops-owner-at-the-end"] = func([]string) int {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		<-c
		stopOwner()
		return 7
	}
	programs["stops-owner-and-exits"] = func([]string) int { stopOwner(); return 7 }
	programs["stops-owner-and-talks"] = func([]string) int {
		stopOwner()
		for range 80 {
			fmt.Println("still here")
			time.Sleep(50 * time.Millisecond)
		}
		return 7
	}
}

// TestOwnerPaused: an owner that did not run for a while, as in a machine that
// was paused or behind Ctrl-Z, does not judge by the time that has passed before
// it has heard what happened meanwhile.
func TestOwnerPaused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		program string
		limits  proc.Limits
		pause   time.Duration // longer than the limit, or than a supervisor may take to answer
		why     proc.Why
	}{
		{"stops-owner-at-the-end", proc.Limits{Time: 500 * time.Millisecond, Grace: 500 * time.Millisecond}, 6 * time.Second, proc.TimedOut},
		{"stops-owner-and-exits", proc.Limits{Time: 3 * time.Second}, 4 * time.Second, proc.Exited},
		{"stops-owner-and-talks", proc.Limits{Silence: 3 * time.Second}, 4 * time.Second, proc.Exited},
	} {
		t.Run(tc.program, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("it pauses for seconds")
			}
			mark := newMark()
			cmd, said := ownerCommand(t, mark, ownerSpec{Argv: program(tc.program, mark).Argv, Limits: tc.limits})
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			poll(t, "the owner to be stopped", func() bool {
				stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
				return bytes.Contains(stat, []byte(") T "))
			})
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
