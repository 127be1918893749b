package toolchain_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/sandbox/proc"
	"github.com/org/ralph-action/internal/sandbox/toolchain"
)

// machine makes folders below a new one, and returns a function for their paths.
func machine(t *testing.T, dirs ...string) func(string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return func(dir string) string { return filepath.Join(top, dir) }
}

func TestFind(t *testing.T) {
	t.Parallel()
	at := machine(t, "home/.cargo/bin", "home/.rustup", "home/.local/bin", "home/.local/share", "home/sdk/go/bin", "home/sdk/go/src",
		"cache/Python/3.13/x64/lib", "jdk", "work/repo/bin", "work/repo/lib", "tools/bin", "tools/lib", "tools/secrets")
	environ := []string{
		"HOME=" + at("home"), "RUNNER_TOOL_CACHE=" + at("cache"), "pythonLocation=" + at("cache/Python/3.13/x64"),
		"LD_LIBRARY_PATH=" + at("cache/Python/3.13/x64/lib") + ":" + at("missing"),
		"JAVA_HOME=" + at("gone"), "JAVA_HOME_21_X64=" + at("jdk"), "GOROOT=relative", "GEM_HOME=" + at("home"), "ANDROID_HOME=" + at("work"),
		"PATH=" + strings.Join([]string{at("home/.cargo/bin"), at("home/.local/bin"), at("home/sdk/go/bin"), at("work/repo/bin"), at("tools/bin"), "bin"}, ":"),
		"SECRET_HOME=" + at("tools/secrets"),
	}
	got := toolchain.Find(environ, []string{at("work/repo")})
	paths := []string{at("home/.cargo/bin"), at("home/.local/bin"), at("home/sdk/go/bin"), at("work/repo/bin"), at("tools/bin"), at("cache"), at("cache/Python/3.13/x64"), at("cache/Python/3.13/x64/lib"), at("jdk"), at("home/.rustup"), at("home/sdk/go/src"), at("work/repo/lib"), at("tools/lib")}
	slices.Sort(got.Paths)
	slices.Sort(paths)
	if !slices.Equal(got.Paths, paths) {
		t.Errorf("may be read:\n%q, want\n%q", got.Paths, paths)
	}
	env := []string{
		"RUNNER_TOOL_CACHE=" + at("cache"), "pythonLocation=" + at("cache/Python/3.13/x64"), "LD_LIBRARY_PATH=" + at("cache/Python/3.13/x64/lib"),
		"JAVA_HOME_21_X64=" + at("jdk"), "RUSTUP_HOME=" + at("home/.rustup"),
	}
	if !slices.Equal(got.Env, env) {
		t.Errorf("environment:\n%q, want\n%q", got.Env, env)
	}
}

// A variable that names a folder above HOME or the workspace, by a link as well, opens nothing;
// nor does a link in the workspace what is outside.
func TestFindPrivate(t *testing.T) {
	t.Parallel()
	at := machine(t, "users/me/repo", "temp", "other", "out/bin")
	for link, to := range map[string]string{"link": "users", "linked": "other", "users/me/repo/venv": "out"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"", "users", "users/me", "link", "users/me/repo", "temp", "other", "users/me/repo/venv", "users/me/repo/venv/bin"} {
		got := toolchain.Find([]string{"HOME=" + at("users/me"), "GOROOT=" + at(dir), "PATH=" + at(dir)}, []string{at("users/me/repo"), at("temp"), at("linked")})
		if len(got.Paths)+len(got.Env) > 0 {
			t.Errorf("GOROOT and PATH = %s open %q", dir, got)
		}
		if len(got.Named) != 1 || got.Named[0].Closed == "" {
			t.Errorf("GOROOT = %s: %v, want why it is closed", dir, got.Named)
		}
	}
}

// A folder of a tool that holds its credentials stays closed, and says so.
func TestFindCredentials(t *testing.T) {
	t.Parallel()
	at := machine(t, ".gem/ruby", "tools/.gem")
	environ := []string{"HOME=" + at(""), "GEM_HOME=" + at(".gem"), "GEM_PATH=" + at(".gem/ruby")}
	if got := toolchain.Find(environ, nil); !slices.Equal(got.Paths, []string{at(".gem"), at(".gem/ruby")}) {
		t.Errorf("without credentials: %q", got.Paths)
	}
	if err := os.WriteFile(at(".gem/credentials"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := toolchain.Find(environ, nil)
	if want := []string{at(".gem/ruby")}; !slices.Equal(got.Paths, want) || got.Named[0].Closed != "it holds "+at(".gem/credentials") {
		t.Errorf("with credentials: %q, %v, want %q", got.Paths, got.Named, want)
	}
}

// Folders of tools below HOME bring what their programs need, and no more of HOME.
func TestFindHomes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path  string
		needs []string
		env   string
	}{
		{".pyenv/shims", []string{".pyenv"}, "PYENV_ROOT=.pyenv"},
		{".pyenv/bin", []string{".pyenv"}, "PYENV_ROOT=.pyenv"},
		{".pyenvs/bin", nil, ""},
		{".sdkman/candidates/java/current/bin", []string{".sdkman/candidates"}, ""},
		{".dotnet", []string{".dotnet"}, "DOTNET_ROOT=.dotnet"},
		{".dotnet/tools", nil, ""},
		{".local/bin", []string{".local/share/uv/tools", ".local/pipx"}, ""},
		{"bin", nil, ""},
	} {
		dirs := append(slices.Clone(tc.needs), tc.path, ".config", ".cargo", ".dotnet", ".local/share/keyrings")
		at := machine(t, dirs...)
		got := toolchain.Find([]string{"HOME=" + at(""), "PATH=" + at(tc.path)}, nil)
		want := []string{at(tc.path)}
		for _, need := range tc.needs {
			if need != tc.path {
				want = append(want, at(need))
			}
		}
		env := []string(nil)
		if name, dir, ok := strings.Cut(tc.env, "="); ok {
			env = []string{name + "=" + at(dir)}
		}
		if !slices.Equal(got.Paths, want) || !slices.Equal(got.Env, env) {
			t.Errorf("with %s on PATH: %q, %q, want %q, %q", tc.path, got.Paths, got.Env, want, env)
		}
	}
}

