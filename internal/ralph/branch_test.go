package ralph_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/ralph"
)

func TestCheckBranch(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ralph/fix-it", "a", "a.b", "feature/ünïcode", "x@y", "a+b=c,d", "v1.2.3", "a%b", "fix/#12", "a#", strings.Repeat("x", 200)} {
		if err := ralph.CheckBranch(name); err != nil {
			t.Errorf("CheckBranch(%q) = %v, want nil", name, err)
		}
	}
	bad := []string{
		"", "/", "a/", "/a", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a..b", "a.", "a@{b", "@", "HEAD", "-a", "--force",
		"refs/heads/a", "#12", strings.Repeat("0a", 20), strings.Repeat("x", 201), "a\xff", "a\u200bb", "a\u202eb", "a\u2028b",
	}
	for _, r := range " \t\n\x00\x7f~^:?*[\\;&|<>()$`'\"!{}" {
		bad = append(bad, fmt.Sprintf("a%cb", r))
	}
	for _, name := range bad {
		if ralph.CheckBranch(name) == nil {
			t.Errorf("CheckBranch(%q) = nil, want an error", name)
		}
	}
}

// What passes is a name for git, too, and a word for a shell.
func FuzzCheckBranch(f *testing.F) {
	f.Add("ralph/x")
	f.Add("a..b")
	f.Add("a.lock")
	f.Fuzz(func(t *testing.T, name string) {
		if ralph.CheckBranch(name) != nil {
			return
		}
		if strings.ContainsAny(name, " ~^:?*[\\;&|<>()$`'\"\x00\n\x7f") || name[0] == '#' {
			t.Errorf("CheckBranch(%q) = nil", name)
		}
		if err := exec.Command("git", "check-ref-format", "--branch", name).Run(); err != nil {
			t.Errorf("CheckBranch(%q) = nil, git refuses it", name)
		}
	})
}
