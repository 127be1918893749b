package rundir

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func openFolder(t *testing.T, workspace, folder string, ignore ...string) *Dir {
	t.Helper()
	d, err := OpenFolder(workspace, folder, ignore, Owner{-1, -1})
	if err != nil {
		t.Fatalf("OpenFolder(%s) = %v", folder, err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// TestOpenFolder covers 000-09: session logs stand in logs, beside whatever
// ralph is started from.
func TestOpenFolder(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"logs", ".ralph/logs", "a/b/c"} {
		ws := t.TempDir()
		d := openFolder(t, ws, folder, "session-*.log")
		log, err := d.Append("session-1.log")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := fmt.Fprintln(log, "line"); err != nil {
				t.Error(err)
			}
			// 000-16 and git clean -fdx by the agent: the next write begins anew.
			if got := read(t, ws, d.Path("session-1.log")); got != "line\n" {
				t.Errorf("log = %q, want one line", got)
			}
			if err := os.RemoveAll(filepath.Join(ws, strings.Split(folder, "/")[0])); err != nil {
				t.Fatal(err)
			}
		}
		_ = log.Close()
		if err := d.WriteFile("x", []byte("y")); err != nil {
			t.Error(err)
		}
		if got, want := d.Path("x"), folder+"/x"; got != want {
			t.Errorf("Path(x) = %q, want %q", got, want)
		}
		if got := read(t, ws, folder, ".gitignore"); !strings.HasSuffix(got, "\n/.gitignore\n/session-*.log\n") {
			t.Errorf(".gitignore = %q, want itself and the session logs", got)
		}
		err = d.WriteFile("../x", nil)
		wantError(t, "WriteFile(../x)", err, "not a valid file name for "+folder)
	}
}

func TestOpenFolderKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(ws, "logs"), 0o700), os.Mkdir(filepath.Join(ws, "bare"), 0o700),
		os.WriteFile(filepath.Join(ws, "logs/.gitignore"), []byte("mine\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	openFolder(t, ws, "logs", "session-*.log")
	if got := read(t, ws, "logs/.gitignore"); got != "mine\n" {
		t.Errorf(".gitignore = %q, want it untouched", got)
	}
	openFolder(t, ws, "bare")
	if entries, err := os.ReadDir(filepath.Join(ws, "bare")); err != nil || len(entries) > 0 {
		t.Errorf("ReadDir(bare) = %v, %v, want nothing where there is nothing to ignore", entries, err)
	}
}

func TestOpenFolderNames(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"", ".", "..", "../x", "a/../b", "/etc", "a//b", "a/", "./a", `a\b`, "a\x00b"} {
		if d, err := OpenFolder(t.TempDir(), folder, nil, Owner{-1, -1}); err == nil {
			_ = d.Close()
			t.Errorf("OpenFolder(%q) = nil, want an error", folder)
		}
	}
}

// TestOpenFolderRefuses: no part of the way is followed to somewhere else.
func TestOpenFolderRefuses(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	for what, plant := range map[string]func(at string) error{
		"a link out":    func(at string) error { return os.Symlink(outside, at) },
		"a link inside": func(at string) error { return os.Symlink(filepath.Base(outside), at) },
		"dangling":      func(at string) error { return os.Symlink("nowhere", at) },
		"a file":        func(at string) error { return os.WriteFile(at, nil, 0o644) },
		"a pipe":        func(at string) error { return syscall.Mkfifo(at, 0o644) },
	} {
		for _, at := range []string{"one", "one/two", "one/two/three"} {
			t.Run(what+" at "+at, func(t *testing.T) {
				t.Parallel()
				ws := t.TempDir()
				in := filepath.Dir(filepath.Join(ws, at))
				if err := errors.Join(os.MkdirAll(filepath.Join(in, filepath.Base(outside)), 0o755), plant(filepath.Join(ws, at))); err != nil {
					t.Fatal(err)
				}
				_, err := OpenFolder(ws, "one/two/three", []string{"x"}, Owner{-1, -1})
				wantError(t, "OpenFolder", err, at+" in the workspace is a", "remove it")
				if !errors.Is(err, ErrPlanted) {
					t.Errorf("OpenFolder() = %v, want ErrPlanted", err)
				}
				for _, dir := range []string{outside, filepath.Join(in, filepath.Base(outside))} {
					if entries, _ := os.ReadDir(dir); len(entries) > 0 {
						t.Errorf("%s holds %v, want nothing", dir, entries)
					}
				}
			})
		}
	}
}

func TestOpenFolderOwner(t *testing.T) {
	t.Parallel()
	owner := Owner{os.Getuid(), os.Getgid()}
	if owner.UID == 0 {
		owner = Owner{1001, 1002}
	}
	ws := t.TempDir()
	d, err := OpenFolder(ws, ".ralph/logs", []string{"x"}, owner)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, name := range []string{".ralph", ".ralph/logs", ".ralph/logs/.gitignore"} {
		info, err := os.Lstat(filepath.Join(ws, name))
		if err != nil {
			t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		if got := (Owner{int(st.Uid), int(st.Gid)}); got != owner {
			t.Errorf("owner of %s = %v, want %v", name, got, owner)
		}
	}
}

// TestGitSeesWhatPeopleKeep: after a run, git add -A takes what people keep in
// .ralph and nothing else of ours.
func TestGitSeesWhatPeopleKeep(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", ws}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v, %s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	files, logs, nested := open(t, ws), openFolder(t, ws, "logs", "session-*.log", "tmp-*"), openFolder(t, ws, ".ralph/logs", "session-*.log", "tmp-*")
	for _, d := range []*Dir{logs, nested, files} {
		for _, name := range []string{"session-20250101-120000.log", "tmp-x"} {
			if err := d.WriteFile(name, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(filepath.Join(ws, ".ralph/prompts"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".ralph/settings.json", ".ralph/settings.local.json", ".ralph/config", ".ralph/prompts/build.md", "logs/mine.txt"} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := strings.Fields(git("ls-files", "--others", "--exclude-standard"))
	want := []string{".ralph/config", ".ralph/prompts/build.md", ".ralph/settings.json", "logs/mine.txt"}
	if !slices.Equal(got, want) {
		t.Errorf("git add -A would take %q, want %q", got, want)
	}
}
