package fanout_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/org/ralph-action/internal/fanout"
	"github.com/org/ralph-action/internal/lib/glob"
	"github.com/org/ralph-action/internal/ralph"
	"github.com/org/ralph-action/internal/tasks"
)

var reviewed = tasks.Rules{ReviewCap: 5}

// item is a story of a test.
type item struct {
	size    int // iterations that are left: 1 to 3
	deps    []int
	touches []string
	done    bool
}

func id(i int) string {
	digits := strconv.Itoa(i)
	return "US-00000"[:8-len(digits)] + digits
}

// number is the i of an id.
func number(id string) int {
	i, err := strconv.Atoi(strings.TrimPrefix(id, "US-"))
	if err != nil {
		panic(err)
	}
	return i
}

// list is a task list as it is read.
func list(t testing.TB, items []item) *tasks.List {
	t.Helper()
	var b bytes.Buffer
	b.WriteString(`{"project": "", "branchName": "ralph/x", "description": "", "userStories": [` + "\n")
	for i, it := range items {
		if i > 0 {
			b.WriteString(",\n")
		}
		passes, status, count := false, "null", 0
		switch {
		case it.done:
			passes, status, count = true, `"approved"`, 1
		case it.size == 2:
			count = 4
		case it.size == 1:
			status, count = `"needs_review"`, 4
		}
		deps := make([]string, 0, len(it.deps))
		for _, d := range it.deps {
			deps = append(deps, id(d))
		}
		fmt.Fprintf(&b, `{"id": "%s", "title": "t", "acceptanceCriteria": ["x"], "priority": %d, "passes": %v, "reviewStatus": %s, "reviewCount": %d, "reviewFeedback": "", "notes": "n", "dependsOn": [%s], "touches": [%s]}`,
			id(i), i%3, passes, status, count, quoted(deps), quoted(it.touches))
	}
	b.WriteString("\n]}")
	l, err := tasks.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// worked is a list with those stories done that are.
func worked(l *tasks.List, items []item) *tasks.List {
	now := *l
	now.Stories = slices.Clone(l.Stories)
	for i, it := range items {
		if s := &now.Stories[i]; it.done {
			s.Passes, s.Status, s.ReviewCount = true, tasks.Approved, 1
		}
	}
	return &now
}

// quoted is plain texts as elements of an array.
func quoted(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return `"` + strings.Join(texts, `","`) + `"`
}

// shapes are kinds of graphs; none depends on a story behind it.
var shapes = map[string]func(r *rand.Rand, n int) []item{
	"independent": func(_ *rand.Rand, n int) []item { return each(n, func(int) []int { return nil }) },
	"chains": func(_ *rand.Rand, n int) []item {
		return each(n, func(i int) []int {
			if i%10 == 0 {
				return nil
			}
			return []int{i - 1}
		})
	},
	"forest": func(r *rand.Rand, n int) []item {
		return each(n, func(i int) []int {
			if i%30 == 0 {
				return nil
			}
			return []int{i - 1 - r.IntN(i%30)}
		})
	},
	"tree": func(r *rand.Rand, n int) []item {
		return each(n, func(i int) []int {
			if i == 0 {
				return nil
			}
			return []int{r.IntN(i)}
		})
	},
	"join": func(_ *rand.Rand, n int) []item { // the tree upside down
		return each(n, func(i int) (deps []int) {
			for _, c := range []int{2*(n-1-i) + 1, 2*(n-1-i) + 2} {
				if c < n {
					deps = append(deps, n-1-c)
				}
			}
			return deps
		})
	},
	"layers": func(r *rand.Rand, n int) []item { // features of ten layers of 25
		return each(n, func(i int) []int {
			f := i % 250
			if f < 25 {
				return nil
			}
			before := i - f + (f/25-1)*25
			return []int{before + r.IntN(25), before + r.IntN(25)}
		})
	},
	"sparse": func(r *rand.Rand, n int) []item {
		return sized(r, each(n, func(i int) (deps []int) {
			for i > 0 && r.IntN(2) == 0 {
				deps = append(deps, r.IntN(i))
			}
			return deps
		}))
	},
	"near": func(r *rand.Rand, n int) []item {
		return sized(r, each(n, func(i int) []int {
			if i == 0 || r.IntN(3) == 0 {
				return nil
			}
			return []int{max(0, i-1-r.IntN(8))}
		}))
	},
}

func each(n int, deps func(i int) []int) []item {
	all := make([]item, n)
	for i := range all {
		all[i] = item{size: 3, deps: deps(i)}
	}
	return all
}

func sized(r *rand.Rand, items []item) []item {
	for i := range items {
		items[i].size = 1 + r.IntN(3)
	}
	return items
}

func touching(r *rand.Rand, items []item) []item {
	for i := range items {
		if r.IntN(3) == 0 {
			items[i].touches = []string{fmt.Sprintf("src/%d/**", r.IntN(len(items))), fmt.Sprintf("src/%d/a*.go", r.IntN(len(items)))}
		}
	}
	return items
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 20)) }

