package install

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
)

// compare orders two exact versions as semver.org does.
func compare(a, b string) int {
	a, _, _ = strings.Cut(a, "+")
	b, _, _ = strings.Cut(b, "+")
	a, preA, _ := strings.Cut(a, "-")
	b, preB, _ := strings.Cut(b, "-")
	order := slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), compareParts)
	switch {
	case order != 0 || preA == preB:
		return order
	case preA == "":
		return 1
	case preB == "":
		return -1
	}
	return slices.CompareFunc(strings.Split(preA, "."), strings.Split(preB, "."), compareParts)
}

// compareParts orders numbers before words.
func compareParts(a, b string) int {
	m, errA := strconv.Atoi(a)
	n, errB := strconv.Atoi(b)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(m, n)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

var (
	// span is "16 - 20".
	span = lazyregexp.New(`(\S+)\s+-\s+(\S+)`)
	// bound is one of the conditions of a range. Parts of the version may be missing, or x.
	bound = lazyregexp.New(`^\s*(>=|<=|>|<|=|\^|~>?|)\s*v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:\.[x*])*(?:[-+]\S*)?(?:\s+|$)`)
)

// satisfies reports whether a version lies in a range as npm writes them:
// ">=20", "^20.19.0 || >=22.12.0", "18.x", "16 - 20". What cannot be read is
// taken for satisfied: npm itself only warns.
func satisfies(version, ranges string) bool {
	have := bound.FindStringSubmatch(version)
	if have == nil || len(ranges) > 1000 {
		return true
	}
	for alternative := range strings.SplitSeq(span.ReplaceAllString(ranges, ">=$1 <=$2"), "||") {
		if within(numbers(have[2:5]), strings.TrimSpace(alternative)) {
			return true
		}
	}
	return false
}

// within reports whether a version fulfils all conditions of a range.
func within(have []int, conditions string) bool {
	for conditions != "" {
		m := bound.FindStringSubmatch(conditions)
		if m == nil {
			return true
		}
		conditions = conditions[len(m[0]):]
		low := numbers(m[2:5])
		// All versions that begin with the same parts as the given one are before high.
		same := len(low)
		switch m[1] {
		case "~", "~>":
			same = min(2, same)
		case "^":
			same = min(1+max(0, slices.IndexFunc(low, func(n int) bool { return n > 0 })), same)
		}
		high := slices.Clone(low[:same])
		high[same-1]++
		above, below := slices.Compare(have, low) >= 0, slices.Compare(have, high) < 0
		fulfilled := above && below
		switch m[1] {
		case ">=":
			fulfilled = above
		case ">":
			fulfilled = !below
		case "<":
			fulfilled = !above
		case "<=":
			fulfilled = below
		}
		if !fulfilled {
			return false
		}
	}
	return true
}

// numbers are those that are there.
func numbers(parts []string) (list []int) {
	for _, part := range parts {
		if n, err := strconv.Atoi(part); err == nil {
			list = append(list, n)
		}
	}
	return list
}
