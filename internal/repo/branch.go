package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxBranchBytes leaves room for refs/heads/, .lock and a suffix within the
// 255 bytes a file name may have.
const maxBranchBytes = 200

// ValidBranch says whether name can be a branch: git's own rules
// (git-check-ref-format), and nothing a shell or an option parser would read
// as its own.
func ValidBranch(name string) error {
	reason := branchFault(name)
	if reason == "" {
		return nil
	}
	return fmt.Errorf("branch name %q %s; use letters, digits, '-', '_', '.' and '/', for example %q", name, reason, BranchSlug("my task"))
}

func branchFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxBranchBytes:
		return fmt.Sprintf("is longer than %d bytes", maxBranchBytes)
	case !utf8.ValidString(name):
		return "is not valid UTF-8"
	case name == "@" || name == "HEAD":
		return "has a meaning of its own in git"
	case strings.HasPrefix(name, "-"):
		return "starts with '-'"
	case strings.HasPrefix(name, "refs/"):
		return "starts with refs/; give the name without it"
	case strings.HasSuffix(name, "."):
		return "ends with '.'"
	case strings.Contains(name, ".."):
		return "contains '..'"
	case strings.Contains(name, "@{"):
		return "contains '@{'"
	}
	for _, c := range name {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return "contains a control character"
		}
		if strings.ContainsRune(" ~^:?*[]\\$`\"';&|<>(){}!\u2028\u2029", c) {
			return fmt.Sprintf("contains %q", c)
		}
	}
	for _, part := range strings.Split(name, "/") {
		switch {
		case part == "":
			return "has an empty part between slashes"
		case strings.HasPrefix(part, "."):
			return "has a part that starts with '.'"
		case strings.HasPrefix(part, "#"):
			return "has a part that starts with '#'"
		case strings.HasSuffix(part, ".lock"):
			return "has a part that ends with .lock"
		}
	}
	return ""
}

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
