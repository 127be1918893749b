package gitdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/org/ralph-action/internal/repo/gitdir"
)

func TestOrigin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ url, server, want string }{
		{"https://github.com/octo/work", "https://github.com", "octo/work"},
		{"https://github.com/octo/work.git", "https://github.com/", "octo/work"},
		{"https://x-access-token:abc@github.com/octo/work/", "https://github.com", "octo/work"},
		{"git@github.com:octo/work.git", "https://github.com", "octo/work"},
		{"ssh://git@github.com:22/octo/work.git", "https://github.com", "octo/work"},
		{"http://127.0.0.1:3000/octo/work", "http://127.0.0.1:3000", "octo/work"},
		{"http://127.0.0.1:3001/octo/work", "http://127.0.0.1:3000", ""},
		{"https://code.test/gitea/octo/work", "https://code.test/gitea", "octo/work"},
		{"https://code.test/other/octo/work", "https://code.test/gitea", ""},
		{"https://gitlab.com/octo/work", "https://github.com", ""},
		{"https://github.com.evil.test/octo/work", "https://github.com", ""},
		{"git@evil.test:octo/work", "https://github.com", ""},
		{"https://github.com/octo", "https://github.com", ""},
		{"https://github.com/octo/work/tree", "https://github.com", ""},
		{"https://github.com/octo/..", "https://github.com", ""},
		{"https://github.com/../work", "https://github.com", ""},
		{"https://github.com/octo/work%3Fx=%23y", "https://github.com", ""},
		{"https://github.com/octo/wo%0Ark", "https://github.com", ""},
		{"git@github.com:octo/work?x", "https://github.com", ""},
		{"https://github.com/octo/work.js_2-x", "https://github.com", "octo/work.js_2-x"},
		{"https://github.com@evil.test/octo/work", "https://github.com", ""},
		{"/srv/git/octo/work", "https://github.com", ""},
		{"../work", "https://github.com", ""},
		{"", "https://github.com", ""},
	} {
		dir := t.TempDir()
		git(t, dir, "init", "-q", "--template=")
		git(t, dir, "config", "remote.upstream.url", "https://github.com/somebody/else")
		git(t, dir, "config", "remote.origin.url", test.url)
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := gitdir.Origin(filepath.Join(dir, "sub"), test.server); got != test.want {
			t.Errorf("Origin() of %q on %s = %q, want %q", test.url, test.server, got, test.want)
		}
	}
	if got := gitdir.Origin(t.TempDir(), "https://github.com"); got != "" {
		t.Errorf("Origin() without a repository = %q, want none", got)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
