package taskdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/tasks/taskdir"
)

var (
	nobody = taskdir.Owner{UID: -1, GID: -1}
	noon   = time.Date(2026, 2, 5, 12, 0, 0, 123, time.FixedZone("", 3600))
)

// task makes the directory of a task and opens it.
func task(t *testing.T) (*taskdir.Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "task-001")
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return open(t, path), path
}

func open(t *testing.T, path string) *taskdir.Dir {
	t.Helper()
	d, err := taskdir.Open(path, nobody)
	if err != nil {
		t.Fatalf("Open(%s) = %v", path, err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func write(t *testing.T, text string, elem ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(elem...), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s = nil, want an error", what)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s = %q, want it to say %q", what, err, word)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	real, err := filepath.EvalSymlinks(base)
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(base, "p/task"), 0o755))
	must(t, os.Symlink("p/task", filepath.Join(base, "link")))
	for _, name := range []string{"p/task", "p/../p/task/", "link"} {
		if got, want := open(t, filepath.Join(base, name)).Path(), filepath.Join(real, "p/task"); got != want {
			t.Errorf("Open(%s).Path() = %q, want %q", name, got, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(base, "p/task")); err != nil || len(entries) > 0 {
		t.Errorf("after Open the folder holds %v, %v, want nothing", entries, err)
	}
}

// TestOpenRefuses covers the bad input "task dir missing or read-only".
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	write(t, "", base, "file")
	must(t, syscall.Mkfifo(filepath.Join(base, "pipe"), 0o644))
	must(t, os.Symlink("nowhere", filepath.Join(base, "dangling")))
	for name, words := range map[string][]string{
		"missing":   {"task folder", "missing does not exist", "create it"},
		"dangling":  {"task folder", "does not exist"},
		"file":      {"task folder", "file is not a folder"},
		"pipe":      {"task folder", "pipe is not a folder"},
		"file/task": {"task folder", "not a directory"},
	} {
		_, err := taskdir.Open(filepath.Join(base, name), nobody)
		wantError(t, "Open("+name+")", err, words...)
	}
}

func TestOpenRefusesWhatTheAgentCannotWriteTo(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	other := taskdir.Owner{UID: os.Getuid() + 4321, GID: os.Getgid() + 4321}
	must(t, os.Chmod(path, 0o755))
	_, err := taskdir.Open(path, other)
	wantError(t, "Open", err, "read-only for the agent", "chown")
	must(t, os.Chmod(path, 0o777))
	d, err := taskdir.Open(path, other)
	must(t, err)
	_ = d.Close()
}

// TestDone covers 002-05 and 002-06: presence is enough.
func TestDone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func(done string) error
		want bool
		err  error
	}{
		"absent":        {func(string) error { return nil }, false, nil},
		"empty":         {func(done string) error { return os.WriteFile(done, nil, 0o644) }, true, nil},
		"with text":     {func(done string) error { return os.WriteFile(done, []byte("Task completed\n"), 0o644) }, true, nil},
		"unreadable":    {func(done string) error { return os.WriteFile(done, nil, 0) }, true, nil},
		"dangling link": {func(done string) error { return os.Symlink("nowhere", done) }, true, nil},
		"link out":      {func(done string) error { return os.Symlink("/etc/passwd", done) }, true, nil},
		"link to self":  {func(done string) error { return os.Symlink("DONE", done) }, true, nil},
		"named pipe":    {func(done string) error { return syscall.Mkfifo(done, 0o644) }, true, nil},
		"directory":     {func(done string) error { return os.Mkdir(done, 0o755) }, false, taskdir.ErrDoneIsDirectory},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, path := task(t)
			must(t, tc.make(filepath.Join(path, "DONE")))
			if got, err := d.Done(); got != tc.want || err != tc.err {
				t.Errorf("Done() = %v, %v, want %v, %v", got, err, tc.want, tc.err)
			}
			if err := d.Withdraw(); err != tc.err {
				t.Errorf("Withdraw() = %v, want %v", err, tc.err)
			}
			if got, _ := d.Done(); got {
				t.Errorf("Done() after Withdraw = true, want false")
			}
			_, err := os.Lstat(filepath.Join(path, "DONE.rejected"))
			if got := err == nil; got != tc.want {
				t.Errorf("DONE.rejected exists: %v, want %v", got, tc.want)
			}
		})
	}
	if got := taskdir.ErrDoneIsDirectory.Error(); got != "DONE is a directory" {
		t.Errorf("the text of 002-06 = %q", got)
	}
}

