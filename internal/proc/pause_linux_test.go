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
	programs["stops-owner"] = func([]string) int { // when it is asked to end
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		<-c
		owner, _ := strconv.Atoi(os.Getenv("OWNER"))
		if syscall.Kill(owner, syscall.SIGSTOP) != nil {
			return 1
		}
		return 7
	}
}

// TestOwnerPaused: an owner that did not run for a while, as in a machine that
// was paused, does not take its supervisor for lost because time has passed.
func TestOwnerPaused(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it pauses for longer than a supervisor may take")
	}
	mark := newMark()
	cmd, said := ownerCommand(t, mark, ownerSpec{
		Argv:   program("stops-owner", mark).Argv,
		Limits: proc.Limits{Time: 500 * time.Millisecond, Grace: 500 * time.Millisecond},
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	poll(t, "the owner to be stopped", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return bytes.Contains(stat, []byte(") T "))
	})
	time.Sleep(6 * time.Second)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := said(cmd.Wait()); got.Err != "" || got.Exit.Why != proc.TimedOut || got.Exit.Code != 7 || got.Close != "" {
		t.Errorf("Run() = %+v, want timed out, code 7", got)
	}
	wantNoSurvivor(t, mark)
}