// waves works a list off, wave after wave, and checks each plan. did is how many stories
// of a lane come to their end; merged says that what a wave did is merged before the next
// one. It gives the sum of the longest lanes, in iterations.
func waves(t *testing.T, items []item, lanes int, merged bool, did func(of int) int) (makespan, count int) {
	t.Helper()
	items = slices.Clone(items)
	first := list(t, items)
	base := fanout.At{Commit: commit, List: first}
	home := map[int]string{} // the branch on which a story is done
	var branches []string
	for {
		if merged {
			base.List = worked(first, items)
		}
		in := fanout.Input{Options: fanout.Options{Wave: count + 1, Lanes: lanes, Rules: reviewed}, Dir: "ralph", Base: base}
		for _, b := range branches {
			there := slices.Clone(items)
			for i := range there {
				there[i].done = there[i].done && home[i] == b
			}
			in.Branches = append(in.Branches, fanout.At{Branch: b, Commit: commit, List: worked(first, there)})
		}
		p, err := fanout.Make(in)
		if err != nil {
			t.Fatal(err)
		}
		if count == 0 {
			if again, _ := fanout.Make(in); !bytes.Equal(p.Encode(), again.Encode()) {
				t.Fatal("the same input makes another plan")
			}
		}
		check(t, p, items, lanes)
		longest := 0
		for _, part := range p.Parts {
			if !merged && len(part.Lanes) > 0 && !slices.Contains(branches, part.Branch) {
				branches = append(branches, part.Branch)
			}
			for _, l := range part.Lanes {
				longest = max(longest, l.Estimate)
				for _, story := range l.Stories[:did(len(l.Stories))] {
					i := number(story)
					items[i].done, home[i] = true, part.Branch
				}
			}
		}
		if longest == 0 {
			break
		}
		makespan, count = makespan+longest, count+1
		if count > 3*len(items) {
			t.Fatal("the waves have no end")
		}
	}
	for i := range items {
		if !items[i].done {
			t.Fatalf("after %d waves story %s is not done", count, id(i))
		}
	}
	return makespan, count
}

