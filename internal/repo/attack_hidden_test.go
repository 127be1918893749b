package repo_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/org/ralph-action/internal/repo/credentials"
)

// Links on the way to a git folder lead nowhere: what was hidden is written into
// no place that the agent chose.
func TestRestoreFollowsNoLinks(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	inner := f.seed(t, map[string]string{"i.txt": "i\n"})
	g := newForge(t)
	top := g.seed(t, map[string]string{"a.txt": "a\n"})
	git(t, top, "submodule", "add", "-q", inner, "deep/sub")
	commitAll(t, top, "module")
	for _, tt := range []struct {
		name string
		act  func(dir, victim string) error
		want string // of the error or a note
	}{
		{"folder of modules", func(dir, victim string) error {
			return errors.Join(os.Rename(filepath.Join(dir, ".git/modules"), filepath.Join(dir, "away")), os.MkdirAll(filepath.Join(victim, "deep/sub/hooks"), 0o755),
				os.Symlink(victim, filepath.Join(dir, ".git/modules")))
		}, "behind a link"},
		{"a module", func(dir, victim string) error {
			return errors.Join(os.Rename(filepath.Join(dir, ".git/modules/deep/sub"), filepath.Join(dir, "away")), os.Mkdir(filepath.Join(victim, "hooks"), 0o755),
				os.Symlink(victim, filepath.Join(dir, ".git/modules/deep/sub")))
		}, "no longer a directory"},
		{"the whole", func(dir, victim string) error {
			return errors.Join(os.Rename(dir, dir+"-away"), os.MkdirAll(filepath.Join(victim, ".git/hooks"), 0o755), os.Symlink(victim, dir))
		}, "behind a link"},
		{"work tree of a module", func(dir, victim string) error {
			return errors.Join(os.Rename(filepath.Join(dir, "deep"), filepath.Join(dir, "away")), os.Mkdir(filepath.Join(victim, "sub"), 0o755), os.Symlink(victim, filepath.Join(dir, "deep")))
		}, "behind a link"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "work")
			git(t, filepath.Dir(dir), "clone", "-q", "--recurse-submodules", top, dir)
			asCheckout(t, dir, 5)
			git(t, filepath.Join(dir, "deep/sub"), "config", "http.https://github.com/.extraheader", token)
			h, err := credentials.Stash(dir, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			victim := t.TempDir()
			if err := tt.act(dir, victim); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(victim, "precious"), "precious\n")
			before := treeText(t, victim)
			notes, err := h.Restore()
			if !strings.Contains(fmt.Sprint(err, notes), tt.want) {
				t.Errorf("Restore() = %q, %v, want %q", notes, err, tt.want)
			}
			equal(t, "the victim", treeText(t, victim), before)
		})
	}
}

