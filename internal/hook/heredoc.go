package hook

import "strings"

// maxHere bounds the here-documents that begin on one line.
const maxHere = 16

type heredoc struct {
	end    string
	raw    bool // nothing is expanded
	indent bool // leading tabs go
}

// ahead reads the body of the next waiting here-document without moving on.
func (p *parser) ahead(h heredoc) word {
	pos := p.pos
	defer func() { p.pos = pos }()
	i := strings.IndexByte(p.src[p.pos:], '\n')
	if i < 0 {
		return word{}
	}
	p.pos += i + 1
	for _, earlier := range p.here {
		p.body(earlier)
	}
	body := p.body(h)
	if h.raw {
		return word{text: body, quoted: true}
	}
	inner := &parser{src: body, depth: p.depth + 1}
	var w word
	inner.double(&w, 0)
	w.text = string(w.buf)
	return w
}

func (p *parser) heredocs() {
	for _, h := range p.here {
		p.body(h)
	}
	p.here = nil
}

// body moves past a here-document's lines and returns them.
func (p *parser) body(h heredoc) string {
	start := p.pos
	for p.more() {
		line, end := p.src[p.pos:], len(p.src)
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line, end = line[:i], p.pos+i+1
		}
		stop := p.pos
		p.pos = end
		if h.indent {
			line = strings.TrimLeft(line, "\t")
		}
		if line == h.end {
			return p.src[start:stop]
		}
	}
	return p.src[start:]
}
