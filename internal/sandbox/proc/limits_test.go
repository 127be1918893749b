package proc_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/sandbox/proc"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	const short, long = 150 * time.Millisecond, 1500 * time.Millisecond // long enough for the child to be up
	for _, tc := range []struct {
		name, program string
		limits        proc.Limits
		why           proc.Why
		signal        syscall.Signal
		code          int
	}{
		{"time", "sleeps", proc.Limits{Time: short}, proc.TimedOut, syscall.SIGTERM, -1},
		{"time, TERM ignored", "ignores-term", proc.Limits{Time: long, Grace: short}, proc.TimedOut, syscall.SIGKILL, -1},
		{"time, ends by itself", "ends-on-term", proc.Limits{Time: long}, proc.TimedOut, 0, 7},
		{"silence from the start", "sleeps", proc.Limits{Silence: short}, proc.Silent, syscall.SIGTERM, -1},
		{"silence after talk", "talks-then-silent", proc.Limits{Silence: 300 * time.Millisecond}, proc.Silent, syscall.SIGTERM, -1},
		{"first limit counts", "sleeps", proc.Limits{Time: time.Minute, Silence: short}, proc.Silent, syscall.SIGTERM, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			mark := newMark()
			c := program(tc.program, mark)
			c.Limits = tc.limits
			exit, err := start(t, proc.Options{}).Run(t.Context(), c)
			if err != nil || exit.Why != tc.why || exit.Signal != tc.signal || exit.Code != tc.code {
				t.Errorf("Run(%s) = %+v, %v, want %v, signal %v, code %d", tc.program, exit, err, tc.why, tc.signal, tc.code)
			}
			wantNoSurvivor(t, mark)
		})
	}
}

func TestFinishedAndHangs(t *testing.T) {
	t.Parallel()
	mark := newMark()
	c := program("finishes-and-hangs", mark)
	out := watchFor("result\n")
	c.Stdout, c.Finished = out, out.seen
	c.Limits = proc.Limits{Time: time.Minute, Silence: time.Minute, FinishGrace: 50 * time.Millisecond}
	exit, err := start(t, proc.Options{}).Run(t.Context(), c)
	if err != nil || exit.Why != proc.Lingered {
		t.Errorf("Run() = %+v, %v, want lingered", exit, err)
	}
	if out.String() != "result\n" {
		t.Errorf("output = %q, want the result", out.String())
	}
	wantNoSurvivor(t, mark)
}

func TestFinishedWithoutLimitIsPatient(t *testing.T) {
	t.Parallel()
	c := shell("echo result; sleep 0.2; exit 3")
	out := watchFor("result")
	c.Stdout, c.Finished = out, out.seen
	exit, err := start(t, proc.Options{}).Run(t.Context(), c)
	if err != nil || exit.Why != proc.Exited || exit.Code != 3 {
		t.Errorf("Run() = %+v, %v, want exited with 3", exit, err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	mark := newMark()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := program("ignores-term", mark)
	out := watchFor("ready")
	c.Stdout = out
	c.Limits.Grace = time.Hour
	go func() { <-out.seen; cancel() }()
	s := start(t, proc.Options{})
	begin := time.Now()
	exit, err := s.Run(ctx, c)
	if err != nil || exit.Why != proc.Cancelled || exit.Signal != syscall.SIGKILL {
		t.Errorf("Run() = %+v, %v, want cancelled, killed", exit, err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("a cancelled run took %v, want a grace of 2 s, not of an hour", took)
	}
	wantNoSurvivor(t, mark)
	if exit, err := s.Run(ctx, shell("exit 0")); err != nil || exit.Why != proc.Cancelled {
		t.Errorf("Run(cancelled context) = %+v, %v, want cancelled", exit, err)
	}
}

func TestFloodIsCut(t *testing.T) {
	t.Parallel()
	mark := newMark()
	c := program("floods", mark, "100000000000")
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	c.Limits.OutputBytes = 10_000_001
	exit, err := start(t, proc.Options{}).Run(t.Context(), c)
	if err != nil || exit.Why != proc.Flooded || exit.OutputBytes <= c.Limits.OutputBytes {
		t.Errorf("Run() = %+v, %v, want flooded", exit, err)
	}
	if int64(out.Len()) != c.Limits.OutputBytes {
		t.Errorf("delivered %d bytes, want the limit of %d", out.Len(), c.Limits.OutputBytes)
	}
	wantNoSurvivor(t, mark)
}

func TestFloodUncollectedIsCutToo(t *testing.T) {
	t.Parallel()
	c := program("floods", newMark(), "100000000000")
	c.Limits.OutputBytes = 1_000_000
	exit, err := start(t, proc.Options{}).Run(t.Context(), c)
	if err != nil || exit.Why != proc.Flooded {
		t.Errorf("Run() = %+v, %v, want flooded", exit, err)
	}
}
