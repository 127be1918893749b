package tasks

import (
	"slices"
	"strconv"
	"strings"
)

// dependencies finds what dependsOn may not hold: ids of no story, and circles. A list
// with a story that has no id is left alone.
func (r *reader) dependencies(l *List) {
	if l.stories == nil || len(l.Stories) < len(l.stories.Items) || slices.ContainsFunc(l.Stories, func(s Story) bool { return s.ID == "" }) {
		return
	}
	index := make(map[string]int, len(l.Stories))
	for i := range l.Stories {
		index[l.Stories[i].ID] = i
	}
	for i := range l.Stories {
		s := &l.Stories[i]
		for _, id := range s.DependsOn {
			if _, known := index[id]; !known {
				r.depends(l, i, "Story "+Visible(s.ID)+" depends on "+Quote(id)+", which is no story")
			}
		}
	}
	c := circles{l: l, index: index, state: make([]byte, len(l.Stories))}
	for i := range l.Stories {
		c.from(i)
	}
	for _, circle := range c.met {
		r.depends(l, circle[0], "stories depend on each other in a circle: "+l.path(circle))
	}
}

func (r *reader) depends(l *List, index int, text string) {
	if r.full() {
		return
	}
	at := l.stories.Items[index].Value.Member(fieldDepends).At
	r.problem(at, index, Visible(l.Stories[index].ID), text)
}

// path shows a circle, the long ones cut.
func (l *List) path(circle []int) string {
	const most = 10
	var ids []string
	for _, i := range circle[:min(len(circle), most)] {
		ids = append(ids, Visible(l.Stories[i].ID))
	}
	if n := len(circle) - most; n > 0 {
		ids = append(ids, "("+strconv.Itoa(n)+" more)")
	}
	return strings.Join(append(ids, Visible(l.Stories[circle[0]].ID)), " → ")
}

// circles walks the graph of dependencies, each story once.
type circles struct {
	l     *List
	index map[string]int
	state []byte // 0: not visited, 1: on the way, 2: done
	way   []int
	met   [][]int // no more than are shown: there may be as many as there are dependencies
}

// from meets the circles on the ways from a story.
func (c *circles) from(i int) {
	if c.state[i] != 0 {
		return
	}
	c.state[i] = 1
	c.way = append(c.way, i)
	for _, id := range c.l.Stories[i].DependsOn {
		next, known := c.index[id]
		switch {
		case !known:
		case c.state[next] != 1:
			c.from(next)
		case len(c.met) < maxProblems:
			c.met = append(c.met, slices.Clone(c.way[slices.Index(c.way, next):]))
		}
	}
	c.way = c.way[:len(c.way)-1]
	c.state[i] = 2
}
