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
	class int     // tasks of one class are never beside each other; a task's number
	part  int
}

// graph is tasks without circles.
type graph struct {
	tasks []task
	ahead []int // of a task: the longest way from its begin to where nothing depends on it
	order []int // all tasks, none before what it depends on, the longest way first
	parts int

	// The room for planning a wave, which is done very often.
	whole  sets
	notes  []note
	sorted []int64 // by their keys, the largest first, then as order has them
}

// lane is tasks in the order in which they are done.
type lane struct {
	part, load int
	tasks      []int
}

func newGraph(tasks []task) *graph {
	n := len(tasks)
	g := &graph{
		tasks: tasks, ahead: make([]int, n), order: make([]int, n),
		whole: make(sets, n), notes: make([]note, n), sorted: make([]int64, 0, n),
	}
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
	for i := range tasks {
		g.parts = max(g.parts, tasks[i].part+1)
	}
	return g
}

// plan is the lanes of the next wave, the longest first. Components of the graph larger
// than so many fair lanes are cut; how many is what makes all waves to come take the
// shortest time, if there may be so many: 0 is any number. If that makes no difference,
// they are not cut.
func (g *graph) plan(lanes, waves int) []lane {
	var best []lane
	shortest := 0
	for _, fair := range []float64{0, 2, 1.5, 1.2, 1, 0.75, 0.5, 0.35, 0.25, 0.12, 0.06} {
		first, count, time := g.waves(lanes, fair, shortest)
		if best == nil || time < shortest && (waves == 0 || count <= waves) {
			best, shortest = first, time
		}
	}
	slices.SortStableFunc(best, func(a, b lane) int {
		return cmp.Or(cmp.Compare(b.load, a.load), cmp.Compare(a.tasks[0], b.tasks[0]))
	})
	return best
}

// waves is the first of the waves that do all tasks, and how long they take together: not
// to the end if that is more than most, which is not 0.
func (g *graph) waves(lanes int, fair float64, most int) (first []lane, count, time int) {
	open := slices.Clone(g.order)
	for _, i := range open {
		g.notes[i].left = true
	}
	for ; ; count++ {
		wave := g.wave(open, lanes, fair)
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
				g.notes[i].left = false
			}
		}
		open = slices.DeleteFunc(open, func(i int) bool { return !g.notes[i].left })
		if time += longest + waveCost; most > 0 && time >= most {
			return first, count, time
		}
	}
}

// note is what the planning of a wave remembers of a task.
type note struct {
	left bool
	cut  bool // its component is
	size int  // of its component, if it stands for that
	of   int  // the lane that its component, if it stands for that, was placed in last, from 1; 0: none
	key  int  // what it is sorted by
	in   int  // its lane
	// Of the class that has its number: the first task, from 1, and the lane.
	first, class int
}

// wave is lanes of what is open, which is sorted as order is. A component that is larger
// than so many fair lanes is cut: its tasks are spread, those that depend on what is in
// other lanes wait, and no lane gets more of them than that. 0: no component is cut.
func (g *graph) wave(open []int, lanes int, fair float64) []lane {
	parts := g.share(open, lanes)
	whole, notes := g.whole, g.notes
	for _, i := range open {
		whole[i] = i
		notes[i] = note{left: true}
		notes[g.tasks[i].class].first, notes[g.tasks[i].class].class = 0, 0
	}
	work := 0
	for _, i := range open {
		t := &g.tasks[i]
		work += t.size
		for _, d := range t.deps {
			if notes[d].left {
				whole.join(i, d)
			}
		}
		if c := &notes[t.class]; c.first > 0 {
			whole.join(i, c.first-1)
		} else {
			c.first = i + 1
		}
	}
	for _, i := range open {
		notes[whole.find(i)].size += g.tasks[i].size
	}
	limit := fair * float64(work) / float64(lanes)
	// Components that stay whole are placed with their first task, in the order of their
	// size; those that are cut in that of the ways ahead.
	sorted := g.sorted[:0]
	for at, i := range open {
		n := &notes[i]
		n.key = notes[whole.find(i)].size
		if n.cut = fair > 0 && float64(n.key) > limit; n.cut {
			n.key = g.ahead[i]
		}
		sorted = append(sorted, -int64(n.key)<<32|int64(at))
	}
	slices.Sort(sorted)
	for _, s := range sorted {
		i := open[uint32(s)]
		t, n := &g.tasks[i], &notes[i]
		p, root, class := &parts[t.part], &notes[whole.find(i)], &notes[t.class]
		at, fits := class.class, true
		if !n.cut {
			at = root.of
		}
		for _, d := range t.deps {
			if before := &notes[d]; before.left {
				fits = fits && before.in > 0 && (at == 0 || at == before.in)
				at = before.in
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
		if !n.cut {
			more = n.key // all of it, with its first task
		}
		if len(l.tasks) == laneStories || fair > 0 && len(l.tasks) > 0 && (n.cut || root.of == 0) && float64(l.load+more) > limit {
			continue
		}
		l.tasks, l.load = append(l.tasks, i), l.load+t.size
		n.in, class.class, root.of = at, at, at
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
	queue       []queued // all lanes, as a heap: none stands before one with less to do
}

// queued is a lane, and the load that it had when it got its place. Loads only grow.
type queued struct{ lane, load int }

func (q queued) before(other queued) bool {
	return q.load < other.load || q.load == other.load && q.lane < other.lane
}

// shortest returns the number of the lane with the least work, counting from 1, and the
// first of several; 0 if there are no lanes.
func (s *share) shortest() int {
	if len(s.queue) == 0 {
		return 0
	}
	for {
		first := queued{s.queue[0].lane, s.lanes[s.queue[0].lane].load}
		if first == s.queue[0] {
			return first.lane + 1
		}
		at := 0
		for {
			next := 2*at + 1
			if next+1 < len(s.queue) && s.queue[next+1].before(s.queue[next]) {
				next++
			}
			if next >= len(s.queue) || !s.queue[next].before(first) {
				break
			}
			s.queue[at] = s.queue[next]
			at = next
		}
		s.queue[at] = first
	}
}

// share gives each part lanes: one each, in their order, then to the part whose lanes
// have the most to do.
func (g *graph) share(open []int, lanes int) []share {
	parts := make([]share, g.parts)
	for _, i := range open {
		t := &g.tasks[i]
		p := &parts[t.part]
		p.work += t.size
		if !slices.ContainsFunc(t.deps, func(d int) bool { return g.notes[d].left }) {
			p.ready++
		}
	}
	count := make([]int, len(parts)) // of lanes
	for range lanes {
		best := -1
		for i := range parts {
			p := &parts[i]
			if count[i] >= p.ready {
				continue
			}
			if best < 0 || count[best] > 0 && (count[i] == 0 || p.work*count[best] > parts[best].work*count[i]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		count[best]++
	}
	for i, n := range count {
		p := &parts[i]
		p.lanes, p.queue = make([]lane, n), make([]queued, n)
		for l := range n {
			p.lanes[l].part, p.queue[l].lane = i, l
		}
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
