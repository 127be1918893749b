package lines

// Count is the size of a shortest edit script from a to b; for texts that
// differ much it is the count of lines that only one of them has.
func Count(a, b []byte) (ins, del int) {
	x, y := Split(a), Split(b)
	if to, ok := matches(x, y, maxCountedEdits); ok {
		for _, j := range to {
			if j < 0 {
				del++
			}
		}
		return len(y) - (len(x) - del), del
	}
	n := map[string]int{}
	for _, l := range x {
		n[string(l)]++
	}
	for _, l := range y {
		if n[string(l)] > 0 {
			n[string(l)]--
		} else {
			ins++
		}
	}
	return ins, len(x) - (len(y) - ins)
}
