package worktree

import "testing"

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
		head, conflict, clean := parseStatus(tt.in)
		if head != tt.head || conflict != tt.conflict || clean != tt.clean {
			t.Errorf("parseStatus(%q) = %q, %q, %t, want %q, %q, %t", tt.in, head, conflict, clean, tt.head, tt.conflict, tt.clean)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	f.Add("# branch.oid x\x00u UU N... 1 2 3 4 a b c d\x00")
	f.Fuzz(func(t *testing.T, b string) {
		if _, conflict, clean := parseStatus(b); clean && conflict != "" {
			t.Errorf("parseStatus(%q) = clean with a conflict in %q", b, conflict)
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