// check holds a plan against the list.
func check(t *testing.T, p *fanout.Plan, items []item, most int) {
	t.Helper()
	lane, at, jobs := map[string]string{}, map[string]int{}, 0
	for _, part := range p.Parts {
		jobs += len(part.Lanes)
		for _, l := range part.Lanes {
			load := 0
			for n, story := range l.Stories {
				if lane[story] != "" {
					t.Fatalf("story %s is in %s and %s", story, lane[story], l.Name)
				}
				lane[story], at[story] = l.Name, n
				it := items[number(story)]
				if it.done {
					t.Fatalf("story %s is done, and in lane %s", story, l.Name)
				}
				for _, d := range it.deps {
					if !items[d].done && (lane[id(d)] != l.Name || at[id(d)] >= n) {
						t.Fatalf("story %s is in %s before %s is in", story, l.Name, id(d))
					}
				}
				load += it.size
			}
			if load != l.Estimate || len(l.Stories) == 0 {
				t.Fatalf("lane %s has %d stories and the estimate %d, want %d", l.Name, len(l.Stories), l.Estimate, load)
			}
		}
	}
	for _, w := range p.Later {
		if lane[w.Story] != "" || w.Why == "" || strings.Contains(w.Why, "\n") {
			t.Fatalf("story %s waits (%q), and is in lane %q", w.Story, w.Why, lane[w.Story])
		}
		lane[w.Story] = "later"
	}
	touched := map[string][]string{} // story of a pattern's class
	for i := range items {
		if !items[i].done && lane[id(i)] == "" {
			t.Fatalf("story %s is in no lane, and does not wait", id(i))
		}
		if l := lane[id(i)]; l != "" && l != "later" {
			for _, pattern := range items[i].touches {
				touched[pattern] = append(touched[pattern], l)
			}
		}
	}
	patterns := []string{}
	for pattern := range touched {
		patterns = append(patterns, pattern)
	}
	slices.Sort(patterns)
	if len(patterns) < 500 {
		parsed := make([]glob.Pattern, len(patterns))
		for i, a := range patterns {
			parsed[i], _ = glob.Parse(a)
			for k, b := range patterns[:i+1] {
				if parsed[i].Overlaps(parsed[k]) && len(slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(touched[a]), touched[b]...))))) > 1 {
					t.Fatalf("%s and %s are touched in lanes %v and %v", a, b, touched[a], touched[b])
				}
			}
		}
	}
	matrix, n := p.Matrix()
	if n != jobs || n > most || n > 256 || 2*len(matrix) > 1_000_000 {
		t.Fatalf("the matrix has %d jobs of %d lanes and %d bytes", n, jobs, len(matrix))
	}
	for l := range lane {
		if !strings.HasPrefix(l, "US-") {
			t.Fatalf("%q is no story of the list", l)
		}
	}
}

func all(n int) int { return n }

// As large as it gets, with all that a plan has to respect.
func TestTenThousand(t *testing.T) {
	t.Parallel()
	r := random(3)
	items := touching(r, shapes["forest"](r, 10_000))
	took, count := waves(t, items, 256, true, all)
	t.Logf("%d iterations in %d waves, list scheduling %d", took, count, greedy(items, 256))
}

// Whatever the graph, the waves do each story once, none before what it depends on, and
// none beside one that touches the same; also where lanes end early.
func TestWaves(t *testing.T) {
	t.Parallel()
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(8) {
				r := random(seed)
				n := 1 + r.IntN(120)
				lanes := 1 + r.IntN(30)
				waves(t, shape(r, n), lanes, seed%2 == 0, all)
				waves(t, touching(r, shape(r, n)), lanes, seed%2 == 1, func(of int) int { return 1 + r.IntN(of) })
			}
			r := random(99)
			waves(t, touching(r, shape(r, 520)), 16, false, all) // several parts
		})
	}
}

// A machine that takes the next story as soon as it is free, the one with the longest way
// ahead first, is hardly quicker. Time is counted in iterations, as the plan does, on as
// many machines as there are lanes. Where each lane has a hundred stories in all, the waves
// together take at most 1.15 times as long; elsewhere up to 1.4 times and a story for each
// wave more, because a wave waits for its longest lane.
func TestSchedule(t *testing.T) {
	t.Parallel()
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct{ stories, lanes, seeds int }{{30, 4, 9}, {30, 20, 9}, {250, 4, 3}, {250, 20, 3}, {250, 100, 3}, {2000, 20, 1}, {2000, 100, 1}, {10_000, 100, 1}} {
				for seed := range uint64(c.seeds) {
					items := shape(random(seed), c.stories)
					sizes, deps := []int{}, [][]int{}
					for _, it := range items {
						sizes, deps = append(sizes, it.size), append(deps, it.deps)
					}
					took, count := fanout.Schedule(sizes, deps, c.lanes)
					compare(t, items, c.lanes, took, count, 1.15)
				}
			}
		})
	}
}

