package secret

import (
	"slices"
	"strings"
)

// Mask stands where a secret was.
const Mask = "***"

// Redactor replaces every form of the secrets it knows. It is immutable and
// safe for use by many goroutines; a nil Redactor knows none.
//
// Every byte that belongs to any form is covered, also where forms overlap, and
// covered bytes that touch become one Mask. The search is Wu and Manber's: the
// last two bytes of a window as long as the shortest form say how far the
// window may move, so most of a text is never looked at.
type Redactor struct {
	forms  []string // sorted, so that a prefix is found by bisection
	short  int
	window int // bytes; the length of the shortest form, at most 255
	// shift is indexed by two bytes. 0: a form's window may end here.
	shift []uint8
	// ends lists the forms by the last two bytes of their window, longest first.
	ends map[uint16][]string
	// starts is a set of the first two bytes of all forms, and heads of the
	// first byte.
	starts  []uint64
	heads   [256]bool
	longest int
}

// NewRedactor learns the forms of the given values. Absent ones are skipped.
func NewRedactor(secrets ...String) *Redactor { return newRedactor(secrets, true) }

// NewFinder is a Redactor that looks for values of several lines as a whole
// only: a line of a key file may be one that every such file has.
func NewFinder(secrets ...String) *Redactor { return newRedactor(secrets, false) }

func newRedactor(secrets []String, byLine bool) *Redactor {
	var all []string
	short := 0
	for _, s := range secrets {
		switch value := s.Reveal(); {
		case value == "":
		case len(strings.TrimSpace(value)) < minValue:
			short++
		default:
			all = append(all, forms(value, byLine)...)
		}
	}
	r := withForms(all)
	r.short = short
	return r
}

func withForms(forms []string) *Redactor {
	slices.Sort(forms)
	r := &Redactor{forms: slices.Compact(forms)}
	r.index()
	return r
}

// Short counts the values that are not looked for because they are too short
// to be told from ordinary text. Their users should be told.
func (r *Redactor) Short() int {
	if r == nil {
		return 0
	}
	return r.short
}

// Forms are the shapes of the secrets, for masks of a runner. They are as
// secret as the values.
func (r *Redactor) Forms() []string {
	if r == nil {
		return nil
	}
	return slices.Clone(r.forms)
}

// Text redacts a text that is complete.
func (r *Redactor) Text(s string) string {
	if r == nil || len(r.forms) == 0 {
		return s
	}
	spans := find(r, s, nil)
	if len(spans) == 0 {
		return s
	}
	c := cover{out: make([]byte, 0, len(s))}
	emit(&c, s, spans)
	return string(c.out)
}

// Bytes redacts a text that is complete. The result shares memory with b when
// nothing was found.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil || len(r.forms) == 0 {
		return b
	}
	spans := find(r, b, nil)
	if len(spans) == 0 {
		return b
	}
	c := cover{out: make([]byte, 0, len(b))}
	emit(&c, b, spans)
	return c.out
}

// index builds the tables of the search.
func (r *Redactor) index() {
	if len(r.forms) == 0 {
		return
	}
	r.window = 255
	for _, form := range r.forms {
		r.window = min(r.window, len(form))
		r.longest = max(r.longest, len(form))
	}
	r.shift = make([]uint8, 1<<16)
	for i := range r.shift {
		r.shift[i] = uint8(r.window - 1)
	}
	r.ends = make(map[uint16][]string)
	r.starts = make([]uint64, 1<<16/64)
	for _, form := range r.forms {
		for i := 1; i < r.window; i++ {
			at := pair(form[i-1], form[i])
			r.shift[at] = min(r.shift[at], uint8(r.window-1-i))
		}
		end := pair(form[r.window-2], form[r.window-1])
		r.ends[end] = append(r.ends[end], form)
		start := pair(form[0], form[1])
		r.starts[start/64] |= 1 << (start % 64)
		r.heads[form[0]] = true
	}
	for _, forms := range r.ends {
		slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	}
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// span is a covered part of a text, from inclusive to exclusive.
type span struct{ from, to int }

// Find is where forms stand in a text that is complete: offsets of bytes, from
// inclusive to exclusive, in order of their beginning. They may overlap.
func (r *Redactor) Find(text []byte) [][2]int {
	if r == nil || len(r.forms) == 0 {
		return nil
	}
	var found [][2]int
	for _, s := range find(r, text, nil) {
		found = append(found, [2]int{s.from, s.to})
	}
	return found
}

// find appends where forms stand in the text, in order of their beginning.
func find[T string | []byte](r *Redactor, text T, spans []span) []span {
	last := r.window - 1
	for i := last; i < len(text); {
		at := pair(text[i-1], text[i])
		if skip := r.shift[at]; skip > 0 {
			i += int(skip)
			continue
		}
		from := i - last
		for _, form := range r.ends[at] {
			if to := from + len(form); to <= len(text) && string(text[from:to]) == form {
				spans = append(spans, span{from, to})
				break // the longest from here; the others are inside it
			}
		}
		i++
	}
	return spans
}

// partial is where the longest end of the text begins that could become a form:
// a proper prefix of one. len(text) when there is none.
func (r *Redactor) partial(text []byte) int {
	for i := max(0, len(text)-r.longest+1); i < len(text); i++ {
		if !r.heads[text[i]] {
			continue
		}
		if i+1 < len(text) {
			if at := pair(text[i], text[i+1]); r.starts[at/64]&(1<<(at%64)) == 0 {
				continue
			}
		}
		if r.begins(string(text[i:])) {
			return i
		}
	}
	return len(text)
}

// begins reports whether s is a proper prefix of a form.
func (r *Redactor) begins(s string) bool {
	i, found := slices.BinarySearch(r.forms, s)
	if found {
		i++ // forms with this prefix follow it
	}
	return i < len(r.forms) && strings.HasPrefix(r.forms[i], s)
}

// cover writes text with spans replaced, in pieces.
type cover struct {
	out    []byte
	masked bool // the last thing written was a Mask, which a touching span continues
	spill  int  // so many first bytes of the next piece are covered already
}

// emit appends a piece whose covered parts are the spans, which may reach
// beyond the piece.
func emit[T string | []byte](c *cover, text T, spans []span) {
	if c.spill > 0 {
		// A form that began in an earlier piece covers the head of this one.
		spans = append([]span{{0, c.spill}}, spans...)
	}
	at := 0
	for _, s := range spans {
		if s.from >= len(text) {
			break
		}
		if s.from > at {
			c.out = append(c.out, text[at:s.from]...)
			c.masked = false
		}
		if s.to > at {
			if !c.masked {
				c.out = append(c.out, Mask...)
				c.masked = true
			}
			at = s.to
		}
	}
	c.spill = max(0, at-len(text))
	if at < len(text) {
		c.out = append(c.out, text[at:]...)
		c.masked = false
	}
}
