package repo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParsePointer(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", 32)
	for _, tt := range []struct {
		in string
		ok bool
	}{
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + sum + "\nsize 12\n", true},
		{"version https://git-lfs.github.com/spec/v1\next-0-foo sha256:" + sum + "\noid sha256:" + sum + "\nsize 12", true},
		{"version https://hawser.github.com/spec/v1\noid sha256:" + sum + "\nsize 0\n", true},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.ToUpper(sum) + "\nsize 12\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha1:" + sum + "\nsize 12\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:../../../../etc/passwd\nsize 12\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + sum + "\nsize -1\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + sum + "\n", false},
		{"version https://example.com/spec/v1\noid sha256:" + sum + "\nsize 12\n", false},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:" + sum + "\nsize 12\n" + strings.Repeat("x", 1024), false},
		{"", false},
	} {
		if p, ok := parsePointer([]byte(tt.in)); ok != tt.ok || ok && p.oid != sum {
			t.Errorf("parsePointer(%q) = %+v, %t, want %t", tt.in, p, ok, tt.ok)
		}
	}
}

// A pointer never leads out of the folder of the objects.
func FuzzParsePointer(f *testing.F) {
	f.Add([]byte(probe))
	f.Add([]byte("version http://git-media.io/v/2\nsize 9\noid sha256:"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := parsePointer(b)
		if ok && (p.size < 0 || len(p.oid) != 64 || strings.Trim(p.oid, "0123456789abcdef") != "" || !filepath.IsLocal(objectPath(p.oid))) {
			t.Errorf("parsePointer(%q) = %+v", b, p)
		}
	})
}

// The index of every version names the files of attributes that git lists.
func TestAttributeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("init", "-q")
	for _, name := range []string{".gitattributes", "a", "deep/.gitattributes", "deep/er/.gitattributes", "deep/er/x.gitattributes", "deep/.gitattributes.bak", "z/.gitattributes", strings.Repeat("long", 50) + "/.gitattributes"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range []string{"2", "3", "4"} {
		run("update-index", "--index-version", version)
		run("add", "-A")
		if version == "3" { // made by a flag of an entry
			run("update-index", "--skip-worktree", "a")
		}
		index, err := os.ReadFile(filepath.Join(dir, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		run("update-index", "--no-skip-worktree", "a")
		want := strings.Fields(run("ls-files", "--", ".gitattributes", "*/.gitattributes"))
		if got := attributeFiles(index); !slices.Equal(got, want) {
			t.Errorf("attributeFiles(version %s) = %q, want %q", version, got, want)
		}
		if got := fmt.Sprint(index[7]); got != version {
			t.Logf("git wrote version %s instead of %s", got, version)
		}
	}
}

func FuzzAttributeFiles(f *testing.F) {
	head := "DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("\x00", 60)
	f.Add([]byte(head + "\x00\x0e.gitattributes\x00\x00\x00\x00"))
	f.Add([]byte(strings.Replace(head, "\x02", "\x04", 1) + "\x00\x0e\x00.gitattributes\x00"))
	f.Add([]byte(strings.Replace(head, "\x02", "\x04", 1) + "\x00\x0e\xff\xff\xff\xff\xff\xff.gitattributes\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, name := range attributeFiles(b) {
			if filepath.Base(name) != attributesName {
				t.Errorf("attributeFiles(%q) names %q", b, name)
			}
		}
	})
}

func FuzzFromTop(f *testing.F) {
	for _, s := range []string{"a", ":(glob,exclude)*.md", ":!x", ":/", ":^:x", "../up", "./", ":(", ":(literal)[a]"} {
		f.Add("sub/", s)
	}
	f.Fuzz(func(t *testing.T, prefix, spec string) {
		top, exclude := fromTop(prefix, spec)
		plain, same := fromTop("", spec)
		if plain != spec || exclude != same || top == "" && spec != "" {
			t.Errorf("fromTop(%q, %q) = %q, %t; without a folder %q, %t", prefix, spec, top, exclude, plain, same)
		}
	})
}
