package guard

import "strings"

// Program returns what a command starts first, a program or a word of the shell's, and
// cannot pass without; empty if that is not plain from its text.
func Program(command string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-"
	words := strings.Fields(command)
	if len(words) == 0 || strings.Trim(words[0], letters) != "" {
		return ""
	}
	if strings.ContainsAny(strings.NewReplacer("&&", "", "2>&1", "").Replace(command), ";|&\n") {
		return ""
	}
	return words[0]
}
