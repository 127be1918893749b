package fanout

// Schedule is how long the waves take together that do such tasks, each planned anew, and
// how many there are: without parts, and without what else a plan has to respect.
func Schedule(sizes []int, deps [][]int, lanes int) (makespan, waves int) {
	left := make([]int, len(sizes))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		number := map[int]int{}
		all := make([]task, len(left))
		for n, i := range left {
			number[i] = n
			all[n] = task{size: sizes[i], class: n}
			for _, d := range deps[i] {
				if before, waits := number[d]; waits {
					all[n].deps = append(all[n].deps, before)
				}
			}
		}
		done, longest := map[int]bool{}, 0
		for _, l := range newGraph(all).plan(lanes, 0) {
			longest = max(longest, l.load)
			for _, n := range l.tasks {
				done[left[n]] = true
			}
		}
		var rest []int
		for _, i := range left {
			if !done[i] {
				rest = append(rest, i)
			}
		}
		left, makespan, waves = rest, makespan+longest, waves+1
	}
	return makespan, waves
}