// The same of whole plans. Parts of a list share no lanes: with a few lanes for each that
// costs up to 1.3.
func TestMakespan(t *testing.T) {
	t.Parallel()
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range []struct {
				stories, lanes int
				ratio          float64
			}{{30, 4, 1.15}, {250, 2, 1.15}, {250, 20, 1.15}, {2000, 20, 1.3}} {
				items := shape(random(7), c.stories)
				took, count := waves(t, items, c.lanes, true, all)
				compare(t, items, c.lanes, took, count, c.ratio)
			}
		})
	}
}

func compare(t *testing.T, items []item, lanes, took, waves int, ratio float64) {
	t.Helper()
	bound := greedy(items, lanes)
	allowed := ratio * float64(bound)
	if len(items) < 100*lanes {
		allowed = 1.4*float64(bound) + float64(3*waves)
	}
	said := fmt.Sprintf("%d stories, %d lanes: %d iterations in %d waves, list scheduling %d: %.2f", len(items), lanes, took, waves, bound, float64(took)/float64(bound))
	if t.Log(said); float64(took) > allowed {
		t.Errorf("%s: want at most %.0f", said, allowed)
	}
}

// greedy is list scheduling: how long so many machines take.
func greedy(items []item, machines int) int {
	ahead, waits, users := make([]int, len(items)), make([]int, len(items)), make([][]int, len(items))
	for i := len(items) - 1; i >= 0; i-- {
		ahead[i] += items[i].size
		waits[i] = len(items[i].deps)
		for _, d := range items[i].deps {
			ahead[d] = max(ahead[d], ahead[i])
			users[d] = append(users[d], i)
		}
	}
	ready := [][]int{} // by their way ahead
	put := func(i int) {
		for len(ready) <= ahead[i] {
			ready = append(ready, nil)
		}
		ready[ahead[i]] = append(ready[ahead[i]], i)
	}
	for i := range items {
		if waits[i] == 0 {
			put(i)
		}
	}
	ends := map[int][]int{} // tasks by when they end
	free, left := machines, len(items)
	for now := 0; ; now++ {
		for _, i := range ends[now] {
			free++
			left--
			for _, u := range users[i] {
				if waits[u]--; waits[u] == 0 {
					put(u)
				}
			}
		}
		if left == 0 {
			return now
		}
		for a := len(ready) - 1; a >= 0 && free > 0; a-- {
			for len(ready[a]) > 0 && free > 0 {
				i := ready[a][0]
				ready[a], free = ready[a][1:], free-1
				ends[now+items[i].size] = append(ends[now+items[i].size], i)
			}
		}
	}
}

func input(l *tasks.List) fanout.Input {
	return fanout.Input{Options: fanout.Options{Wave: 1, Lanes: 20, Rules: reviewed}, Dir: "ralph", Base: fanout.At{Commit: commit, List: l}}
}

