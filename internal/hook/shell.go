package hook

import (
	"strings"
)

// The part of the shell's grammar that is needed to tell a command from text
// that merely looks like one: quotes, lists, pipelines, groups, functions,
// redirections, here-documents and substitutions. What cannot be understood is
// read as words; there is no error, and the time is linear in the length but
// for nesting, which is bounded by maxDepth.

// maxDepth bounds nested groups, substitutions and shells within shells.
const maxDepth = 12

// A mark stands in a word for what only the shell knows: mark NAME mark for a
// variable, mark ( mark for a command's output. Input never holds the byte.
const mark = "\x00"

type script []pipeline

type pipeline []command

type command struct {
	words     []word
	redirects []redirect
	group     script // ( … ) or { …; }
	function  string // name, when this defines one; its body is group
	source    string // as written
	async     bool   // followed by &
}

type word struct {
	text   string   // without quotes, with marks
	buf    []byte   // text in the making
	subs   []script // $( ), ` `, <( ) and >( )
	quoted bool
}

type redirect struct {
	op     string // <, >, >>, <<, <<<, >&, <>, &>
	target word   // here-document: its body
}

type parser struct {
	src   string
	pos   int
	depth int
	here  []heredoc // waiting for the end of the line
}

func parse(src string, depth int) script {
	p := &parser{src: strings.ReplaceAll(src, mark, ""), depth: depth}
	return p.script(0)
}

func (p *parser) peek(n int) byte {
	if p.pos+n < len(p.src) {
		return p.src[p.pos+n]
	}
	return 0
}

func (p *parser) skip(n int) { p.pos = min(p.pos+n, len(p.src)) }

func (p *parser) more() bool { return p.pos < len(p.src) }

// script reads up to the closing byte, or to the end where end is zero.
func (p *parser) script(end byte) script {
	if p.depth++; p.depth > maxDepth {
		p.pos = len(p.src)
		return nil
	}
	defer func() { p.depth-- }()
	var out script
	var line pipeline
	flush := func() {
		if len(line) > 0 {
			out = append(out, line)
		}
		line = nil
	}
	for {
		p.blanks()
		if !p.more() {
			break
		}
		switch c := p.peek(0); {
		case c == '\n':
			p.pos++
			p.heredocs()
			flush()
		case c == ')' || c == '}' && end == '}':
			p.pos++
			flush()
			if c == end {
				return out
			}
		case c == ';':
			p.pos++
			flush()
		case c == '&' && p.peek(1) != '>':
			p.pos++
			if p.peek(0) == '&' {
				p.pos++
			} else if len(line) > 0 {
				line[len(line)-1].async = true
			}
			flush()
		case c == '|':
			p.pos++
			if p.peek(0) == '|' {
				p.pos++
				flush()
			} else if p.peek(0) == '&' {
				p.pos++
			}
		default:
			line = append(line, p.command())
		}
	}
	flush()
	return out
}

// blanks skips white space, continued lines and comments, but no newline.
func (p *parser) blanks() {
	for p.more() {
		switch c := p.peek(0); {
		case c == ' ' || c == '\t' || c == '\r':
			p.pos++
		case c == '\\' && p.peek(1) == '\n':
			p.skip(2)
		case c == '#':
			for p.more() && p.peek(0) != '\n' {
				p.pos++
			}
		default:
			return
		}
	}
}

func reserved(s string) bool {
	switch s {
	case "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "!", "coproc":
		return true
	}
	return false
}

// command reads one command with its redirections; it always moves on.
func (p *parser) command() command {
	start := p.pos
	var c command
	for p.more() {
		p.blanks()
		ch := p.peek(0)
		if !p.more() || ch == '\n' || ch == ';' || ch == '|' || ch == ')' || ch == '&' && p.peek(1) != '>' {
			break
		}
		if p.redirect(&c) {
			continue
		}
		if ch == '(' || ch == '{' && (c.function != "" || strings.IndexByte(" \t\n", p.peek(1)) >= 0) {
			p.pos++
			switch {
			case ch == '(' && len(c.words) == 1 && p.closes():
				c.function, c.words = c.words[0].text, nil
				continue
			case len(c.words) == 2 && c.words[0].text == "function":
				c.function, c.words = c.words[1].text, nil
				if ch == '(' && p.closes() {
					continue
				}
			case len(c.words) > 0:
				if ch == '(' {
					p.script(')') // such as an extended pattern
				}
				continue
			}
			c.group = append(c.group, p.script(map[byte]byte{'(': ')', '{': '}'}[ch])...)
			continue
		}
		w := p.word()
		if len(c.words) == 0 && c.group == nil && !w.quoted && reserved(w.text) {
			continue
		}
		c.words = append(c.words, w)
	}
	if p.pos == start {
		p.skip(1)
	}
	c.source = strings.TrimSpace(p.src[start:min(p.pos, len(p.src))])
	return c
}

// closes skips the second parenthesis of a function's () and what may stand
// between it and the body.
func (p *parser) closes() bool {
	rest := strings.TrimLeft(p.src[p.pos:], " \t")
	if !strings.HasPrefix(rest, ")") {
		return false
	}
	rest = strings.TrimLeft(rest[1:], " \t\n")
	p.pos = len(p.src) - len(rest)
	return true
}

// redirect reads one redirection, if there is one.
func (p *parser) redirect(c *command) bool {
	i := p.pos
	for i < len(p.src) && p.src[i] >= '0' && p.src[i] <= '9' {
		i++
	}
	rest := p.src[i:]
	if i == p.pos && strings.HasPrefix(rest, "&>") {
		rest = rest[1:]
		i++
	}
	if rest == "" || rest[0] != '<' && rest[0] != '>' {
		return false
	}
	if len(rest) > 1 && rest[1] == '(' {
		return false // a process substitution is a word
	}
	op := rest[:1]
	for _, long := range []string{"<<<", "<<-", "<<", ">>", "<>", ">|", ">&", "<&"} {
		if strings.HasPrefix(rest, long) {
			op = long
			break
		}
	}
	p.pos = i + len(op)
	p.blanks()
	target := p.word()
	c.redirects = append(c.redirects, redirect{op: op, target: target})
	if strings.HasPrefix(op, "<<") && op != "<<<" && len(p.here) < maxHere {
		h := heredoc{end: target.text, raw: target.quoted, indent: op == "<<-"}
		// The body follows on later lines. It is read now, and skipped when
		// the line ends.
		c.redirects[len(c.redirects)-1] = redirect{op: "<<", target: p.ahead(h)}
		p.here = append(p.here, h)
	}
	return true
}
