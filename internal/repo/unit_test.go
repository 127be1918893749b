package repo

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

func TestBranchSlug(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ prompt, want string }{
		{"Fix the tests", "ralph/fix-the-tests"},
		{"  Fix: the `tests`!  ", "ralph/fix-the-tests"},
		{"Fix\nand more", "ralph/fix-"},
		{"修复测试", "ralph/task-"},
		{"", "ralph/task-"},
		{strings.Repeat("long words ", 20), "ralph/long-words-long-words-long-words-long-"},
		{"$(rm -rf /) ../..", "ralph/rm-rf"},
	} {
		got := BranchSlug(tt.prompt)
		if got != tt.want && (!strings.HasSuffix(tt.want, "-") || !strings.HasPrefix(got, tt.want) || len(got) != len(tt.want)+6) {
			t.Errorf("BranchSlug(%q) = %q, want %q", tt.prompt, got, tt.want)
		}
	}
	if a, b := BranchSlug("Do\none"), BranchSlug("Do\ntwo"); a == b {
		t.Errorf("BranchSlug of two prompts = %q twice, want two names", a)
	}
}

func FuzzBranchSlug(f *testing.F) {
	f.Add("Fix the tests")
	f.Add("日本")
	f.Fuzz(func(t *testing.T, s string) {
		if err := ralph.CheckBranch(BranchSlug(s)); err != nil {
			t.Errorf("CheckBranch(BranchSlug(%q)) = %v, want nil", s, err)
		}
	})
}

func TestRejection(t *testing.T) {
	t.Parallel()
	var protected *RejectedError
	if err := rejection("b", "protected branch hook declined", "remote: error: GH006\x1b[31m"); !errors.As(err, &protected) || !protected.Protected || strings.ContainsRune(err.Error(), 0x1b) {
		t.Errorf("rejection(GH006) = %v, want a protected branch in printable text", err)
	}
	for _, s := range []string{"non-fast-forward", "fetch first", "failed to update ref", "cannot lock ref 'refs/heads/x': is at a but expected b"} {
		if err := rejection("b", s, ""); !errors.Is(err, ErrNotFastForward) {
			t.Errorf("rejection(%q) = %v, want ErrNotFastForward", s, err)
		}
	}
}

const nastyConfig = `; comment
[core]
	bare = false ; trailing
	sshCommand = ssh -i "key # not a comment" \
		-v
	editor = "a \"quoted\" ; value"
[credential]
	helper = store
[credential "https://example.com"] helper = !f() { echo x; }
[Http "https://github.com/"]
	extraHeader = AUTHORIZATION: basic TOKEN
	proxy = keep
[include] path = ../x
[includeIf "gitdir:/w/.git"]
	path = /t/creds
[url "https://user:TOKEN@github.com/"]
	insteadOf = git@github.com:
[url "https://github.com/"]
	insteadOf = gh:
[remote "origin"]
	url = https://x:TOKEN@github.com/o/r
	fetch = +refs/heads/*:refs/remotes/origin/*
[alias]
	flag
[last]key=v`

func TestConfigWithoutSecrets(t *testing.T) {
	t.Parallel()
	c, err := parseConfig([]byte(nastyConfig))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listed(c), gitList(t, []byte(nastyConfig)); got != want {
		t.Errorf("parseConfig() =\n%s\nwant\n%s", got, want)
	}
	left := c.withoutSecrets()
	want := `core.bare
false
core.editor
a "quoted" ; value
http.https://github.com/.proxy
keep
url.https://github.com/.insteadof
gh:
remote.origin.url
https://github.com/o/r
remote.origin.fetch
+refs/heads/*:refs/remotes/origin/*
alias.flag
last.key
v
`
	if got := gitList(t, left); got != want {
		t.Errorf("git lists\n%s\nwant\n%s", got, want)
	}
	if bytes.Contains(left, []byte("TOKEN")) {
		t.Errorf("withoutSecrets() = %s, shows the token", left)
	}
	for _, s := range []string{"x = 1\n", "[a\n", "[a \"b]\n", "[a]\nx = \"1\n", "[a]\nx = \\q\n", "[a]\nx y\n", "[a]\n=\n"} {
		if _, err := parseConfig([]byte(s)); err == nil {
			t.Errorf("parseConfig(%q) = nil, want an error", s)
		}
	}
}

// listed is the configuration as git config --list -z prints it, with line ends.
func listed(c gitConfig) string {
	var b strings.Builder
	for _, v := range c.vars {
		b.WriteString(v.section)
		if v.subsection != "" {
			b.WriteString("." + v.subsection)
		}
		b.WriteString("." + v.key + "\n")
		if !v.bare() {
			b.WriteString(v.value + "\n")
		}
	}
	return b.String()
}

func (v variable) bare() bool { return v.valueStart == v.valueEnd && v.value == "" }

func gitList(t *testing.T, config []byte) string {
	t.Helper()
	s, err := tryGitList(t.TempDir(), config)
	if err != nil {
		t.Fatalf("git config --list: %v: %s", err, s)
	}
	return s
}

func tryGitList(dir string, config []byte) (string, error) {
	path := filepath.Join(dir, "config")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("git", "config", "--file", path, "--no-includes", "--list", "-z")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	return strings.ReplaceAll(string(out), "\x00", "\n"), err
}

// What git reads after the secrets are out is what it read before, without
// them, and never one of them.
func FuzzConfig(f *testing.F) {
	f.Add(nastyConfig)
	f.Add("[a]\r\nb = c\r\n")
	f.Add("\xef\xbb\xbf[a.B]\n\tc=\"d\" e # f\n")
	f.Add("[http]\n\textraheader = TOKEN \\\nmore\n\tx = y\n")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseConfig([]byte(s))
		if err != nil {
			return
		}
		left := c.withoutSecrets()
		again, err := parseConfig(left)
		if err != nil {
			t.Fatalf("withoutSecrets(%q) = %q, cannot be parsed: %v", s, left, err)
		}
		for _, v := range again.vars {
			if v.carriesSecret() {
				t.Errorf("withoutSecrets(%q) = %q, still holds %s.%s", s, left, v.section, v.key)
			}
		}
	})
}

func TestParseStatus(t *testing.T) {
	t.Parallel()
	const oid = "1234567890123456789012345678901234567890"
	const start = "# branch.oid " + oid + "\x00# branch.head main\x00"
	for _, tt := range []struct {
		in, head, conflict string
		clean              bool
	}{
		{start, oid, "", true},
		{start + "# stash 3\x00", oid, "", true},
		{start + "? # new\x00", oid, "", false},
		{start + "1 .M N... 100644 100644 100644 a a a\x00", oid, "", false},
		{start + "u UU N... 1 2 3 4 a b c with space\x00u UU N... 1 2 3 4 a b c second\x00", oid, "with space", false},
		{"# branch.oid (initial)\x00# branch.head main\x00", "(initial)", "", true},
		{"", "", "", true},
	} {
		head, conflict, clean := parseStatus([]byte(tt.in))
		if head != tt.head || conflict != tt.conflict || clean != tt.clean {
			t.Errorf("parseStatus(%q) = %q, %q, %t, want %q, %q, %t", tt.in, head, conflict, clean, tt.head, tt.conflict, tt.clean)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("# branch.oid x\x00u UU N... 1 2 3 4 a b c d\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, conflict, clean := parseStatus(b); clean && conflict != "" {
			t.Errorf("parseStatus(%q) = clean with a conflict in %q", b, conflict)
		}
	})
}
