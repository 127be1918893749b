package fanout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/ralph-action/internal/lib/lazyregexp"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

const (
	// partStories is how many commits the page of a pull request shows.
	partStories = 250
	// maxMatrix bounds the matrix in bytes: the outputs of a job may have 1 MB, counted
	// as UTF-16.
	maxMatrix = 480_000
	MaxParts  = 1000 // that are looked for
	cent      = ralph.USD / 100
)

// Options are what people choose of a plan.
type Options struct {
	Wave, Waves int // Plan.Wave, Plan.Waves
	Lanes       int // at most
	Rules       tasks.Rules
	Branch      string // onto which all goes, however much it is; empty: the list's, in parts
}

// Input is what a plan is made of.
type Input struct {
	Options
	Dir  string // Plan.Dir
	Base At     // what the list's branches are compared with
	// Branches are those of the list that have commits which the base lacks: of the list
	// itself, and of parts that earlier waves made.
	Branches []At
	Open     map[string]string // stories that are under way on a branch of their own, and which
	// Budget is what all waves from this one on may cost; nil: no limit.
	Budget *ralph.MicroUSD
}

// At is a list as a commit has it.
type At struct {
	Branch string // Part.Branch; of the base: empty
	Commit string
	List   *tasks.List
}

var plainID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckID says why the id of a story cannot stand in a workflow and in its shell.
func CheckID(id string) error {
	if plainID.MatchString(id) {
		return nil
	}
	return fmt.Errorf("story id %s cannot stand in a workflow: give letters, digits, dots, _ and - only", tasks.Quote(id))
}

// PartBranch is the branch of a part of a list, from 1.
func PartBranch(list string, n int) string {
	if n == 1 {
		return list
	}
	return list + "-part-" + strconv.Itoa(n)
}

