package hook

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// word reads one word; where none begins, it is empty and nothing was read.
func (p *parser) word() word {
	var w word
	p.read(&w)
	w.text = string(w.buf)
	return w
}

func (p *parser) read(w *word) {
	start := p.pos
	for p.more() {
		c := p.peek(0)
		switch {
		case (c == '<' || c == '>') && p.peek(1) == '(':
			p.skip(2)
			w.subs = append(w.subs, p.script(')'))
			w.add(mark + "(" + mark)
		case strings.IndexByte(" \t\r\n;&|<>)", c) >= 0:
			return
		case c == '(':
			if !bytes.HasSuffix(w.buf, []byte("=")) {
				return
			}
			p.skip(1)
			p.script(')') // an array's elements are no command
		case c == '\\':
			p.skip(1)
			if n := p.peek(0); n != '\n' && p.more() {
				w.buf = append(w.buf, n)
				w.quoted = true
			}
			p.skip(1)
		case c == '\'':
			p.skip(1)
			end := strings.IndexByte(p.src[p.pos:], '\'')
			if end < 0 {
				end = len(p.src) - p.pos
			}
			w.add(p.src[p.pos : p.pos+end])
			w.quoted = true
			p.skip(end + 1)
		case c == '"':
			p.skip(1)
			w.quoted = true
			p.double(w, '"')
		case c == '$' && p.peek(1) == '\'':
			p.skip(2)
			w.quoted = true
			w.add(p.ansi())
		case c == '$' && p.peek(1) == '"':
			p.skip(1)
		case c == '$' || c == '`':
			p.expansion(w)
		case c == '~' && p.pos == start:
			p.skip(1)
			for p.more() && strings.IndexByte(" \t\n/;&|<>()", p.peek(0)) < 0 {
				p.skip(1) // ~user is somebody's home too
			}
			w.add(mark + "HOME" + mark)
		default:
			w.buf = append(w.buf, c)
			p.skip(1)
		}
	}
}

func (w *word) add(s string) { w.buf = append(w.buf, s...) }

// double reads what stands in double quotes, up to the closing byte or, where
// that is zero, to the end.
func (p *parser) double(w *word, closing byte) {
	for p.more() {
		c := p.peek(0)
		switch {
		case c == closing && closing != 0:
			p.skip(1)
			return
		case c == '\\' && strings.IndexByte("$`\"\\", p.peek(1)) >= 0 && p.peek(1) != 0:
			w.buf = append(w.buf, p.peek(1))
			p.skip(2)
		case c == '\\' && p.peek(1) == '\n':
			p.skip(2)
		case c == '$' || c == '`':
			p.expansion(w)
		default:
			w.buf = append(w.buf, c)
			p.skip(1)
		}
	}
}

// expansion reads what begins with $ or a backtick.
func (p *parser) expansion(w *word) {
	if p.peek(0) == '`' {
		p.skip(1)
		var b strings.Builder
		for p.more() && p.peek(0) != '`' {
			if p.peek(0) == '\\' && p.pos+1 < len(p.src) {
				p.skip(1)
			}
			b.WriteByte(p.peek(0))
			p.skip(1)
		}
		p.skip(1)
		if p.depth < maxDepth {
			w.subs = append(w.subs, parse(b.String(), p.depth+1))
		}
		w.add(mark + "(" + mark)
		return
	}
	p.skip(1)
	switch c := p.peek(0); {
	case c == '(' && p.peek(1) == '(' && p.arithmetic():
		w.add(mark + "(" + mark)
	case c == '(':
		p.skip(1)
		w.subs = append(w.subs, p.script(')'))
		w.add(mark + "(" + mark)
	case c == '{':
		p.skip(1)
		p.parameter(w)
	case letter(c):
		start := p.pos
		for letter(p.peek(0)) || digit(p.peek(0)) {
			p.skip(1)
		}
		w.add(mark + p.src[start:p.pos] + mark)
	case digit(c) || c != 0 && strings.IndexByte("@*#?$!-", c) >= 0:
		p.skip(1)
		w.add(mark + string([]byte{c}) + mark)
	default:
		w.add("$")
	}
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// arithmetic skips $(( … )), if that is what stands here.
func (p *parser) arithmetic() bool {
	open := 0
	for i := p.pos; i < len(p.src) && i < p.pos+4096; i++ {
		switch p.src[i] {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				if p.src[i-1] != ')' {
					return false
				}
				p.pos = i + 1
				return true
			}
		case '\n', '\'', '"':
			return false
		}
	}
	return false
}

// parameter reads ${NAME…}. Commands within it run as well.
func (p *parser) parameter(w *word) {
	for p.peek(0) == '#' || p.peek(0) == '!' {
		p.skip(1)
	}
	start := p.pos
	for letter(p.peek(0)) || digit(p.peek(0)) {
		p.skip(1)
	}
	name := p.src[start:p.pos]
	inner := word{}
	for p.more() && p.peek(0) != '}' {
		switch p.peek(0) {
		case '\\':
			p.skip(2)
		case '$', '`':
			if p.depth++; p.depth > maxDepth {
				p.pos = len(p.src)
			} else {
				p.expansion(&inner)
			}
			p.depth--
		default:
			p.skip(1)
		}
	}
	p.pos = min(p.pos+1, len(p.src))
	w.subs = append(w.subs, inner.subs...)
	w.add(mark + name + mark)
}

// ansi reads the rest of $'…' with its escapes.
func (p *parser) ansi() string {
	var b []byte
	for p.more() {
		c := p.peek(0)
		p.skip(1)
		if c == '\'' {
			break
		}
		if c != '\\' {
			b = append(b, c)
			continue
		}
		c = p.peek(0)
		p.skip(1)
		base, most := 0, 0
		switch c {
		case 'n':
			c = '\n'
		case 't':
			c = '\t'
		case 'x':
			base, most = 16, 2
		case 'u':
			base, most = 16, 4
		case '0', '1', '2', '3', '4', '5', '6', '7':
			p.pos-- // the digit itself
			base, most = 8, 3
		}
		if base == 0 {
			b = append(b, c)
			continue
		}
		n := 0
		for n < most && p.pos+n < len(p.src) {
			if _, err := strconv.ParseUint(p.src[p.pos:p.pos+n+1], base, 32); err != nil {
				break
			}
			n++
		}
		value, _ := strconv.ParseUint(p.src[p.pos:p.pos+n], base, 32)
		p.skip(n)
		if value != 0 {
			b = utf8.AppendRune(b, rune(value))
		}
	}
	return strings.ReplaceAll(string(b), mark, "")
}
