package weaken

import "slices"

// filter finds the words of many patterns in one walk through a text, whatever
// their case: the automaton of Aho and Corasick, as one table. Of most lines it
// says that no pattern matches there.
type filter struct {
	index map[*pattern]int // those with words
	class [256]uint8       // capitals as small letters; bytes of no word share 0
	width int
	next  []uint16   // by state*width+class
	tells [][]uint16 // by state: the patterns of which a word ends here
}

func newFilter(patterns []*pattern) *filter {
	f := &filter{index: map[*pattern]int{}, width: 1}
	f.state() // the root
	for _, p := range patterns {
		if len(p.words) == 0 {
			continue
		}
		if _, ok := f.index[p]; !ok {
			f.index[p] = len(f.index)
			for _, word := range p.words {
				for i := range len(word) {
					f.letter(word[i])
				}
			}
		}
	}
	f.next = make([]uint16, f.width)
	for p, n := range f.index {
		for _, word := range p.words {
			at := 0
			for i := range len(word) {
				slot := at*f.width + int(f.class[word[i]])
				if f.next[slot] == 0 {
					f.next[slot] = uint16(f.state())
				}
				at = int(f.next[slot])
			}
			if !slices.Contains(f.tells[at], uint16(n)) {
				f.tells[at] = append(f.tells[at], uint16(n))
			}
		}
	}
	f.link()
	return f
}

func (f *filter) letter(b byte) {
	if f.class[b] != 0 {
		return
	}
	f.class[b] = uint8(f.width)
	if b >= 'a' && b <= 'z' {
		f.class[b-'a'+'A'] = uint8(f.width)
	}
	f.width++
}

func (f *filter) state() int {
	f.next = append(f.next, make([]uint16, f.width)...)
	f.tells = append(f.tells, nil)
	return len(f.tells) - 1
}

// link fills the table: where a state has no way on, its longest end that is
// the beginning of a word has.
func (f *filter) link() {
	fail := make([]int, len(f.tells))
	var queue []int
	for c := range f.width {
		if s := int(f.next[c]); s != 0 {
			queue = append(queue, s)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		for _, n := range f.tells[fail[s]] {
			if !slices.Contains(f.tells[s], n) {
				f.tells[s] = append(f.tells[s], n)
			}
		}
		for c := range f.width {
			slot := s*f.width + c
			onward := f.next[fail[s]*f.width+c]
			if t := int(f.next[slot]); t != 0 {
				fail[t] = int(onward)
				queue = append(queue, t)
			} else {
				f.next[slot] = onward
			}
		}
	}
}

// scan gives for each pattern the lines, from 0, that hold one of its words.
func (f *filter) scan(text []byte) [][]int32 {
	lines := make([][]int32, len(f.index))
	state, line := 0, int32(0)
	for _, b := range text {
		state = int(f.next[state*f.width+int(f.class[b])])
		if state == 0 {
			if b == '\n' {
				line++
			}
			continue
		}
		for _, n := range f.tells[state] {
			if l := lines[n]; len(l) == 0 || l[len(l)-1] != line {
				lines[n] = append(l, line)
			}
		}
	}
	return lines
}
