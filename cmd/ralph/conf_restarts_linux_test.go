package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// probe is an agent that looks at the two processes above it: the supervisor
// that started it, and ralph, which started that one.
const probe = `field() { while read -r name value rest; do [ "$name" != "$2" ] || found=$value; done < "/proc/$1/status"; }
children() {
	found=0
	for file in /proc/$1/task/*/children; do
		read -r list < "$file"
		for one in $list; do found=$((found + 1)); done
	done
}
field $PPID PPid: && ralph=$found
set -- /proc/$PPID/fd/*
supervisor=$#
set -- /proc/$ralph/fd/*
line="$ralph $#"
field $ralph VmRSS: && line="$line $found"
children $ralph
line="$line $found $supervisor"
field $PPID VmRSS: && line="$line $found"
children $PPID
echo "$line $found" >> "$TASK_FOLDER/seen"
sleep 0.2 > /dev/null 2>&1 &
`

// A hundred restarts without a pause leave no process, no descriptor, no memory
// and no file behind. 002-03 002-09 002-13 002-14
func TestHundredRestarts(t *testing.T) {
	t.Parallel()
	dir, temp := t.TempDir(), t.TempDir()
	agent, task := filepath.Join(dir, "probe.sh"), filepath.Join(dir, "task")
	if err := os.WriteFile(agent, []byte(probe), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(task, 0o700); err != nil {
		t.Fatal(err)
	}
	ralph := exec.Command(binary(t), "supervise", "--task-dir", "task", "--max-restarts", "100", "--restart-delay", "0", "--", "sh", agent)
	ralph.Dir, ralph.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + temp}
	started := time.Now()
	out, err := ralph.CombinedOutput()
	if ralph.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "Attempt 100: Max restarts exceeded, stopping\n") {
		t.Fatalf("ralph supervise = %v, want exit code 1 after 100 attempts\n%s", err, out)
	}
	t.Logf("100 restarts took %s", time.Since(started).Round(time.Millisecond))

	data, err := os.ReadFile(filepath.Join(task, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 100 {
		t.Fatalf("the agent ran %d times, want 100", len(lines))
	}
	type state struct{ pid, fds, kB, children, fds2, kB2, children2 int }
	// least is the least of each over some attempts: a look may meet what is just
	// being closed.
	least := func(lines []string) (all state) {
		for i, line := range lines {
			var s state
			if _, err := fmt.Sscan(line, &s.pid, &s.fds, &s.kB, &s.children, &s.fds2, &s.kB2, &s.children2); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if i == 0 {
				all = s
			}
			all.fds, all.kB, all.children = min(all.fds, s.fds), min(all.kB, s.kB), min(all.children, s.children)
			all.fds2, all.kB2, all.children2 = min(all.fds2, s.fds2), min(all.kB2, s.kB2), min(all.children2, s.children2)
		}
		return all
	}
	early, late := least(lines[5:20]), least(lines[80:95])
	t.Logf("around the 10th attempt %+v, around the 90th %+v", early, late)
	if early.pid != ralph.Process.Pid {
		t.Errorf("process %d was looked at, ralph is %d", early.pid, ralph.Process.Pid)
	}
	const slack = 16 << 10 // kB, for a garbage collector that has not come by yet
	for _, c := range []struct {
		what              string
		early, late, more int
	}{
		{"descriptors of ralph", early.fds, late.fds, 1},
		{"descriptors of the supervisor", early.fds2, late.fds2, 1},
		{"children of ralph", early.children, late.children, 0},
		{"children of the supervisor", early.children2, late.children2, 0},
		{"kB of ralph", early.kB, late.kB, slack},
		{"kB of the supervisor", early.kB2, late.kB2, slack},
	} {
		if c.late > c.early+c.more {
			t.Errorf("%s: %d around the 10th attempt, %d around the 90th", c.what, c.early, c.late)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind in TMPDIR: %v, %v", left, err)
	}
	if runs, err := os.ReadDir(filepath.Join(task, "runs")); err != nil || len(runs) != 100 {
		t.Errorf("%d folders of runs (%v), want 100", len(runs), err)
	}
}
