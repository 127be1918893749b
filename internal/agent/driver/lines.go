package driver

import (
	"bytes"
	"slices"
)

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
