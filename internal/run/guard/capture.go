package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
	"unicode/utf8"
)

// truncated marks a feedback that was cut.
const truncated = "... [truncated]"

// tailBytes bounds the end of the output that people see in summary and PR.
const tailBytes = 4 << 10

// capture keeps the first characters of an output, its last bytes and a digest,
// whatever its length.
type capture struct {
	limit int // characters
	head  []byte
	cut   bool
	tail  []byte
	sum   hash.Hash
	gap   bool // the digest is inside a run of digits
}

func newCapture(limit int) *capture { return &capture{limit: limit, sum: sha256.New()} }

func (c *capture) Write(p []byte) (int, error) {
	// One more character than the limit tells whether anything was cut.
	if room := utf8.UTFMax*(c.limit+1) - len(c.head); room > 0 {
		c.head = append(c.head, p[:min(room, len(p))]...)
		c.cut = c.cut || len(p) > room
	} else if len(p) > 0 {
		c.cut = true
	}
	c.tail = append(c.tail, p[max(0, len(p)-tailBytes):]...)
	if extra := len(c.tail) - tailBytes; extra > 0 {
		c.tail = append(c.tail[:0], c.tail[extra:]...)
	}
	c.hash(p)
	return len(p), nil
}

// hash leaves digits out: durations, dates, addresses and process ids differ
// from run to run where the failure does not.
func (c *capture) hash(p []byte) {
	for len(p) > 0 {
		n := 0
		for n < len(p) && (p[n] < '0' || p[n] > '9') {
			n++
		}
		if n > 0 {
			_, _ = c.sum.Write(p[:n])
			c.gap = false
			p = p[n:]
			continue
		}
		if !c.gap {
			_, _ = c.sum.Write([]byte{'0'})
			c.gap = true
		}
		p = p[1:]
	}
}

func (c *capture) digest() string { return hex.EncodeToString(c.sum.Sum(nil))[:16] }

// first is the beginning of the output, never splitting a character.
func (c *capture) first() string {
	s := strings.ToValidUTF8(string(c.head), "\uFFFD")
	n := 0
	for i := range s {
		if n == c.limit {
			return s[:i] + truncated
		}
		n++
	}
	if c.cut {
		return s + truncated
	}
	return s
}

// last is the end of the output, from the start of a line where it was cut.
func (c *capture) last() string {
	s := c.tail
	if len(s) == tailBytes {
		for i, b := range s {
			if b == '\n' && i+1 < len(s) {
				s = s[i+1:]
				break
			}
		}
	}
	return strings.ToValidUTF8(string(s), "\uFFFD")
}
