package rundir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func open(t *testing.T, workspace string) *Dir {
	t.Helper()
	d, err := Open(workspace, Owner{-1, -1})
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantError checks that an error says everything a user needs.
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

func TestOpenMakesTheDirectory(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	d := open(t, ws)
	if info, err := os.Lstat(filepath.Join(ws, ".ralph")); err != nil || !info.IsDir() {
		t.Fatalf("Lstat(.ralph) = %v, %v, want a directory", info, err)
	}
	if got, want := d.Path("report.json"), ".ralph/report.json"; got != want {
		t.Errorf("Path(report.json) = %q, want %q", got, want)
	}
	entries, err := os.ReadDir(filepath.Join(ws, ".ralph"))
	if err != nil || len(entries) != 1 || entries[0].Name() != ".gitignore" {
		t.Errorf("ReadDir(.ralph) = %v, %v, want .gitignore alone", entries, err)
	}
}

func TestGitignoreListsTheRunFilesAndItself(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	open(t, ws)
	lines := strings.Split(strings.TrimSpace(read(t, ws, ".ralph/.gitignore")), "\n")
	var want []string
	for _, p := range append([]string{".gitignore"}, RunFiles()...) {
		want = append(want, "/"+p)
	}
	want = append(want, "/settings.local.json") // one person's own
	if got := lines[1:]; !strings.HasPrefix(lines[0], "#") || !slices.Equal(got, want) {
		t.Errorf(".gitignore = %q, want %q", got, want)
	}
}

func TestGitignoreOfOthersIsKept(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	if err := os.MkdirAll(filepath.Join(ws, ".ralph"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws, ".ralph/.gitignore"), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, ws)
	if got := read(t, ws, ".ralph/.gitignore"); got != "mine\n" {
		t.Errorf(".gitignore = %q, want it untouched", got)
	}
}

func TestRunFilesMatchWhatIsWritten(t *testing.T) {
	t.Parallel()
	matches := func(name string) bool {
		return slices.ContainsFunc(RunFiles(), func(p string) bool {
			if strings.Contains(p, "/") {
				t.Errorf("RunFiles() has %q: git takes no exclusion below a link planted for its folder", p)
			}
			top, _, _ := strings.Cut(name, "/")
			ok, err := path.Match(p, top)
			if err != nil {
				t.Errorf("Match(%q) = %v", p, err)
			}
			return ok
		})
	}
	for _, name := range []string{"report.json", "report.html", "summary.md", "session-20250101-120000.log", "guardrail_001_go-test.log", "guardrail_001_go-test_1.log", "lock", "prompt_001.txt", "logs/session-20250101-120000.log", "cancel", "sessions", "sessions/af18e15f.json"} {
		if !matches(name) {
			t.Errorf("RunFiles() does not match %q", name)
		}
	}
	for _, name := range []string{"settings.json", "settings.local.json", "config", "prompts", "prompts/build.md", "prompts/session-1.log", "PROMPT.md", ".gitignore"} {
		if matches(name) {
			t.Errorf("RunFiles() matches %q, which people keep", name)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	t.Cleanup(func() {
		if entries, _ := os.ReadDir(outside); len(entries) > 0 {
			t.Errorf("outside holds %v, want nothing", entries)
		}
	})
	tests := []struct {
		name  string
		plant func(ws string) error
		words []string
	}{
		{"no workspace", os.Remove, []string{"workspace", "does not exist"}},
		{"a file for a workspace", func(ws string) error {
			return errors.Join(os.Remove(ws), os.WriteFile(ws, nil, 0o644))
		}, []string{"workspace", "is not a directory"}},
		{"link to the outside", func(ws string) error {
			return os.Symlink(outside, filepath.Join(ws, ".ralph"))
		}, []string{".ralph", "symbolic link", "remove it"}},
		{"link to the inside", func(ws string) error {
			return errors.Join(os.Mkdir(filepath.Join(ws, ".git"), 0o755), os.Symlink(".git", filepath.Join(ws, ".ralph")))
		}, []string{".ralph", "symbolic link"}},
		{"dangling link", func(ws string) error {
			return os.Symlink("nowhere", filepath.Join(ws, ".ralph"))
		}, []string{".ralph", "symbolic link"}},
		{"a file", func(ws string) error {
			return os.WriteFile(filepath.Join(ws, ".ralph"), nil, 0o644)
		}, []string{".ralph", "is a file"}},
		{"a pipe", func(ws string) error {
			return syscall.Mkfifo(filepath.Join(ws, ".ralph"), 0o644)
		}, []string{".ralph", "special file"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ws := filepath.Join(t.TempDir(), "ws")
			if err := errors.Join(os.Mkdir(ws, 0o755), tt.plant(ws)); err != nil {
				t.Fatal(err)
			}
			_, err := Open(ws, Owner{-1, -1})
			wantError(t, "Open", err, tt.words...)
			if entries, _ := os.ReadDir(filepath.Join(ws, ".git")); len(entries) > 0 {
				t.Errorf(".git holds %v, want nothing written through the link", entries)
			}
		})
	}
}

func TestUnwritableSaysWhatToDo(t *testing.T) {
	t.Parallel()
	d := &Dir{workspace: "/w"}
	for _, cause := range []error{syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		wantError(t, "unwritable", d.unwritable(&fs.PathError{Op: "mkdirat", Path: ".ralph", Err: cause}), "workspace /w", cause.Error(), "mount", "user who owns it")
	}
	err := d.unwritable(&fs.PathError{Op: "openat", Path: "x", Err: syscall.ENOSPC})
	wantError(t, "unwritable", err, "no space left on device", "workspace /w")
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("unwritable(ENOSPC) = %v, want it wrapped", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	for _, name := range []string{"", ".", "..", "a/b", "../a", "/etc/passwd", `a\b`} {
		if err := d.WriteFile(name, nil); err == nil {
			t.Errorf("WriteFile(%q) = nil, want an error", name)
		}
		if _, err := d.Create(name); err == nil {
			t.Errorf("Create(%q) = nil, want an error", name)
		}
		if _, err := d.Append(name); err == nil {
			t.Errorf("Append(%q) = nil, want an error", name)
		}
	}
}

// plants are the things an agent can leave under a name of ours.
func plants(t *testing.T, ws, name, victim string) map[string]func() error {
	at := filepath.Join(ws, ".ralph", name)
	return map[string]func() error{
		"nothing":       func() error { return nil },
		"a file":        func() error { return os.WriteFile(at, []byte("old"), 0o600) },
		"a link out":    func() error { return os.Symlink(victim, at) },
		"a link inside": func() error { return os.Symlink("../inside", at) },
		"a hard link":   func() error { return os.Link(victim, at) },
		"a pipe":        func() error { return syscall.Mkfifo(at, 0o644) },
		"a directory":   func() error { return os.MkdirAll(filepath.Join(at, "deep/er"), 0o755) },
	}
}

func TestPlantedFilesAreReplaced(t *testing.T) {
	t.Parallel()
	writes := map[string]func(*Dir) error{
		"Create": func(d *Dir) error {
			w, err := d.Create("report.json")
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(w, "new")
			return errors.Join(err, w.Close())
		},
		"WriteFile": func(d *Dir) error { return d.WriteFile("report.json", []byte("new")) },
		"Append": func(d *Dir) error {
			w, err := d.Append("report.json")
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(w, "new")
			return errors.Join(err, w.Close())
		},
	}
	for how, write := range writes {
		for what := range plants(t, "", "", "") {
			t.Run(how+" over "+what, func(t *testing.T) {
				t.Parallel()
				base := t.TempDir()
				ws, victim := filepath.Join(base, "ws"), filepath.Join(base, "victim")
				inside := filepath.Join(ws, "inside")
				if err := errors.Join(os.Mkdir(ws, 0o755), os.WriteFile(victim, []byte("victim"), 0o644), os.WriteFile(inside, []byte("inside"), 0o644)); err != nil {
					t.Fatal(err)
				}
				d := open(t, ws)
				if err := plants(t, ws, "report.json", victim)[what](); err != nil {
					t.Fatal(err)
				}
				if err := write(d); err != nil {
					t.Fatalf("%s = %v", how, err)
				}
				want := "new"
				if how == "Append" && what == "a file" {
					want = "oldnew"
				}
				if got := read(t, ws, ".ralph/report.json"); got != want {
					t.Errorf("report.json = %q, want %q", got, want)
				}
				if got := read(t, victim) + read(t, inside); got != "victiminside" {
					t.Errorf("other files hold %q, want them untouched", got)
				}
				left, _ := filepath.Glob(filepath.Join(ws, ".ralph/tmp-*"))
				if len(left) > 0 {
					t.Errorf("%v left behind", left)
				}
			})
		}
	}
}

func TestDeletedDirectoryIsMadeAgain(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	d := open(t, ws)
	log, err := d.Append("session-1.log")
	if err != nil {
		t.Fatal(err)
	}
	wipe := func() {
		if err := os.RemoveAll(filepath.Join(ws, ".ralph")); err != nil {
			t.Fatal(err)
		}
	}
	steps := map[string]func() error{
		"report.json":   func() error { return d.WriteFile("report.json", []byte("x")) },
		"guardrail.log": func() error { _, err := d.Create("guardrail.log"); return err },
		"session-1.log": func() error { _, err := fmt.Fprint(log, "x"); return err },
	}
	for name, step := range steps {
		wipe()
		if err := step(); err != nil {
			t.Errorf("%s after .ralph was deleted: %v", name, err)
		}
		read(t, ws, ".ralph", name)
		read(t, ws, ".ralph/.gitignore")
	}
	wipe()
	if err := os.Symlink("..", filepath.Join(ws, ".ralph")); err != nil {
		t.Fatal(err)
	}
	for name, step := range steps {
		wantError(t, name+" through a link", step(), "symbolic link")
	}
}

// Runs that begin in the same second have a log each.
func TestSessionLog(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	d := open(t, ws)
	for _, want := range []string{"session-20250102-030405.log", "session-20250102-030405_1.log", "session-20250102-030405_2.log"} {
		name, w, err := d.SessionLog(time.Date(2025, 1, 2, 3, 4, 5, 6, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(w, name); err != nil || w.Close() != nil {
			t.Error(err)
		}
		if got := read(t, ws, ".ralph/"+name); name != want || got != want {
			t.Errorf("SessionLog() = %q with %q, want %q", name, got, want)
		}
	}
}

func TestAppend(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	d := open(t, ws)
	for _, text := range []string{"one\n", "two\n"} {
		w, err := d.Append("session-1.log")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(w, text); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if _, err := fmt.Fprint(w, "late"); err == nil {
			t.Error("Write after Close = nil, want an error")
		}
	}
	if got, want := read(t, ws, ".ralph/session-1.log"), "one\ntwo\n"; got != want {
		t.Errorf("log = %q, want %q", got, want)
	}
}

func TestOwner(t *testing.T) {
	t.Parallel()
	owner := Owner{os.Getuid(), os.Getgid()}
	if owner.UID == 0 {
		owner = Owner{1001, 1002}
	}
	ws := t.TempDir()
	d, err := Open(ws, owner)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w, err := d.Create("summary.md")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := d.WriteFile("report.json", nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", ".gitignore", "summary.md", "report.json"} {
		info, err := os.Lstat(filepath.Join(ws, ".ralph", name))
		if err != nil {
			t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		if got := (Owner{int(st.Uid), int(st.Gid)}); got != owner {
			t.Errorf("owner of %s = %v, want %v", name, got, owner)
		}
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	first, second := open(t, ws), open(t, ws)
	release, err := first.Lock()
	if err != nil {
		t.Fatalf("Lock() = %v", err)
	}
	_, err = second.Lock()
	wantError(t, "second Lock()", err, "another ralph (pid ", fmt.Sprint(os.Getpid()), "started 20", "is working in this folder")
	if !errors.Is(err, ErrLocked) {
		t.Errorf("second Lock() = %v, want ErrLocked", err)
	}

	// git clean -fdx by the agent takes the file, not the lock.
	if err := os.RemoveAll(filepath.Join(ws, ".ralph")); err != nil {
		t.Fatal(err)
	}
	_, err = second.Lock()
	wantError(t, "Lock() without lock file", err, "another ralph", "is working in this folder")

	release()
	again := lockSoon(t, second)
	again()
	lockSoon(t, first)
}

// lockSoon takes a lock that was released. A child that another test is starting
// holds every descriptor of ours until its exec.
func lockSoon(t *testing.T, d *Dir) (release func()) {
	t.Helper()
	for range 200 {
		release, err := d.Lock()
		if err == nil {
			return release
		}
		if !errors.Is(err, ErrLocked) {
			t.Fatalf("Lock() after a release = %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("Lock() after a release = still locked")
	return nil
}

// holdLock names the variable that makes the test binary a holder of the lock
// of a workspace, which dies without releasing it when its stdin ends.
const holdLock = "RUNDIR_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	ws := os.Getenv(holdLock)
	if ws == "" {
		os.Exit(m.Run())
	}
	d, err := Open(ws, Owner{-1, -1})
	if err == nil {
		_, err = d.Lock()
	}
	fmt.Println(err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

func TestLockEndsWithItsHolder(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stdin, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	holder, err := os.StartProcess(exe, []string{exe}, &os.ProcAttr{
		Env:   append(os.Environ(), holdLock+"="+ws),
		Files: []*os.File{stdin, stdout, os.Stderr},
	})
	if err := errors.Join(err, stdin.Close(), stdout.Close()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("the holder said %q, %v, want that it holds the lock", line, err)
	}
	d := open(t, ws)
	_, err = d.Lock()
	wantError(t, "Lock() while held", err, fmt.Sprintf("(pid %d, started ", holder.Pid))
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	release, err := d.Lock()
	if err != nil {
		t.Fatalf("Lock() after the holder died = %v", err)
	}
	release()
}

func TestLockFileIsHostile(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"empty": "", "no number": "rm -rf /\x1b[2J\n", "huge": strings.Repeat("9", 1<<20), "negative": "-1\n",
	} {
		ws := t.TempDir()
		d := open(t, ws)
		release, err := d.Lock()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(ws, ".ralph/lock"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = open(t, ws).Lock()
		wantError(t, what, err, "another ralph is working in this folder")
		release()
	}
	for what := range plants(t, "", "", "") {
		base := t.TempDir()
		ws, victim := filepath.Join(base, "ws"), filepath.Join(base, "victim")
		if err := errors.Join(os.Mkdir(ws, 0o755), os.WriteFile(victim, []byte("victim"), 0o644)); err != nil {
			t.Fatal(err)
		}
		d := open(t, ws)
		if err := plants(t, ws, "lock", victim)[what](); err != nil {
			t.Fatal(err)
		}
		release, err := d.Lock()
		if err != nil {
			t.Errorf("Lock() over %s = %v", what, err)
			continue
		}
		release()
		if got := read(t, victim); got != "victim" {
			t.Errorf("Lock() over %s: victim = %q, want it untouched", what, got)
		}
	}
}