// The lanes get four fifths of the budget at most, each its share of all that is left.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, left := range []ralph.MicroUSD{0, 1, 90_000, 1_234_567, 100 * ralph.USD, 1_000_000 * ralph.USD} {
		in := input(list(t, shapes["layers"](random(1), 250)))
		in.Budget = &left
		p, err := fanout.Make(in)
		if err != nil {
			t.Fatal(err)
		}
		var sum ralph.MicroUSD
		stories, most := 0, 0
		for _, l := range p.Parts[0].Lanes {
			if l.Budget <= 0 || l.Budget%(ralph.USD/100) != 0 {
				t.Errorf("of %s lane %s gets %d", left, l.Name, l.Budget)
			}
			sum, stories, most = sum+l.Budget, stories+l.Estimate, max(most, l.Estimate)
		}
		if want := left * 4 / 5 * ralph.MicroUSD(stories) / 750; sum > want || stories > 0 && want-sum > 20*ralph.USD/100 || p.Budget != left {
			t.Errorf("of %s the lanes get %s, want %s", left, sum, want)
		}
		if left < 90_000 && (stories > 0 || p.Later[0].Why != "the budget is spent") {
			t.Errorf("of %s %d iterations are planned; %v", left, stories, p.Later[:1])
		}
	}
}

// What would not fit into the output of a job waits, by whole lanes.
func TestMatrixIsBounded(t *testing.T) {
	t.Parallel()
	var stories []string
	for i := range 10_000 {
		stories = append(stories, fmt.Sprintf(`{"id": "%s-%05d", "title": "t", "acceptanceCriteria": ["x"], "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": ""}`, strings.Repeat("x", 194), i))
	}
	l, err := tasks.Read([]byte(`{"project": "", "branchName": "ralph/x", "description": "", "userStories": [` + strings.Join(stories, ",\n") + "]}"))
	if err != nil {
		t.Fatal(err)
	}
	in := input(l)
	in.Wave, in.Lanes = 999_999, 256
	left := 1_000_000 * ralph.USD
	in.Budget = &left
	p, err := fanout.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	matrix, n := p.Matrix()
	if n == 0 || n > 100 || len(matrix) > 480_000 || len(matrix) < 400_000 {
		t.Errorf("%d jobs, %d bytes", n, len(matrix))
	}
	if !slices.ContainsFunc(p.Later, func(w fanout.Wait) bool { return w.Why == "the matrix of jobs is full" }) || len(p.Later) < 7000 {
		t.Errorf("%d wait, none for the matrix", len(p.Later))
	}
}

