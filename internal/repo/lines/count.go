package lines

import (
	"hash/maphash"
)

// Count is the size of a shortest edit script from a to b; for texts that
// differ much it is the count of lines that only one of them has.
func Count(a, b []byte) (ins, del int) {
	seed := maphash.MakeSeed()
	x, y := hashes(seed, Split(a)), hashes(seed, Split(b))
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	if d, ok := distance(x, y); ok {
		// d = ins + del and len(y) - len(x) = ins - del.
		return (d + len(y) - len(x)) / 2, (d - len(y) + len(x)) / 2
	}
	n := map[uint64]int{}
	for _, l := range x {
		n[l]++
	}
	for _, l := range y {
		if n[l] > 0 {
			n[l]--
		} else {
			ins++
		}
	}
	return ins, len(x) - (len(y) - ins)
}

// distance is Myers' greedy algorithm (An O(ND) Difference Algorithm, 1986),
// given up after maxEdits.
func distance(a, b []uint64) (int, bool) {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b), true
	}
	limit := min(len(a)+len(b), maxEdits)
	v := make([]int, 2*limit+2)
	off := limit
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && v[off+k-1] < v[off+k+1] {
				x = v[off+k+1]
			} else {
				x = v[off+k-1] + 1
			}
			for y := x - k; x < len(a) && y < len(b) && a[x] == b[y]; y++ {
				x++
			}
			v[off+k] = x
			if x >= len(a) && x-k >= len(b) {
				return d, true
			}
		}
	}
	return 0, false
}
