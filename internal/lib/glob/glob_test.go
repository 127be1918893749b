package glob_test

import (
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/lib/glob"
)

func parse(t *testing.T, s string) glob.Pattern {
	t.Helper()
	p, err := glob.Parse(s)
	if err != nil {
		t.Fatalf("Parse(%q): %v", s, err)
	}
	return p
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"src", "src", true},
		{"src", "src/a/b.go", true},
		{"src/", "src/a", true},
		{"src", "srcs", false},
		{"src/*.go", "src/a.go", true},
		{"src/*.go", "src/a/b.go", false},
		{"src/**/b.go", "src/b.go", true},
		{"src/**/b.go", "src/x/y/b.go", true},
		{"src/**/b.go", "src/x/y/c.go", false},
		{"**", "a/b", true},
		{"**/*.md", "README.md", true},
		{"**/*.md", "docs/a.md", true},
		{"**/*.md", "docs/a.txt", false},
		{"src/**", "src/a", true},
		{"src/**", "lib/a", false},
		{"a/?", "a/é", true},
		{"a/[x-z].c", "a/y.c", true},
		{"a/[^x]", "a/x", false},
		{`a/\*`, "a/*", true},
		{`a/\*`, "a/b", false},
	} {
		if got := parse(t, c.pattern).Match(c.name); got != c.want {
			t.Errorf("Match(%s, %s) = %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"src/a.go", "src/a.go", true},
		{"src/a.go", "src/b.go", false},
		{"src", "src/b.go", true},
		{"src/**", "src/x/*.go", true},
		{"src/**", "lib/**", false},
		{"**/*.go", "src/a.go", true},
		{"**/*.go", "src/a.md", true}, // a folder by that name
		{"**/*.go", "src", true},      // what lies below src
		{"src/*.go", "src/a*", true},
		{"src/*.go", "src/*.ts", false},
		{"a*b", "*c", false},
		{"a*b", "ab*", true},
		{"src/**/test", "src/x/**", true},
		{"a/**/b", "a/**/c", true}, // a/c/b/c
		{"a/[xy]", "a/y", true},
		{"a/[xy]", "a/z", false},
		{"a/[xy]", "a/[z]", true}, // not looked into
		{`a/\*`, "a/b", false},
		{`a/\*`, "a/?", true},
		{"?", "é", true},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if got := a.Overlaps(b); got != c.want || b.Overlaps(a) != got {
			t.Errorf("Overlaps(%s, %s) = %v and %v, want %v", c.a, c.b, got, b.Overlaps(a), c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "/", "/etc", "a//b", "../x", "a/./b", "a**", "a/**b", "[", "a/[x", `a\`, "a\nb", "a\xff", "[]a]"} {
		if _, err := glob.Parse(s); err == nil {
			t.Errorf("Parse(%q) has no error", s)
		}
	}
}

// A path that two patterns mean makes them overlap.
func FuzzOverlaps(f *testing.F) {
	f.Add("src/**/*.go", "src/a", "src/a/b.go")
	f.Add("[a-c]*", "b?/**", "bx/y")
	f.Add(`\[x/*`, "**/y", "[x/y")
	f.Fuzz(func(t *testing.T, a, b, name string) {
		p, err := glob.Parse(a)
		q, err2 := glob.Parse(b)
		if err != nil || err2 != nil || name == "" || strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") || strings.Contains(name, "//") {
			return
		}
		if p.Match(name) && q.Match(name) && !p.Overlaps(q) {
			t.Errorf("%q and %q both mean %q, and do not overlap", a, b, name)
		}
		if p.Overlaps(q) != q.Overlaps(p) {
			t.Errorf("%q and %q overlap one way only", a, b)
		}
		if fixed := strings.Join(p.Fixed(), "/"); fixed != "" && p.Match(name) && name != fixed && !strings.HasPrefix(name, fixed+"/") {
			t.Errorf("%q means %q, which is not below %q", a, name, fixed)
		}
	})
}
