package proc_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/confine"
	"github.com/org/ralph-action/internal/sandbox/proc"
)

// patience is a Linger that lets the test know that it was asked.
func patience(d time.Duration) (linger func() time.Duration, asked chan struct{}) {
	asked = make(chan struct{}, 9)
	return func() time.Duration { asked <- struct{}{}; return d }, asked
}

// TestLingerWaits covers 002-07: children of a task that is done are waited for.
func TestLingerWaits(t *testing.T) {
	forKinds(t, func(t *testing.T, s *proc.Supervisor) {
		for _, name := range []string{"leaves-worker", "leaves-daemon"} {
			mark := newMark()
			ready := filepath.Join(place(t, "linger"), "ready")
			c := program(name, mark, ready)
			c.Limits.Grace = time.Millisecond
			linger, asked := patience(time.Minute)
			c.Linger = linger
			out := watchFor("leader done")
			c.Stdout = out
			go func() {
				<-asked
				_ = os.WriteFile(ready, nil, 0o644)
			}()
			begin := time.Now()
			exit, err := s.Run(t.Context(), c)
			if err != nil || exit.Code != 5 || exit.Why != proc.Exited || !exit.Leftover || exit.Outlived {
				t.Errorf("Run(%s) = %+v, %v, want code 5, exited, leftover", name, exit, err)
			}
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("Run(%s) took %v, want it to end with the last child", name, took)
			}
			if !strings.Contains(out.String(), "work done\n") {
				t.Errorf("output of %s = %q, want that of the child that was waited for too", name, out.String())
			}
			if len(asked) > 0 {
				t.Errorf("Linger was asked %d times more, want once", len(asked))
			}
			wantNoSurvivor(t, mark)
		}
	})
}

// TestLimitsOfTheLeader: those it left are not ended by them.
func TestLimitsOfTheLeader(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second
	mark := newMark()
	ready := filepath.Join(place(t, "linger"), "ready")
	c := program("leaves-worker", mark, ready)
	c.Limits = proc.Limits{Time: limit, Silence: limit, FinishGrace: limit, Grace: time.Millisecond}
	linger, asked := patience(time.Minute)
	c.Linger = linger
	out := watchFor("leader done")
	c.Stdout, c.Finished = out, out.seen
	go func() {
		<-asked
		time.Sleep(limit + 200*time.Millisecond)
		_ = os.WriteFile(ready, nil, 0o644)
	}()
	exit, err := start(t, proc.Options{}).Run(t.Context(), c)
	if err != nil || exit.Code != 5 || exit.Why != proc.Exited || exit.Outlived || !strings.Contains(out.String(), "work done\n") {
		t.Errorf("Run() = %+v, %v, output %q, want the child to finish its work", exit, err, out.String())
	}
	wantNoSurvivor(t, mark)
}

// TestLingerIsOver covers 002-07: at most for the time that was given.
func TestLingerIsOver(t *testing.T) {
	forKinds(t, func(t *testing.T, s *proc.Supervisor) {
		for _, name := range []string{"double-forks", "holds-stdout", "leaves-stubborn", "escapes"} {
			mark := newMark()
			c := program(name, mark)
			c.Limits.Grace = 50 * time.Millisecond
			c.Linger, _ = patience(100 * time.Millisecond)
			exit, err := s.Run(t.Context(), c)
			if err != nil || exit.Signal != 0 || exit.Why != proc.Exited || !exit.Leftover || !exit.Outlived {
				t.Errorf("Run(%s) = %+v, %v, want exited, leftover that outlived", name, exit, err)
			}
			wantNoSurvivor(t, mark)
		}
		if exit, err := s.Run(t.Context(), shell("exit 4")); err != nil || exit.Code != 4 || exit.Leftover {
			t.Errorf("Run() after it = %+v, %v, want code 4", exit, err)
		}
	})
}

func TestNothingLingers(t *testing.T) {
	t.Parallel()
	s := start(t, proc.Options{})
	for name, linger := range map[string]func() time.Duration{
		"nil": nil, "zero": func() time.Duration { return 0 }, "negative": func() time.Duration { return -1 },
	} {
		mark := newMark()
		c := program("double-forks", mark)
		c.Linger = linger
		begin := time.Now()
		exit, err := s.Run(t.Context(), c)
		if err != nil || exit.Code != 0 || exit.Why != proc.Exited || !exit.Leftover || exit.Outlived {
			t.Errorf("Run(linger %s) = %+v, %v, want code 0 and a leftover that was ended", name, exit, err)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("Run(linger %s) took %v, want no waiting", name, took)
		}
		wantNoSurvivor(t, mark)
	}
}

