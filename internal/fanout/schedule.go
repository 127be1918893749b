package fanout

import (
	"cmp"
	"slices"
)

// laneStories bounds a lane: more does not come to its end in the six hours of a job.
const laneStories = 250

// waveCost is what a wave costs beside its longest lane, in iterations: jobs start, and
// what they made is integrated.
const waveCost = 1

// task is a story that is left to do; tasks name each other by their index.
type task struct {
	size  int     // iterations
	rank  float64 // among equals the lowest comes first, then the lowest index
	deps  []int   // have to be done before, or earlier in the same lane
	class int     // tasks of one class are never beside each other
	part  int
}

// graph is tasks without circles.
type graph struct {
	tasks []task
	ahead []int // of a task: the longest way from its begin to where nothing depends on it
	order []int // all tasks, none before what it depends on, the longest way first
}

// lane is tasks in the order in which they are done.
type lane struct {
	part, load int
	tasks      []int
}

func newGraph(tasks []task) *graph {
	g := &graph{tasks: tasks, ahead: make([]int, len(tasks)), order: make([]int, len(tasks))}
	open := make([]int, len(tasks)) // tasks that depend on it and were not visited
	for _, t := range tasks {
		for _, d := range t.deps {
			open[d]++
		}
	}
	var next []int
	for i := range tasks {
		g.order[i] = i
		if open[i] == 0 {
			next = append(next, i)
		}
	}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		g.ahead[i] += tasks[i].size
		for _, d := range tasks[i].deps {
			g.ahead[d] = max(g.ahead[d], g.ahead[i])
			if open[d]--; open[d] == 0 {
				next = append(next, d)
			}
		}
	}
	slices.SortFunc(g.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.ahead[b], g.ahead[a]), cmp.Compare(tasks[a].rank, tasks[b].rank), cmp.Compare(a, b))
	})
	return g
}

// plan is the lanes of the next wave, the longest first. Components of the graph larger
// than so many fair lanes are cut; how many is what makes all waves to come take the
// shortest time, if there may be so many: 0 is any number. If that makes no difference,
// they are not cut.
func (g *graph) plan(lanes, waves int) []lane {
	left := make([]bool, len(g.tasks))
	for i := range left {
		left[i] = true
	}
	var best []lane
	shortest := 0
	for _, fair := range []float64{0, 2, 1.5, 1.2, 1, 0.75, 0.5, 0.35, 0.25, 0.12, 0.06} {
		first, count, time := g.waves(slices.Clone(left), lanes, fair, shortest)
		if best == nil || time < shortest && (waves == 0 || count <= waves) {
			best, shortest = first, time
		}
	}
	slices.SortStableFunc(best, func(a, b lane) int {
		return cmp.Or(cmp.Compare(b.load, a.load), cmp.Compare(a.tasks[0], b.tasks[0]))
	})
	return best
}

// waves is the first of the waves that do all that is left, and how long they take
// together: not to the end if that is more than most, which is not 0.
func (g *graph) waves(left []bool, lanes int, fair float64, most int) (first []lane, count, time int) {
	for ; ; count++ {
		wave := g.wave(left, lanes, fair)
		if len(wave) == 0 {
			return first, count, time
		}
		if first == nil {
			first = wave
		}
		longest := 0
		for _, l := range wave {
			longest = max(longest, l.load)
			for _, i := range l.tasks {
				left[i] = false
			}
		}
		if time += longest + waveCost; most > 0 && time >= most {
			return first, count, time
		}
	}
}

