package store

import "strings"

// IsGitName reports whether a name is .git, or HFS+ or NTFS take it for that.
func IsGitName(part string) bool {
	visible := strings.Map(func(c rune) rune {
		if c >= 0x200c && c <= 0x200f || c >= 0x202a && c <= 0x202e || c >= 0x206a && c <= 0x206f || c == 0xfeff {
			return -1
		}
		return c
	}, part)
	ntfs, _, _ := strings.Cut(strings.TrimRight(part, " ."), ":")
	ntfs = strings.TrimRight(ntfs, " .")
	return strings.EqualFold(visible, ".git") || strings.EqualFold(ntfs, ".git") || strings.EqualFold(ntfs, "git~1")
}