// What has to be readable for a program to start: itself, its interpreter, what env finds,
// what a shim goes on as. What is no program is no command.
func TestCommands(t *testing.T) {
	t.Parallel()
	at := machine(t, "bin", "second", "closed", "work/bin")
	for name, text := range map[string]string{
		"bin/plain": "\x7fELF", "bin/empty": "", "bin/script": "#!" + at("closed/sh") + " -e\n", "bin/linked": "#! /usr/bin/env -S A=b inner -x\n",
		"bin/shim": "#!/bin/sh\nset -e\n  exec \"" + at("closed/tool") + "\" exec shim\n", "bin/relative": "#!sh\n", "bin/loop": "#!/usr/bin/env loop\n",
		"bin/broken": "#!", "second/plain": "", "second/inner": "#!" + at("closed/python") + "\n", "second/node": "", "work/bin/mine": "",
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"bin/README": "text", "bin/half\nname": "x"} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("missing"), at("bin/dangling")); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{at("bin"), "relative", at("gone"), at("work/bin"), at("second")}, ":")
	look := func(name string) (string, error) { return proc.LookPath(name, []string{"PATH=" + path}) }
	want := map[string][]string{
		"plain": {at("bin/plain")}, "empty": {at("bin/empty")}, "script": {at("bin/script"), at("closed/sh")}, "broken": {at("bin/broken")},
		"linked": {at("bin/linked"), "/usr/bin/env", at("second/inner"), at("closed/python")}, "relative": {at("bin/relative")},
		"shim": {at("bin/shim"), "/bin/sh"}, "inner": {at("second/inner"), at("closed/python")}, "node": {at("second/node")},
		"loop": {at("bin/loop"), "/usr/bin/env", at("bin/loop"), "/usr/bin/env", at("bin/loop"), "/usr/bin/env", at("bin/loop"), "/usr/bin/env"},
	}
	got := toolchain.Commands(path, look, at("work"))
	if len(got) == 0 || got[0].Name != "node" {
		t.Errorf("the first of %v is not node", got)
	}
	for _, c := range got {
		if !slices.Equal(c.Needs, want[c.Name]) {
			t.Errorf("%s needs %q, want %q", c.Name, c.Needs, want[c.Name])
		}
		delete(want, c.Name)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
	// A shim of a tool that is there is followed to it.
	if err := os.WriteFile(at("closed/tool"), []byte("#!"+at("closed/python")), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := toolchain.Needs(at("bin/shim"), look), []string{at("bin/shim"), "/bin/sh", at("closed/tool"), at("closed/python")}; !slices.Equal(got, want) {
		t.Errorf("the shim needs %q, want %q", got, want)
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"ws/bin", "tools"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "ws", "ws/out": "../tools"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	paths := []string{at("tools"), at("ws"), at("ws/bin"), at("ws/out"), at("ws/missing"), at("link/bin"), at("link/missing"), at("wsx"), "ws/bin"}
	if got, want := toolchain.Outside(paths, []string{at("ws")}), []string{at("tools"), at("wsx"), "ws/bin"}; !slices.Equal(got, want) {
		t.Errorf("Outside() = %q, want %q", got, want)
	}
	if got := toolchain.Outside([]string{at("ws/bin")}, []string{at("link")}); len(got) != 0 {
		t.Errorf("Outside() = %q, want none", got)
	}
}

// Links lead where the system says, whatever was looked at before.
func TestTarget(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"bin", "opt/tool/bin", "deep/er"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"bin/file", "opt/tool/bin/tool", "opt/tool/file", "deep/other"} {
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"bin/neighbour":   "file",
		"bin/absolute":    dir + "/bin/file",
		"bin/twice":       "neighbour",
		"bin/up":          "../opt/tool/bin/tool",
		"bin/folder":      "../opt/tool/bin",
		"bin/through":     "folder/tool",
		"bin/back":        "folder/../file", // of opt/tool, not of bin
		"bin/lost":        "nothing",
		"bin/lostfolder":  "nothing/at/all",
		"bin/here":        ".",
		"bin/parent":      "..",
		"bin/slash":       "folder/",
		"bin/notafolder":  "file/x",
		"bin/circle":      "circle2",
		"bin/circle2":     "circle",
		"linked":          "bin",
		"deep/er/towards": "../../linked/up",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	target := toolchain.Target()
	for _, folder := range []string{"bin", "linked", "deep/er", "bin/folder", "missing"} {
		entries, _ := os.ReadDir(filepath.Join(dir, folder))
		for _, name := range append([]string{"missing"}, names(entries)...) {
			path := filepath.Join(dir, folder, name)
			want, errWant := filepath.EvalSymlinks(path)
			got, err := target(path)
			if got != want || (err == nil) != (errWant == nil) {
				t.Errorf("target(%s) = %q, %v, want %q, %v", path, got, err, want, errWant)
			}
		}
	}
}

func names(entries []os.DirEntry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
