package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/agent/hook"
	"github.com/org/ralph-action/internal/run/rundir"
)

// 004-10: a ralph that works in the project is asked with a file, and nobody is
// ended by a number that stands somewhere.
func TestCancel(t *testing.T) {
	t.Parallel()
	p := newHookPlace(t)
	p.git("init", "-q")
	cancel := func(args ...string) (string, error) {
		c := exec.Command(os.Args[0])
		c.Args = append([]string{"ralph", "cancel"}, args...)
		c.Dir, c.Env = filepath.Dir(p.write("sub/deep/x", "x")), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	request := filepath.Join(p.dir, ".ralph", "cancel")

	files, err := rundir.Open(p.dir, rundir.Owner{UID: -1, GID: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- bystander.Wait() }()
	defer func() { _ = bystander.Process.Kill() }()
	pid := strconv.Itoa(bystander.Process.Pid)
	p.write(".ralph/lock", pid+"\n")
	p.write(".ralph-active", `{"pid": `+pid+`}`)
	if out, err := cancel(); err != nil || !strings.HasPrefix(out, "No loop runs in "+p.dir) {
		t.Errorf("nothing runs: %q, %v", out, err)
	}
	if _, err := os.Lstat(request); err == nil {
		t.Error("nobody works there, and was asked to end")
	}

	release, err := files.Lock()
	if err != nil {
		t.Fatal(err)
	}
	p.write(".ralph/lock", pid+"\n")
	p.giveState(".ralph/sessions/s-1.json", hook.NewSession("paint", "DONE", 9, time.Time{}))
	p.write(".ralph/sessions/s-2.json", "garbage")
	p.write(".ralph/sessions/s-1.json.log", "kept")
	p.write(".ralph/sessions/notes.txt", "kept")
	out, err := cancel()
	for _, want := range []string{
		`Cancelled the loop of session "s-1" after 0 iterations. Its task was: "paint"`, `Cancelled the loop of session "s-2", whose state was damaged.`,
		"Asked the ralph that works in " + p.dir + " to end.",
	} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("cancel = %q, %v, want %q", out, err, want)
		}
	}
	if _, err := os.Lstat(request); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".ralph/sessions/*")); len(left) != 2 {
		t.Errorf("left are %q, want the log and the notes", left)
	}
	release()
	select {
	case <-ended:
		t.Error("a process that the agent named was ended")
	case <-time.After(100 * time.Millisecond): // nothing can be waited for: nothing happens
	}

	// What a link leads to is not ours.
	other := newHookPlace(t)
	kept := other.giveState("s-1.json", hook.NewSession("paint", "DONE", 9, time.Time{}))
	if err := os.RemoveAll(filepath.Join(p.dir, ".ralph/sessions")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other.dir, filepath.Join(p.dir, ".ralph/sessions")); err != nil {
		t.Fatal(err)
	}
	if out, err := cancel(); err != nil || !strings.HasPrefix(out, "No loop runs in ") {
		t.Errorf("a link: %q, %v", out, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
