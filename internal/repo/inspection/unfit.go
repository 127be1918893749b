package inspection

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/org/ralph-action/internal/repo/store"
)

// Why a change is unfit to be published.
const (
	Nested      = "a repository inside the work tree, which a commit would only point to; remove its .git directory to publish its files"
	ControlName = "the name holds control characters"
	GitName     = "git hosts refuse the name, which another system reads as git's own"
)

// Unfit says why a change is unfit to be published, by its name and its mode; empty: it is
// not.
func Unfit(ch store.Change) string {
	switch {
	case ch.New == (store.Entry{}):
		return ""
	case ch.New.IsGitlink() && !ch.Old.IsGitlink():
		return Nested
	case strings.ContainsFunc(ch.Path, func(c rune) bool { return c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 }):
		return ControlName
	case refusedName(ch):
		return GitName
	}
	return ""
}

// refusedName reports whether fsck on the receiving side would refuse a push with
// this path: a part that HFS+ or NTFS take for .git, or a .gitmodules that is a
// link (git's verify_path and fsck, CVE-2014-9390, CVE-2018-11235).
func refusedName(ch store.Change) bool {
	for part := range strings.SplitSeq(ch.Path, "/") {
		if store.IsGitName(part) {
			return true
		}
	}
	return ch.New.Mode == filemode.Symlink && strings.EqualFold(ch.Path, ".gitmodules")
}
