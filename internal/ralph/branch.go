package ralph

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckBranch says what is wrong with the name of a branch we are to create:
// git's rules (git-check-ref-format), GitHub's, and no character that means
// something to a shell, because people paste branch names into one: # begins a
// comment only at the beginning of a word.
func CheckBranch(name string) error {
	if i := strings.IndexAny(name, ";&|<>()$`'\"!{}"); i >= 0 {
		return fmt.Errorf("the name of a branch cannot hold %q", name[i])
	}
	if strings.HasPrefix(name, "#") {
		return errors.New("the name of a branch does not begin with #")
	}
	return CheckRef(name)
}

var commitID = lazily(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// CheckRef says what is wrong with the name of a branch that exists, which
// others may have named: git's rules only.
func CheckRef(name string) error {
	if name == "" {
		return errors.New("give a name such as ralph/work")
	}
	for _, r := range name {
		if r == utf8.RuneError || unicode.Is(unicode.C, r) || unicode.IsSpace(r) || strings.ContainsRune(`~^:?*[\`, r) {
			return fmt.Errorf("the name of a branch cannot hold %q", r)
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return errors.New("give the name of a branch without an empty part")
		case strings.HasPrefix(part, "."):
			return errors.New("no part of the name of a branch begins with a dot")
		case strings.HasSuffix(part, ".lock"):
			return errors.New("no part of the name of a branch ends with .lock")
		}
	}
	switch {
	case len(name) > 200:
		return errors.New("give a name of at most 200 bytes")
	case strings.HasPrefix(name, "-"):
		return errors.New("the name of a branch does not begin with -")
	case strings.HasPrefix(name, "refs/"):
		return errors.New("give the short name, without refs/heads/")
	case strings.Contains(name, ".."), strings.Contains(name, "@{"):
		return errors.New(`the name of a branch cannot hold ".." or "@{"`)
	case strings.HasSuffix(name, "."):
		return errors.New("the name of a branch does not end with a dot")
	case name == "@", name == "HEAD", commitID().MatchString(name):
		return errors.New("that stands for a commit: give the name of a branch")
	}
	return nil
}
