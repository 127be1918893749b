package shellguard

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// word is a word of the shell without its quotes.
type word struct {
	text   string // with marks
	subs   []script
	quoted bool
}

func (s script) word(in *syntax.Word) word {
	if in == nil {
		return word{}
	}
	r := wordReader{script: s}
	r.read(in.Parts, false)
	return word{text: r.text.String(), subs: r.subs, quoted: r.quoted}
}

// document is the text of a here-document whose end is not quoted.
func (s script) document(in *syntax.Word) word {
	r := wordReader{script: s}
	r.read(in.Parts, true)
	return word{text: r.text.String(), subs: r.subs}
}

type wordReader struct {
	script script
	text   strings.Builder
	subs   []script
	quoted bool
}

func (r *wordReader) mark(name string) { r.text.WriteString(mark + name + mark) }

func (r *wordReader) read(parts []syntax.WordPart, inQuotes bool) {
	for i, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text := p.Value
			switch {
			case inQuotes:
			case i == 0 && strings.HasPrefix(text, "~"):
				r.mark("HOME") // ~user is somebody's home too
				_, text, _ = strings.Cut(text, "/")
				if strings.Contains(p.Value, "/") {
					text = "/" + text
				}
			case i > 0 && strings.HasPrefix(text, "("):
				continue // which files zsh takes of a pattern
			}
			r.literal(text, inQuotes)
		case *syntax.SglQuoted:
			r.quoted = true
			text := p.Value
			if p.Dollar {
				text = unescape(text)
			}
			r.text.WriteString(strings.ReplaceAll(text, mark, ""))
		case *syntax.DblQuoted:
			r.quoted = true
			r.read(p.Parts, true)
		case *syntax.ParamExp:
			name := "_"
			if p.Param != nil {
				name = p.Param.Value
			}
			r.subs = append(r.subs, r.script.subs(p)...)
			r.mark(name)
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp:
			r.subs = append(r.subs, r.script.subs(p)...)
			r.mark("(")
		case *syntax.ExtGlob:
			if p.Op == syntax.GlobZeroOrMore {
				r.text.WriteByte('*') // to zsh, a pattern and which of the files it takes
				continue
			}
			r.text.WriteString(p.Op.String() + p.Pattern.Value + ")")
		case *syntax.BraceExp: // such as {1..9}
			r.mark("(")
		}
	}
}

// escape is one of those between $' and '.
var escape = lazyregexp.New(`\\(?:[abeEfnrtv\\'"?]|[0-7]{1,3}|x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8})`)

// unescape is the text of $'…' as bash reads it.
func unescape(text string) string {
	return escape.ReplaceAllStringFunc(text, func(e string) string {
		const letters, values = "abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v"
		if i := strings.IndexByte(letters, e[1]); i >= 0 {
			return values[i : i+1]
		}
		switch e[1] {
		case '\\', '\'', '"', '?':
			return e[1:]
		case 'x', 'u', 'U':
			n, _ := strconv.ParseUint(e[2:], 16, 32)
			if e[1] != 'x' {
				return string(rune(n))
			}
			return string([]byte{byte(n)})
		}
		n, _ := strconv.ParseUint(e[1:], 8, 16)
		return string([]byte{byte(n)})
	})
}

// literal adds text without the backslashes that quote.
func (r *wordReader) literal(text string, inQuotes bool) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!inQuotes || strings.IndexByte("$`\"\\", text[i+1]) >= 0) {
			i++
			r.quoted = true
		}
		r.text.WriteByte(text[i])
	}
}

// subs are the commands that are run to expand a node: $( ), ` `, <( ) and >( ).
func (s script) subs(n syntax.Node) []script {
	var out []script
	syntax.Walk(n, func(n syntax.Node) bool {
		var stmts []*syntax.Stmt
		switch n := n.(type) {
		case *syntax.CmdSubst:
			stmts = n.Stmts
		case *syntax.ProcSubst:
			stmts = n.Stmts
		default:
			return true
		}
		out = append(out, s.part(stmts))
		return false
	})
	return out
}

// maxBraces bounds the words that braces make of one, and maxBraced its bytes.
const (
	maxBraces = 64
	maxBraced = 4 << 10
)

// braces are the words that one with alternatives in braces stands for.
// Sequences such as {1..9} stay as they are.
func braces(in *syntax.Word) []*syntax.Word {
	size := 0
	for _, part := range in.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			size += len(lit.Value)
		}
	}
	if size <= maxBraced {
		syntax.SplitBraces(in) // in the tree, once for all
	}
	return alternatives(in)
}

func alternatives(in *syntax.Word) []*syntax.Word {
	out := []*syntax.Word{{}}
	for _, part := range in.Parts {
		choices := []*syntax.Word{{Parts: []syntax.WordPart{part}}}
		if b, ok := part.(*syntax.BraceExp); ok && !b.Sequence {
			choices = nil
			for _, elem := range b.Elems {
				choices = append(choices, alternatives(elem)...)
			}
		}
		var next []*syntax.Word
		for _, begin := range out {
			for _, end := range choices {
				if len(next) < maxBraces {
					next = append(next, &syntax.Word{Parts: append(begin.Parts[:len(begin.Parts):len(begin.Parts)], end.Parts...)})
				}
			}
		}
		out = next
	}
	return out
}