// A file .git names the git folder of a submodule or a linked work tree: it leads
// there again afterwards.
func TestPointersToGitFolders(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	inner := f.seed(t, map[string]string{"i.txt": "i\n"})
	g := newForge(t)
	top := g.seed(t, map[string]string{"a.txt": "a\n"})
	git(t, top, "submodule", "add", "-q", inner, "deep/sub")
	commitAll(t, top, "module")
	clone := func(t *testing.T) (dir, pointer string) {
		dir = filepath.Join(t.TempDir(), "work")
		git(t, filepath.Dir(dir), "clone", "-q", "--recurse-submodules", top, dir)
		return dir, filepath.Join(dir, "deep/sub/.git")
	}
	linked := func(t *testing.T) (dir, pointer string) {
		main, _ := clone(t)
		dir = filepath.Join(t.TempDir(), "linked")
		git(t, main, "worktree", "add", "-q", "--detach", dir)
		return dir, filepath.Join(dir, ".git")
	}
	evil := func(t *testing.T, at string) {
		git(t, t.TempDir(), "init", "-q", at)
		write(t, filepath.Join(at, ".git/hooks/post-checkout"), "evil")
	}
	for _, tt := range []struct {
		name string
		make func(t *testing.T) (dir, pointer string)
		act  func(t *testing.T, pointer string) error
	}{
		{"module, another folder", clone, func(t *testing.T, p string) error {
			at := t.TempDir()
			evil(t, at)
			return os.WriteFile(p, []byte("gitdir: "+at+"/.git\n"), 0o644)
		}},
		{"module, a folder instead", clone, func(t *testing.T, p string) error {
			err := os.Remove(p)
			evil(t, filepath.Dir(p))
			return err
		}},
		{"module, a link instead", clone, func(t *testing.T, p string) error {
			at := t.TempDir()
			evil(t, at)
			return errors.Join(os.Remove(p), os.Symlink(at+"/.git", p))
		}},
		{"linked work tree, another folder", linked, func(t *testing.T, p string) error {
			at := t.TempDir()
			evil(t, at)
			return os.WriteFile(p, []byte("gitdir: "+at+"/.git\n"), 0o644)
		}},
		{"linked work tree, a folder instead", linked, func(t *testing.T, p string) error {
			err := os.Remove(p)
			evil(t, filepath.Dir(p))
			return err
		}},
		{"gone", clone, func(_ *testing.T, p string) error { return os.Remove(p) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, pointer := tt.make(t)
			before := read(t, pointer)
			h, err := credentials.Stash(dir, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.act(t, pointer); err != nil {
				t.Fatal(err)
			}
			notes, err := h.Restore()
			if err != nil || !hasNote(notes, pointer+" was changed") {
				t.Errorf("Restore() = %q, %v, want a note on %s", notes, err, pointer)
			}
			equal(t, "pointer", read(t, pointer), before)
		})
	}
	t.Run("the module is gone", func(t *testing.T) {
		t.Parallel()
		dir, _ := clone(t)
		h, err := credentials.Stash(dir, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		git(t, dir, "rm", "-q", "-f", "deep/sub")
		if notes, err := h.Restore(); err != nil || hasNote(notes, "deep/sub/.git") {
			t.Errorf("Restore() = %q, %v, want nothing said of a module that was removed", notes, err)
		}
	})
}

// What an agent of an earlier run left in a git folder leads nowhere and hangs
// nobody.
func TestPlantedCommondir(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(file string) error{
		"a path": func(file string) error { return os.WriteFile(file, []byte("/elsewhere\n"), 0o600) },
		"a pipe": func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"a link": func(file string) error { return os.Symlink("/etc/hostname", file) },
	} {
		_, dir := workspace(t)
		if err := plant(filepath.Join(dir, ".git/commondir")); err != nil {
			t.Fatal(err)
		}
		if _, err := credentials.Stash(dir, t.TempDir()); err == nil || !strings.Contains(err.Error(), "commondir") {
			t.Errorf("%s: Hide() = %v, want it refused", name, err)
		}
	}
}

// Whatever in the configuration holds a credential or fetches one is hidden, and
// comes back byte by byte.
func TestEveryKindOfCredentialIsHidden(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{
		"[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic SECRET\n",
		"[HTTP]\n\tExtraHeader = a: SECRET\n",
		"[http]\n\tcookieFile = /SECRET\n",
		"[http]\n\tproxy = http://me:SECRET@proxy:8080\n",
		"[credential]\n\thelper = !echo password=SECRET\n",
		"[credential \"https://github.com\"]\n\tusername = SECRET\n",
		"[core]\n\tsshCommand = ssh -i /SECRET\n",
		"[core]\n\taskPass = /SECRET\n",
		"[include]\n\tpath = /SECRET\n",
		"[includeIf \"gitdir:/github/workspace/.git\"]\n\tpath = /SECRET\n",
		"[remote \"origin\"]\n\tpushurl = https://x:SECRET@github.com/a/b\n",
		"[lfs]\n\turl = https://x:SECRET@github.com/a/b.git/info/lfs\n",
		"[url \"https://x:SECRET@github.com/\"]\n\tinsteadOf = https://github.com/\n",
		"[url \"https://github.com/\"]\n\tinsteadOf = https://x:SECRET@github.com/\n",
		"[sendemail]\n\tsmtpPass = SECRET\n",
		"[github]\n\toauth-token = SECRET\n",
		"[submodule \"s\"]\n\turl = \"https://x:SECRET@github.com/s\"\n",
		"[http]\n\textraheader = a: \\\nSECRET\n",
	} {
		_, dir := workspace(t)
		file := filepath.Join(dir, ".git/config")
		before := read(t, file) + lines + "[user]\n\tname = kept\n"
		write(t, file, before)
		h, err := credentials.Stash(dir, t.TempDir())
		if err != nil {
			t.Fatalf("%q: %v", lines, err)
		}
		if s := read(t, file); strings.Contains(s, "SECRET") || !strings.Contains(s, "name = kept") {
			t.Errorf("the agent sees %q", s)
		}
		if out, err := tryGit(dir, "status", "--porcelain"); err != nil {
			t.Errorf("%q: git status: %s", lines, out)
		}
		if notes, err := h.Restore(); err != nil || len(notes) > 0 {
			t.Errorf("%q: Restore() = %q, %v", lines, notes, err)
		}
		equal(t, "config", read(t, file), before)
	}
}
