package text

import (
	"bytes"
	"strings"
)

// minEcho is the shortest prompt looked for: a shorter one may well be a part
// of the agent's own words, and is too short to hold a completion rule.
const minEcho = 16

// echo finds the first copy of the prompt in a stream, split however it comes
// and with line ends of either kind. It is the search of Knuth, Morris and
// Pratt: what is held back of the stream is always a prefix of the prompt, so
// nothing of it needs to be stored, and the table grows only as far as a match
// got.
type echo struct {
	prompt []byte
	fail   []int32 // fail[i]: length of the longest border of prompt[:i+1]
	state  int     // so many bytes of the prompt are held back
	found  bool
}

// newEcho returns nil when there is nothing worth looking for.
func newEcho(prompt string) *echo {
	s := strings.TrimSpace(strings.ReplaceAll(prompt, "\r", ""))
	if len(s) < minEcho {
		return nil
	}
	return &echo{prompt: []byte(s), fail: []int32{0}}
}

// feed passes p on through out, telling the copy of the prompt from the rest.
func (e *echo) feed(p []byte, out func(p []byte, isEcho bool)) {
	for len(p) > 0 && !e.found {
		if e.state == 0 {
			n := bytes.IndexByte(p, e.prompt[0])
			if n < 0 {
				break
			}
			if n > 0 {
				out(p[:n], false)
			}
			p = p[n+1:]
			e.state = 1
			continue
		}
		b := p[0]
		if b == '\r' {
			p = p[1:]
			continue
		}
		if b != e.prompt[e.state] {
			held := e.state
			e.state = e.border(held)
			out(e.prompt[:held-e.state], false)
			continue
		}
		p = p[1:]
		if e.state++; e.state == len(e.prompt) {
			e.found, e.state = true, 0
			e.fail = nil
			out(e.prompt, true)
		}
	}
	if len(p) > 0 {
		out(p, false)
	}
}

// close passes on what is held back.
func (e *echo) close(out func(p []byte, isEcho bool)) {
	if e.state > 0 {
		out(e.prompt[:e.state], false)
		e.state = 0
	}
}

// border is the length of the longest proper prefix of prompt[:n] that is also
// its suffix.
func (e *echo) border(n int) int {
	for i := len(e.fail); i < n; i++ {
		k := e.fail[i-1]
		for k > 0 && e.prompt[i] != e.prompt[k] {
			k = e.fail[k-1]
		}
		if e.prompt[i] == e.prompt[k] {
			k++
		}
		e.fail = append(e.fail, k)
	}
	return int(e.fail[n-1])
}
