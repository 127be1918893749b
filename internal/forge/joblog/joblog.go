// Package joblog keeps what matters of the log of a job.
package joblog

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

const (
	// maxLogLine bounds one line of a log, in bytes; the rest of it is left out.
	maxLogLine = 1000
	// afterError is how many lines after an error belong to it.
	afterError = 5
)

// Excerpt takes a log as it comes and keeps what matters of it, in bounded
// memory: what leads to the first and to the last error, or else its end. Jobs
// go on after their failure: the end of a log is about cleaning up. Lines are
// cleaned when they are known to stay: most of a log does not.
type Excerpt struct {
	Max   int // bytes of what is kept
	line  []byte
	long  bool     // the line is beyond maxLogLine
	cr    bool     // the last byte was a carriage return
	lines []string // as they came
	size  int      // bytes of lines

	after       int // lines that still belong to an error
	first, last string
}

// Write implements io.Writer; it never fails.
func (e *Excerpt) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if e.cr && p[0] == '\n' {
			p = p[1:] // of one line end
		}
		e.cr = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			e.add(p)
			break
		}
		e.add(p[:end])
		e.endLine()
		e.cr = p[end] == '\r'
		p = p[end+1:]
	}
	return n, nil
}

// add takes a piece of a line.
func (e *Excerpt) add(piece []byte) {
	room := maxLogLine - len(e.line)
	if len(piece) > room {
		piece, e.long = piece[:room], true
	}
	e.line = append(e.line, piece...)
}

func (e *Excerpt) endLine() {
	line := string(e.line)
	if e.long {
		line += " …"
	}
	e.line, e.long = e.line[:0], false
	e.lines = append(e.lines, line)
	e.size += len(line) + 1
	// Twice as much, because cleaning makes lines shorter.
	for e.size > 2*e.Max && len(e.lines) > 1 {
		e.size -= len(e.lines[0]) + 1
		e.lines = e.lines[1:]
	}
	if e.after > 0 {
		e.after--
	}
	if strings.Contains(line, "##[error]") {
		if _, isError, _ := cleanLogLine(line); isError {
			e.after = afterError + 1
		}
	}
	if e.after == 1 {
		e.close()
	}
}

// close ends the lines around an error.
func (e *Excerpt) close() {
	if text := e.clean(); e.first == "" {
		e.first = text
	} else {
		e.last = text
	}
	e.lines, e.size, e.after = nil, 0, 0
}

// clean is the lines that are kept, as people read them.
func (e *Excerpt) clean() string {
	var lines []string
	for _, line := range e.lines {
		if text, _, ok := cleanLogLine(line); ok {
			lines = append(lines, text)
		}
	}
	return Tail(strings.Join(lines, "\n"), e.Max)
}

// String is what was kept, at most max bytes. It ends the log.
func (e *Excerpt) String() string {
	if len(e.line) > 0 {
		e.endLine()
	}
	if e.after > 0 {
		e.close()
	}
	const gap = "\n…\n"
	switch {
	case e.first == "":
		return e.clean()
	case e.last == "":
		return Tail(e.first, e.Max)
	}
	half := max((e.Max-len(gap))/2, 0)
	last := Tail(e.last, max(half, e.Max-len(gap)-len(e.first)))
	return Tail(e.first, e.Max-len(gap)-len(last)) + gap + last
}

// Tail cuts a text to its last n bytes, at a line's beginning where there
// is one.
func Tail(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	text = text[len(text)-max(n, 0):]
	if _, rest, found := strings.Cut(text, "\n"); found {
		return strings.TrimSpace(rest)
	}
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

var (
	// The runner puts the time before every line of a log that is downloaded.
	logTimePattern = lazyregexp.New(`^\x{feff}?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z ?`)
	// CSI sequences (colours), OSC sequences (links, titles), and the short ones.
	logEscapePattern = lazyregexp.New(`\x1b(\[[0-9;:<=>?]{0,32}[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])`)
	logMarkerPattern = lazyregexp.New(`^##\[([a-z]+)\]`)
)

// cleanLogLine takes the time, colours, the runner's markers and what cannot be
// seen out of a line. ok is false for a line that says nothing. The markers are
// those of actions/runner's logs: group, endgroup, error, warning, notice,
// debug, command, section.
func cleanLogLine(line string) (text string, isError, ok bool) {
	line = logTimePattern.ReplaceAllString(line, "")
	line = logEscapePattern.ReplaceAllString(line, "")
	marker := ""
	if found := logMarkerPattern.FindStringSubmatch(line); found != nil {
		marker, line = found[1], line[len(found[0]):]
	}
	line = strings.TrimRight(strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case r == utf8.RuneError, !unicode.IsPrint(r): // no format characters either: bidi, zero width, tags
			return -1
		}
		return r
	}, line), " \t")
	switch marker {
	case "endgroup", "debug":
		return "", false, false
	case "error":
		return "Error: " + line, true, true
	case "warning":
		return "Warning: " + line, false, true
	case "notice":
		return "Notice: " + line, false, true
	case "command":
		return "$ " + line, false, true
	}
	return line, false, line != "" || marker == ""
}
