package repo

import (
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
