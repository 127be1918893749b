package weaken

import "slices"

// layer is a view of a source in which patterns are looked for.
type layer int

const (
	inCode     layer = iota
	inComments       // and nothing else
	inStrings        // and in code, but not in comments
	layers     = 3
)

// sourceID is a content in a language. Contents are not written to while they
// are looked at, so that where one begins says which it is.
type sourceID struct {
	first *byte
	size  int
	lang  *language
}

// source takes a content apart, each once.
func (k *look) source(text []byte, lang *language) *source {
	id := sourceID{size: len(text), lang: lang}
	if len(text) > 0 {
		id.first = &text[0]
	}
	s := k.sources[id]
	if s == nil {
		s = lex(text, lang.lexis)
		s.filter = k.filter(lang)
		k.sources[id] = s
	}
	return s
}

// text is a source of which nothing is known but its lines: all of it is code.
func (k *look) text(text []byte, patterns ...*pattern) *source {
	s := &source{text: text, code: text, starts: startsOf(text)}
	if !k.plain {
		s.filter = newFilter(patterns)
	}
	return s
}

// lines says whether a pattern may match in a line of a text, counted from 0.
// Lines are asked for in order.
func (k *look) lines(text []byte, patterns []*pattern) func(p *pattern, line int) bool {
	if k.plain {
		return func(*pattern, int) bool { return true }
	}
	f := newFilter(patterns)
	found := f.scan(text)
	return func(p *pattern, line int) bool {
		at, ok := f.index[p]
		if !ok {
			return true
		}
		for len(found[at]) > 0 && int(found[at][0]) < line {
			found[at] = found[at][1:]
		}
		return len(found[at]) > 0 && int(found[at][0]) == line
	}
}

func (k *look) filter(l *language) *filter {
	if k.plain {
		return nil
	}
	if l.filter == nil {
		l.filter = newFilter(k.patternsOf(l))
	}
	return l.filter
}

// patternsOf are all that are looked for in sources of a language.
func (k *look) patternsOf(l *language) []*pattern {
	var all []*pattern
	for _, p := range []*pattern{l.call, l.named, l.attribute, l.macro, l.only, l.assert, l.trivial, l.weak, l.disabled} {
		if p != nil {
			all = append(all, p)
		}
	}
	for _, m := range l.skip {
		all = append(all, m.re)
	}
	for _, s := range []string{notInCI, swallows, exits, functions} {
		all = append(all, k.pattern(s))
	}
	for _, s := range k.suppressions() {
		if s.langs == "" || contains(s.langs, l.name) {
			all = append(all, s.re)
		}
	}
	return all
}

// find is where a pattern matches: what FindAllIndex of the whole gives, at most
// maxCases.
func (s *source) find(p *pattern, in layer) [][]int {
	return s.matches(p, in, 0, len(s.text), p.FindAllIndex)
}

// findGroups is find, with the groups of each match.
func (s *source) findGroups(p *pattern, in layer) [][]int {
	return s.matches(p, in, 0, len(s.text), p.FindAllSubmatchIndex)
}

// findIn is find in a part, which is read as if it were a text by itself.
func (s *source) findIn(p *pattern, in layer, from, to int) [][]int {
	return s.matches(p, in, from, to, p.FindAllIndex)
}

func (s *source) matches(p *pattern, in layer, from, to int, find func([]byte, int) [][]int) [][]int {
	text := s.layer(in)
	at, ok := 0, false
	if s.filter != nil {
		at, ok = s.filter.index[p]
	}
	var found [][]int
	search := func(from, to int) {
		if len(found) == maxCases {
			return
		}
		for _, m := range find(text[from:to], maxCases-len(found)) {
			for i := range m {
				if m[i] >= 0 {
					m[i] += from
				}
			}
			found = append(found, m)
		}
	}
	if !ok {
		search(from, to)
		return found
	}
	first, last := s.lineOf(from)-1, s.lineOf(to)-1
	lines := s.candidates(in)[at]
	low, _ := slices.BinarySearch(lines, int32(first))
	high, _ := slices.BinarySearch(lines, int32(last)+1)
	if lines = lines[low:high]; p.reach < 0 && len(lines) > 0 {
		search(from, to)
		return found
	}
	// A stretch of lines holds all of each match of which a word stands in it.
	begin, end := 0, -1
	for _, line := range lines {
		a := s.away(text, int(line), -p.reach, max(first, end), last)
		if end >= 0 && a > end {
			search(max(from, s.begin(begin)), min(to, s.end(end)))
			end = -1
		}
		if end < 0 {
			begin = a
		}
		end = s.away(text, int(line), p.reach, first, last)
	}
	if end >= 0 {
		search(max(from, s.begin(begin)), min(to, s.end(end)))
	}
	return found
}

// away is the line that is n lines that are not blank away, within the given
// ones, counted from 0.
func (s *source) away(text []byte, line, n, first, last int) int {
	step := 1
	if n < 0 {
		step, n = -1, -n
	}
	for ; n > 0 && line+step >= first && line+step <= last; line += step {
		if slices.ContainsFunc(text[s.begin(line+step):s.end(line+step)], func(b byte) bool { return !isBlank(b) }) {
			n--
		}
	}
	return line
}

// begin is where a line, counted from 0, begins.
func (s *source) begin(line int) int { return int(s.starts[line]) }

// end is where its line end stands, or the text ends.
func (s *source) end(line int) int {
	if line+1 < len(s.starts) {
		return int(s.starts[line+1]) - 1
	}
	return len(s.text)
}

// candidates are the lines of a layer that hold words of the patterns.
func (s *source) candidates(in layer) [][]int32 {
	if s.layers[in] == nil {
		s.layers[in] = s.filter.scan(s.layer(in))
	}
	return s.layers[in]
}

func (s *source) layer(in layer) []byte {
	switch in {
	case inComments:
		return s.comments
	case inStrings:
		return uncommented(s)
	}
	return s.code
}
