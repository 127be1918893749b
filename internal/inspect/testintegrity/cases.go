package testintegrity

import (
	"bytes"
	"slices"
	"sort"
	"strings"
)

// testCase is a test in a file.
type testCase struct {
	name       string
	at         int // where its mark begins
	begin, end int // its body
	line       int
}

// maxCases bounds the tests of one file that are told apart.
const maxCases = 3000

// maxBody bounds what of a test is read.
const maxBody = 64 << 10

// cases finds the tests of a source, in order.
func (l *language) cases(s *source) []testCase {
	var list []testCase
	add := func(name string, at, after int) {
		if name = strings.TrimSpace(name); name == "" {
			name = strings.TrimSpace(string(s.text[at:min(len(s.text), at+60)]))
		}
		list = append(list, testCase{name: strings.Join(strings.Fields(name), " "), at: at, begin: after, line: s.lineOf(at)})
	}
	if l.call != nil {
		for _, m := range l.call.FindAllIndex(s.code, maxCases) {
			at := m[0] + len(s.code[m[0]:m[1]]) - len(bytes.TrimLeft(s.code[m[0]:m[1]], " \t\n\r({[;,=!&|?:>"))
			name, after := s.called(m[1])
			add(name, at, after)
		}
	}
	if l.named != nil {
		for _, m := range l.named.FindAllSubmatchIndex(s.code, maxCases) {
			n := len(m) - 2
			add(string(s.text[m[n]:m[n+1]]), m[0]+len(s.code[m[0]:m[1]])-len(bytes.TrimLeft(s.code[m[0]:m[1]], " \t\n")), m[1])
		}
	}
	if l.macro != nil {
		for _, m := range l.macro.FindAllIndex(s.code, maxCases) {
			if end := s.closing(m[1] - 1); end > 0 && end-m[1] < 500 && s.code[min(end+1, len(s.code)-1)] != ';' {
				name := string(s.text[m[1]:end])
				if i := strings.Index(name, `", "[`); i > 0 { // tags of Catch2 are no part of a name
					name = name[:i+1]
				}
				add(strings.Trim(strings.ReplaceAll(name, "DISABLED_", ""), `"`), m[0], end+1)
			}
		}
	}
	if l.attribute != nil {
		for _, m := range l.attribute.FindAllIndex(s.code, maxCases) {
			if name, after, ok := s.declared(m[0]); ok {
				add(name, m[0], after)
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].begin < list[j].begin })
	list = slices.CompactFunc(list, func(a, b testCase) bool { return a.begin == b.begin })
	list = list[:min(len(list), maxCases)]
	var ends []int32
	if l.indent {
		ends = s.indentEnds()
	}
	for i := range list {
		c := &list[i]
		next := len(s.text)
		if i+1 < len(list) {
			next = list[i+1].at
		}
		c.end = l.bodyEnd(s, c, next, ends)
		c.end = max(c.begin, min(c.end, len(s.text), c.begin+maxBody))
	}
	return list
}

// without is a source without its tests.
func (s *source) without(tests []testCase) []byte {
	out := bytes.Clone(s.text)
	for _, c := range tests {
		blank(out[c.at:c.end])
	}
	return out
}

