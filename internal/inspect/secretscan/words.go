package secretscan

// words finds many short words at once, whatever their case: the automaton of
// Aho and Corasick, as one table.
type words struct {
	class [256]uint8 // capitals as small letters; bytes of no word share 0
	width int
	next  []uint32 // by state*width+class: where the next state begins, and hit
	// found is the first of the words that end in a state, -1 for none; more
	// follow by also.
	found []int16
	also  []int16 // by state: the state of a shorter word that ends here, too
	texts []string
}

// hit marks a state in which a word ends.
const hit = 1 << 31

func newWords(texts []string) *words {
	w := &words{texts: texts, width: 1}
	for _, text := range texts {
		for i := range len(text) {
			if b := text[i]; w.class[b] == 0 {
				w.class[b] = uint8(w.width)
				if b >= 'a' && b <= 'z' {
					w.class[b-'a'+'A'] = uint8(w.width)
				}
				w.width++
			}
		}
	}
	w.state() // the root
	for n, text := range texts {
		at := 0
		for i := range len(text) {
			slot := at*w.width + int(w.class[text[i]])
			if w.next[slot] == 0 {
				w.next[slot] = uint32(w.state())
			}
			at = int(w.next[slot])
		}
		w.found[at] = int16(n)
	}
	w.link()
	return w
}

func (w *words) state() int {
	w.next = append(w.next, make([]uint32, w.width)...)
	w.found = append(w.found, -1)
	w.also = append(w.also, 0)
	return len(w.found) - 1
}

// link fills the table: where a state has no way on, its longest end that is
// the beginning of a word has.
func (w *words) link() {
	fail := make([]int, len(w.found))
	var queue []int
	for c := range w.width {
		if s := int(w.next[c]); s != 0 {
			queue = append(queue, s)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if f := fail[s]; w.found[f] >= 0 {
			w.also[s] = int16(f)
		} else {
			w.also[s] = w.also[f]
		}
		for c := range w.width {
			slot := s*w.width + c
			onward := w.next[fail[s]*w.width+c]
			if t := int(w.next[slot]); t != 0 {
				fail[t] = int(onward)
				queue = append(queue, t)
			} else {
				w.next[slot] = onward
			}
		}
	}
	for slot, s := range w.next {
		w.next[slot] = s * uint32(w.width)
		if w.found[s] >= 0 || w.also[s] != 0 {
			w.next[slot] |= hit
		}
	}
}

// each calls found for every word in the text, with the offset behind it.
func (w *words) each(text []byte, found func(word, end int)) {
	state := uint32(0)
	for i, b := range text {
		state = w.next[state+uint32(w.class[b])]
		if state&hit == 0 {
			continue
		}
		state &^= hit
		for s := int(state) / w.width; s != 0; s = int(w.also[s]) {
			if n := w.found[s]; n >= 0 {
				found(int(n), i+1)
			}
		}
	}
}
