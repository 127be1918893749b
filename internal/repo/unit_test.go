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
