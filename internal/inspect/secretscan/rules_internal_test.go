package secretscan

import (
	"regexp"
	"strings"
	"testing"
)

// Expressions are compiled when first needed, so that nobody but this test
// would know of a wrong one.
func TestEveryExpressionCompiles(t *testing.T) {
	t.Parallel()
	f := newFormats()
	seen := map[*rule]bool{}
	for word, rules := range f.rules {
		for _, r := range rules {
			seen[r] = true
			if r.assigned && !regexp.MustCompile(`(?i)`+r.re().String()).MatchString(f.words.texts[word]+"x") && !begins(r, f.words.texts[word]) {
				t.Errorf("%s: the expression does not begin with its word %q", r.ID, f.words.texts[word])
			}
		}
	}
	for r := range seen {
		if r.re() == nil {
			t.Errorf("%s: no expression", r.ID)
		}
		if r.path != nil {
			r.path()
		}
		for _, a := range append(r.allows, f.global) {
			if a.paths != nil {
				a.paths()
			}
			if a.regexes != nil {
				a.regexes()
			}
		}
		if strings.Contains(r.re().String(), `[\w.-]{0,50}?`) {
			t.Errorf("%s: still has what may stand before its word: %s", r.ID, r.re())
		}
	}
	if len(seen) < 230 {
		t.Errorf("%d rules", len(seen))
	}
}

// begins reports whether a rule of an assignment has the word in its name.
func begins(r *rule, word string) bool {
	head, _, _ := strings.Cut(strings.ToLower(r.re().String()), `[ \t`)
	plain := strings.NewReplacer(`[_-]?`, "", `(?-i:`, "").Replace(head)
	return strings.Contains(plain, strings.NewReplacer("-", "", "_", "").Replace(word)) || strings.Contains(head, word)
}

func TestIsBase64(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		want := b < 0x80 && strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_", rune(b))
		if got := isBase64(byte(b)); got != want {
			t.Errorf("isBase64(%q) = %v", rune(b), got)
		}
	}
}
