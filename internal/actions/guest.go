package actions

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/org/ralph-action/internal/lib/secret"
)

// cut ends a line of which not everything is shown.
const cut = " … (line cut)"

// lines is a stream of foreign text on its way to people: redacted, split at
// every line end the runner knows (\n, \r\n, bare \r), cut, shown together with the others of the same write.
//
// It redacts twice. Before the splitting, because a secret may contain line
// ends and a cut must not leave half of one; after the sanitizing, because
// dropping a colour may put two halves of one together.
type lines struct {
	mu       sync.Mutex
	redacted io.WriteCloser // writes to split
	redactor *secret.Redactor
	line     []byte
	cr       bool               // the last line ended with \r; a \n belongs to it
	full     bool               // the rest of the line is dropped
	block    []byte             // lines ready to be shown
	show     func(lines []byte) // the last one without its end
	clean    func(line []byte) []byte
}

func newLines(redactor *secret.Redactor, clean func([]byte) []byte, show func([]byte)) *lines {
	l := &lines{redactor: redactor, clean: clean, show: show}
	l.redacted = redactor.Writer(writerFunc(l.split))
	return l
}

// Terminal is a stream of foreign text to a terminal or a plain log that no
// runner reads: redacted and sanitized by line, without prefix. Close shows an
// unfinished last line and leaves w open. Errors of w are w's business: the
// program that talks must not fail because nobody listens.
func Terminal(w io.Writer, redactor *secret.Redactor) io.WriteCloser {
	return newLines(redactor, Sanitize, func(line []byte) { _, _ = w.Write(append(line, '\n')) })
}

// Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.redacted.Write(p)
	l.present()
	return len(p), nil
}

// Close shows the unfinished last line.
func (l *lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.redacted.Close()
	if len(l.line) > 0 {
		l.flush()
	}
	l.present()
	return err
}

func (l *lines) split(p []byte) {
	for len(p) > 0 {
		if l.cr && p[0] == '\n' {
			p = p[1:]
		}
		l.cr = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			l.add(p)
			return
		}
		l.add(p[:end])
		if !l.full {
			l.flush()
		}
		l.full = false
		l.cr = p[end] == '\r'
		p = p[end+1:]
	}
}

// add collects a part of a line; what is too long is shown as soon as that is
// known, and the rest forgotten.
func (l *lines) add(part []byte) {
	if l.full {
		return
	}
	room := MaxLine - len(l.line)
	if len(part) <= room {
		l.line = append(l.line, part...)
		return
	}
	l.line = append(l.line, part[:room]...)
	for range utf8.UTFMax - 1 { // not through the middle of a character
		if r, size := utf8.DecodeLastRune(l.line); r != utf8.RuneError || size != 1 {
			break
		}
		l.line = l.line[:len(l.line)-1]
	}
	l.line = append(l.line, cut...)
	l.flush()
	l.full = true
}

func (l *lines) flush() {
	l.block = append(append(l.block, l.redactor.Bytes(l.clean(l.line))...), '\n')
	l.line = l.line[:0]
	if len(l.block) > MaxLine {
		l.present()
	}
}

// present shows what is ready, in one go.
func (l *lines) present() {
	if len(l.block) > 0 {
		l.show(l.block[:len(l.block)-1])
		l.block = l.block[:0]
	}
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}