// why is what a plan says of its stories: the lane, or why they wait.
func why(p *fanout.Plan) []string {
	var said []string
	for _, part := range p.Parts {
		for _, l := range part.Lanes {
			said = append(said, fmt.Sprintf("%s: %s", part.Branch, strings.Join(l.Stories, " ")))
		}
	}
	for _, w := range p.Later {
		said = append(said, w.Story+": "+w.Why)
	}
	return said
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// What is done or under way on branches is not planned again, and what cannot be planned
// says why.
func TestBranches(t *testing.T) {
	t.Parallel()
	three := func() []item { return []item{{size: 3}, {size: 3, deps: []int{0}}, {size: 3}} }
	in := input(list(t, three()))
	in.Open = map[string]string{id(0): "ralph/x-us-00000"}
	p, err := fanout.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a story under way", why(p), "ralph/x: US-00002", "US-00000: it is under way on the branch ralph/x-us-00000: merge or delete that", "US-00001: it depends on US-00000, which waits")

	// The base went on: a story was added, and one is done there.
	base, branch := three(), three()
	base[2].done = true
	branch[0].done = true
	in = input(list(t, append(base, item{size: 3})))
	in.Branches = []fanout.At{{Branch: "ralph/x", Commit: strings.Repeat("a", 40), List: list(t, branch)}}
	if p, err = fanout.Make(in); err != nil {
		t.Fatal(err)
	}
	same(t, "a base that went on", why(p), "ralph/x: US-00001", "US-00002: it is done on the base, and not on ralph/x: merge the base into that branch",
		"US-00003: ralph/x does not have it: merge the base into that branch, or delete it if it is merged")
	if p.Parts[0].Base != strings.Repeat("a", 40) {
		t.Errorf("the lanes begin at %s", p.Parts[0].Base)
	}

	// Two parts have worked on what belongs together since.
	one, two := three(), three()
	one[0].done, two[2].done = true, true
	together := three()
	together[1].deps = []int{0, 2}
	in = input(list(t, together))
	in.Branches = []fanout.At{{Branch: "ralph/x", Commit: commit, List: list(t, one)}, {Branch: "ralph/x-part-2", Commit: commit, List: list(t, two)}}
	if p, err = fanout.Make(in); err != nil {
		t.Fatal(err)
	}
	const both = "what it belongs to was worked on on ralph/x and ralph/x-part-2: it waits until both are merged"
	same(t, "two parts", why(p), "US-00001: "+both, "US-00002: "+both)
}

// A list that one pull request could not show has parts, and components stay in one.
func TestParts(t *testing.T) {
	t.Parallel()
	in := input(list(t, shapes["chains"](random(1), 700)))
	in.Lanes = 70
	p, err := fanout.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	counts := []int{}
	for n, part := range p.Parts {
		count := 0
		for _, l := range part.Lanes {
			count += len(l.Stories)
		}
		counts = append(counts, count)
		if part.Branch != fanout.PartBranch("ralph/x", n+1) {
			t.Errorf("part %d is %s", n+1, part.Branch)
		}
	}
	if !slices.Equal(counts, []int{250, 250, 200}) {
		t.Errorf("parts of %v stories", counts)
	}
}

// Everything that is wrong is said at once.
func TestMakeRefuses(t *testing.T) {
	t.Parallel()
	l, err := tasks.Read([]byte(`{"project": "", "branchName": "a;b", "description": "", "userStories": [
{"id": "$(x)", "title": "t", "acceptanceCriteria": ["x"], "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": ""},
{"id": "a,b", "title": "t", "acceptanceCriteria": ["x"], "priority": 1, "passes": false, "reviewStatus": null, "reviewCount": 0, "reviewFeedback": ""}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = fanout.Make(fanout.Input{Options: fanout.Options{Wave: 0, Waves: -1, Lanes: 257}, Base: fanout.At{Commit: commit, List: l}})
	if err == nil {
		t.Fatal("Make has no error")
	}
	same(t, "Make", strings.Split(err.Error(), "\n"),
		"wave 0: give 1 for the first one, at most 999999",
		"waves -1: give how many there may be, at most 999999, or 0 for no limit",
		"lanes 257: give 1 to 256",
		`branchName "a;b": the name of a branch cannot hold ';'`,
		`story id "$(x)" cannot stand in a workflow: give letters, digits, dots, _ and - only`,
		`story id "a,b" cannot stand in a workflow: give letters, digits, dots, _ and - only`)
}

func BenchmarkMake(b *testing.B) {
	in := input(list(b, shapes["layers"](random(1), 10_000)))
	in.Lanes = 256
	for b.Loop() {
		if _, err := fanout.Make(in); err != nil {
			b.Fatal(err)
		}
	}
}

// What Make makes is read again, and what it would not make is refused, all at once.
func TestDecodePlan(t *testing.T) {
	t.Parallel()
	in := input(list(t, shapes["near"](random(1), 600)))
	left := 20 * ralph.USD
	in.Budget = &left
	p, err := fanout.Make(in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := fanout.DecodePlan(p.Encode())
	if err != nil || !bytes.Equal(again.Encode(), p.Encode()) || again.ID() != p.ID() {
		t.Errorf("DecodePlan(Encode()) = %v", err)
	}
	for name, c := range map[string]struct {
		change func(p *fanout.Plan)
		want   string
	}{
		"version":       {func(p *fanout.Plan) { p.Version = 2 }, "version is 2"},
		"wave":          {func(p *fanout.Plan) { p.Wave = 0 }, "wave is 0"},
		"folder":        {func(p *fanout.Plan) { p.Dir = "../x" }, `dir "../x" is no folder`},
		"no part":       {func(p *fanout.Plan) { p.Parts = nil }, "it has no parts"},
		"branch":        {func(p *fanout.Plan) { p.Parts[0].Branch = "a b" }, `branch "a b" cannot be one`},
		"branches":      {func(p *fanout.Plan) { p.Parts = append(p.Parts, p.Parts[0]) }, `branch "ralph/x" stands there twice`},
		"base":          {func(p *fanout.Plan) { p.Parts[0].Base = "HEAD" }, `base "HEAD" is no commit`},
		"digest":        {func(p *fanout.Plan) { p.Parts[0].Digest = "" }, `digest "" is no SHA-256`},
		"lane":          {func(p *fanout.Plan) { p.Parts[0].Lanes[0].Name = "x" }, `lane "x": give L`},
		"empty lane":    {func(p *fanout.Plan) { p.Parts[0].Lanes[0].Stories = nil }, "has no stories"},
		"shell":         {func(p *fanout.Plan) { p.Parts[0].Lanes[0].Stories = []string{"$(x)"} }, `has a story "$(x)"`},
		"story twice":   {func(p *fanout.Plan) { p.Parts[0].Lanes[0].Stories = []string{"a", "a"} }, `story "a" stands there twice`},
		"more money":    {func(p *fanout.Plan) { p.Parts[0].Lanes[0].Budget = 21 * ralph.USD }, "and the wave no more than 20000000"},
		"money from no": {func(p *fanout.Plan) { p.Budget = 0 }, "and the wave no more than 0"},
		"later twice":   {func(p *fanout.Plan) { p.Later = []fanout.Wait{{p.Parts[0].Lanes[0].Stories[0], "x"}} }, "waits, and stands there twice"},
		"two lines":     {func(p *fanout.Plan) { p.Later = []fanout.Wait{{"x", "a\nb"}} }, "more than one line"},
	} {
		changed, err := fanout.DecodePlan(p.Encode())
		if err != nil {
			t.Fatal(err)
		}
		c.change(changed)
		if _, err := fanout.DecodePlan(changed.Encode()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: DecodePlan = %v, want %s", name, err, c.want)
		}
	}
	for _, text := range []string{"", "{", "{}{}", `{"more": 1}`, strings.Repeat(" ", 17<<20)} {
		if _, err := fanout.DecodePlan([]byte(text)); err == nil {
			t.Errorf("DecodePlan(%.20q) has no error", text)
		}
	}
}

// What can be read can be written again, and stands in a matrix.
func FuzzDecodePlan(f *testing.F) {
	p, err := fanout.Make(input(list(f, shapes["chains"](random(1), 30))))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := fanout.DecodePlan(data)
		if err != nil {
			return
		}
		if _, err := fanout.DecodePlan(p.Encode()); err != nil {
			t.Errorf("written again: %v", err)
		}
		if matrix, n := p.Matrix(); !json.Valid(matrix) || n > fanout.MaxLanes {
			t.Errorf("matrix of %d jobs", n)
		}
	})
}

// The integrations of a wave have what the lanes did not get.
func TestKept(t *testing.T) {
	t.Parallel()
	lane := func(usd ralph.MicroUSD) fanout.Part {
		return fanout.Part{Lanes: []fanout.Lane{{Budget: usd * ralph.USD}}}
	}
	for _, tt := range []struct {
		plan fanout.Plan
		want ralph.MicroUSD
	}{
		{fanout.Plan{Parts: []fanout.Part{lane(0)}}, 0},
		{fanout.Plan{Budget: 10 * ralph.USD, Parts: []fanout.Part{lane(8)}}, 2 * ralph.USD},
		{fanout.Plan{Budget: 10 * ralph.USD, Parts: []fanout.Part{lane(4), lane(4)}}, ralph.USD},
		{fanout.Plan{Budget: 8 * ralph.USD, Parts: []fanout.Part{lane(8)}}, 1},
	} {
		if got := tt.plan.Kept(); got != tt.want {
			t.Errorf("%+v.Kept() = %d, want %d", tt.plan, got, tt.want)
		}
	}
}
