package sandbox

import (
	"strconv"
	"strings"
	"syscall"
)

// reached is written when only the exec is left to do. Without it the end of the
// file means that sandbox-exec died, not that it became the child.
const reached = "+"

func (f Failure) encode() string { return strconv.Itoa(int(f.Errno)) + " " + f.Text }

// ParseFailure reads what sandbox-exec wrote to StatusFD; ok is false when the
// child was started.
func ParseFailure(data []byte) (f Failure, ok bool) {
	text, complete := strings.CutPrefix(string(data), reached)
	if text == "" {
		return Failure{Text: "sandbox-exec ended before it became the child"}, !complete
	}
	number, reason, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return Failure{Text: text}, true
	}
	return Failure{Errno: syscall.Errno(n), Text: reason}, true
}
