package gitconfig

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

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
	c, err := Parse([]byte(nastyConfig))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listed(c), gitList(t, []byte(nastyConfig)); got != want {
		t.Errorf("Parse() =\n%s\nwant\n%s", got, want)
	}
	left := c.WithoutSecrets()
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
		t.Errorf("WithoutSecrets() = %s, shows the token", left)
	}
	for _, s := range []string{"x = 1\n", "[a\n", "[a \"b]\n", "[a]\nx = \"1\n", "[a]\nx = \\q\n", "[a]\nx y\n", "[a]\n=\n"} {
		if _, err := Parse([]byte(s)); err == nil {
			t.Errorf("Parse(%q) = nil, want an error", s)
		}
	}
}

// listed is the configuration as git config --list -z prints it, with line ends.
func listed(c Config) string {
	var b strings.Builder
	for _, v := range c.Vars {
		b.WriteString(v.Section)
		if v.Subsection != "" {
			b.WriteString("." + v.Subsection)
		}
		b.WriteString("." + v.Key + "\n")
		if !v.bare() {
			b.WriteString(v.Value + "\n")
		}
	}
	return b.String()
}

func (v Variable) bare() bool { return v.valueStart == v.valueEnd && v.Value == "" }

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
		c, err := Parse([]byte(s))
		if err != nil {
			return
		}
		left := c.WithoutSecrets()
		again, err := Parse(left)
		if err != nil {
			t.Fatalf("WithoutSecrets(%q) = %q, cannot be parsed: %v", s, left, err)
		}
		for _, v := range again.Vars {
			if v.carriesSecret() {
				t.Errorf("WithoutSecrets(%q) = %q, still holds %s.%s", s, left, v.Section, v.Key)
			}
		}
	})
}
