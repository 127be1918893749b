package scm

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/lib/secret"
	"github.com/org/ralph-action/internal/ralph"
)

// messageBytes bounds a commit message.
const messageBytes = 4 << 10

var (
	response     = lazyregexp.New(`(?is)<response>(.*?)</response>`)
	promise      = lazyregexp.New(`(?i)<promise>[^<\n]*</promise>`)
	fenceLine    = lazyregexp.New("^`{3,}[A-Za-z0-9_-]*$")
	ansiSequence = lazyregexp.New(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])`)
)

// Message is the commit message in an agent's answer: what stands in the first
// <response>, else the first line that is neither empty nor the fence of a code
// block. That the work is done, which agents say out of habit, is no message as long
// as anything else is said. It holds no control or invisible characters and no
// secret, and at most 4 KiB; empty when there is none.
func Message(answer string, done ralph.Completion, redact *secret.Redactor) string {
	answer = printable(answer) // before the redactor: an invisible character could split a secret
	if claim := done.NamedIn(answer); claim != "" {
		if rest := strings.ReplaceAll(answer, claim, ""); strings.TrimSpace(rest) != "" {
			answer = rest
		}
	}
	message := ""
	if m := response.FindStringSubmatch(answer); m != nil {
		message = m[1]
	} else {
		message = firstLine(promise.ReplaceAllString(answer, ""))
	}
	message = redact.Text(strings.TrimSpace(message))
	if len(message) > messageBytes {
		message = message[:messageBytes]
		for !utf8.ValidString(message) {
			message = message[:len(message)-1]
		}
	}
	return strings.TrimSpace(message)
}

// firstLine is the first line with words in it, without the backticks around it.
func firstLine(s string) string {
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || fenceLine.MatchString(line) {
			continue
		}
		if inner := strings.Trim(line, "`"); !strings.Contains(inner, "`") && strings.HasPrefix(line, "`") && strings.HasSuffix(line, "`") {
			line = strings.TrimSpace(inner)
		}
		if line != "" {
			return line
		}
	}
	return ""
}

// printable is s as valid UTF-8 with \n as the only line end, without escape
// sequences, control characters and invisible ones.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = ansiSequence.ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
			return -1
		}
		return r
	}, s)
}
