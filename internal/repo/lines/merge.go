// Package lines compares and merges texts line by line.
package lines

import (
	"bytes"
	"hash/maphash"
	"slices"
)

const (
	maxMergedEdits  = 1000 // lines that one side of a merge changed
	maxCountedEdits = 2000
)

// Merge merges what two sides made of a text (Khanna, Kunal, Pierce: A
// Formal Investigation of Diff3, 2007). Like git it takes changes without an
// unchanged line between them for one; such a change of both sides, unless it
// is the same, is a conflict.
func Merge(base, ours, theirs []byte) ([]byte, bool) {
	return merge(base, ours, theirs, func(*bytes.Buffer, [][]byte, [][]byte, [][]byte) bool { return false })
}

// The lines between which Marked puts what conflicts, each with a name behind it.
const (
	MarkOurs   = "<<<<<<<"
	MarkBase   = "|||||||"
	MarkBoth   = "======="
	MarkTheirs = ">>>>>>>"
)

// Marked is Merge, which never fails at a conflict: both sides stand between markers, with
// what they come from, as git's diff3 style has it.
func Marked(base, ours, theirs []byte, mine, there string) ([]byte, bool) {
	return merge(base, ours, theirs, func(out *bytes.Buffer, was, a, b [][]byte) bool {
		part := func(mark string, l [][]byte) {
			out.WriteString(mark + "\n")
			out.Write(bytes.Join(l, nil))
			if n := len(l); n > 0 && !bytes.HasSuffix(l[n-1], []byte("\n")) {
				out.WriteByte('\n')
			}
		}
		part(MarkOurs+" "+mine, a)
		part(MarkBase+" base", was)
		part(MarkBoth, b)
		out.WriteString(MarkTheirs + " " + there + "\n")
		return true
	})
}

// Marks counts the lines of a text that may be conflict markers, by kind.
func Marks(text []byte) map[string]int {
	n := map[string]int{}
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		for _, mark := range []string{MarkOurs, MarkBase, MarkTheirs} {
			if rest, ok := bytes.CutPrefix(line, []byte(mark)); ok && (len(rest) == 0 || rest[0] == ' ') {
				n[mark]++
			}
		}
		if string(line) == MarkBoth {
			n[MarkBoth]++
		}
	}
	return n
}

func merge(base, ours, theirs []byte, conflict func(out *bytes.Buffer, was, mine, there [][]byte) bool) ([]byte, bool) {
	o, a, b := Split(base), Split(ours), Split(theirs)
	inA, ok := Matches(o, a)
	if !ok {
		return nil, false
	}
	inB, ok := Matches(o, b)
	if !ok {
		return nil, false
	}
	var out bytes.Buffer
	var i, j, k int // of o, a and b
	for i < len(o) || j < len(a) || k < len(b) {
		if i < len(o) && inA[i] == j && inB[i] == k {
			out.Write(o[i])
			i, j, k = i+1, j+1, k+1
			continue
		}
		// To the next line that all three have.
		next, nj, nk := len(o), len(a), len(b)
		for n := i; n < len(o); n++ {
			if inA[n] >= j && inB[n] >= k {
				next, nj, nk = n, inA[n], inB[n]
				break
			}
		}
		was, mine, there := o[i:next], a[j:nj], b[k:nk]
		switch {
		case sameLines(mine, was), sameLines(mine, there):
			out.Write(bytes.Join(there, nil))
		case sameLines(there, was):
			out.Write(bytes.Join(mine, nil))
		case !conflict(&out, was, mine, there):
			return nil, false
		}
		i, j, k = next, nj, nk
	}
	return out.Bytes(), true
}

// Split parts a text into its lines, each with its end.
func Split(b []byte) [][]byte {
	var l [][]byte
	for line := range bytes.Lines(b) {
		l = append(l, line)
	}
	return l
}

func hashes(seed maphash.Seed, l [][]byte) []uint64 {
	h := make([]uint64, len(l))
	for i, line := range l {
		h[i] = maphash.Bytes(seed, line)
	}
	return h
}

func sameLines(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// Matches says, for each line of old, which line of now it became in a shortest edit
// script; -1 for none. It is false when that has more than maxMergedEdits.
func Matches(old, now [][]byte) ([]int, bool) { return matches(old, now, maxMergedEdits) }

func matches(old, now [][]byte, limit int) ([]int, bool) {
	seed := maphash.MakeSeed()
	a, b := hashes(seed, old), hashes(seed, now)
	m := make([]int, len(a))
	for i := range m {
		m[i] = -1
	}
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		m[from] = from
		from++
	}
	x, y := a[from:], b[from:]
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		m[from+len(x)-1] = from + len(y) - 1
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return m, trace(x, y, from, m, limit)
}

// trace finds a shortest edit script of at most limit edits by Myers' greedy algorithm (An
// O(ND) Difference Algorithm, 1986), and notes the lines that stay.
func trace(a, b []uint64, from int, m []int, limit int) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a)+len(b) <= limit
	}
	limit = min(len(a)+len(b), limit)
	v := make([]int32, 2*limit+2)
	var steps [][]int32
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && v[limit+k-1] < v[limit+k+1] {
				x = int(v[limit+k+1])
			} else {
				x = int(v[limit+k-1]) + 1
			}
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[limit+k] = int32(x)
			if x >= len(a) && y >= len(b) {
				back(steps, a, b, from, m)
				return true
			}
		}
		steps = append(steps, slices.Clone(v[limit-d:limit+d+1])) // of the diagonals -d to d
	}
	return false
}

// back walks an edit script from its end.
func back(steps [][]int32, a, b []uint64, from int, m []int) {
	x, y := len(a), len(b)
	for d := len(steps); d >= 0; d-- {
		px, py := 0, 0
		if d > 0 {
			prev := steps[d-1]
			at := func(k int) int {
				if i := k + d - 1; i >= 0 && i < len(prev) {
					return int(prev[i])
				}
				return -1
			}
			k := x - y
			if k == -d || k != d && at(k-1) < at(k+1) {
				k++
			} else {
				k--
			}
			px = at(k)
			py = px - k
		}
		for x > px && y > py && a[x-1] == b[y-1] {
			x, y = x-1, y-1
			m[from+x] = from + y
		}
		x, y = px, py
	}
}
