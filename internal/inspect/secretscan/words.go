package secretscan

// words finds many short words at once, whatever their case.
type words struct {
	texts []string        // in small letters, of two bytes or more
	heads [1 << 16]uint16 // by the first two bytes of words: where in groups they are; 0 for none
	group [][]int
	small [256]byte // capitals as small letters
}

func newWords(texts []string) *words {
	w := &words{texts: texts, group: make([][]int, 1)}
	for b := range w.small {
		w.small[b] = byte(b)
		if 'A' <= b && b <= 'Z' {
			w.small[b] += 'a' - 'A'
		}
	}
	for n, text := range texts {
		head := &w.heads[uint16(text[0])<<8|uint16(text[1])]
		if *head == 0 {
			*head = uint16(len(w.group))
			w.group = append(w.group, nil)
		}
		w.group[*head] = append(w.group[*head], n)
	}
	return w
}

// each calls found for every word in the text, with the offset behind it.
func (w *words) each(text []byte, found func(word, end int)) {
	head := uint16(0)
	for i, b := range text {
		head = head<<8 | uint16(w.small[b])
		if w.heads[head] == 0 {
			continue
		}
	next:
		for _, n := range w.group[w.heads[head]] {
			word := w.texts[n]
			if i-1+len(word) > len(text) {
				continue
			}
			for j := 2; j < len(word); j++ {
				if w.small[text[i-1+j]] != word[j] {
					continue next
				}
			}
			found(n, i-1+len(word))
		}
	}
}
