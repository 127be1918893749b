package barerepo

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
)

// What is answered without git is what git answers, and where that is not known git is
// asked.
func TestRefsAreThoseOfGit(t *testing.T) {
	t.Parallel()
	commit := func(t *testing.T, r gitserver.Repository, branch string) string {
		t.Helper()
		id, err := r.Commit(branch, "a commit", map[string]gitserver.File{"file": {Content: branch}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	write := func(t *testing.T, r gitserver.Repository, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(t *testing.T, r gitserver.Repository, args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", r.Dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	for _, tc := range []struct {
		name  string
		make  func(t *testing.T, r gitserver.Repository)
		plain bool // no need to ask git
		main  bool // and HEAD exists
	}{
		{"no commit", func(*testing.T, gitserver.Repository) {}, false, false},
		{"main", func(t *testing.T, r gitserver.Repository) { commit(t, r, "main") }, true, true},
		{"branches", func(t *testing.T, r gitserver.Repository) {
			for _, branch := range []string{"main", "a", "a-b", "main-x", "z/y/x", "ralph/work"} {
				commit(t, r, branch)
			}
		}, true, true},
		{"branches of a fork", func(t *testing.T, r gitserver.Repository) {
			git(t, r, "update-ref", "refs/forks/x", commit(t, r, "main"))
		}, true, true},
		{"deleted by git", func(t *testing.T, r gitserver.Repository) {
			commit(t, r, "main")
			commit(t, r, "a/b")
			git(t, r, "update-ref", "-d", "refs/heads/a/b")
		}, true, true},
		{"no main", func(t *testing.T, r gitserver.Repository) { commit(t, r, "other") }, true, false},
		{"tag", func(t *testing.T, r gitserver.Repository) {
			git(t, r, "-c", "user.name=a", "-c", "user.email=a@example.com", "tag", "-am", "a tag", "v1", commit(t, r, "main"))
		}, false, false},
		{"packed", func(t *testing.T, r gitserver.Repository) {
			commit(t, r, "main")
			commit(t, r, "a")
			git(t, r, "pack-refs", "--all")
		}, false, false},
		{"packed objects", func(t *testing.T, r gitserver.Repository) {
			commit(t, r, "main")
			git(t, r, "repack", "-adq")
		}, false, false},
		{"missing object", func(t *testing.T, r gitserver.Repository) {
			commit(t, r, "main")
			write(t, r, "refs/heads/gone", strings.Repeat("1", 40)+"\n")
		}, false, false},
		{"another HEAD", func(t *testing.T, r gitserver.Repository) {
			commit(t, r, "main")
			commit(t, r, "other")
			write(t, r, "HEAD", "ref: refs/heads/other\n")
		}, false, false},
		{"hidden", func(t *testing.T, r gitserver.Repository) {
			commit(t, r, "main")
			commit(t, r, "secret/x")
			git(t, r, "config", "transfer.hideRefs", "refs/heads/secret")
		}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := gitserver.Init(t.TempDir(), "main")
			if err != nil {
				t.Fatal(err)
			}
			tc.make(t, r)
			asked := func(protocol, service, in string, args ...string) string {
				var out bytes.Buffer
				if err := run(t.Context(), r, []string{"GIT_PROTOCOL=" + protocol}, strings.NewReader(in), &out, service, args...); err != nil {
					t.Fatal(err)
				}
				return out.String()
			}
			for _, service := range []string{"git-upload-pack", "git-receive-pack"} {
				for _, protocol := range []string{"", "version=1", "version=2"} {
					list, ok := advertisement(r, service, protocol)
					if want := asked(protocol, service, "", "--advertise-refs"); ok && string(list) != want {
						t.Errorf("advertisement(%s, %q) = %q, want as git %q", service, protocol, list, want)
					}
					if want := tc.plain && protocol != "version=1" && (tc.main || protocol != "" || service != "git-upload-pack"); ok != want {
						t.Errorf("advertisement(%s, %q) is known: %v, want %v", service, protocol, ok, want)
					}
				}
			}
			for _, lines := range [][]string{
				nil,
				{"agent=git/2.39.5", "object-format=sha1", "", "peel\n", "symrefs\n", "unborn\n", "ref-prefix HEAD\n", "ref-prefix refs/heads/\n"},
				{"", "peel\n", "ref-prefix refs/heads/a\n"},
				{"", "symrefs", "ref-prefix refs/tags/"},
			} {
				request := lsRefsCommand
				for _, line := range lines {
					if line == "" {
						request += "0001"
						continue
					}
					request += fmt.Sprintf("%04x%s", len(line)+4, line)
				}
				request += "0000"
				list, ok := lsRefs(r, []byte(request))
				if want := asked("version=2", "git-upload-pack", request); ok && string(list) != want {
					t.Errorf("lsRefs(%q) = %q, want as git %q", request, list, want)
				}
				if ok != tc.main {
					t.Errorf("lsRefs(%q) is known: %v, want %v", request, ok, tc.plain)
				}
			}
			for _, request := range []string{lsRefsCommand, lsRefsCommand + "0001000cunknown\n0000", lsRefsCommand + "00", lsRefsCommand + "ffff", lsRefsCommand + "0002", lsRefsCommand + "0000" + lsRefsCommand + "0000"} {
				if list, ok := lsRefs(r, []byte(request)); ok {
					t.Errorf("lsRefs(%q) = %q, want git to be asked", request, list)
				}
			}
		})
	}
}
