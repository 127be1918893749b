package barerepo_test

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/cli/demo/gitserver"
	"github.com/org/ralph-action/internal/testing/barerepo"
)

// A checkout is what git makes of the same, file by file.
func TestCheckoutIsThatOfGit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		files  map[string]gitserver.File // of the last commit
		branch string
		depth  int
		git    bool                                              // does it
		more   func(t *testing.T, r gitserver.Repository) string // the tip instead
	}{
		{name: "one commit", branch: "main", depth: 1, files: map[string]gitserver.File{"a": {Content: "a\n"}}},
		{name: "empty", branch: "main", depth: 1},
		{name: "folders", branch: "main", depth: 1, files: map[string]gitserver.File{
			"run.sh": {Content: "echo\n", Executable: true}, "a/b/c": {Content: "c"}, "a.b": {}, "a-b": {}, "a/z": {}, "aa/x": {}, "z/y": {}, "long/" + strings.Repeat("x", 80): {Content: "1"}, ".gitignore": {Content: "x\n"},
			".github/ralph.yml": {Content: "x: y\n"}, "same": {Content: "c"},
		}},
		{name: "another branch", branch: "ralph/work", depth: 1, files: map[string]gitserver.File{"b": {Content: "b\n"}}},
		{name: "two of three commits", branch: "main", depth: 2, files: map[string]gitserver.File{"second": {}, "first": {}}},
		{name: "all of three commits", branch: "main", depth: 3, files: map[string]gitserver.File{"second": {}, "first": {}}},
		{name: "more than all", branch: "main", depth: 9, files: map[string]gitserver.File{"second": {}, "first": {}}},
		{name: "merge", branch: "main", depth: 2, more: func(t *testing.T, r gitserver.Repository) string {
			return write(t, r, []gitserver.Entry{{Mode: "100644", Name: "merged", ID: blob(t, r, "x")}}, commit(t, r, "one", nil), commit(t, r, "two", nil))
		}},
		{name: "link", branch: "main", depth: 1, more: func(t *testing.T, r gitserver.Repository) string {
			return write(t, r, []gitserver.Entry{{Mode: "120000", Name: "link", ID: blob(t, r, "some/where")}})
		}},
		{name: "attributes", branch: "main", depth: 1, git: true, files: map[string]gitserver.File{".gitattributes": {Content: "a text eol=crlf\n"}, "a": {Content: "1\n2\n"}}},
		{name: "submodule", branch: "main", depth: 1, git: true, more: func(t *testing.T, r gitserver.Repository) string {
			return write(t, r, []gitserver.Entry{{Mode: "160000", Name: "module", ID: strings.Repeat("1", 40)}})
		}},
		{name: "packed", branch: "main", depth: 1, git: true, files: map[string]gitserver.File{"a": {Content: "a\n"}}, more: func(t *testing.T, r gitserver.Repository) string {
			git(t, r.Dir, "repack", "-adq")
			return r.Branch("main")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := gitserver.Init(filepath.Join(t.TempDir(), "r.git"), "main")
			if err != nil {
				t.Fatal(err)
			}
			commit(t, r, "main", map[string]gitserver.File{"first": {Content: "1"}})
			commit(t, r, "main", map[string]gitserver.File{"second": {Content: "2"}})
			if tc.depth == 1 && tc.name == "one commit" {
				if err := os.Remove(filepath.Join(r.Dir, "refs/heads/main")); err != nil {
					t.Fatal(err)
				}
			}
			commit(t, r, tc.branch, tc.files)
			if tc.more != nil {
				if err := os.WriteFile(filepath.Join(r.Dir, "refs/heads", tc.branch), []byte(tc.more(t, r)+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				asked, _ := gitserver.ParseRequest(req)
				barerepo.Serve(r, w, req, asked)
			}))
			defer server.Close()
			env := []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
				"GIT_COMMITTER_NAME=A Person", "GIT_COMMITTER_EMAIL=person@example.com",
			}
			c := barerepo.Clone{
				Dir: filepath.Join(t.TempDir(), "clone"), Server: server.URL, URL: server.URL + "/octo/work", Branch: tc.branch,
				Header: "AUTHORIZATION: basic eDp5", Depth: tc.depth, Env: env,
			}
			if err := barerepo.Checkout(r, c); err != nil {
				t.Fatal(err)
			}
			gits, without := c, c
			without.Dir, without.Env = filepath.Join(t.TempDir(), "clone"), append(env, "GIT_CONFIG_COUNT=no number")
			if err := barerepo.Checkout(r, without); (err != nil) != (tc.git || runtime.GOOS != "linux") {
				t.Errorf("Checkout without git = %v", err)
			}
			gits.Dir = filepath.Join(t.TempDir(), "clone")
			if err := gits.ByGit(); err != nil {
				t.Fatal(err)
			}
			got, want := everything(t, c.Dir), everything(t, gits.Dir)
			for _, path := range slices.Sorted(maps.Keys(want)) {
				if got[path] != want[path] {
					t.Errorf("%s is %q, want as git's %q", path, got[path], want[path])
				}
			}
			for path := range got {
				if _, ok := want[path]; !ok {
					t.Errorf("%s is there, and not in git's", path)
				}
			}
			if changed := git(t, c.Dir, "diff-files", "--name-only") + git(t, c.Dir, "status", "--porcelain"); changed != "" {
				t.Errorf("changed in a new checkout: %s", changed)
			}
			git(t, c.Dir, "fsck", "--strict")
		})
	}
}

func commit(t *testing.T, r gitserver.Repository, branch string, files map[string]gitserver.File) string {
	t.Helper()
	id, err := r.Commit(branch, "a commit", files)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func blob(t *testing.T, r gitserver.Repository, text string) string {
	t.Helper()
	id, err := r.Write("blob", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// write writes a commit of a tree.
func write(t *testing.T, r gitserver.Repository, entries []gitserver.Entry, parents ...string) string {
	t.Helper()
	tree, err := r.WriteTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	text := "tree " + tree + "\n"
	for _, parent := range parents {
		text += "parent " + parent + "\n"
	}
	id, err := r.Write("commit", []byte(text+"author A <a@example.com> 1767225600 +0000\ncommitter A <a@example.com> 1767225600 +0000\n\nmessage\n"))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

var logTime = regexp.MustCompile(`> \d+ [+-]\d{4}\t`)

// everything is what is below a folder, but for times and the compression of objects.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		text := ""
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			text, err = os.Readlink(path)
		case d.Type().IsRegular():
			var data []byte
			data, err = os.ReadFile(path)
			text = string(data)
		}
		switch {
		case strings.HasPrefix(rel, ".git/objects/") && d.Type().IsRegular():
			kind, data, err := gitserver.Repository{Dir: filepath.Join(dir, ".git")}.Object(strings.Join(strings.Split(rel, "/")[2:], ""))
			if err != nil {
				return err
			}
			text = kind + string(data)
		case strings.HasPrefix(rel, ".git/logs/"):
			text = logTime.ReplaceAllString(text, "> TIME\t")
		case rel == ".git/index":
			text = withoutStat(text)
		}
		all[rel] = fmt.Sprint(info.Mode(), " ", text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// withoutStat takes from an index of version 2 the times and numbers of files, and the
// checksum of all.
func withoutStat(index string) string {
	b := []byte(index)
	at := 12
	for range binary.BigEndian.Uint32(b[8:]) {
		clear(b[at : at+16])
		clear(b[at+20 : at+24]) // the inode
		end := at + 62
		for b[end] != 0 {
			end++
		}
		at += (end - at + 8) / 8 * 8
	}
	return string(b[:len(b)-20])
}
