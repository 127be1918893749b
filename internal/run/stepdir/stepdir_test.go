package stepdir_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/run/stepdir"
)

// folder makes the folder of a step in temp.
func folder(t *testing.T, temp, name string) (string, *stepdir.Dir) {
	t.Helper()
	path := filepath.Join(temp, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := stepdir.Open(path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return path, d
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"own": 0o700, "walked": 0o711, "shared": 0o770, "read": 0o755, "work/inside": 0o700} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("own", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"own": "", "walked": "", "shared": "alone", "read": "alone", "link": "alone", "gone": "no such file", "work": "in the workspace", "work/inside": "in the workspace",
	} {
		d, err := stepdir.Open(filepath.Join(dir, name), filepath.Join(dir, "work"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Open(%s) = %v, want %q", name, err, want)
		}
		if d != nil {
			d.Close()
		}
	}
	if d, err := stepdir.Open("", dir); d != nil || err != nil {
		t.Errorf("Open() = %v, %v, want nil", d, err)
	}
	if _, err := stepdir.Open("relative", dir); err == nil {
		t.Error("Open(relative) = nil, want an error")
	}
}

// What a step of the job before has left goes, also what its agent closed. Folders of this
// job, of a job that goes on, and of others stay.
func TestOthers(t *testing.T) { // a child that another test starts would inherit the lock
	temp := t.TempDir()
	begun := func(name, job string) (string, *stepdir.Dir) {
		path, d := folder(t, temp, name)
		if err := d.Begin(job); err != nil {
			t.Fatal(err)
		}
		return path, d
	}
	earlier, e := begun("ralph-earlier", "job 2")
	lost, l := begun("ralph-lost", "job 1")
	e.Close()
	l.Close()
	begun("ralph-busy", "job 1")
	folder(t, temp, "ralph-foreign")
	_, own := begun("ralph-own", "job 2")
	if err := os.MkdirAll(filepath.Join(lost, "ralph-1", "home", "closed", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(lost, "ralph-1", "home", "closed"), 0); err != nil {
		t.Fatal(err)
	}
	if same, lost := own.Others(t.TempDir(), "job 2"); len(same)+len(lost) > 0 {
		t.Errorf("Others(another folder) = %d, %d, want none", len(same), len(lost))
	}
	same, old := own.Others(temp+"/", "job 2")
	if len(same) != 1 || same[0].Path() != earlier || len(old) != 1 || old[0].Path() != lost {
		t.Fatalf("Others() = %v, %v, want the earlier step and the lost one", same, old)
	}
	same[0].Close()
	if err := old[0].Clear(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(lost); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", lost, err)
	}
}

// A process that lives in the folder is ended, and no other, not even one of the number
// that the main part had.
func TestEnd(t *testing.T) { // a child that another test starts would inherit the lock
	path, d := folder(t, t.TempDir(), "ralph-step")
	start := func(env string) *exec.Cmd {
		cmd := exec.Command("sleep", "86321")
		cmd.Env = append(os.Environ(), env)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	inside, beside, stranger := start("HOME="+path+"/ralph-1/home"), start("HOME="+path+"-beside/home"), start("HOME="+path)
	// The main part had the number of a stranger's process, and a lock is still held.
	other, err := stepdir.Open(path, "")
	if err == nil {
		err = other.Begin("job")
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(path, "process"), []byte(strconv.Itoa(stranger.Process.Pid)+" 1"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.End(ctx, time.Minute) }()
	select {
	case err := <-ended:
		t.Fatalf("End() = %v while the main part goes on", err)
	case <-time.After(10 * time.Millisecond):
	}
	other.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	cancel()
	_ = inside.Wait()
	if status := inside.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("the process in the folder ended with %v, want it killed", inside.ProcessState)
	}
	for name, cmd := range map[string]*exec.Cmd{"beside": beside, "a stranger": stranger} {
		if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("%s was ended: %v", name, err)
		}
	}
}

// Hidden git settings that could not be put back exist nowhere else.
func TestRemove(t *testing.T) {
	t.Parallel()
	path, d := folder(t, t.TempDir(), "ralph-step")
	if err := os.MkdirAll(filepath.Join(path, "ralph-1", "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.Hidden(), 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(d.Hidden(), "hidden.json")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) != 1 {
		t.Errorf("left are %v, %v, want the settings alone", entries, err)
	}
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	d, err = stepdir.Open(path, "")
	if err == nil {
		err = d.Remove()
	}
	if _, gone := os.Lstat(path); err != nil || !os.IsNotExist(gone) {
		t.Errorf("the folder is left: %v, %v", err, gone)
	}
}
