package driver

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// OneLine folds all white space of foreign text into single spaces and bounds
// it.
func OneLine(s string) string {
	if len(s) > 8*MaxMessage {
		s = s[:8*MaxMessage]
	}
	return Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), MaxMessage)
}

// Clip bounds s to n characters.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	runes := 0
	for i := range s {
		if runes == n-1 {
			if utf8.RuneCountInString(s[i:]) == 1 {
				return s
			}
			return s[:i] + "…"
		}
		runes++
	}
	return s
}

// Last is the end of s, at most n bytes, beginning with a whole character.
func Last(s string, n int) string {
	if len(s) <= n {
		return s
	}
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// Tail keeps the end of what is written to it.
type Tail struct {
	Limit int
	buf   []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	if len(p) >= t.Limit {
		t.buf = append(t.buf[:0], p[len(p)-t.Limit:]...)
		return len(p), nil
	}
	if over := len(t.buf) + len(p) - t.Limit; over > 0 {
		t.buf = t.buf[:copy(t.buf, t.buf[over:])]
	}
	t.buf = append(t.buf, p...)
	return len(p), nil
}

// String is what was kept, valid and starting with a whole character.
func (t *Tail) String() string { return strings.ToValidUTF8(string(t.buf), "\uFFFD") }

// LastLine is the last line that is not blank, bounded.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	return OneLine(s[strings.LastIndexByte(s, '\n')+1:])
}

const (
	// MaxLine bounds one line of a stream; what is longer is cut and counted.
	MaxLine = 16 << 20
	// KeepLine is the most that is kept allocated between lines, so that one
	// giant line does not cost its memory for the rest of the turn.
	KeepLine = 2 << 20
)

// Lines splits what is written to it at line feeds. A line within one write is
// handed on without being copied; it is valid during the call only.
type Lines struct {
	Limit int
	Line  func(line []byte, cut bool)

	held []byte
	cut  bool
}

func (l *Lines) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			l.hold(p)
			break
		}
		if len(l.held) == 0 && end <= l.Limit {
			l.Line(p[:end], false)
		} else {
			l.hold(p[:end])
			l.flush()
		}
		p = p[end+1:]
	}
	return written, nil
}

// Close hands on a last line without a line feed.
func (l *Lines) Close() {
	if len(l.held) > 0 {
		l.flush()
	}
	l.held = nil
}

func (l *Lines) hold(p []byte) {
	if room := l.Limit - len(l.held); len(p) > room {
		p, l.cut = p[:room], true
	}
	if len(l.held)+len(p) > cap(l.held) { // twice as much: less is thrown away than append would
		l.held = slices.Grow(l.held, max(len(p), cap(l.held)))
	}
	l.held = append(l.held, p...)
}

func (l *Lines) flush() {
	l.Line(l.held, l.cut)
	l.held, l.cut = l.held[:0], false
	if cap(l.held) > KeepLine {
		l.held = nil
	}
}