// TestLingerIsNotAsked: nobody is left, or it was us who ended the leader.
func TestLingerIsNotAsked(t *testing.T) {
	t.Parallel()
	s := start(t, proc.Options{})
	mark := newMark()
	ended := program("escapes", mark, "stays")
	ended.Limits = proc.Limits{Time: 500 * time.Millisecond, Grace: 50 * time.Millisecond}
	for name, c := range map[string]proc.Command{"alone": shell("exit 0"), "ended": ended} {
		linger, asked := patience(time.Hour)
		c.Linger = linger
		exit, err := s.Run(t.Context(), c)
		if err != nil || exit.Leftover || exit.Outlived || len(asked) > 0 {
			t.Errorf("Run(%s) = %+v, %v, asked %d times, want no leftover and no question", name, exit, err, len(asked))
		}
	}
	wantNoSurvivor(t, mark)
}

func TestCancelledWhileLingering(t *testing.T) {
	forKinds(t, func(t *testing.T, s *proc.Supervisor) {
		for _, name := range []string{"double-forks", "leaves-stubborn"} {
			mark := newMark()
			ctx, cancel := context.WithCancel(t.Context())
			c := program(name, mark)
			c.Limits.Grace = time.Hour
			linger, asked := patience(time.Hour)
			c.Linger = linger
			go func() { <-asked; cancel() }()
			begin := time.Now()
			exit, err := s.Run(ctx, c)
			cancel()
			if err != nil || exit.Signal != 0 || exit.Why != proc.Exited || !exit.Leftover || exit.Outlived {
				t.Errorf("Run(%s) = %+v, %v, want exited, leftover that did not outlive", name, exit, err)
			}
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("Run(%s) took %v, want a grace of 2 s at most", name, took)
			}
			wantNoSurvivor(t, mark)
		}
	})
}

func TestFloodWhileLingering(t *testing.T) {
	t.Parallel()
	mark := newMark()
	c := program("leaves-flood", mark)
	c.Limits = proc.Limits{OutputBytes: 1_000_000, Grace: 50 * time.Millisecond}
	c.Linger, _ = patience(time.Hour)
	exit, err := start(t, proc.Options{}).Run(t.Context(), c)
	if err != nil || exit.OutputBytes <= c.Limits.OutputBytes {
		t.Errorf("Run() = %+v, %v, want it cut at the limit", exit, err)
	}
	wantNoSurvivor(t, mark)
}

// TestHostKilledWhileLingering covers 002-14: nothing outlives us.
func TestHostKilledWhileLingering(t *testing.T) {
	t.Parallel()
	mark := newMark()
	cmd, _ := hostCommand(t, mark, hostSpec{
		Identity: childUser(),
		Argv:     program("escapes", mark).Argv,
		Limits:   proc.Limits{Grace: 50 * time.Millisecond},
		Linger:   time.Hour,
	})
	lingers := watchFor("lingers\n")
	cmd.Stderr = lingers
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-lingers.seen
	if n := len(marked(mark)); n < 8 {
		t.Errorf("%d marked processes run, want the host process and those that were left", n)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	poll(t, "what lingers below a killed host process to be gone", func() bool { return len(marked(mark)) == 0 })
}

func TestLingerInTheSandbox(t *testing.T) {
	t.Parallel()
	if abi, reason := confine.Available(); abi == 0 {
		t.Logf("no Landlock here: %v", reason)
	}
	r := newSandbox(t)
	s := start(t, r.options)
	mark := newMark()
	ready := filepath.Join(r.work, "ready")
	c := program("leaves-daemon", mark, ready)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	c.Linger = func() time.Duration {
		if err := os.WriteFile(ready, nil, 0o644); err != nil {
			t.Error(err)
		}
		return time.Minute
	}
	exit, err := s.Run(t.Context(), c)
	if err != nil || exit.Code != 5 || !exit.Leftover || exit.Outlived || !strings.Contains(out.String(), "work done\n") {
		t.Errorf("Run() = %+v, %v, output %q, want the daemon to finish its work", exit, err, out.String())
	}
	wantNoSurvivor(t, mark)
}