func TestWithdrawAgain(t *testing.T) {
	t.Parallel()
	d, path := task(t)
	for _, text := range []string{"first", "second"} {
		write(t, text, path, "DONE")
		must(t, d.Withdraw())
		if got := read(t, path, "DONE.rejected"); got != text {
			t.Errorf("DONE.rejected = %q, want %q", got, text)
		}
	}
	must(t, os.Remove(filepath.Join(path, "DONE.rejected")))
	must(t, os.MkdirAll(filepath.Join(path, "DONE.rejected/kept"), 0o755))
	write(t, "third", path, "DONE")
	must(t, d.Withdraw())
	if done, err := d.Done(); done || err != nil {
		t.Errorf("Done() = %v, %v, want DONE gone where a folder has the other name", done, err)
	}
	if _, err := os.Stat(filepath.Join(path, "DONE.rejected/kept")); err != nil {
		t.Errorf("a folder in the way was touched: %v", err)
	}
}

// TestFolderGone: the agent deletes or replaces the directory it works in. What
// it then writes would never be seen, so that must not look like "not done".
func TestFolderGone(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(path string) error{
		"deleted":  os.RemoveAll,
		"moved":    func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error { return errors.Join(os.Rename(path, path+".old"), os.Mkdir(path, 0o755)) },
		"linked":   func(path string) error { return errors.Join(os.Rename(path, path+".old"), os.Symlink("/etc", path)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, path := task(t)
			must(t, act(path))
			if _, err := d.Done(); !errors.Is(err, taskdir.ErrGone) {
				t.Errorf("Done() = %v, want ErrGone", err)
			}
			if _, err := d.NewRun(noon, 1); !errors.Is(err, taskdir.ErrGone) {
				t.Errorf("NewRun() = %v, want ErrGone", err)
			}
			if err := d.Withdraw(); !errors.Is(err, taskdir.ErrGone) {
				t.Errorf("Withdraw() = %v, want ErrGone", err)
			}
			if why, ok := d.Waiting(42); !ok {
				t.Errorf("Waiting(42) = %q, %v, want the exit code to count", why, ok)
			}
		})
	}
}

// TestFact covers 002-07: the fact in PROJECT-MESSAGE-BUS.md.
func TestFact(t *testing.T) {
	t.Parallel()
	d, path := task(t)
	project := filepath.Join(path, "../PROJECT-MESSAGE-BUS.md")
	must(t, d.Fact(noon, "task completed (DONE marker present, no active children)"))
	want := "- 2026-02-05T11:00:00Z task-001: task completed (DONE marker present, no active children)\n"
	if got := read(t, project); got != want {
		t.Errorf("project bus = %q, want %q", got, want)
	}
	write(t, "# Project\n\n- a line without its end", project)
	must(t, d.Fact(noon, "two\n# lines <b>*x*\x1b[2J "+strings.Repeat("y", 9999)))
	got := strings.Split(read(t, project), "\n")
	if len(got) != 5 || got[2] != "- a line without its end" || len(got[3]) > 700 ||
		!regexp.MustCompile(`^- 2026-02-05T11:00:00Z task-001: two # lines \\<b\\>\\\*x\\\* \\\[2J y+…$`).MatchString(got[3]) {
		t.Errorf("project bus = %q, want the open line ended, and one short line after it", got)
	}
}

// TestPlantedBuses: what is not a file of ours is neither followed nor waited
// for, in the directory and above it.
func TestPlantedBuses(t *testing.T) {
	t.Parallel()
	plants := map[string]func(at, victim string) error{
		"link out":    func(at, victim string) error { return os.Symlink(victim, at) },
		"link inside": func(at, _ string) error { return os.Symlink("inside", at) },
		"dangling":    func(at, _ string) error { return os.Symlink("nowhere", at) },
		"hard link":   func(at, victim string) error { return os.Link(victim, at) },
		"pipe":        func(at, _ string) error { return syscall.Mkfifo(at, 0o644) },
		"directory":   func(at, _ string) error { return os.Mkdir(at, 0o755) },
	}
	text := `{"type":"wait_without_restart","body":"planted"}` + "\n"
	for name, plant := range plants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, path := task(t)
			victim := filepath.Join(t.TempDir(), "victim")
			for _, f := range []string{victim, filepath.Join(path, "inside"), filepath.Join(path, "../inside")} {
				write(t, text, f)
			}
			must(t, plant(filepath.Join(path, "TASK-MESSAGE-BUS.jsonl"), victim))
			must(t, plant(filepath.Join(path, "../PROJECT-MESSAGE-BUS.md"), victim))
			wantError(t, "Fact", d.Fact(noon, "x"), "PROJECT-MESSAGE-BUS.md")
			wantError(t, "Post", d.Post(taskdir.Message{At: noon, Body: "x"}), "TASK-MESSAGE-BUS.jsonl", "task-001")
			if why, ok := d.Waiting(0); ok {
				t.Errorf("Waiting(0) = %q, want no signal", why)
			}
			must(t, d.Resume())
			for _, f := range []string{victim, filepath.Join(path, "inside"), filepath.Join(path, "../inside")} {
				if got := read(t, f); got != text {
					t.Errorf("%s = %q, want it untouched", f, got)
				}
			}
		})
	}
}
