package ralph

import (
	"bytes"
	"strings"
)

// Detector looks for the completion marker in an agent's own words as they
// stream by. Blocks of one message are one text, so a marker split over two of
// them is found; a marker never spans two messages. Memory is bounded by the
// token, whatever the agent prints.
type Detector struct {
	completion Completion
	other      *Detector // of the marker that counts as well; nil: none does
	stray      stray
	message    string
	tail       []byte // promise: what may be the start of a marker; response: the text since the open tag
	open       bool   // response: inside a tag
	decided    bool   // response: the first tag has been seen whole
	found      bool
}

// NewDetector looks for c.
func NewDetector(c Completion) *Detector {
	d := &Detector{completion: c}
	if all := c.all(); len(all) > 1 {
		d.other = NewDetector(all[1])
	}
	return d
}

// all are the markers that count, the one that the agent is told first.
func (c Completion) all() []Completion {
	told := Completion{Kind: c.Kind, Token: c.Token}
	switch {
	case !c.Either:
		return []Completion{told}
	case c.Kind == CompletionResponse:
		return []Completion{told, {Kind: CompletionPromise, Token: UsualPromise}}
	}
	return []Completion{told, {Kind: CompletionResponse, Token: UsualResponse}}
}

// String names what counts: "<promise>COMPLETE</promise>", with a second marker
// behind "or".
func (c Completion) String() string {
	var names []string
	for _, c := range c.all() {
		names = append(names, c.Marker())
	}
	return strings.Join(names, " or ")
}

// NamedIn is the marker that a text tells the agent to print; empty when it names
// none that counts.
func (c Completion) NamedIn(text string) string {
	for _, c := range c.all() {
		marker := c.Marker()
		switch {
		case strings.Contains(text, marker):
			return marker
		case c.Kind == CompletionResponse && indexFold([]byte(text), marker) >= 0:
			return marker
		}
	}
	return ""
}

// Marker is what the agent has to print, literally.
func (c Completion) Marker() string {
	if c.Kind == CompletionResponse {
		return "<response>" + c.Token + "</response>"
	}
	return "<promise>" + c.Token + "</promise>"
}

// Found reports whether a marker that counts was seen.
func (d *Detector) Found() bool { return d.found || d.other != nil && d.other.found }

// Stray returns the last tag that looks like the marker but does not count, such as
// <promise>DONE</promise>, as the agent wrote it; empty if there was none.
func (d *Detector) Stray() string {
	if d.Found() || d.completion.Kind != CompletionPromise && d.completion.Kind != CompletionResponse {
		return ""
	}
	return d.stray.last
}

// Write adds text of the named message.
func (d *Detector) Write(message, text string) {
	if message != d.message {
		d.message, d.tail, d.open, d.stray.tail = message, nil, false, nil
	}
	if d.Found() {
		return
	}
	d.stray.write(text, d.completion)
	if d.other != nil {
		d.other.Write(message, text)
	}
	if d.decided {
		return
	}
	if d.completion.Kind == CompletionResponse {
		d.response(text)
		return
	}
	d.promise(text)
}

// promise: exact, case-sensitive substring.
func (d *Detector) promise(text string) {
	marker := d.completion.Marker()
	if len(d.tail) > 0 {
		// Only the first len(marker)-1 bytes of text can complete what the tail began.
		seam := append(d.tail, text[:min(len(text), len(marker)-1)]...)
		if bytes.Contains(seam, []byte(marker)) {
			d.found = true
			return
		}
		d.tail = seam
	}
	if strings.Contains(text, marker) {
		d.found = true
		return
	}
	keep := len(marker) - 1
	if len(text) >= keep {
		d.tail = append(d.tail[:0], text[len(text)-keep:]...)
		return
	}
	if len(d.tail) == 0 {
		d.tail = append(d.tail, text...)
	}
	if len(d.tail) > keep {
		d.tail = append(d.tail[:0], d.tail[len(d.tail)-keep:]...)
	}
}

const (
	openTag  = "<response>"
	closeTag = "</response>"
	// maxResponse bounds what may stand between the tags around the token:
	// white space. More than this is some other answer.
	maxResponse = 64 << 10
)

// response: the first tag pair decides; its trimmed content equals the token
// whatever the case.
func (d *Detector) response(text string) {
	d.tail = append(d.tail, text...)
	if !d.open {
		i := indexFold(d.tail, openTag)
		if i < 0 {
			if n := len(d.tail) - len(openTag) + 1; n > 0 {
				d.tail = append(d.tail[:0], d.tail[n:]...)
			}
			return
		}
		d.open = true
		d.tail = append([]byte(nil), d.tail[i+len(openTag):]...)
	}
	if i := indexFold(d.tail, closeTag); i >= 0 {
		d.decided = true
		d.found = strings.EqualFold(strings.TrimSpace(string(d.tail[:i])), strings.TrimSpace(d.completion.Token))
		d.tail = nil
		return
	}
	if len(d.tail) > maxResponse+len(d.completion.Token) {
		d.decided = true
		d.tail = nil
	}
}

// indexFold finds an ASCII tag whatever its case.
func indexFold(b []byte, tag string) int {
	for from := 0; ; {
		i := bytes.IndexByte(b[from:], '<')
		if i < 0 || from+i+len(tag) > len(b) {
			return -1
		}
		if from += i; strings.EqualFold(string(b[from:from+len(tag)]), tag) {
			return from
		}
		from++
	}
}

// maxStray bounds what may stand in a tag for it to look like a marker.
const maxStray = 200

// stray looks for tags of a marker's form, whatever stands in them.
type stray struct {
	tail []byte // what may be the start of a tag
	last string
}

func (s *stray) write(text string, c Completion) {
	s.tail = append(s.tail, text...)
	rest := s.tail
	for {
		i := bytes.IndexByte(rest, '<')
		if i < 0 {
			s.tail = s.tail[:0]
			return
		}
		rest = rest[i:]
		size, whole := tag(rest)
		if !whole && len(rest) <= len(openTag)+maxStray+len(closeTag) { // the rest of it may come
			s.tail = append(s.tail[:0], rest...)
			return
		}
		if size > 0 && (s.last == "" || c.NamedIn(string(rest[:size])) == "") {
			s.last = string(rest[:size])
		}
		rest = rest[max(size, 1):]
	}
}

// tag is the size of the marker-like tag that b begins with, 0 when it begins with
// none. It is not whole when more text could make it one.
func tag(b []byte) (size int, whole bool) {
	for _, name := range []string{"promise", "response"} {
		begin, end := "<"+name+">", "</"+name+">"
		if n := min(len(b), len(begin)); !strings.EqualFold(string(b[:n]), begin[:n]) {
			continue
		} else if n < len(begin) {
			return 0, false
		}
		inside := indexFold(b[len(begin):], end)
		switch {
		case inside < 0:
			return 0, false
		case inside > maxStray:
			return 0, true
		}
		return len(begin) + inside + len(end), true
	}
	return 0, true
}