// Make is the plan of a wave. What is wrong with the input is said all at once. Each
// story that is not done is in one lane or waits.
func Make(in Input) (*Plan, error) {
	wrong := []error{in.Check()}
	for _, at := range append([]At{in.Base}, in.Branches...) {
		wrong = append(wrong, CheckList(at.List))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	m := newMaker(in)
	m.spread()
	lanes := m.schedule()
	lanes = m.pay(lanes)
	lanes = m.fit(lanes)
	return m.plan(lanes), nil
}

// Check says everything that is wrong with the options.
func (o Options) Check() error {
	var wrong []error
	if o.Wave < 1 || o.Wave > maxWave {
		wrong = append(wrong, fmt.Errorf("wave %d: give 1 for the first one, at most %d", o.Wave, maxWave))
	}
	if o.Waves < 0 || o.Waves > maxWave {
		wrong = append(wrong, fmt.Errorf("waves %d: give how many there may be, at most %d, or 0 for no limit", o.Waves, maxWave))
	}
	if o.Lanes < 1 || o.Lanes > MaxLanes {
		wrong = append(wrong, fmt.Errorf("lanes %d: give 1 to %d", o.Lanes, MaxLanes))
	}
	return errors.Join(wrong...)
}

// CheckList says everything that a workflow cannot take of a list.
func CheckList(l *tasks.List) error {
	var wrong []error
	if err := ralph.CheckBranch(l.BranchName); err != nil {
		wrong = append(wrong, fmt.Errorf("branchName %s: %w", tasks.Quote(l.BranchName), err))
	}
	for i := range l.Stories {
		if err := CheckID(l.Stories[i].ID); err != nil {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// maxWave is what fits LaneKey.
const maxWave = 999_999

// maker makes a plan.
type maker struct {
	Input
	parts   []part
	stories []story
	index   map[string]int
	left    int   // iterations that are left to do, those that wait included
	tasks   []int // of the graph: which story
}

// part is a branch of the list.
type part struct {
	At
	there bool // it has commits which the base lacks
	count int  // stories that it brings
}

// story is a story of all versions of the list.
type story struct {
	id       string
	base     *tasks.Story   // nil: the base does not have it
	versions []*tasks.Story // by part; nil: that does not have it
	part     int
	now      *tasks.Story // the version of its part
	why      string       // it is not worked on in this wave
}

func newMaker(in Input) *maker {
	m := &maker{Input: in, index: map[string]int{}}
	last := 1
	for n := 2; n <= MaxParts; n++ {
		if slices.ContainsFunc(in.Branches, func(at At) bool { return at.Branch == PartBranch(in.Base.List.BranchName, n) }) {
			last = n
		}
	}
	for n := range last {
		m.part(n + 1)
	}
	add := func(s *tasks.Story) *story {
		i, known := m.index[s.ID]
		if !known {
			i = len(m.stories)
			m.index[s.ID] = i
			m.stories = append(m.stories, story{id: s.ID, versions: make([]*tasks.Story, len(m.parts))})
		}
		return &m.stories[i]
	}
	for i := range in.Base.List.Stories {
		s := &in.Base.List.Stories[i]
		add(s).base = s
	}
	for p := range m.parts {
		if m.parts[p].there {
			for i := range m.parts[p].List.Stories {
				s := &m.parts[p].List.Stories[i]
				add(s).versions[p] = s
			}
		}
	}
	return m
}

// part adds a part: where its branch is not there, it begins at the base.
func (m *maker) part(n int) {
	p := part{At: At{cmp.Or(m.Branch, PartBranch(m.Base.List.BranchName, n)), m.Base.Commit, m.Base.List}}
	if i := slices.IndexFunc(m.Branches, func(at At) bool { return at.Branch == p.Branch }); i >= 0 {
		p.At, p.there = m.Branches[i], true
	}
	m.parts = append(m.parts, p)
}

// spread gives each story its part: a component stays where something was done of it,
// the others fill up the parts.
func (m *maker) spread() {
	together := newSets(len(m.stories))
	var patterns [][]string
	for i := range m.stories {
		s := &m.stories[i]
		var touches []string
		for _, v := range append([]*tasks.Story{s.base}, s.versions...) {
			if v == nil {
				continue
			}
			touches = append(touches, v.Touches...)
			for _, id := range v.DependsOn {
				together.join(i, m.index[id])
			}
		}
		patterns = append(patterns, touches)
	}
	for i, class := range classes(patterns) {
		together.join(i, class)
	}
	count, homes := make([]int, len(m.stories)), map[int][]int{}
	for i := range m.stories {
		s, root := &m.stories[i], together.find(i)
		if s.base == nil || s.base.Left(m.Rules) > 0 {
			count[root]++
		}
		for p, v := range s.versions {
			if v != nil && moved(s.base, v) && !slices.Contains(homes[root], p) {
				homes[root] = append(homes[root], p)
			}
		}
	}
	of := map[int]int{}
	for root, at := range homes {
		of[root] = slices.Min(at)
		m.parts[of[root]].count += count[root]
	}
	for i := range m.stories {
		root := together.find(i)
		if _, placed := of[root]; !placed {
			p := slices.IndexFunc(m.parts, func(p part) bool { return m.Branch != "" || p.count == 0 || p.count+count[root] <= partStories })
			if p < 0 {
				p = len(m.parts)
				m.part(p + 1)
			}
			of[root] = p
			m.parts[p].count += count[root]
		}
		s := &m.stories[i]
		s.part = of[root]
		s.now = s.base
		if p := &m.parts[s.part]; p.there {
			s.now = s.versions[s.part]
		}
		s.why = m.waits(s, homes[root])
	}
}

// moved reports whether a branch brings something of a story.
func moved(base, now *tasks.Story) bool {
	return base == nil || base.Passes != now.Passes || base.Status != now.Status || base.ReviewCount != now.ReviewCount || base.ReviewFeedback != now.ReviewFeedback
}

// waits says why a story cannot be worked on whatever the others do.
func (m *maker) waits(s *story, homes []int) string {
	p := &m.parts[s.part]
	branch, open := m.Open[s.id]
	switch {
	case s.left(m.Rules) == 0:
		return ""
	case len(m.Rules.Only) > 0 && !slices.Contains(m.Rules.Only, s.id):
		return "it is not among the stories to work on"
	case len(homes) > 1:
		var names []string
		slices.Sort(homes)
		for _, p := range homes {
			names = append(names, m.parts[p].Branch)
		}
		return fmt.Sprintf("what it belongs to was worked on on %s: it waits until both are merged", strings.Join(names, " and "))
	case s.now == nil:
		return fmt.Sprintf("%s does not have it: merge the base into that branch, or delete it if it is merged", p.Branch)
	case s.base != nil && s.base.Left(m.Rules) == 0:
		return fmt.Sprintf("it is done on the base, and not on %s: merge the base into that branch", p.Branch)
	case open:
		return fmt.Sprintf("it is under way on the branch %s: merge or delete that", branch)
	}
	return ""
}

// left is how many iterations a story is likely to take.
func (s *story) left(r tasks.Rules) int {
	for _, v := range append([]*tasks.Story{s.now, s.base}, s.versions...) {
		if v != nil {
			return v.Left(r)
		}
	}
	return 0
}

// schedule is the lanes of the stories that do not wait for others than each other.
func (m *maker) schedule() []lane {
	number := make([]int, len(m.stories)) // in the graph, from 1
	var visit func(i int) bool            // whether a story can be worked on
	seen := make([]bool, len(m.stories))
	visit = func(i int) bool {
		s := &m.stories[i]
		if seen[i] || s.why != "" {
			return s.why == ""
		}
		seen[i] = true
		for _, id := range s.now.DependsOn {
			if d := m.index[id]; m.stories[d].left(m.Rules) > 0 && !visit(d) {
				s.why = fmt.Sprintf("it depends on %s, which waits", id)
				break
			}
		}
		return s.why == ""
	}
	var patterns [][]string
	for i := range m.stories {
		left := m.stories[i].left(m.Rules)
		if m.left += left; left > 0 && visit(i) {
			m.tasks = append(m.tasks, i)
			number[i] = len(m.tasks)
			patterns = append(patterns, m.stories[i].now.Touches)
		}
	}
	all := make([]task, len(m.tasks))
	class := classes(patterns)
	for n, i := range m.tasks {
		s := &m.stories[i]
		all[n] = task{size: s.now.Left(m.Rules), rank: s.now.Priority, class: class[n], part: s.part}
		for _, id := range s.now.DependsOn {
			if d := number[m.index[id]]; d > 0 {
				all[n].deps = append(all[n].deps, d-1)
			}
		}
	}
	g := newGraph(all)
	waves := 0
	if m.Waves > 0 {
		waves = max(1, m.Waves-m.Wave+1)
	}
	lanes := g.plan(m.Lanes, waves)
	in := make([]int, len(all))
	for n, l := range lanes {
		g.sort(l.tasks)
		for _, i := range l.tasks {
			in[i] = n + 1
		}
	}
	beside := make([]int, len(all)) // of a class: the first task that is in a lane, from 1
	for n, t := range all {
		if in[n] > 0 && beside[t.class] == 0 {
			beside[t.class] = n + 1
		}
	}
	for n, i := range m.tasks {
		if in[n] == 0 {
			m.stories[i].why = m.reason(all[n], beside)
		}
	}
	return lanes
}

// reason says why a task is in no lane.
func (m *maker) reason(t task, beside []int) string {
	var on []string
	for _, d := range t.deps {
		if id := m.stories[m.tasks[d]].id; len(on) < 5 && !slices.Contains(on, id) {
			on = append(on, id)
		}
	}
	if len(on) > 0 {
		return "it depends on " + ralph.Listed(on) + ": they have to be integrated first"
	}
	if n := beside[t.class]; n > 0 {
		return "it touches what " + m.stories[m.tasks[n-1]].id + " does, whose lane is full"
	}
	return "the lanes are full"
}

// pay gives each lane its budget: of four fifths of what is left, its share of all that is
// left to do. A lane without a cent is left out.
func (m *maker) pay(lanes []lane) []lane {
	if m.Budget == nil {
		return lanes
	}
	return slices.DeleteFunc(lanes, func(l lane) bool { return m.budget(l) == 0 && m.drop(l, "the budget is spent") })
}

func (m *maker) budget(l lane) ralph.MicroUSD {
	if m.Budget == nil {
		return 0
	}
	cents := int64(*m.Budget / 5 * 4 / cent)
	return ralph.MicroUSD(cents*int64(l.load)/int64(m.left)) * cent
}

// fit leaves out the last lanes, as many as make the matrix too large.
func (m *maker) fit(lanes []lane) []lane {
	const entry = 160 // of the matrix, without what is counted here
	size := 0
	for i, l := range lanes {
		size += entry + len(m.parts[l.part].Branch)
		for _, n := range l.tasks {
			size += len(m.stories[m.tasks[n]].id) + 1
		}
		if size > maxMatrix {
			for _, l := range lanes[i:] {
				m.drop(l, "the matrix of jobs is full")
			}
			return lanes[:i]
		}
	}
	return lanes
}

func (m *maker) drop(l lane, why string) bool {
	for _, n := range l.tasks {
		m.stories[m.tasks[n]].why = why
	}
	return true
}

func (m *maker) plan(lanes []lane) *Plan {
	p := &Plan{Version: 1, Dir: m.Dir, Wave: m.Wave, Waves: m.Waves, Later: []Wait{}}
	if m.Budget != nil {
		p.Budget = *m.Budget
	}
	digests := map[*tasks.List]string{} // parts that begin at the base have the same list
	for n := range m.parts {
		one := Part{Branch: m.parts[n].Branch, Base: m.parts[n].Commit, Lanes: []Lane{}}
		for i, l := range lanes {
			if l.part != n {
				continue
			}
			out := Lane{Name: fmt.Sprintf("L%03d", i+1), Estimate: l.load, Budget: m.budget(l)}
			for _, t := range l.tasks {
				out.Stories = append(out.Stories, m.stories[m.tasks[t]].id)
			}
			one.Lanes = append(one.Lanes, out)
		}
		if len(one.Lanes) > 0 || len(lanes) == 0 && n == 0 {
			list := m.parts[n].List
			if digests[list] == "" {
				sum := sha256.Sum256(list.Bytes())
				digests[list] = hex.EncodeToString(sum[:])
			}
			one.Digest = digests[list]
			p.Parts = append(p.Parts, one)
		}
	}
	for i := range m.stories {
		if s := &m.stories[i]; s.why != "" {
			p.Later = append(p.Later, Wait{s.id, s.why})
		}
	}
	return p
}

// sort puts tasks into the order in which they are done: what they depend on first, then
// by rank, then as the list has them.
func (g *graph) sort(some []int) {
	slices.SortFunc(some, func(a, b int) int { return cmp.Or(cmp.Compare(g.tasks[a].rank, g.tasks[b].rank), cmp.Compare(a, b)) })
	waits, in := map[int]bool{}, slices.Clone(some)
	for _, i := range some {
		waits[i] = true
	}
	for n := range some {
		i := slices.IndexFunc(in, func(i int) bool {
			return waits[i] && !slices.ContainsFunc(g.tasks[i].deps, func(d int) bool { return waits[d] })
		})
		some[n] = in[i]
		delete(waits, in[i])
	}
}
