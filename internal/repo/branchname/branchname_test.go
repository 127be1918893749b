package branchname

import (
	"strings"
	"testing"
	"time"

	"github.com/org/ralph-action/internal/ralph"
)

func TestSlug(t *testing.T) {
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
		got := Slug(tt.prompt)
		if got != tt.want && (!strings.HasSuffix(tt.want, "-") || !strings.HasPrefix(got, tt.want) || len(got) != len(tt.want)+6) {
			t.Errorf("Slug(%q) = %q, want %q", tt.prompt, got, tt.want)
		}
	}
	if a, b := Slug("Do\none"), Slug("Do\ntwo"); a == b {
		t.Errorf("BranchSlug of two prompts = %q twice, want two names", a)
	}
}

func FuzzSlug(f *testing.F) {
	f.Add("Fix the tests")
	f.Add("日本")
	f.Fuzz(func(t *testing.T, s string) {
		if err := ralph.CheckBranch(Slug(s)); err != nil {
			t.Errorf("CheckBranch(Slug(%q)) = %v, want nil", s, err)
		}
	})
}

func TestSuffix(t *testing.T) {
	t.Parallel()
	at := time.Unix(1569322532, 0)
	commit := strings.Repeat("ab12", 10)
	for _, tt := range []struct{ kind, commit, want string }{
		{"", "", "ralph/x"},
		{"timestamp", "", "ralph/x-1569322532"},
		{"short-commit-hash", commit, "ralph/x-ab12ab1"},
	} {
		if got, err := Suffix("ralph/x", tt.kind, at, tt.commit); err != nil || got != tt.want {
			t.Errorf("Suffix(%q) = %q, %v, want %q", tt.kind, got, err, tt.want)
		}
	}
	a, err := Suffix("x", "random", at, "")
	b, _ := Suffix("x", "random", at, "")
	if err != nil || a == b || len(a) != len("x-")+7 || strings.Trim(a[2:], "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		t.Errorf("Suffix(random) = %q, %q, %v, want seven letters or digits, others each time", a, b, err)
	}
	for _, kind := range []string{"sha", "short-commit-hash"} {
		if _, err := Suffix("x", kind, at, ""); err == nil || !strings.Contains(err.Error(), kind) {
			t.Errorf("Suffix(%q) = %v, want an error that names it", kind, err)
		}
	}
}