// wave is lanes of what is left. A component that is larger than so many fair lanes is
// cut: its tasks are spread, those that depend on what is in other lanes wait, and no
// lane gets more of them than that. 0: no component is cut.
func (g *graph) wave(left []bool, lanes int, fair float64) []lane {
	parts := g.share(left, lanes)
	whole := newSets(len(g.tasks))
	classes := map[int]int{}
	for i := range g.tasks {
		if !left[i] {
			continue
		}
		for _, d := range g.tasks[i].deps {
			if left[d] {
				whole.join(i, d)
			}
		}
		if first, seen := classes[g.tasks[i].class]; seen {
			whole.join(i, first)
		} else {
			classes[g.tasks[i].class] = i
		}
	}
	size, key, work := make([]int, len(g.tasks)), make([]int, len(g.tasks)), 0
	for i, t := range g.tasks {
		if left[i] {
			size[whole.find(i)] += t.size
			work += t.size
		}
	}
	limit := fair * float64(work) / float64(lanes)
	// Components that stay whole are placed with their first task, in the order of their
	// size; those that are cut in that of the ways ahead.
	cut := make([]bool, len(g.tasks))
	order := make([]int, 0, len(g.order))
	for _, i := range g.order {
		if left[i] {
			key[i] = size[whole.find(i)]
			if cut[i] = fair > 0 && float64(key[i]) > limit; cut[i] {
				key[i] = g.ahead[i]
			}
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key[b], key[a]) })
	in := make([]int, len(g.tasks)) // the lane of a task, from 1
	class, of := map[int]int{}, map[int]int{}
	for _, i := range order {
		t := &g.tasks[i]
		p, root := &parts[t.part], whole.find(i)
		at, fits := class[t.class], true
		if !cut[i] {
			at = of[root]
		}
		for _, d := range t.deps {
			if left[d] {
				fits = fits && in[d] > 0 && (at == 0 || at == in[d])
				at = in[d]
			}
		}
		if at == 0 && fits {
			at = p.shortest()
		}
		if !fits || at == 0 {
			continue
		}
		l := &p.lanes[at-1]
		more := t.size
		if !cut[i] {
			more = key[i] // all of it, with its first task
		}
		if len(l.tasks) == laneStories || fair > 0 && len(l.tasks) > 0 && (cut[i] || of[root] == 0) && float64(l.load+more) > limit {
			continue
		}
		l.tasks, l.load = append(l.tasks, i), l.load+t.size
		in[i], class[t.class], of[root] = at, at, at
	}
	var all []lane
	for _, p := range parts {
		for _, l := range p.lanes {
			if len(l.tasks) > 0 {
				all = append(all, l)
			}
		}
	}
	return all
}

// share is a part's lanes.
type share struct {
	work, ready int // iterations that are left; tasks that wait for nothing
	lanes       []lane
}

// shortest is the lane with the least to do, from 1; 0 if there is none.
func (s *share) shortest() int {
	best := 0
	for i := range s.lanes {
		if best == 0 || s.lanes[i].load < s.lanes[best-1].load {
			best = i + 1
		}
	}
	return best
}

// share gives each part lanes: one each, in their order, then to the part whose lanes
// have the most to do.
func (g *graph) share(left []bool, lanes int) []share {
	var parts []share
	for i, t := range g.tasks {
		for len(parts) <= t.part {
			parts = append(parts, share{})
		}
		if left[i] {
			p := &parts[t.part]
			p.work += t.size
			if !slices.ContainsFunc(t.deps, func(d int) bool { return left[d] }) {
				p.ready++
			}
		}
	}
	for range lanes {
		best := -1
		for i := range parts {
			p := &parts[i]
			if len(p.lanes) >= p.ready {
				continue
			}
			if best < 0 || len(parts[best].lanes) > 0 && (len(p.lanes) == 0 || p.work*len(parts[best].lanes) > parts[best].work*len(p.lanes)) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		parts[best].lanes = append(parts[best].lanes, lane{part: best})
	}
	return parts
}

// sets are disjoint sets of numbers.
type sets []int

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// find is the number that stands for a set.
func (s sets) find(i int) int {
	for s[i] != i {
		s[i] = s[s[i]]
		i = s[i]
	}
	return i
}

func (s sets) join(a, b int) {
	a, b = s.find(a), s.find(b)
	s[max(a, b)] = min(a, b)
}
