package guard

import (
	"strings"
)

// maxSlug bounds a slug.
const maxSlug = 50

// Slug makes a file name of a command: everything but ASCII letters and digits
// becomes "_", runs collapse, the ends are trimmed, 50 characters at most. A
// command of nothing else is "guardrail".
func Slug(command string) string {
	var b strings.Builder
	for _, r := range command {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() >= maxSlug {
			break
		}
	}
	if s := strings.Trim(b.String(), "_"); s != "" {
		return s
	}
	return "guardrail"
}
