package taskdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/tasks/taskdir"
)

// TestNewRun: what RUN_FOLDER, next to 002-08's TASK_FOLDER, is set to.
func TestNewRun(t *testing.T) {
	t.Parallel()
	d, path := task(t)
	for i, want := range []string{"20260205-110000-001", "20260205-110000-001-2", "20260205-110000-001-3"} {
		got, err := d.NewRun(noon, 1)
		if err != nil || got != filepath.Join(d.Path(), "runs", want) {
			t.Fatalf("NewRun() %d = %q, %v, want %q", i, got, err, want)
		}
		if info, err := os.Lstat(got); err != nil || !info.IsDir() {
			t.Errorf("Lstat(%s) = %v, %v, want a folder", got, info, err)
		}
	}
	if got, err := d.NewRun(noon, 1000); err != nil || !strings.HasSuffix(got, "-1000") {
		t.Errorf("NewRun(1000) = %q, %v", got, err)
	}
	must(t, os.RemoveAll(filepath.Join(path, "runs"))) // git clean by the agent
	if got, err := d.NewRun(noon, 2); err != nil || filepath.Base(got) != "20260205-110000-002" {
		t.Errorf("NewRun() after runs was deleted = %q, %v", got, err)
	}
}

func TestRunsIsPlanted(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(runs, inside, outside string) error{
		"file":        func(runs, _, _ string) error { return os.WriteFile(runs, nil, 0o644) },
		"link out":    func(runs, _, outside string) error { return os.Symlink(outside, runs) },
		"link inside": func(runs, _, _ string) error { return os.Symlink("inside", runs) },
		"dangling":    func(runs, _, _ string) error { return os.Symlink("nowhere", runs) },
		"pipe":        func(runs, _, _ string) error { return syscall.Mkfifo(runs, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, path := task(t)
			outside, inside := t.TempDir(), filepath.Join(path, "inside")
			must(t, os.Mkdir(inside, 0o755))
			must(t, plant(filepath.Join(path, "runs"), inside, outside))
			_, err := d.NewRun(noon, 1)
			wantError(t, "NewRun", err, "runs in task folder", "remove it")
			if !errors.Is(err, taskdir.ErrPlanted) {
				t.Errorf("NewRun() = %v, want ErrPlanted", err)
			}
			for _, dir := range []string{inside, outside} {
				if entries, _ := os.ReadDir(dir); len(entries) > 0 {
					t.Errorf("%s holds %v, want nothing", dir, entries)
				}
			}
		})
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	owner := taskdir.Owner{UID: os.Getuid(), GID: os.Getgid()}
	path := filepath.Join(t.TempDir(), "task")
	must(t, os.Mkdir(path, 0o755))
	if owner.UID == 0 {
		owner = taskdir.Owner{UID: 1001, GID: 1002}
		must(t, os.Chown(path, owner.UID, owner.GID))
	}
	d, err := taskdir.Open(path, owner)
	must(t, err)
	defer d.Close()
	run, err := d.NewRun(noon, 1)
	must(t, err)
	must(t, d.Post(taskdir.Message{At: noon, Type: taskdir.Info, Body: "x"}))
	must(t, d.Fact(noon, "x"))
	for _, name := range []string{run, filepath.Dir(run), filepath.Join(path, "TASK-MESSAGE-BUS.jsonl"), filepath.Join(path, "../PROJECT-MESSAGE-BUS.md")} {
		info, err := os.Lstat(name)
		must(t, err)
		st := info.Sys().(*syscall.Stat_t)
		if got := (taskdir.Owner{UID: int(st.Uid), GID: int(st.Gid)}); got != owner {
			t.Errorf("owner of %s = %v, want %v", name, got, owner)
		}
	}
}
