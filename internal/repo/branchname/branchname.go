// Package branchname makes names of work branches.
package branchname

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/repo/printable"
)

// slugBytes is the length of the readable part of a default branch name.
const slugBytes = 40

// Slug is the default branch for a prompt: ralph/ and a slug of its first
// line. The same prompt gives the same branch. A prompt that does not fit, or
// that has no ASCII letter, is told apart by a short hash.
func Slug(prompt string) string {
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

// Kinds of suffixes of a branch name.
const (
	SuffixRandom    = "random"            // seven letters and digits
	SuffixTimestamp = "timestamp"         // seconds since 1970
	SuffixCommit    = "short-commit-hash" // seven digits of the commit that is checked out
)

var suffix = lazyregexp.New(`^(-[0-9a-z]+)?$`)

// IsMadeOf reports whether a name is what Suffix may make of a branch.
func IsMadeOf(name, branch string) bool {
	rest, ok := strings.CutPrefix(name, branch)
	return ok && suffix.MatchString(rest)
}

// Suffix is a branch name with a suffix of its own, as create-pull-request
// makes it (its README, input branch-suffix). No kind leaves the name as it is.
// checkedOut is a full commit id. Another kind is an error.
func Suffix(branch, kind string, at time.Time, checkedOut string) (string, error) {
	switch kind {
	case "":
		return branch, nil
	case SuffixRandom:
		const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
		name := []byte(branch + "-")
		for range 7 {
			n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
			if err != nil {
				return "", err
			}
			name = append(name, letters[n.Int64()])
		}
		return string(name), nil
	case SuffixTimestamp:
		return fmt.Sprintf("%s-%d", branch, at.Unix()), nil
	case SuffixCommit:
		if !plumbing.IsHash(checkedOut) {
			return "", fmt.Errorf("branch-suffix %s: the checked-out commit is not known", kind)
		}
		return branch + "-" + checkedOut[:7], nil
	}
	return "", fmt.Errorf("branch-suffix %q: it is %s, %s or %s", printable.Line(kind, 40), SuffixRandom, SuffixTimestamp, SuffixCommit)
}
