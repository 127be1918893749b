package dockersandbox

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// tail keeps the last bytes of an output.
type tail struct {
	limit int
	bytes []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p[max(0, len(p)-t.limit):]...)
	t.bytes = t.bytes[max(0, len(t.bytes)-t.limit):]
	return len(p), nil
}

// quotedRunes is how much of docker's words an error repeats, from their end.
const quotedRunes = 300

// escapes are ANSI control sequences (ECMA-48 CSI) and OSC strings.
var escapes = lazyregexp.New(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?`)

// quote is foreign text in quotes, on one line, without control characters and
// shortened from its front: docker says last why it gave up.
func quote(s string) string {
	s = escapes.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.In(r, unicode.Cf, unicode.Co):
			return -1
		}
		return r
	}, s)
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) == 0 {
		return "(nothing)"
	}
	if len(runes) > quotedRunes {
		runes = append([]rune("… "), runes[len(runes)-quotedRunes:]...)
	}
	return strconv.Quote(string(runes))
}
