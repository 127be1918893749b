package scm

import (
	"io"
	"strings"
)

const (
	outputBytes = 4 << 10 // of a task's output, kept for people
	errorBytes  = 1 << 10 // of it, quoted in an error
	errorLines  = 10
)

// tail keeps the last bytes of an output.
type tail struct {
	limit int
	bytes []byte
	cut   bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.bytes = append(t.bytes, p[max(0, len(p)-t.limit):]...)
	t.cut = t.cut || len(p) > t.limit
	if extra := len(t.bytes) - t.limit; extra > 0 {
		t.bytes, t.cut = append(t.bytes[:0], t.bytes[extra:]...), true
	}
	return len(p), nil
}

// text is the end of the output, from the start of a line where it was cut.
func (t *tail) text() string {
	s := string(t.bytes)
	if _, rest, ok := strings.Cut(s, "\n"); t.cut && ok && rest != "" {
		s = rest
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// lastLines is the end of an output as an error quotes it: without empty lines,
// at most errorLines of them.
func lastLines(output string) string {
	if len(output) > errorBytes {
		output = strings.ToValidUTF8(output[len(output)-errorBytes:], "")
		if _, rest, ok := strings.Cut(output, "\n"); ok && strings.TrimSpace(rest) != "" {
			output = rest
		}
	}
	var lines []string
	for line := range strings.SplitSeq(printable(output), "\n") {
		if line = strings.TrimRight(line, " \t"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-errorLines):], "\n")
}

// shrug keeps a closed terminal from silencing the other sinks.
type shrug struct {
	w   io.Writer
	err error
}

func (s *shrug) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}
