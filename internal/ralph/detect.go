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
	message    string
	tail       []byte // promise: what may be the start of a marker; response: the text since the open tag
	open       bool   // response: inside a tag
	decided    bool   // response: the first tag has been seen whole
	found      bool
}

// NewDetector looks for c.
func NewDetector(c Completion) *Detector { return &Detector{completion: c} }

// Marker is what the agent has to print, literally.
func (c Completion) Marker() string {
	if c.Kind == CompletionResponse {
		return "<response>" + c.Token + "</response>"
	}
	return "<promise>" + c.Token + "</promise>"
}

// Found says that the marker was seen.
func (d *Detector) Found() bool { return d.found }

// Write adds text of the named message.
func (d *Detector) Write(message, text string) {
	if message != d.message {
		d.message, d.tail, d.open = message, nil, false
	}
	if d.found || d.decided {
		return
	}
	if d.completion.Kind == CompletionResponse {
		d.response(text)
		return
	}
	d.promise(text)
}

// promise: exact, case-sensitive substring. 000-26, 004-02
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
// whatever the case. 001-27
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
