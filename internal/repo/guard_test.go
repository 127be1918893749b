package repo_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/repo"
	"github.com/org/ralph-action/internal/repo/credentials"
)

// asCheckout adds to a checkout what actions/checkout adds: v5 and before put
// the header into .git/config, v6 into a file it includes.
func asCheckout(t *testing.T, dir string, version int) {
	t.Helper()
	header := "AUTHORIZATION: basic " + token
	if version < 6 {
		git(t, dir, "config", "http.https://github.com/.extraheader", header)
		return
	}
	creds := filepath.Join(t.TempDir(), "git-credentials-1.config")
	git(t, dir, "config", "--file", creds, "http.https://github.com/.extraheader", header)
	git(t, dir, "config", "includeIf.gitdir:"+dir+"/.git.path", creds)
	git(t, dir, "config", "includeIf.gitdir:/github/workspace/.git.path", "/github/runner_temp/git-credentials-1.config")
}

// treeText is everything below a folder, for comparing and for searching.
func treeText(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s\n", p, info.Mode())
		if info.Mode().IsRegular() {
			c, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b.Write(c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTokenIsHiddenAndRestored(t *testing.T) {
	t.Parallel()
	for _, version := range []int{5, 6} {
		t.Run(fmt.Sprintf("checkout v%d", version), func(t *testing.T) {
			t.Parallel()
			f := newForge(t)
			f.seed(t, map[string]string{"a.txt": "a\n"})
			dir := f.checkout(t, true)
			asCheckout(t, dir, version)
			config := filepath.Join(dir, ".git/config")
			if err := os.Chmod(config, 0o640); err != nil {
				t.Fatal(err)
			}
			before := read(t, config)
			beforeGuarded := treeText(t, filepath.Join(dir, ".git/hooks")) + treeText(t, filepath.Join(dir, ".git/info"))

			store := t.TempDir()
			h, err := credentials.Stash(dir, store)
			if err != nil {
				t.Fatal(err)
			}
			if s := treeText(t, dir); strings.Contains(s, token) || strings.Contains(s, "includeIf") {
				t.Error("the workspace still shows the token, or an include")
			}
			equal(t, "remote", git(t, dir, "config", "remote.origin.url"), f.url)

			r := begin(t, dir, f.url, func(o *repo.Options) { o.Store = store })
			write(t, filepath.Join(dir, "x.txt"), "x\n")
			r.pushed(t, f)
			for _, c := range r.sandbox.Commands {
				if s := strings.Join(append(c.Args, c.Env...), "\n"); strings.Contains(s, token) {
					t.Errorf("sandboxed command %q shows the token", c.Args)
				}
			}
			if strings.Contains(treeText(t, dir), token) {
				t.Error("the workspace shows the token after a push")
			}
			notes, err := h.Restore()
			if err != nil || len(notes) != 0 {
				t.Errorf("Restore() = %q, %v, want no notes", notes, err)
			}
			equal(t, "config", read(t, config), before)
			if info, _ := os.Stat(config); info.Mode().Perm() != 0o640 {
				t.Errorf("mode of config = %v, want 0640", info.Mode())
			}
			equal(t, "hooks and info", treeText(t, filepath.Join(dir, ".git/hooks"))+treeText(t, filepath.Join(dir, ".git/info")), beforeGuarded)
			if notes, err := h.Restore(); err != nil || notes != nil {
				t.Errorf("second Restore() = %q, %v, want nothing", notes, err)
			}
		})
	}
}

func TestAgentPlantsInGitFolder(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := f.checkout(t, true)
	asCheckout(t, dir, 5)
	g := filepath.Join(dir, ".git")
	write(t, filepath.Join(g, "hooks/pre-commit"), "#!/bin/sh\ntrue\n")
	guarded := []string{"config", "hooks", "info/exclude"}
	text := func() string {
		var s string
		for _, n := range guarded {
			s += treeText(t, filepath.Join(g, n))
		}
		return s
	}
	before := text()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	outside := t.TempDir()
	write(t, filepath.Join(outside, "precious"), "precious\n")
	for _, tt := range []struct {
		name string
		act  func()
		want string
	}{
		{"config", func() { git(t, dir, "config", "core.fsmonitor", "/tmp/evil") }, "config"},
		{"config removed", func() { check(os.Remove(filepath.Join(g, "config"))) }, "config"},
		{"config is a folder", func() {
			check(os.Remove(filepath.Join(g, "config")))
			write(t, filepath.Join(g, "config/x"), "x")
		}, "config"},
		{"config.worktree", func() { write(t, filepath.Join(g, "config.worktree"), "[core]\nfsmonitor = evil\n") }, "config.worktree"},
		{"hook added", func() { write(t, filepath.Join(g, "hooks/post-checkout"), "evil") }, "hooks"},
		{"hook changed", func() { write(t, filepath.Join(g, "hooks/pre-commit"), "evil") }, "hooks"},
		{"hook mode", func() { check(os.Chmod(filepath.Join(g, "hooks/pre-commit"), 0o777)) }, "hooks"},
		{"hooks is a link", func() {
			check(os.RemoveAll(filepath.Join(g, "hooks")))
			check(os.Symlink(outside, filepath.Join(g, "hooks")))
		}, "hooks"},
		{"info is a link", func() {
			check(os.RemoveAll(filepath.Join(g, "info")))
			check(os.Symlink(outside, filepath.Join(g, "info")))
		}, "info/exclude"},
		{"attributes", func() { write(t, filepath.Join(g, "info/attributes"), "* filter=evil\n") }, "info/attributes"},
		{"alternates", func() { write(t, filepath.Join(g, "objects/info/alternates"), "/elsewhere\n") }, "objects/info/alternates"},
		{"commondir", func() { write(t, filepath.Join(g, "commondir"), "/elsewhere\n") }, "commondir"},
		{"config is a pipe's name", func() {
			check(os.Remove(filepath.Join(g, "config")))
			check(os.Symlink("/dev/stdin", filepath.Join(g, "config")))
		}, "config"},
	} {
		h, err := credentials.Stash(dir, t.TempDir())
		if err != nil {
			t.Fatalf("%s: Hide() = %v", tt.name, err)
		}
		tt.act()
		notes, err := h.Restore()
		if err != nil || len(notes) == 0 || !hasNote(notes, filepath.Join(g, tt.want)+" was changed") {
			t.Errorf("%s: Restore() = %q, %v, want a note on %s", tt.name, notes, err, tt.want)
		}
		if text() != before {
			t.Errorf("%s: not restored:\n%s\nwant:\n%s", tt.name, text(), before)
		}
		for _, gone := range []string{"config.worktree", "info/attributes", "objects/info/alternates", "commondir"} {
			if _, err := os.Lstat(filepath.Join(g, gone)); err == nil {
				t.Errorf("%s: %s is still there", tt.name, gone)
			}
		}
	}
	equal(t, "outside", treeText(t, outside), outside+" drwxr-xr-x\n"+outside+"/precious -rw-r--r--\nprecious\n")
}

func TestAgentReplacesGitFolder(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := f.checkout(t, true)
	asCheckout(t, dir, 5)
	g := filepath.Join(dir, ".git")
	before := read(t, filepath.Join(g, "config"))
	h, err := credentials.Stash(dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(g); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	write(t, filepath.Join(g, "hooks/post-checkout"), "evil")
	notes, err := h.Restore()
	if err != nil || !hasNote(notes, "was replaced") {
		t.Errorf("Restore() = %q, %v, want a note on the replaced folder", notes, err)
	}
	equal(t, "config", read(t, filepath.Join(g, "config")), before)
	if _, err := os.Stat(filepath.Join(g, "hooks/post-checkout")); err == nil {
		t.Error("the planted hook is still there")
	}

	h, err = credentials.Stash(dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.RemoveAll(g); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, g); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Restore(); err == nil || !strings.Contains(err.Error(), "no longer a directory") {
		t.Errorf("Restore() over a link = %v, want an error", err)
	}
	if names, _ := os.ReadDir(elsewhere); len(names) != 0 {
		t.Errorf("Restore() wrote %v through a link", names)
	}
}

func TestRestoreAfterKill(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.seed(t, map[string]string{"a.txt": "a\n"})
	dir := f.checkout(t, true)
	asCheckout(t, dir, 5)
	before := read(t, filepath.Join(dir, ".git/config"))
	store := t.TempDir()
	if _, err := credentials.Stash(dir, store); err != nil {
		t.Fatal(err)
	}
	// The process is gone; the next one hides again and must not take the
	// stripped file for the original.
	h, err := credentials.Stash(dir, store)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(treeText(t, dir), token) {
		t.Error("the token shows after the second Hide")
	}
	_ = h
	if _, err := credentials.Restore(store); err != nil {
		t.Fatal(err)
	}
	equal(t, "config", read(t, filepath.Join(dir, ".git/config")), before)
	if notes, err := credentials.Restore(store); notes != nil || err != nil {
		t.Errorf("Restore() with nothing hidden = %q, %v, want nothing", notes, err)
	}
}

func TestSubmoduleTokenIsHidden(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	inner := f.seed(t, map[string]string{"i.txt": "i\n"})
	g := newForge(t)
	dir := g.seed(t, map[string]string{"a.txt": "a\n"})
	git(t, dir, "submodule", "add", "-q", inner, "deep/sub")
	git(t, filepath.Join(dir, "deep/sub"), "config", "http.https://github.com/.extraheader", token)
	config := filepath.Join(dir, ".git/modules/deep/sub/config")
	before := read(t, config)
	h, err := credentials.Stash(dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(treeText(t, dir), token) {
		t.Error("the submodule still shows the token")
	}
	write(t, filepath.Join(dir, ".git/modules/deep/sub/hooks/post-checkout"), "evil")
	notes, err := h.Restore()
	if err != nil || !hasNote(notes, "hooks was changed") {
		t.Errorf("Restore() = %q, %v, want a note on the hook", notes, err)
	}
	equal(t, "config", read(t, config), before)
}

// Whatever is planted runs in the sandbox or not at all.
func TestPlantedProgramsRunInTheSandboxOnly(t *testing.T) {
	t.Parallel()
	f, dir := workspace(t)
	r := begin(t, dir, f.url)
	log := filepath.Join(t.TempDir(), "log")
	evil := filepath.Join(t.TempDir(), "evil")
	write(t, evil, "#!/bin/sh\necho \"inside=$RALPH_TEST_INSIDE $0\" >> "+log+"\ncat\n")
	if err := os.Chmod(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"pre-commit", "post-checkout", "post-index-change", "reference-transaction", "pre-push", "post-commit"} {
		if err := os.Symlink(evil, filepath.Join(dir, ".git/hooks", hook)); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range [][2]string{
		{"core.fsmonitor", evil}, {"filter.evil.clean", evil}, {"filter.evil.smudge", evil}, {"core.sshCommand", evil},
		{"credential.helper", evil}, {"diff.external", evil}, {"core.pager", evil}, {"gpg.program", evil}, {"commit.gpgSign", "true"},
		{"url.http://127.0.0.1:1/.insteadOf", "http://"}, {"uploadpack.packObjectsHook", evil}, {"http.proxy", "http://127.0.0.1:1"},
	} {
		git(t, dir, "config", kv[0], kv[1])
	}
	_ = os.Remove(log) // git config itself may have met the watcher
	write(t, filepath.Join(dir, ".gitattributes"), "*.txt filter=evil diff=evil\n")
	write(t, filepath.Join(dir, "x.txt"), "x\n")
	r.pushed(t, f)
	for l := range strings.Lines(read(t, log)) {
		if !strings.HasPrefix(l, "inside=1 ") {
			t.Errorf("a planted program ran outside the sandbox: %s", l)
		}
	}
	for i, got := range f.tokens {
		if got != token {
			t.Errorf("request %d came with %q, want the token", i, got)
		}
	}
}
