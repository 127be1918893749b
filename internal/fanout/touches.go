package fanout

import (
	"strings"

	"github.com/org/ralph-action/internal/lib/glob"
)

// maxCompared bounds how many pairs of patterns are compared; what is beyond counts as
// overlapping.
const maxCompared = 5_000_000

// classes puts together what could touch the same, directly or by others between them:
// of each, by its patterns, the first of its class.
func classes(patterns [][]string) []int {
	touch := newSets(len(patterns))
	type one struct {
		glob.Pattern
		of int // the first with this pattern
	}
	seen := map[string]int{}
	var all []one
	below := map[string][]int{} // of all, by their fixed parts
	for i, list := range patterns {
		for _, text := range list {
			if first, known := seen[text]; known {
				touch.join(i, first)
				continue
			}
			seen[text] = i
			p, err := glob.Parse(text)
			if err != nil {
				continue // a list that was read has none
			}
			key := strings.Join(p.Fixed(), "/")
			below[key] = append(below[key], len(all))
			all = append(all, one{p, i})
		}
	}
	compared := 0
	for n := range all {
		// Patterns can mean the same only if the fixed parts of one begin those of the other.
		fixed := all[n].Fixed()
		for i := range len(fixed) + 1 {
			for _, other := range below[strings.Join(fixed[:i], "/")] {
				if i == len(fixed) && other >= n || touch.find(all[n].of) == touch.find(all[other].of) {
					continue
				}
				if compared++; compared > maxCompared || all[n].Overlaps(all[other].Pattern) {
					touch.join(all[n].of, all[other].of)
				}
			}
		}
	}
	class := make([]int, len(patterns))
	for i := range class {
		class[i] = touch.find(i)
	}
	return class
}
