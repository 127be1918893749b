package sandbox

import (
	"strconv"
	"strings"
	"syscall"
)

func (f Failure) encode() string { return strconv.Itoa(int(f.Errno)) + " " + f.Text }

// ParseFailure reads what sandbox-exec wrote to StatusFD; ok is false when the
// child was started.
func ParseFailure(data []byte) (f Failure, ok bool) {
	if len(data) == 0 {
		return Failure{}, false
	}
	number, text, _ := strings.Cut(string(data), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return Failure{Text: string(data)}, true
	}
	return Failure{Errno: syscall.Errno(n), Text: text}, true
}
