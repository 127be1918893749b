package toolchain_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	paths := []string{at("cache"), at("cache/Python/3.13/x64"), at("cache/Python/3.13/x64/lib"), at("jdk"), at("home/.rustup"), at("home/sdk/go/src"), at("work/repo/lib"), at("tools/lib")}
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

// A variable that names a folder above HOME or the workspace, by a link as well, opens nothing.
func TestFindPrivate(t *testing.T) {
	t.Parallel()
	at := machine(t, "users/me/repo", "temp")
	if err := os.Symlink(at("users"), at("link")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "users", "users/me", "link", "users/me/repo", "temp"} {
		got := toolchain.Find([]string{"HOME=" + at("users/me"), "GOROOT=" + at(dir)}, []string{at("users/me/repo"), at("temp")})
		if len(got.Paths)+len(got.Env) > 0 {
			t.Errorf("GOROOT=%s opens %q", dir, got)
		}
	}
}