// called is the name in the string whose quote stands before at, and where the
// body may begin. Behind .each it skips the table.
func (s *source) called(at int) (name string, after int) {
	if at > 0 && !isQuote(s.code[at-1]) {
		i := s.skip(at)
		switch {
		case i < len(s.code) && s.code[i] == '(':
			if i = s.closing(i); i < 0 {
				return "", at
			}
			i = s.skip(i + 1)
		case i < len(s.code) && s.code[i] == '`':
			end := bytes.IndexByte(s.code[i+1:], '`')
			if end < 0 {
				return "", at
			}
			i = s.skip(i + 1 + end + 1)
		}
		if i >= len(s.code) || s.code[i] != '(' {
			return "", at
		}
		if i = s.skip(i + 1); i >= len(s.code) || !isQuote(s.code[i]) {
			return "", i
		}
		at = i + 1
	}
	const longest = 500
	open := s.code[at-1]
	end := bytes.IndexByte(s.code[at:min(len(s.code), at+longest)], open)
	if end < 0 {
		return "", at
	}
	return string(s.text[at : at+end]), at + end + 1
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// skip is the next place at or behind i that is not white space.
func (s *source) skip(i int) int {
	for i < len(s.code) && isSpace(s.code[i]) {
		i++
	}
	return i
}

// declared is the name of the function that an attribute or annotation at i
// stands above, and where its parameters begin.
func (s *source) declared(i int) (name string, after int, ok bool) {
	const furthest = 4000
	last := min(len(s.code), i+furthest)
	for i < last {
		switch i = s.skip(i); {
		case i >= last:
			return "", 0, false
		case s.code[i] == '#' || s.code[i] == '[':
			for i < last && s.code[i] != '[' {
				i++
			}
			if i = s.closing(i); i < 0 {
				return "", 0, false
			}
			i++
			continue
		case s.code[i] == '@':
			for i++; i < last && (isWord(s.code[i]) || s.code[i] == '.'); i++ {
			}
			if n := s.skip(i); n < last && s.code[n] == '(' {
				if i = s.closing(n); i < 0 {
					return "", 0, false
				}
				i++
			}
			continue
		}
		break
	}
	open := bytes.IndexByte(s.code[min(i, last):last], '(')
	if open < 0 || bytes.ContainsAny(s.code[i:i+open], ";}") {
		return "", 0, false
	}
	open += i
	head := bytes.TrimRight(s.text[i:open], " \t\n")
	if n := len(head); n > 1 && head[n-1] == '`' { // Kotlin, Swift
		if from := bytes.LastIndexByte(head[:n-1], '`'); from >= 0 {
			return string(head[from+1 : n-1]), open + 1, true
		}
	}
	if n := bytes.LastIndexByte(head, '<'); n > 0 && bytes.HasSuffix(head, []byte(">")) {
		head = bytes.TrimRight(head[:n], " ")
	}
	from := len(head)
	for from > 0 && isWord(head[from-1]) {
		from--
	}
	return string(head[from:]), open + 1, from < len(head)
}

// bodyEnd is where the body of a case ends, at the latest where the next one
// begins that is not part of it.
func (l *language) bodyEnd(s *source, c *testCase, next int, ends []int32) int {
	if l.indent {
		line := s.lineOf(max(c.at, c.begin-1)) - 1
		if line < len(ends) {
			return int(ends[line])
		}
		return next
	}
	if i := s.skip(c.begin); l.name == "js" && i < len(s.code) && s.code[i] == ')' { // only planned
		return i
	}
	const furthest = 2000
	for i := c.begin; i < min(next, c.begin+furthest); i++ {
		switch s.code[i] {
		case '{':
			end := s.closing(i)
			if end > 0 && bytes.HasSuffix(bytes.TrimRight(s.code[c.begin:i], " \t\n"), []byte(",")) { // options
				i = end
				continue
			}
			if end > 0 {
				return end + 1
			}
			return next
		case '(', '[':
			// Parameters with braces in them, and options before a function.
			if end := s.closing(i); end > 0 && l.name != "js" {
				i = end
			}
		case ';':
			return i + 1
		}
	}
	return next
}

// indentEnds returns for each line where the block ends that it opens: before the
// next line that is indented as far as it or less, a closing "end" included.
func (s *source) indentEnds() []int32 {
	ends := make([]int32, len(s.starts))
	type open struct{ line, indent int }
	var stack []open
	for i, start := range s.starts {
		end := len(s.code)
		if i+1 < len(s.starts) {
			end = int(s.starts[i+1])
		}
		line := s.code[start:end]
		text := bytes.TrimLeft(line, " \t")
		if len(bytes.TrimSpace(text)) == 0 || text[0] == ')' {
			ends[i] = int32(end)
			continue
		}
		indent := len(line) - len(text)
		for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
			ends[stack[len(stack)-1].line] = start
			stack = stack[:len(stack)-1]
		}
		stack = append(stack, open{i, indent})
	}
	for _, o := range stack {
		ends[o.line] = int32(len(s.code))
	}
	return ends
}

// owner is the test that a place belongs to: the innermost that holds it, else
// the next one below, -1 if there is no such test.
func owner(list []testCase, at int) int {
	next := sort.Search(len(list), func(i int) bool { return list[i].begin > at })
	for i := next - 1; i >= 0 && i > next-20; i-- {
		if list[i].at <= at && at < list[i].end {
			return i
		}
	}
	if next < len(list) {
		return next
	}
	return -1
}
