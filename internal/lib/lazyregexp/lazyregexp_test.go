package lazyregexp_test

import (
	"testing"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

func TestRegexp(t *testing.T) {
	t.Parallel()
	r := lazyregexp.New(`b(c)`)
	if !r.MatchString("abc") || r.MatchString("ab") || r.FindString("abcd") != "bc" || r.FindStringIndex("abc")[0] != 1 ||
		r.FindStringSubmatch("abc")[1] != "c" || len(r.FindAllStringSubmatch("bcbc", -1)) != 2 || r.ReplaceAllString("abc", "$1") != "ac" ||
		r.ReplaceAllStringFunc("abc", func(s string) string { return s + s }) != "abcbc" {
		t.Error("it does not do what regexp does")
	}
	text := []byte("abcbc")
	if !r.Match(text) || string(r.Find(text)) != "bc" || len(r.FindAll(text, -1)) != 2 || r.FindAllIndex(text, -1)[1][0] != 3 ||
		r.FindAllSubmatchIndex(text, 1)[0][2] != 2 || string(r.ReplaceAll(text, []byte("$1"))) != "acc" {
		t.Error("of bytes it does not do what regexp does")
	}
}

// Else it would wait for a user.
func TestWrongOnesAreSeenInTests(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("New(`(`) = nothing, want a panic")
		}
	}()
	lazyregexp.New(`(`)
}
