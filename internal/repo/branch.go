package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// slugBytes is the length of the readable part of a default branch name.
const slugBytes = 40

// BranchSlug is the default branch for a prompt: ralph/ and a slug of its first
// line. The same prompt gives the same branch. A prompt that does not fit, or
// that has no ASCII letter, is told apart by a short hash.
func BranchSlug(prompt string) string {
	prompt = strings.TrimSpace(prompt)
	first, rest, _ := strings.Cut(prompt, "\n")
	var b strings.Builder
	whole := strings.TrimSpace(rest) == ""
	dash := false
	for _, c := range strings.ToLower(first) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(c)
			dash = false
			continue
		}
		dash = true
		whole = whole && c < 0x80
	}
	slug := b.String()
	if len(slug) > slugBytes {
		slug, whole = slug[:slugBytes], false
		if i := strings.LastIndexByte(slug, '-'); i > slugBytes/2 {
			slug = slug[:i]
		}
		slug = strings.Trim(slug, "-")
	}
	if slug == "" {
		slug, whole = "task", false
	}
	if !whole {
		sum := sha256.Sum256([]byte(prompt))
		slug += "-" + hex.EncodeToString(sum[:3])
	}
	return "ralph/" + slug
}
