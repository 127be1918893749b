package shellguard

import (
	"errors"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxDepth bounds nested groups, substitutions and shells within shells.
const maxDepth = 12

const (
	// maxFrames bounds how deep the parser nests its calls while it reads.
	maxFrames = 1000
	// maxMistakes bounds how often it begins again at what it cannot read, and
	// maxMended the length of a text for which it does, in bytes.
	maxMistakes = 50
	maxMended   = 64 << 10
)

// A mark stands in a word for what only the shell knows: mark NAME mark for a
// variable, mark ( mark for a command's output. Input never holds the byte.
const mark = "\x00"

// script is a list of statements and the text they were read from.
type script struct {
	src    string
	mended bool // words are missing in the text: positions are not all known
	stmts  []*syntax.Stmt
}

// parse reads text as bash does, or as zsh where only zsh can: the Bash tool
// runs either. Where neither can, what stands before the mistake is read, as
// if it were ended properly, and what stands behind it as a script of its own:
// a shell may know more than the parser.
func parse(src string) []script {
	src = strings.ToValidUTF8(strings.ReplaceAll(src, mark, ""), "\ufffd")
	var out []script
	for range maxMistakes {
		s, err := read(src, syntax.LangBash, 0)
		if err == nil || errors.Is(err, errDeep) || len(src) > maxMended {
			return append(out, s)
		}
		if s, err := read(src, syntax.LangZsh, 0); err == nil {
			return append(out, s)
		}
		if s, err = read(src, syntax.LangBash, maxMistakes); err == nil {
			return append(out, s)
		}
		at := min(offset(err), len(src))
		s, _ = read(src[:at], syntax.LangBash, maxMistakes)
		out = append(out, s)
		if at == 0 { // the mistake is all that can be left out
			_, at = utf8.DecodeRuneInString(src)
			word := strings.IndexAny(src[at:], " \t\r\n;&|<>(){}'\"`$")
			if word < 0 {
				break
			}
			at += word
		}
		src = src[at:]
	}
	return out
}

// read reads a text. It supplies as many of the closing words and quotes that
// are missing as it is told to.
func read(src string, variant syntax.LangVariant, missing int) (script, error) {
	p := syntax.NewParser(syntax.Variant(variant), syntax.RecoverErrors(missing))
	file, err := p.Parse(&shallowReader{rest: src}, "")
	return script{src: src, mended: err != nil || missing > 0, stmts: file.Stmts}, err
}

// offset is where a text could not be read on.
func offset(err error) int {
	var parse syntax.ParseError
	var lang syntax.LangError
	switch {
	case errors.As(err, &parse):
		return int(parse.Pos.Offset())
	case errors.As(err, &lang):
		return int(lang.Pos.Offset())
	}
	return 0
}

var errDeep = errors.New("nested too deep")

// shallowReader ends a text that nests too deep. The parser calls itself for
// each level and has no bound of its own; a stack that overflows ends the
// program.
type shallowReader struct {
	rest   string
	frames [maxFrames]uintptr
}

func (r *shallowReader) Read(p []byte) (int, error) {
	if runtime.Callers(0, r.frames[:]) == maxFrames {
		return 0, errDeep
	}
	if r.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// command is one stage of a pipeline.
type command struct {
	script    script // where it stands
	assigns   []*syntax.Assign
	words     []*syntax.Word
	declares  []*syntax.Assign // the arguments of export and its like
	redirects []*syntax.Redirect
	group     []*syntax.Stmt // the statements of a compound command, or of a function's body
	subshell  bool
	function  string        // name, when this defines one
	within    []syntax.Node // other parts, in which substitutions may stand
	source    string        // as written
	async     bool          // followed by &
}

// pipelines are those of all statements, in the order of the text.
func (s script) pipelines() iter.Seq[[]command] {
	return func(yield func([]command) bool) {
		for _, st := range s.stmts {
			lists := operands(st, syntax.AndStmt, syntax.OrStmt)
			for i, list := range lists {
				var line []command
				for _, stage := range operands(list, syntax.Pipe, syntax.PipeAll) {
					line = append(line, s.command(stage))
				}
				if last := len(line) - 1; last >= 0 && (list.Background || st.Background && i == len(lists)-1) {
					line[last].async = true
				}
				if !yield(line) {
					return
				}
			}
		}
	}
}

// operands are the statements that operators join.
func operands(st *syntax.Stmt, ops ...syntax.BinCmdOperator) []*syntax.Stmt {
	var rest []*syntax.Stmt // from right to left, as they are nested
	for st != nil {
		b, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok || !slices.Contains(ops, b.Op) {
			rest = append(rest, st)
			break
		}
		if b.Y != nil {
			rest = append(rest, b.Y)
		}
		st = b.X
	}
	slices.Reverse(rest)
	return rest
}

func (s script) command(st *syntax.Stmt) command {
	c := command{script: s, redirects: st.Redirs, source: s.source(st), async: st.Background}
	one := func(st *syntax.Stmt) {
		if st != nil {
			c.group = []*syntax.Stmt{st}
		}
	}
	switch cmd := st.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		c.assigns, c.words = cmd.Assigns, cmd.Args
	case *syntax.DeclClause:
		c.words, c.declares = []*syntax.Word{{Parts: []syntax.WordPart{cmd.Variant}}}, cmd.Args
	case *syntax.FuncDecl:
		for _, name := range append(cmd.Names, cmd.Name) {
			if name != nil {
				c.function = name.Value
			}
		}
		one(cmd.Body)
	case *syntax.Block:
		c.group = cmd.Stmts
	case *syntax.Subshell:
		c.group, c.subshell = cmd.Stmts, true
	case *syntax.TimeClause:
		one(cmd.Stmt)
	case *syntax.CoprocClause:
		one(cmd.Stmt)
	case *syntax.IfClause:
		for i := cmd; i != nil; i = i.Else {
			c.group = append(append(c.group, i.Cond...), i.Then...)
		}
	case *syntax.WhileClause:
		c.group = slices.Concat(cmd.Cond, cmd.Do)
	case *syntax.ForClause:
		c.group, c.within = cmd.Do, []syntax.Node{cmd.Loop}
	case *syntax.CaseClause:
		c.within = []syntax.Node{cmd.Word}
		for _, item := range cmd.Items {
			c.group = append(c.group, item.Stmts...)
			for _, p := range item.Patterns {
				c.within = append(c.within, p)
			}
		}
	default:
		c.within = []syntax.Node{cmd}
	}
	return c
}

// part is some statements of a script.
func (s script) part(stmts []*syntax.Stmt) script {
	s.stmts = stmts
	return s
}

// source is the text of a statement, without the here-documents it reads.
func (s script) source(st *syntax.Stmt) string {
	begin := int(st.Position.Offset())
	text := s.src[min(begin, len(s.src)):]
	line := len(text) // from where a line end ends it
	if s.mended {
		line = 0
	} else {
		ended := *st
		ended.Semicolon = syntax.Pos{}
		text = text[:max(0, min(int(ended.End().Offset())-begin, len(text)))]
		for _, r := range st.Redirs {
			if r.Hdoc != nil {
				line = max(0, int(r.Word.End().Offset())-begin)
			}
		}
	}
	if line < len(text) {
		rest, _, _ := strings.Cut(text[line:], "\n")
		text = text[:line+len(rest)]
	}
	return strings.TrimSpace(text)
}
